//! One query after another, window by window.

use toller_ir::{DocOrd, Ranking};

use super::WINDOW;
use super::candidates::Candidates;
use super::cursor::{Cursor, Damaged};
use super::parts::{Norms, Parts, Window};
use super::spare::Spare;
use super::sums::Sums;
use super::top::Top;
use crate::score::PreparedTerms;
use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

/// A document that is looked up costs as much as so many postings that are added. (Their blocks are unpacked either way.)
const LOOKUP_COST: usize = 16;

/// Searches an index for queries, one at a time; what it allocates is used again. See [`SparseIndex::search_each`].
pub struct Search<'a> {
    index: &'a SparseIndex,
    scoring: Scoring,
    norms: Option<Norms>,
    sums: Box<Sums>,
    /// Documents of the window that may be offered.
    candidates: Candidates,
    top: Top,
    spare: Spare,
}

/// A term's place in the order of bounds.
#[derive(Clone, Copy)]
struct Bounded {
    cursor: usize,
    bound: u32,
}

impl<'a> Search<'a> {
    /// Scores as `scoring` says, whose parameters have been checked.
    pub(super) fn new(index: &'a SparseIndex, scoring: Scoring) -> Self {
        Self {
            index,
            scoring,
            norms: None,
            sums: Sums::new(),
            candidates: Candidates::new(),
            top: Top::new(),
            spare: Spare::default(),
        }
    }

    /// The `k` best documents of `query` that `admits` says yes to; see [`SparseIndex::search`].
    ///
    /// # Errors
    /// When the index is damaged, which only one that was opened without verification can be.
    pub fn run(
        &mut self,
        query: &SparseQuery,
        k: usize,
        admits: &impl Fn(DocOrd) -> bool,
    ) -> Result<Ranking, SparseError> {
        let (terms, prepared) = self.index.prepare(query, &self.scoring)?;
        let Some(first) = prepared.scorers.first() else { return Ok(Ranking::default()) };
        if k == 0 {
            return Ok(Ranking::default());
        }
        let norms = self.norms.take().unwrap_or_else(|| Norms::of(first));
        let mut cursors = Vec::with_capacity(terms.len());
        for (term, scorer) in terms.iter().zip(&prepared.scorers) {
            let (codes, statistics) = (self.index.codes_used.clone(), term.statistics());
            let parts = Parts::new(*scorer, statistics, &self.scoring, &norms, codes, &mut self.spare.tables);
            let (docs, block) = (self.index.doc_count() as u32, self.spare.block());
            let cursor = Cursor::new(term.record(), parts, &norms, docs, block);
            cursors.push(cursor.map_err(|Damaged| self.index.damaged_postings())?);
        }
        self.top.begin(k);
        let searched = self.windows(&mut cursors, &norms, &prepared, admits);
        if searched.is_err() {
            self.sums.clear();
        }
        cursors.into_iter().for_each(|cursor| cursor.recycle(&mut self.spare));
        self.norms = Some(norms);
        searched.map_err(|Damaged| self.index.damaged_postings())?;
        let mut ranking = self.top.finish();
        if ranking.hits.len() < k {
            super::zeros::append(&mut ranking, &terms, &prepared, self.index, k, admits)?;
        }
        Ok(ranking)
    }

    /// Scores all windows in which a term has postings.
    fn windows(
        &mut self,
        cursors: &mut [Cursor<'_>],
        norms: &Norms,
        prepared: &PreparedTerms,
        admits: &impl Fn(DocOrd) -> bool,
    ) -> Result<(), Damaged> {
        // Documents whose sum is zero are for the end.
        let mut least = 1;
        let mut order = Vec::with_capacity(cursors.len());
        let mut from = 0_u32;
        loop {
            let mut next = u32::MAX;
            for cursor in cursors.iter_mut() {
                cursor.skip_blocks(from)?;
                if !cursor.is_at_end() {
                    next = next.min(cursor.next_is_from().max(from));
                }
            }
            let first = next / WINDOW as u32 * WINDOW as u32;
            let codes = self.index.codes().get(first as usize..).and_then(|codes| codes.first_chunk());
            let Some(codes) = codes else { return Ok(()) };
            let window = Window { index: self.index, lengths: self.scoring.lengths, norms, first, codes };
            self.window(&window, cursors, &mut order, least)?;
            for &local in self.candidates.as_slice() {
                let sum = self.sums.of(usize::from(local));
                let doc = first + u32::from(local);
                if sum >= least && admits(DocOrd(doc)) {
                    self.top.offer(doc, prepared.score(sum));
                    if self.top.is_crowded() {
                        least = tightened(&mut self.top, prepared, least);
                    }
                }
            }
            self.sums.clear();
            least = tightened(&mut self.top, prepared, least);
            match first.checked_add(WINDOW as u32) {
                Some(after) => from = after,
                None => return Ok(()),
            }
        }
    }

    /// Sums up the window's documents. Those that may reach `least` are then the candidates.
    fn window(
        &mut self,
        window: &Window<'_>,
        cursors: &mut [Cursor<'_>],
        order: &mut Vec<Bounded>,
        least: u32,
    ) -> Result<(), Damaged> {
        let Self { index, sums, candidates, .. } = self;
        candidates.clear();
        order.clear();
        // Before there are k hits, everything counts.
        let prunes = least > 1;
        let mut total = 0;
        for (place, cursor) in cursors.iter_mut().enumerate() {
            let bound = if prunes { cursor.window_bound(window) } else { u32::from(!cursor.is_at_end()) };
            if bound > 0 {
                total += bound;
                order.push(Bounded { cursor: place, bound });
            }
        }
        if prunes && total < least {
            return Ok(());
        }
        let mut others = 0;
        let mut others_bound = 0;
        if prunes {
            order.sort_unstable_by_key(|term| term.bound);
            while let Some(term) = order.get(others).filter(|term| others_bound + term.bound < least) {
                others_bound += term.bound;
                others += 1;
            }
        }
        let (others, essential) = order.split_at(others);
        let docs = index.doc_count() as u64;
        let expected = |cursor: &Cursor<'_>| u64::from(cursor.doc_freq()) * WINDOW as u64 / docs.max(1);
        for term in essential {
            // What a block's bound must reach, given the most that the other terms can add.
            let block_least = if prunes { least.saturating_sub(total - term.bound) } else { 0 };
            cursors[term.cursor].add(window, block_least, sums)?;
        }
        // At least 1: documents without a sum are no candidates.
        let essential_least = least - others_bound.min(least - 1);
        candidates.collect(sums, essential_least);
        for term in others.iter().rev() {
            candidates.keep(sums, least - others_bound);
            others_bound -= term.bound;
            let cursor = &mut cursors[term.cursor];
            if candidates.as_slice().is_empty() {
                break;
            }
            if (candidates.as_slice().len() * LOOKUP_COST) as u64 > expected(cursor) {
                cursor.add(window, 0, sums)?;
            } else {
                for &local in candidates.as_slice() {
                    cursor.look_up(window, window.first + u32::from(local), sums)?;
                }
            }
        }
        Ok(())
    }
}

/// The sum that only better documents than the k best reach, which was `least` before.
fn tightened(top: &mut Top, prepared: &PreparedTerms, least: u32) -> u32 {
    top.tighten().map_or(least, |score| prepared.least_sum(score).max(1))
}
