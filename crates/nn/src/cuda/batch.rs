//! A batch as devices take it: one array of words, copied at once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::abi;
use crate::Sequences;

/// Arrays begin at multiples of this many words.
const WORDS: usize = 4;

/// A batch, prepared on the host. A session copies it to its device before the first step that needs it.
pub struct CudaBatch {
    /// Distinguishes batches.
    pub(super) id: u64,
    /// All arrays, one after the other.
    pub(super) words: Vec<u32>,
    /// Of each table: where the tokens' rows are, and the largest of them.
    pub(super) rows: Vec<(Range<usize>, u32)>,
    pub(super) positions: Range<usize>,
    pub(super) offsets: Range<usize>,
    /// Of [`abi::QueryTile`].
    pub(super) tiles: Range<usize>,
    pub(super) tile_count: usize,
    pub(super) tokens: usize,
    pub(super) sequences: Sequences,
    pub(super) longest: usize,
}

impl CudaBatch {
    pub(super) fn new(rows: &[Vec<u32>], sequences: Sequences) -> Self {
        static BATCHES: AtomicU64 = AtomicU64::new(0);
        let mut words = Vec::new();
        let mut push = |array: &[u32]| {
            let start = words.len();
            words.extend_from_slice(array);
            words.resize(words.len().next_multiple_of(WORDS), 0);
            start..start + array.len()
        };
        let rows = rows.iter().map(|rows| (push(rows), rows.iter().copied().max().unwrap_or(0))).collect();
        let positions = push(&sequences.positions().collect::<Vec<_>>());
        let offsets = push(sequences.offsets());
        let tiles = query_tiles(&sequences);
        Self {
            id: BATCHES.fetch_add(1, Ordering::Relaxed),
            rows,
            positions,
            offsets,
            tiles: push(bytemuck::cast_slice(&tiles)),
            tile_count: tiles.len(),
            tokens: sequences.tokens(),
            longest: sequences.ranges().map(|tokens| tokens.len()).max().unwrap_or(0),
            sequences,
            words,
        }
    }
}

/// The tiles of queries of all sequences. Tiles of long sequences take longest, and come first.
fn query_tiles(sequences: &Sequences) -> Vec<abi::QueryTile> {
    let of_sequence = |tokens: Range<usize>| {
        (0..tokens.len()).step_by(abi::ATTENTION_QUERIES as usize).map(move |first| abi::QueryTile {
            first_token: tokens.start as u32,
            tokens: tokens.len() as u32,
            first_query: first as u32,
        })
    };
    let mut tiles: Vec<_> = sequences.ranges().flat_map(of_sequence).collect();
    tiles.sort_by_key(|tile| std::cmp::Reverse(tile.tokens));
    tiles
}

#[cfg(test)]
mod tests {
    use super::CudaBatch;
    use crate::Sequences;

    #[test]
    fn arrays_of_a_batch() {
        let batch = CudaBatch::new(&[vec![7; 71], vec![1; 71]], Sequences::from_lengths([1, 0, 70]));
        assert_eq!(batch.words[batch.rows[0].0.clone()], [7; 71]);
        assert_eq!((batch.rows[0].1, batch.rows[1].1), (7, 1));
        assert_eq!(batch.words[batch.offsets.clone()], [0, 1, 1, 71]);
        assert_eq!(batch.words[batch.positions.clone()][..4], [0, 0, 1, 2]);
        let tiles = &batch.words[batch.tiles.clone()];
        assert_eq!(tiles, [1, 70, 0, 1, 70, 64, 0, 1, 0], "of the long sequence first");
        assert_eq!((batch.tokens, batch.sequences.count(), batch.longest, batch.tile_count), (71, 3, 70, 3));
        assert!(batch.rows.iter().all(|(rows, _)| rows.start.is_multiple_of(4)));
    }
}
