//! Searching for one query after another, window by window.

use toller_ir::{DocOrd, Ranking};
use toller_simd::Token;

use super::WINDOW;
use super::candidates::Candidates;
use super::cursor::{Cursor, Damaged};
use super::score_parts::{Norms, ScoreParts, Window};
use super::scratch::Scratch;
use super::sums::Sums;
use super::top_k::TopK;
use crate::score::PreparedTerms;
use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

/// Looking up a document costs as much as adding this many postings. (Their blocks are unpacked either way.)
const LOOKUP_COST: usize = 16;

/// Searches an index for one query at a time and keeps its buffers. See [`SparseIndex::search_each`].
pub struct Search<'a> {
    index: &'a SparseIndex,
    scoring: Scoring,
    token: Token,
    norms: Option<Norms>,
    sums: Box<Sums>,
    /// Documents of the window that may be offered.
    candidates: Candidates,
    top: TopK,
    scratch: Scratch,
}

/// A term and its bound in the window.
#[derive(Clone, Copy)]
struct Bounded {
    cursor: usize,
    bound: u32,
}

impl<'a> Search<'a> {
    /// A search of `index`.
    #[must_use]
    pub fn new(index: &'a SparseIndex, scoring: Scoring) -> Self {
        let token = Token::active();
        Self {
            index,
            scoring,
            token,
            norms: None,
            sums: Sums::new(),
            candidates: Candidates::new(token),
            top: TopK::new(),
            scratch: Scratch::default(),
        }
    }

    /// Scores the documents of the next queries in another way.
    pub fn set_scoring(&mut self, scoring: Scoring) {
        self.scoring = scoring;
        self.norms = None;
    }

    /// The `k` best documents of `query` that `admits` accepts; see [`SparseIndex::search`].
    ///
    /// # Errors
    /// As [`SparseIndex::search`].
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
            let unused = &mut self.scratch.tables;
            let parts = ScoreParts::new(*scorer, statistics, &self.scoring, &norms, codes, unused);
            let (docs, block) = (self.index.doc_count() as u32, self.scratch.block());
            let cursor = Cursor::new(term.record(), parts, &norms, docs, block, self.token);
            cursors.push(cursor.map_err(|Damaged| self.index.damaged_postings())?);
        }
        self.top.begin(k);
        let searched = self.windows(&mut cursors, &norms, &prepared, admits);
        if searched.is_err() {
            self.sums.clear();
        }
        cursors.into_iter().for_each(|cursor| cursor.recycle(&mut self.scratch));
        self.norms = Some(norms);
        searched.map_err(|Damaged| self.index.damaged_postings())?;
        let mut ranking = self.top.finish();
        if ranking.hits.len() < k {
            super::zero_scores::append(&mut ranking, &terms, &prepared, self.index, k, admits)?;
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
        // Documents whose sum is zero come at the end.
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
                let sum = self.sums.of(local as usize);
                let doc = first + local;
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

    /// Sums up the parts of the window's documents. The candidates are then those that may reach `least`.
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
        // Nothing is pruned before there are k hits.
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
            // The least bound of a block that counts, given the most that the other terms can add.
            let block_least = if prunes { least.saturating_sub(total - term.bound) } else { 0 };
            cursors[term.cursor].add(window, block_least, sums)?;
        }
        // At least 1: documents without a sum are not candidates.
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
                    cursor.look_up(window, window.first + local, sums)?;
                }
            }
        }
        Ok(())
    }
}

/// The least sum that a document needs now, which was `least` before.
fn tightened(top: &mut TopK, prepared: &PreparedTerms, least: u32) -> u32 {
    top.tighten().map_or(least, |score| prepared.least_sum(score).max(1))
}
