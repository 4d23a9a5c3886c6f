//! The passes that nominate, and which of them scans a block.

use std::time::Duration;

use super::{codes, floats};
use crate::options::{MAX_INT8_DIM, Scan};

/// A way to nominate vectors, with the queries in the form that it multiplies.
pub(crate) enum Pass {
    F32(floats::Queries),
    F16(floats::Queries),
    Int8(codes::Queries),
}

/// The passes that a scan may use.
pub(crate) struct Passes {
    usual: Pass,
    /// Tried against the usual pass.
    rival: Option<Pass>,
}

impl Passes {
    /// The passes of `scan` for `queries` `[count, dim]`.
    pub(crate) fn new(scan: Scan, queries: &[f32], dim: usize) -> Self {
        let f32 = || Pass::F32(floats::Queries::new(queries, dim));
        let int8 = || Pass::Int8(codes::Queries::new(queries, dim));
        let (usual, rival) = match scan {
            Scan::Auto => (f32(), (dim <= MAX_INT8_DIM).then(int8)),
            Scan::F32 => (f32(), None),
            Scan::F16 => (Pass::F16(floats::Queries::halves(queries, dim)), None),
            Scan::Int8 => (int8(), None),
        };
        Self { usual, rival }
    }
}

/// Consecutive blocks that each pass is tried on. The first of them is not counted: a block is prefetched
/// while the previous one is scanned, so that times compare only after a block of the same pass.
const TRIALS: usize = 4;

/// One thread's choice between the passes. Clocks may decide, since every pass is right.
pub(crate) struct Choice<'a> {
    passes: &'a Passes,
    /// Blocks so far, up to the end of the trials.
    blocks: usize,
    /// The least time of a row in seconds: of the usual pass and of its rival.
    least: [f64; 2],
}

impl<'a> Choice<'a> {
    pub(crate) fn new(passes: &'a Passes) -> Self {
        Self { passes, blocks: 0, least: [f64::INFINITY; 2] }
    }

    /// The pass of the next block.
    pub(crate) fn pass(&self) -> &'a Pass {
        let is_tried = (TRIALS..2 * TRIALS).contains(&self.blocks);
        let is_quicker = self.blocks == 2 * TRIALS && self.least[1] < self.least[0];
        match &self.passes.rival {
            Some(rival) if is_tried || is_quicker => rival,
            _ => &self.passes.usual,
        }
    }

    /// Notes that the pass took `time` for a block of `rows` rows.
    pub(crate) fn took(&mut self, time: Duration, rows: usize) {
        if self.blocks == 2 * TRIALS || rows == 0 {
            return;
        }
        if !self.blocks.is_multiple_of(TRIALS) {
            let least = &mut self.least[self.blocks / TRIALS];
            *least = least.min(time.as_secs_f64() / rows as f64);
        }
        self.blocks += 1;
    }
}
