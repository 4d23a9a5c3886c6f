//! A search with guesses, which waits for nothing.
//!
//! ```text
//! threshold[q] = guess[q] = -infinity; candidates[q] = {}
//! for each slab, for each chunk of its rows, each a sample of the next:
//!     scan: append to candidates[q] what may reach threshold[q] and guess[q]
//!     raise threshold[q] to the k-th best lower bound; drop the upper bounds below
//!     raise guess[q] to what the k best of the slab are expected to reach
//!   at the end of the slab: score the candidates; raise threshold[q] to the k-th best score
//!     if threshold[q] < guess[q]: q is incomplete
//! if candidates[q] did not fit their buffer at any time: q is incomplete
//! sort, keep k
//! ```
//!
//! If a threshold reaches the guess, k vectors do, and no vector that was dropped below the guess is among
//! the k best. So samples that mislead cost time, but never hits: incomplete queries are searched again,
//! safely.

use toller_gpu::DeviceError;

use super::group::{Also, Group};
use super::layout::Slab;
use super::rows::Rows;
use super::schedule::{Stripe, chunks};
use crate::sample::sample_depth;

impl Group<'_> {
    /// Searches a slab whose rows, with their norms, are on the device.
    pub(crate) fn search_with_guesses(&mut self, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        let prepared = self.prepare(slab, rows)?;
        let chunks = chunks(&slab.runs, self.variant.tile_rows());
        let left = (0..chunks.len()).rev();
        for ((chunk, depth), left) in chunks.iter().zip(depths(&chunks, self.sizes.k)).zip(left) {
            self.scan(prepared, slab, rows, chunk)?;
            self.select(prepared, Also { depth, aim: left == 0 && self.aims(rows), ..Also::default() })?;
        }
        self.score_aimed(prepared, slab, rows)?;
        self.select(prepared, Also { verify: true, ..Also::default() })
    }
}

/// After each chunk, the depth of the guess among the candidates so far. Such a guess lets through what the
/// guess after the next chunk needs, and the last what is needed for the k best. 0 after the last chunk.
fn depths(chunks: &[Vec<Stripe>], k: usize) -> Vec<usize> {
    let rows = |chunks: &[Vec<Stripe>]| chunks.iter().flatten().map(Stripe::rows).sum::<usize>() as f64;
    let mut depths = vec![0; chunks.len()];
    let mut needed = k;
    for last in (1..chunks.len()).rev() {
        needed = sample_depth(needed, rows(&chunks[..last]) / rows(&chunks[..=last]));
        depths[last - 1] = needed;
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::super::layout::Run;
    use super::{chunks, depths};

    #[test]
    fn guesses_are_deep_enough_and_nominate_little() {
        let chunks = chunks(&[Run { row: 0, rows: 8_841_823, ordinal: 0 }], 128);
        for (k, expected) in [(10, [7, 7, 7, 0]), (1000, [9, 17, 89, 0])] {
            assert_eq!(depths(&chunks, k), expected, "k {k}");
        }
        assert_eq!(depths(&chunks[..1], 10), [0]);
    }
}
