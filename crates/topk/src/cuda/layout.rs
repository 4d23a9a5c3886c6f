//! Which rows of a collection go where: slabs of a device's memory, runs of ordinals.

use std::ops::Range;

use super::kernels::DType;
use crate::collection::Collection;

/// Consecutive rows of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The segment's number.
    pub(crate) segment: usize,
    /// Rows of the segment.
    pub(crate) rows: Range<usize>,
}

/// Rows of a slab with consecutive ordinals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first row, counted in the slab.
    pub(crate) row: usize,
    /// How many rows there are.
    pub(crate) rows: usize,
    /// The ordinal of the first row.
    pub(crate) ordinal: u32,
}

/// Rows that lie in one piece of a device's memory: all of one type, in the collection's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slab {
    pub(crate) dtype: DType,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) runs: Vec<Run>,
    pub(crate) rows: usize,
}

/// The most rows of a slab: the kernels count fewer than 2^31.
const MOST_ROWS: usize = 1 << 30;

/// The rows `rows` of a collection as slabs of up to `most` rows.
pub(crate) fn slabs(collection: &Collection<'_>, rows: Range<usize>, most: usize) -> Vec<Slab> {
    let most = most.clamp(1, MOST_ROWS);
    let mut slabs: Vec<Slab> = Vec::new();
    let mut before = 0;
    for (number, segment) in collection.segments().iter().enumerate() {
        let count = segment.vectors.len() / collection.dim();
        let (mut start, end) = (rows.start.max(before), rows.end.min(before + count));
        while start < end {
            let dtype = DType::of(segment.vectors);
            let is_open = slabs.last().is_some_and(|slab| slab.dtype == dtype && slab.rows < most);
            if !is_open {
                slabs.push(Slab { dtype, pieces: Vec::new(), runs: Vec::new(), rows: 0 });
            }
            let Some(slab) = slabs.last_mut() else { break };
            let taken = (end - start).min(most - slab.rows);
            let first = start - before;
            slab.pieces.push(Piece { segment: number, rows: first..first + taken });
            let run = Run { row: slab.rows, rows: taken, ordinal: segment.first.0 + first as u32 };
            match slab.runs.last_mut() {
                // In 64 bits, since the last ordinal may be the largest.
                Some(last) if u64::from(last.ordinal) + last.rows as u64 == u64::from(run.ordinal) => {
                    last.rows += taken;
                }
                _ => slab.runs.push(run),
            }
            slab.rows += taken;
            start += taken;
        }
        before += count;
    }
    slabs
}

#[cfg(test)]
mod tests {
    use half::f16;
    use toller_ir::DocOrd;

    use super::slabs;
    use crate::{Collection, IpTopkError, Segment, Vectors};

    #[test]
    fn slabs_hold_every_row_once_with_its_ordinal() -> Result<(), IpTopkError> {
        let (wide, half) = ([0_f32; 40], [f16::ZERO; 40]);
        let segment = |first, vectors| Segment { first: DocOrd(first), vectors, codes: None };
        let segments = vec![
            segment(3, Vectors::F32(&wide[..20])),
            segment(13, Vectors::F32(&wide[..0])),
            segment(13, Vectors::F32(&wide[..14])),
            segment(50, Vectors::F32(&wide[..2])),
            segment(51, Vectors::F16(&half[..10])),
            segment(u32::MAX, Vectors::F16(&half[..2])),
        ];
        let collection = Collection::new(2, segments)?;
        let ordinals: Vec<u32> = (3..20).chain([50]).chain(51..56).chain([u32::MAX]).collect();
        for most in [1, 2, 5, 7, 100] {
            for rows in [0..24, 0..0, 5..6, 9..11, 3..19, 17..24] {
                let slabs = slabs(&collection, rows.clone(), most);
                let mut found = Vec::new();
                for slab in &slabs {
                    assert!((1..=most).contains(&slab.rows));
                    assert_eq!(slab.pieces.iter().map(|piece| piece.rows.len()).sum::<usize>(), slab.rows);
                    let mut before = 0;
                    for run in &slab.runs {
                        assert_eq!(run.row, before);
                        before += run.rows;
                        found.extend((0..run.rows as u32).map(|row| run.ordinal + row));
                    }
                    assert_eq!(before, slab.rows);
                }
                assert_eq!(found, ordinals[rows]);
            }
        }
        let whole = slabs(&collection, 0..24, 100);
        assert_eq!(whole.iter().map(|slab| slab.runs.len()).collect::<Vec<_>>(), [2, 2]);
        Ok(())
    }
}
