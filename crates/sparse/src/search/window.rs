//! One query after another, window by window.

use toller_ir::{DocOrd, Ranking};

use super::WINDOW;
use super::collect::collect;
use super::cursor::{Cursor, Damaged};
use super::noted::Noted;
use super::parts::{Norms, Parts, Sums, Table, Window};
use super::top::Top;
use crate::score::PreparedTerms;
use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

/// A window in which fewer postings than this are expected notes the documents instead of passing over all sums.
const FEW_POSTINGS: u64 = 256;

/// A document that is looked up costs as much as so many postings that are added. (Their blocks are unpacked either way.)
const LOOKUP_COST: usize = 32;

/// Searches an index for queries, one at a time; what it allocates is used again. See [`SparseIndex::search_each`].
pub struct Search<'a> {
    index: &'a SparseIndex,
    scoring: Scoring,
    norms: Option<Norms>,
    sums: Box<Sums>,
    /// Documents of the window that have a sum, or may be offered.
    candidates: Vec<u16>,
    /// Whether other documents may have a sum too.
    litter: bool,
    top: Top,
    spare_tables: Vec<Box<Table>>,
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
            sums: Box::new([0; WINDOW]),
            candidates: Vec::new(),
            litter: false,
            top: Top::new(),
            spare_tables: Vec::new(),
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
            let parts = Parts::new(*scorer, statistics, &self.scoring, &norms, codes, &mut self.spare_tables);
            let cursor = Cursor::new(term.record(), parts, &norms, self.index.doc_count() as u32);
            cursors.push(cursor.map_err(|Damaged| self.index.damaged_postings())?);
        }
        self.top.begin(k);
        let searched = self.windows(&mut cursors, &norms, &prepared, admits);
        if searched.is_err() {
            self.sums.fill(0);
        }
        cursors.into_iter().for_each(|cursor| cursor.parts.recycle(&mut self.spare_tables));
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
            for place in 0..self.candidates.len() {
                let local = self.candidates[place];
                let sum = std::mem::take(&mut self.sums[usize::from(local)]);
                let doc = first + u32::from(local);
                if sum >= least && admits(DocOrd(doc)) {
                    self.top.offer(doc, prepared.score(sum));
                    if self.top.is_crowded() {
                        least = self.tightened(prepared, least);
                    }
                }
            }
            if std::mem::take(&mut self.litter) {
                self.sums.fill(0);
            }
            least = self.tightened(prepared, least);
            match first.checked_add(WINDOW as u32) {
                Some(after) => from = after,
                None => return Ok(()),
            }
        }
    }

    /// The sum that only better documents than the k best reach, which was `least` before.
    fn tightened(&mut self, prepared: &PreparedTerms, least: u32) -> u32 {
        self.top.tighten().map_or(least, |score| prepared.least_sum(score).max(1))
    }

    /// Sums up the window's documents. Those that may reach `least` are then the candidates; all others have no sum, unless there
    /// is litter.
    fn window(
        &mut self,
        window: &Window<'_>,
        cursors: &mut [Cursor<'_>],
        order: &mut Vec<Bounded>,
        least: u32,
    ) -> Result<(), Damaged> {
        let Self { index, sums, candidates, litter, .. } = self;
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
        let few = essential.iter().map(|term| expected(&cursors[term.cursor])).sum::<u64>() < FEW_POSTINGS;
        let mut noted = Noted::new();
        for term in essential {
            // What a block's bound must reach, given the most that the other terms can add.
            let block_least = if prunes { least.saturating_sub(total - term.bound) } else { 0 };
            let cursor = &mut cursors[term.cursor];
            if few {
                cursor.add_noting(window, block_least, sums, &mut noted)?;
            } else {
                cursor.add(window, block_least, sums)?;
            }
        }
        // At least 1: documents without a sum are no candidates.
        let essential_least = least - others_bound.min(least - 1);
        if few {
            for local in noted.iter() {
                let sum = &mut sums[usize::from(local)];
                if *sum >= essential_least {
                    candidates.push(local);
                } else {
                    *sum = 0;
                }
            }
        } else {
            collect(sums, essential_least, candidates);
        }
        for term in others.iter().rev() {
            candidates.retain(|&local| {
                let sum = &mut sums[usize::from(local)];
                let stays = *sum + others_bound >= least;
                if !stays {
                    *sum = 0;
                }
                stays
            });
            others_bound -= term.bound;
            let cursor = &mut cursors[term.cursor];
            if candidates.is_empty() {
                break;
            }
            if (candidates.len() * LOOKUP_COST) as u64 > expected(cursor) + FEW_POSTINGS {
                cursor.add(window, 0, sums)?;
                *litter = true;
            } else {
                for &local in candidates.iter() {
                    cursor.look_up(window, window.first + u32::from(local), sums)?;
                }
            }
        }
        Ok(())
    }
}
