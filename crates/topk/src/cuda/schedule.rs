//! The order in which the rows of a slab are scanned.

use std::collections::VecDeque;

use super::abi::SCAN_ROWS;
use super::layout::Run;

/// Tiles of a run: `first`, `first + step` and so on, `count` of them. One launch scans them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stripe {
    /// The number of the run in its slab.
    pub(crate) run: usize,
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) count: usize,
}

impl Stripe {
    /// The most rows that its tiles hold; the last tile of a run may hold fewer.
    pub(crate) fn rows(&self) -> usize {
        self.count * SCAN_ROWS as usize
    }
}

/// About how many tiles are scanned before all others: a sample of the whole slab, which sets the thresholds
/// whatever the order of the rows. (Else rows of ascending score would all be nominated.)
const SAMPLED_TILES: usize = 64;

/// The stripes that are still to be scanned, in order: a sample, then ever denser stripes between those
/// before.
#[derive(Debug)]
pub(crate) struct Schedule {
    stripes: VecDeque<Stripe>,
}

impl Schedule {
    /// All rows of the runs of a slab.
    pub(crate) fn new(runs: &[Run]) -> Self {
        let tiles = |run: &Run| run.rows.div_ceil(SCAN_ROWS as usize);
        let all: usize = runs.iter().map(tiles).sum();
        let mut stripes = VecDeque::new();
        let mut add = |first: usize, step: usize| {
            for (number, run) in runs.iter().enumerate() {
                let count = tiles(run).saturating_sub(first).div_ceil(step);
                if count > 0 {
                    stripes.push_back(Stripe { run: number, first, step, count });
                }
            }
        };
        let mut step = (all / SAMPLED_TILES).max(1).next_power_of_two();
        add(0, step);
        while step > 1 {
            add(step / 2, step);
            step /= 2;
        }
        Self { stripes }
    }

    /// The next stripes, of at most `limit` rows but at least one tile; `None` after the last.
    pub(crate) fn take(&mut self, limit: usize) -> Option<Vec<Stripe>> {
        let mut left = (limit / SCAN_ROWS as usize).max(1);
        let mut taken = Vec::new();
        while left > 0 {
            let Some(stripe) = self.stripes.front_mut() else { break };
            let count = stripe.count.min(left);
            left -= count;
            taken.push(Stripe { count, ..*stripe });
            stripe.first += count * stripe.step;
            stripe.count -= count;
            if stripe.count == 0 {
                self.stripes.pop_front();
            }
        }
        (!taken.is_empty()).then_some(taken)
    }

    /// Puts the stripes back that were taken last.
    pub(crate) fn give_back(&mut self, taken: Vec<Stripe>) {
        for stripe in taken.into_iter().rev() {
            match self.stripes.front_mut() {
                Some(next)
                    if (next.run, next.step) == (stripe.run, stripe.step)
                        && next.first == stripe.first + stripe.count * stripe.step =>
                {
                    next.first = stripe.first;
                    next.count += stripe.count;
                }
                _ => self.stripes.push_front(stripe),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, Schedule, Stripe};

    /// The tiles of a stripe, with the number of its run.
    fn tiles(stripe: &Stripe) -> impl Iterator<Item = (usize, usize)> {
        let Stripe { run, first, step, count } = *stripe;
        (0..count).map(move |i| (run, first + i * step))
    }

    #[test]
    fn every_tile_has_its_turn_and_a_sample_comes_first() {
        let of_runs: [&[usize]; 7] = [&[], &[1], &[127], &[129], &[4096, 5, 3000], &[131_072], &[1_000_003]];
        for rows in of_runs {
            let runs: Vec<Run> = rows.iter().map(|&rows| Run { row: 0, rows, ordinal: 0 }).collect();
            let tiles_of =
                |(run, rows): (usize, &usize)| (0..rows.div_ceil(128)).map(move |tile| (run, tile));
            let all: Vec<_> = rows.iter().enumerate().flat_map(tiles_of).collect();
            for limit in [1_usize, 128, 5000, 1 << 20] {
                let mut schedule = Schedule::new(&runs);
                let mut seen = Vec::new();
                let mut turn = 0;
                while let Some(taken) = schedule.take(limit) {
                    assert!(taken.iter().map(Stripe::rows).sum::<usize>() <= limit.max(128));
                    turn += 1;
                    if turn % 3 == 1 {
                        schedule.give_back(taken);
                    } else {
                        seen.extend(taken.iter().flat_map(tiles));
                    }
                }
                if all.len() > 1000 {
                    let sample = &seen[..64];
                    let is_in = |part: usize| sample.iter().any(|&(_, tile)| tile * 16 / all.len() == part);
                    assert!((0..16).all(is_in), "{sample:?}");
                }
                seen.sort_unstable();
                assert_eq!(seen, all, "{rows:?} rows, {limit} at a time");
            }
        }
    }

    #[test]
    fn a_large_slab_takes_few_launches() {
        let mut schedule = Schedule::new(&[Run { row: 0, rows: 8_841_823, ordinal: 0 }]);
        let (mut launches, mut limit) = (0, 16_384);
        while let Some(taken) = schedule.take(limit) {
            launches += taken.len();
            limit *= 4;
        }
        assert!(launches < 24, "{launches}");
    }
}
