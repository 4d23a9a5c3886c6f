//! Vectors as points of the plane: what is near stays near.

use bhtsne::tSNE;
use rayon::ThreadPoolBuilder;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::PlotError;

/// How t-SNE places points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tsne {
    /// About how many neighbours of a vector stay its neighbours.
    pub perplexity: f32,
    /// Steps of the descent.
    pub steps: usize,
    /// Another seed, another first placement.
    pub seed: u64,
}

impl Default for Tsne {
    /// The defaults of scikit-learn.
    fn default() -> Self {
        Self { perplexity: 30.0, steps: 1000, seed: 0 }
    }
}

/// The size of the first placement (van der Maaten and Hinton 2008, section 3.4).
const SPREAD: f32 = 1e-4;

impl Tsne {
    /// The fewest vectors: three times the perplexity, and one.
    #[must_use]
    pub fn fewest(&self) -> usize {
        3 * self.perplexity as usize + 1
    }

    /// Points of the plane for vectors `[points, dim]`, by exact t-SNE over Euclidean distances (van der
    /// Maaten and Hinton 2008). Time and memory grow with the square of the number of vectors. The same
    /// vectors and options give the same points, whatever the number of threads.
    ///
    /// # Errors
    /// [`PlotError::Perplexity`] and [`PlotError::NotFinite`].
    pub fn place(&self, vectors: &[f32], dim: usize) -> Result<Vec<(f64, f64)>, PlotError> {
        let rows: Vec<&[f32]> = vectors.chunks_exact(dim.max(1)).collect();
        if !(self.perplexity >= 1.0 && rows.len() >= self.fewest()) {
            return Err(PlotError::Perplexity { perplexity: self.perplexity, points: rows.len() });
        }
        if vectors.iter().any(|number| !number.is_finite()) {
            return Err(PlotError::NotFinite);
        }
        let first = |place: u64| {
            let hash = xxh3_64_with_seed(&place.to_le_bytes(), self.seed);
            SPREAD * ((hash >> 40) as f32 / (1 << 23) as f32 - 1.0)
        };
        let start: Vec<f32> = (0..2 * rows.len() as u64).map(first).collect();
        // One thread: the library's sums depend on how they are divided.
        let alone = ThreadPoolBuilder::new().num_threads(1).build();
        let placed = alone.map_err(|error| PlotError::Draw(error.to_string()))?.install(|| {
            let mut tsne: tSNE<'_, f32, &[f32]> = tSNE::new(&rows);
            tsne.perplexity(self.perplexity).epochs(self.steps).initial_embedding(start);
            tsne.exact(|a, b| distance(a, b)).embedding()
        });
        Ok(placed.as_chunks::<2>().0.iter().map(|[x, y]| (f64::from(*x), f64::from(*y))).collect())
    }
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::Tsne;
    use crate::PlotError;

    const DIM: usize = 8;

    /// Two clouds of 20 vectors, far apart: cloud 0 around one corner, cloud 1 around another.
    fn clouds() -> Vec<f32> {
        let number = |row: usize, column: usize| {
            let noise = ((row * 31 + column * 17) % 23) as f32 / 23.0;
            noise + if row >= 20 && column < 2 { 10.0 } else { 0.0 }
        };
        (0..40).flat_map(|row| (0..DIM).map(move |column| number(row, column))).collect()
    }

    fn options() -> Tsne {
        Tsne { perplexity: 5.0, steps: 500, seed: 1 }
    }

    #[test]
    fn what_is_near_stays_near() -> Result<(), PlotError> {
        let points = options().place(&clouds(), DIM)?;
        assert_eq!(points.len(), 40);
        let nearest = |index: usize| {
            let apart = |other: usize| {
                let ((x, y), (u, v)) = (points[index], points[other]);
                (x - u).hypot(y - v)
            };
            (0..40).filter(|other| *other != index).min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
        };
        for index in 0..40 {
            assert_eq!(nearest(index).map(|other| other >= 20), Some(index >= 20), "{index}: {points:?}");
        }
        Ok(())
    }

    #[test]
    fn points_depend_on_vectors_and_seed_alone() -> Result<(), PlotError> {
        let points = options().place(&clouds(), DIM)?;
        assert_eq!(points, options().place(&clouds(), DIM)?);
        assert_ne!(points, Tsne { seed: 2, ..options() }.place(&clouds(), DIM)?);
        Ok(())
    }

    #[test]
    fn what_cannot_be_placed_is_an_error() {
        let vectors = clouds();
        for perplexity in [14.0, 0.5, f32::NAN, -1.0] {
            let placed = Tsne { perplexity, ..options() }.place(&vectors, DIM);
            assert!(
                matches!(placed, Err(PlotError::Perplexity { points: 40, .. })),
                "{perplexity}: {placed:?}"
            );
        }
        assert!(Tsne { perplexity: 13.0, steps: 1, ..options() }.place(&vectors, DIM).is_ok());
        assert!(matches!(options().place(&[], 0), Err(PlotError::Perplexity { points: 0, .. })));
        let mut vectors = vectors;
        vectors[7] = f32::INFINITY;
        assert_eq!(options().place(&vectors, DIM), Err(PlotError::NotFinite));
    }
}
