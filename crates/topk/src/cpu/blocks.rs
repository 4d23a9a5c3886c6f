//! The pieces in which a collection is scanned.

use std::ops::Range;

use toller_ir::DocOrd;

use crate::collection::{Codes, Collection, Vectors};

/// One block in 32 is scanned before the others: a sample of the whole collection, which sets the thresholds
/// before most vectors are read, whatever the order of the vectors. (Without it, vectors stored by ascending
/// score would all be nominated.)
const SAMPLE: usize = 32;

/// A division of every segment into blocks of rows.
pub(crate) struct Blocks<'a> {
    collection: &'a Collection<'a>,
    block_rows: usize,
    /// For each segment, the number of blocks up to its end.
    ends: Vec<usize>,
}

/// Consecutive rows of a segment.
#[derive(Clone)]
pub(crate) struct Block<'a> {
    /// The vectors of the segment.
    pub(crate) vectors: Vectors<'a>,
    /// The codes of the block's rows.
    pub(crate) codes: Option<Codes<'a>>,
    /// The rows of the segment.
    pub(crate) rows: Range<usize>,
    /// The ordinal of the first row.
    pub(crate) first: DocOrd,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(collection: &'a Collection<'a>, block_rows: usize) -> Self {
        let mut end = 0;
        let ends = collection.segments().iter().map(|segment| {
            end += (segment.vectors.len() / collection.dim()).div_ceil(block_rows);
            end
        });
        Self { collection, block_rows, ends: ends.collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many blocks the sample has. They have the first turns.
    pub(crate) fn sampled(&self) -> usize {
        self.count().div_ceil(SAMPLE)
    }

    /// The sample's share of the collection.
    pub(crate) fn sample_share(&self) -> f64 {
        self.sampled() as f64 / self.count() as f64
    }

    /// How many blocks hold `bytes` bytes of vectors.
    pub(crate) fn in_bytes(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.block_rows * self.collection.dim() * size_of::<f32>())
    }

    /// The block that is scanned after `turn` others; `None` after the last block.
    pub(crate) fn at(&self, turn: usize) -> Option<Block<'a>> {
        if turn >= self.count() {
            return None;
        }
        let index = scattered(turn, self.count());
        let segment = self.ends.partition_point(|&end| end <= index);
        let before = if segment == 0 { 0 } else { self.ends[segment - 1] };
        let start = (index - before) * self.block_rows;
        let segment = &self.collection.segments()[segment];
        let rows = segment.vectors.len() / self.collection.dim();
        // Does not wrap: the ordinals of a collection fit in 32 bits.
        let first = DocOrd(segment.first.0 + start as u32);
        let rows = start..(start + self.block_rows).min(rows);
        let dim = self.collection.dim();
        let codes = segment.codes.map(|codes| Codes {
            values: &codes.values[rows.start * dim..rows.end * dim],
            scales: &codes.scales[rows.clone()],
            residual_norms: &codes.residual_norms[rows.clone()],
        });
        Some(Block { vectors: segment.vectors, codes, rows, first })
    }
}

/// The index of the block whose turn is `turn`: first the multiples of [`SAMPLE`], then the rest.
fn scattered(turn: usize, count: usize) -> usize {
    let sampled = count.div_ceil(SAMPLE);
    if turn < sampled { turn * SAMPLE } else { (turn - sampled) / (SAMPLE - 1) + (turn - sampled) + 1 }
}

#[cfg(test)]
mod tests {
    use toller_ir::DocOrd;

    use super::{Blocks, scattered};
    use crate::{Collection, IpTopkError, Segment, Vectors};

    #[test]
    fn every_block_has_its_turn() {
        for count in [0, 1, 2, 31, 32, 33, 64, 65, 1000] {
            let mut indices: Vec<usize> = (0..count).map(|turn| scattered(turn, count)).collect();
            indices.sort_unstable();
            assert!(indices.into_iter().eq(0..count), "{count} blocks");
        }
    }

    #[test]
    fn blocks_cover_the_segments() -> Result<(), IpTopkError> {
        let values = [0.0; 2 * 100];
        let segment = |first, rows: usize| Segment {
            first: DocOrd(first),
            vectors: Vectors::F32(&values[..2 * rows]),
            codes: None,
        };
        let collection =
            Collection::new(2, vec![segment(0, 100), segment(100, 0), segment(200, 7), segment(300, 1)])?;
        let blocks = Blocks::new(&collection, 6);
        let mut ordinals = Vec::new();
        for block in (0..).map_while(|turn| blocks.at(turn)) {
            ordinals.extend((block.first.0..).take(block.rows.len()));
        }
        ordinals.sort_unstable();
        assert!(ordinals.into_iter().eq((0..100).chain(200..207).chain(300..301)));
        Ok(())
    }
}
