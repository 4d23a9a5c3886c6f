//! The order in which the rows of a slab are scanned.

use std::collections::VecDeque;
use std::ops::Range;

use super::abi::SCAN_ROWS;

/// The most blocks that a slab is divided into.
const BLOCKS: usize = 1024;

/// One block in 32 is scanned before the others: a sample of the whole slab, which sets the thresholds before
/// most rows are read, whatever the order of the rows. (Else rows of ascending score would all be nominated.)
const SAMPLE: usize = 32;

/// The rows that are still to be scanned, in order.
#[derive(Debug)]
pub(crate) struct Schedule {
    ranges: VecDeque<Range<usize>>,
}

impl Schedule {
    /// All rows of a slab.
    pub(crate) fn new(rows: usize) -> Self {
        let block = rows.div_ceil(BLOCKS).max(1).next_multiple_of(SCAN_ROWS as usize);
        let starts = || (0..rows).step_by(block * SAMPLE);
        let sampled = starts().map(|start| start..(start + block).min(rows));
        let others = starts().map(|start| (start + block).min(rows)..(start + block * SAMPLE).min(rows));
        Self { ranges: sampled.chain(others).filter(|range| !range.is_empty()).collect() }
    }

    /// The next rows, at most `limit` and at least one; `None` after the last.
    pub(crate) fn take(&mut self, limit: usize) -> Option<Vec<Range<usize>>> {
        let mut left = limit.max(1);
        let mut taken = Vec::new();
        while left > 0 {
            let Some(range) = self.ranges.front_mut() else { break };
            let end = range.end.min(range.start + left);
            left -= end - range.start;
            taken.push(range.start..end);
            range.start = end;
            if range.start == range.end {
                self.ranges.pop_front();
            }
        }
        (!taken.is_empty()).then_some(taken)
    }

    /// Puts the rows back that were taken last.
    pub(crate) fn give_back(&mut self, taken: Vec<Range<usize>>) {
        for range in taken.into_iter().rev() {
            match self.ranges.front_mut() {
                Some(next) if next.start == range.end => next.start = range.start,
                _ => self.ranges.push_front(range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn every_row_has_its_turn_and_a_sample_comes_first() {
        for rows in [0, 1, 127, 128, 129, 4096, 4097, 131_072, 1_000_003] {
            for limit in [1_usize, 100, 5000, 1 << 20] {
                if rows / limit > 10_000 {
                    continue;
                }
                let mut schedule = Schedule::new(rows);
                let mut seen = Vec::new();
                let mut turn = 0;
                while let Some(taken) = schedule.take(limit) {
                    assert!(taken.iter().map(ExactSizeIterator::len).sum::<usize>() <= limit);
                    turn += 1;
                    if turn % 3 == 1 {
                        schedule.give_back(taken);
                    } else {
                        seen.extend(taken.into_iter().flatten());
                    }
                }
                if rows > 200_000 {
                    let sample = &seen[..rows / 33];
                    assert!(
                        sample.iter().any(|&row| row < rows / 16)
                            && sample.iter().any(|&row| row > rows / 16 * 15)
                    );
                }
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..rows), "{rows} rows, {limit} at a time");
            }
        }
    }
}
