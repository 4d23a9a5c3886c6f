//! A search by thresholds that are proved, for queries whose guesses are wrong, and for slabs that are copied
//! again for every search.
//!
//! ```text
//! for each chunk of a slab's rows, ever larger:
//!     scan: append to candidates[q] what may reach threshold[q]
//!     raise the thresholds by what the buffers hold
//!     if a buffer was too small:
//!         take the chunk back, scan it again in parts
//!         if earlier candidates take too much of a buffer: score them and keep k                 (make_room)
//! ```
//!
//! A chunk is as large as the buffers are expected to allow, so that there are few chunks. It shrinks to the
//! number of rows that the fullest buffer has room for, at least one tile: a buffer is never smaller. So
//! a search ends, whatever the rows.

use toller_gpu::DeviceError;

use super::abi::Candidate;
use super::group::{Also, Group};
use super::layout::Slab;
use super::rows::Rows;
use super::schedule::{Schedule, Stripe};

impl Group<'_> {
    /// Searches a slab whose rows, with their norms, are on the device. The group has no guesses.
    pub(crate) fn search_safely(&mut self, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        let prepared = self.prepare(slab, rows)?;
        let capacity = self.sizes.capacity;
        let mut held = self.most_held()?;
        let mut schedule = Schedule::new(&slab.runs, self.variant.tile_rows());
        let mut limit = self.sizes.fitting_rows(self.seen, held);
        while let Some(chunk) = schedule.take(limit) {
            self.scan(prepared, slab, rows, &chunk)?;
            let fits = self.most_held()? <= capacity;
            self.select(prepared, Also { undo: !fits, ..Also::default() })?;
            held = self.most_held()?;
            let scanned: usize = chunk.iter().map(Stripe::rows).sum();
            if fits {
                self.seen += scanned;
                let most = limit.saturating_mul(self.sizes.growth()).max(capacity - held);
                limit = self.sizes.fitting_rows(self.seen, held).min(most);
                continue;
            }
            schedule.give_back(chunk);
            if capacity - held < capacity / 2 {
                held = self.make_room(prepared, slab, rows)?;
            }
            limit = self.sizes.fewer_rows(scanned, held);
        }
        self.score(prepared, slab, rows)?;
        self.select(prepared, Also::default())
    }

    /// The most candidates of a query.
    fn most_held(&mut self) -> Result<usize, DeviceError> {
        let queries = self.sizes.queries;
        let (pinned, _) = self.workspace.pinned(queries, size_of::<u32>())?;
        let counts = pinned.read(&self.counts, 0, queries)?;
        Ok(counts.iter().max().map_or(0, |&count| count as usize))
    }

    /// For scores that are equal, or closer together than their bounds are wide: scores the candidates, and
    /// if that does not leave enough room, keeps the k best of each query. Returns the most candidates left.
    fn make_room(&mut self, prepared: usize, slab: &Slab, rows: &Rows) -> Result<usize, DeviceError> {
        let capacity = self.sizes.capacity;
        self.score(prepared, slab, rows)?;
        self.select(prepared, Also::default())?;
        let held = self.most_held()?;
        if capacity - held >= capacity / 2 {
            return Ok(held);
        }
        let mut counts = Vec::with_capacity(self.sizes.queries);
        for (query, (ranking, _)) in self.best()?.into_iter().enumerate() {
            let hits = ranking.map(|ranking| ranking.hits).unwrap_or_default();
            let exact =
                hits.iter().map(|hit| Candidate { ordinal: hit.doc.0, lower: hit.score, upper: hit.score });
            self.candidates.write(query * capacity, &exact.collect::<Vec<_>>())?;
            counts.push(hits.len() as u32);
        }
        self.counts.write(0, &counts)?;
        self.bounded.write(0, &counts)?;
        self.most_held()
    }
}
