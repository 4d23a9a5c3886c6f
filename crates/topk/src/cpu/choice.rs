//! Which pass a block is scanned with.

use std::time::Duration;

use crate::Scan;

/// A way to nominate the vectors of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    F32,
    F16,
    Int8,
}

/// The passes that [`Scan::Auto`] chooses from.
const TRIED: [Pass; 2] = [Pass::F32, Pass::Int8];

/// Blocks that each of them is tried on, one after another: a block is asked for while the one before it is scanned, so that
/// its time is that of its pass only behind a block of the same pass. The first is not counted.
const TRIALS: usize = 4;

/// One thread's choice. Any is right, so that clocks may decide.
pub(crate) struct Choice {
    settled: Option<Pass>,
    /// Blocks so far.
    blocks: usize,
    /// For each of [`TRIED`], the least time of a row, in seconds.
    least: [f64; TRIED.len()],
}

impl Choice {
    /// The choice that `scan` leaves; int8 can be chosen only where vectors have codes or can be given some.
    pub(crate) fn new(scan: Scan, int8: bool) -> Self {
        let settled = match scan {
            Scan::Auto if int8 => None,
            Scan::Auto | Scan::F32 => Some(Pass::F32),
            Scan::F16 => Some(Pass::F16),
            Scan::Int8 => Some(Pass::Int8),
        };
        Self { settled, blocks: 0, least: [f64::INFINITY; TRIED.len()] }
    }

    /// The pass of the next block.
    pub(crate) fn pass(&self) -> Pass {
        self.settled.unwrap_or_else(|| TRIED[self.blocks / TRIALS])
    }

    /// The pass took so long for a block of `rows`.
    pub(crate) fn took(&mut self, time: Duration, rows: usize) {
        if self.settled.is_some() || rows == 0 {
            return;
        }
        if !self.blocks.is_multiple_of(TRIALS) {
            let least = &mut self.least[self.blocks / TRIALS];
            *least = least.min(time.as_secs_f64() / rows as f64);
        }
        self.blocks += 1;
        if self.blocks == TRIALS * TRIED.len() {
            let quickest = if self.least[1] < self.least[0] { TRIED[1] } else { TRIED[0] };
            self.settled = Some(quickest);
        }
    }
}
