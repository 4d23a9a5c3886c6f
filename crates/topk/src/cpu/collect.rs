//! What becomes of the vectors that a scan finds.

use toller_ir::DocOrd;
use toller_simd::Simd;

/// Takes the vectors that reach a query's threshold, in one thread.
pub(crate) trait Collector {
    /// What is left after the last block.
    type Output;

    /// Begins a block: its rows have the ordinals `chosen`, or if it is empty those from `first` on.
    fn begin(&mut self, first: DocOrd, chosen: &[DocOrd]);

    /// A score: vectors that score less do not matter.
    fn threshold(&self, query: usize) -> f32;

    /// Takes a row whose score is within `bounds`. Returns whether the query's threshold may have risen.
    fn collect<S: Simd>(&mut self, simd: S, row: usize, query: usize, bounds: (f32, f32)) -> bool;

    /// Ends the scan.
    fn finish<S: Simd>(self, simd: S) -> Self::Output;
}

/// The ordinals of a block's rows.
#[derive(Default)]
pub(crate) struct RowOrdinals {
    /// The ordinal of the first row; the others follow, unless `chosen` has them.
    first: u32,
    /// The ordinal of each row, or empty.
    chosen: Vec<DocOrd>,
}

impl RowOrdinals {
    /// Those of a block; see [`Collector::begin`].
    pub(crate) fn begin(&mut self, first: DocOrd, chosen: &[DocOrd]) {
        self.first = first.0;
        self.chosen.clear();
        self.chosen.extend_from_slice(chosen);
    }

    /// The ordinal of a row.
    pub(crate) fn of(&self, row: usize) -> DocOrd {
        // Does not wrap: the ordinals of a collection fit in 32 bits.
        self.chosen.get(row).copied().unwrap_or(DocOrd(self.first + row as u32))
    }
}
