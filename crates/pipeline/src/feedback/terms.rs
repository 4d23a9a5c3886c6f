//! Terms with weights.

use std::collections::BTreeMap;

/// Terms, each once, and their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermVector {
    weights: BTreeMap<String, f32>,
}

/// A document that feedback is taken from.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackDocument {
    /// Its score.
    pub score: f32,
    /// How often it has each term.
    pub terms: TermVector,
}

impl FromIterator<(String, f32)> for TermVector {
    /// The weights of a term that comes more than once are added.
    fn from_iter<I: IntoIterator<Item = (String, f32)>>(terms: I) -> Self {
        let mut vector = Self::default();
        for (term, weight) in terms {
            *vector.weights.entry(term).or_insert(0.0) += weight;
        }
        vector
    }
}

impl TermVector {
    /// The terms and their weights, in the order of the terms' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f32)> {
        self.weights.iter().map(|(term, weight)| (term.as_str(), *weight))
    }

    /// The weight of a term; 0 for a missing term.
    #[must_use]
    pub fn weight(&self, term: &str) -> f32 {
        self.weights.get(term).copied().unwrap_or(0.0)
    }

    /// Adds to the weight of each term of `other` what `part` makes of its weight there.
    pub(super) fn add(&mut self, other: &Self, part: impl Fn(f32) -> f32) {
        for (term, weight) in &other.weights {
            let part = part(*weight);
            match self.weights.get_mut(term) {
                Some(sum) => *sum += part,
                None => {
                    self.weights.insert(term.clone(), part);
                }
            }
        }
    }

    /// The `count` terms of the largest weights.
    pub(super) fn pruned(self, count: usize) -> Self {
        let mut terms: Vec<(String, f32)> = self.weights.into_iter().collect();
        // Stable: terms of equal weight stay in the order of their bytes.
        terms.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        terms.truncate(count);
        terms.into_iter().collect()
    }

    /// The sum of the weights; none is negative.
    pub(super) fn l1_norm(&self) -> f64 {
        self.weights.values().map(|weight| f64::from(*weight)).sum()
    }

    /// The Euclidean length.
    pub(super) fn l2_norm(&self) -> f64 {
        self.weights.values().map(|weight| f64::from(*weight) * f64::from(*weight)).sum::<f64>().sqrt()
    }

    /// The vector divided by a norm; unchanged if the norm is 0.
    pub(super) fn over(mut self, norm: f64) -> Self {
        if norm > 0.0 {
            self.weights.values_mut().for_each(|weight| *weight = (f64::from(*weight) / norm) as f32);
        }
        self
    }

    /// Every term of any of these.
    pub(super) fn terms_of<'a>(vectors: impl IntoIterator<Item = &'a Self>) -> Vec<&'a str> {
        let mut terms: Vec<&str> =
            vectors.into_iter().flat_map(|vector| vector.weights.keys()).map(String::as_str).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The weight that `weigh` gives to each term, where it is above 0.
    pub(super) fn weighed(terms: &[&str], weigh: impl Fn(&str) -> f32) -> Self {
        let weights = terms.iter().map(|term| (*term, weigh(term))).filter(|(_, weight)| *weight > 0.0);
        Self { weights: weights.map(|(term, weight)| (term.to_owned(), weight)).collect() }
    }
}

/// A document with a smaller norm does not count.
pub(super) const LEAST_NORM: f32 = 0.001;

#[cfg(test)]
pub(super) mod testing {
    use super::TermVector;

    pub(in crate::feedback) fn vector(terms: &[(&str, f32)]) -> TermVector {
        terms.iter().map(|(term, weight)| ((*term).to_owned(), *weight)).collect()
    }

    pub(in crate::feedback) fn assert_close(found: &TermVector, expected: &[(&str, f32)]) {
        assert_eq!(found.iter().count(), expected.len(), "{found:?}");
        for ((term, weight), (expected_term, expected_weight)) in found.iter().zip(expected) {
            assert_eq!(term, *expected_term);
            assert!((weight - expected_weight).abs() < 1e-6, "{term}: {weight} and {expected_weight}");
        }
    }
}
