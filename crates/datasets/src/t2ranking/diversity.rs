//! How alike texts are: intra-list similarity (T2Ranking, equations 3 and 4).

/// The mean cosine of all pairs of vectors, added one by one: with u the vectors at length 1 and s their
/// sum, the pairs' cosines sum to (|s|^2 - sum of |u|^2) / 2. So time grows with the number of vectors, not
/// of pairs.
#[derive(Clone, Debug, Default)]
pub struct IntraListSimilarity {
    sum: Vec<f64>,
    /// The sum of |u|^2, which is the number of vectors, except those of length 0.
    own: f64,
    vectors: usize,
}

impl IntraListSimilarity {
    /// Adds a vector. One of length 0 has the cosine 0 with all.
    pub fn add(&mut self, vector: &[f32]) {
        self.sum.resize(vector.len().max(self.sum.len()), 0.0);
        self.vectors += 1;
        let norm = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            self.own += 1.0;
            self.sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += f64::from(*x) / norm);
        }
    }

    /// How many vectors there are.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// The similarity, of at least two vectors.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        let square: f64 = self.sum.iter().map(|x| x * x).sum();
        let pairs = self.vectors as f64 * (self.vectors as f64 - 1.0);
        (self.vectors > 1).then(|| (square - self.own) / pairs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::IntraListSimilarity;

    fn value(vectors: &[Vec<f32>]) -> Option<f64> {
        let mut similarity = IntraListSimilarity::default();
        vectors.iter().for_each(|vector| similarity.add(vector));
        similarity.value()
    }

    #[test]
    fn few_vectors() {
        assert_eq!(value(&[]), None);
        assert_eq!(value(&[vec![1.0, 0.0]]), None);
        assert_eq!(value(&[vec![2.0, 0.0], vec![0.0, 3.0]]), Some(0.0));
        assert_eq!(value(&[vec![2.0, 0.0], vec![3.0, 0.0], vec![0.0, 0.0]]), Some(1.0 / 3.0));
    }

    proptest! {
        #[test]
        fn the_mean_over_all_pairs(vectors in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 4), 2..20)) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let cosine = |a: &[f32], b: &[f32]| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
            let (mut sum, mut pairs) = (0.0, 0.0);
            for at in 0..vectors.len() {
                for other in at + 1..vectors.len() {
                    sum += cosine(&vectors[at], &vectors[other]);
                    pairs += 1.0;
                }
            }
            // At most 20 vectors of 4 numbers: a few hundred roundings of 2^-53.
            prop_assert!((value(&vectors).unwrap() - sum / pairs).abs() < 1e-12);
        }
    }
}
