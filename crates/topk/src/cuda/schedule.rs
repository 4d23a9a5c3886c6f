//! The order in which the rows of a slab are scanned.

use std::collections::VecDeque;

use super::abi::SCAN_SAMPLE;
use super::layout::Run;

/// Tiles of a run, in a sequence that one launch scans a part of: `count` from number `first` on of every
/// `step`-th tile; without one in [`SCAN_SAMPLE`] of these where it `skips` what was scanned before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stripe {
    /// The number of the run in its slab.
    pub(crate) run: usize,
    /// Rows of a tile.
    pub(crate) tile_rows: usize,
    pub(crate) step: usize,
    pub(crate) skips: bool,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Stripe {
    /// The most rows that its tiles hold; the last tile of a run may hold fewer.
    pub(crate) fn rows(&self) -> usize {
        self.count * self.tile_rows
    }
}

/// The most tiles of the first chunk, unless a slab has more runs: every row of it is a candidate.
const FIRST_TILES: usize = 8;

/// The tiles of a slab in chunks. All chunks up to one are a sample of all chunks up to the next: one tile in
/// [`SCAN_SAMPLE`], from all over the slab, whatever the order of the rows.
pub(crate) fn chunks(runs: &[Run], tile_rows: usize) -> Vec<Vec<Stripe>> {
    const SAMPLE: usize = SCAN_SAMPLE as usize;
    let tiles = |run: &Run| run.rows.div_ceil(tile_rows);
    let all: usize = runs.iter().map(tiles).sum();
    let chunk = |step: usize, skips: bool| -> Vec<Stripe> {
        let stripe = |(run, of): (usize, &Run)| {
            let every = tiles(of).div_ceil(step);
            let count = if skips { every - every.div_ceil(SAMPLE) } else { every };
            Stripe { run, tile_rows, step, skips, first: 0, count }
        };
        runs.iter().enumerate().map(stripe).filter(|stripe| stripe.count > 0).collect()
    };
    let mut step = 1;
    while all.div_ceil(step) > FIRST_TILES {
        step *= SAMPLE;
    }
    let mut chunks = vec![chunk(step, false)];
    while step > 1 {
        step /= SAMPLE;
        chunks.push(chunk(step, true));
    }
    chunks
}

/// The stripes that are still to be scanned, in the order of [`chunks`]. (Else rows of ascending score would
/// all be nominated.)
#[derive(Debug)]
pub(crate) struct Schedule {
    tile_rows: usize,
    stripes: VecDeque<Stripe>,
}

impl Schedule {
    /// All rows of the runs of a slab.
    pub(crate) fn new(runs: &[Run], tile_rows: usize) -> Self {
        Self { tile_rows, stripes: chunks(runs, tile_rows).into_iter().flatten().collect() }
    }

    /// The next stripes, of at most `limit` rows but at least one tile; `None` after the last.
    pub(crate) fn take(&mut self, limit: usize) -> Option<Vec<Stripe>> {
        let mut left = (limit / self.tile_rows).max(1);
        let mut taken = Vec::new();
        while left > 0 {
            let Some(stripe) = self.stripes.front_mut() else { break };
            let count = stripe.count.min(left);
            left -= count;
            taken.push(Stripe { count, ..*stripe });
            stripe.first += count;
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
                    if (next.run, next.step, next.skips) == (stripe.run, stripe.step, stripe.skips)
                        && next.first == stripe.first + stripe.count =>
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
    use super::{Run, Schedule, Stripe, chunks};

    /// The tiles of a stripe, with the number of its run.
    fn tiles(stripe: &Stripe) -> impl Iterator<Item = (usize, usize)> {
        let Stripe { run, step, skips, first, count, .. } = *stripe;
        let is_new = move |number: &usize| !skips || !number.is_multiple_of(32);
        (0..).filter(is_new).skip(first).take(count).map(move |number| (run, number * step))
    }

    #[test]
    fn every_tile_has_its_turn_and_a_sample_comes_first() {
        let of_runs: [&[usize]; 7] = [&[], &[1], &[127], &[129], &[4096, 5, 3000], &[131_072], &[1_000_003]];
        for (rows, tile_rows) in of_runs.into_iter().flat_map(|rows| [(rows, 128), (rows, 192)]) {
            let runs: Vec<Run> = rows.iter().map(|&rows| Run { row: 0, rows, ordinal: 0 }).collect();
            let tiles_of =
                |(run, rows): (usize, &usize)| (0..rows.div_ceil(tile_rows)).map(move |tile| (run, tile));
            let all: Vec<_> = rows.iter().enumerate().flat_map(tiles_of).collect();
            for limit in [1_usize, 128, 5000, 1 << 20] {
                let mut schedule = Schedule::new(&runs, tile_rows);
                let mut seen = Vec::new();
                let mut turn = 0;
                while let Some(taken) = schedule.take(limit) {
                    assert!(taken.iter().map(Stripe::rows).sum::<usize>() <= limit.max(tile_rows));
                    turn += 1;
                    if turn % 3 == 1 {
                        schedule.give_back(taken);
                    } else {
                        seen.extend(taken.iter().flat_map(tiles));
                    }
                }
                seen.sort_unstable();
                assert_eq!(seen, all, "{rows:?} rows, {limit} at a time");
            }
        }
    }

    #[test]
    fn chunks_are_samples_of_the_next() {
        let whole = |rows| [Run { row: 0, rows, ordinal: 0 }];
        let sizes = |runs: &[Run]| -> Vec<usize> {
            chunks(runs, 128).iter().map(|chunk| chunk.iter().map(|stripe| stripe.count).sum()).collect()
        };
        assert_eq!(sizes(&whole(8_841_823)), [3, 65, 2091, 66_918]);
        assert_eq!(sizes(&whole(1024)), [8]);
        assert_eq!(sizes(&whole(1025)), [1, 8]);
        assert_eq!(sizes(&[]), [0]);
        assert!(
            chunks(&whole(8_841_823), 128).iter().all(|chunk| chunk.len() == 1),
            "a launch for each chunk"
        );
        let mut seen: Vec<(usize, usize)> = Vec::new();
        for chunk in chunks(&whole(1 << 20), 128) {
            seen.extend(chunk.iter().flat_map(tiles));
            seen.sort_unstable();
            let all_over = (0..seen.len()).map(|i| (0, i * (1 << 13) / seen.len()));
            assert!(all_over.eq(seen.iter().copied()), "{} tiles", seen.len());
        }
    }
}
