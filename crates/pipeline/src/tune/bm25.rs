//! BM25's k1 and b.
//!
//! ```text
//! for each query:
//!     for each of its terms: for each of its postings: note the document, and which (tf, length) it has
//!     for each k1 and b:
//!         for each term: for each (tf, length) that it occurs with: compute its part of a score, once
//!         add up the parts of each document; keep the best k; measure
//! ```
//!
//! The postings are read once, whatever the grid. Parts and sums are those of a search
//! (`SparseIndex::prepare`), so that every point has the hits, to the bit, of a search with its parameters.

use std::collections::HashMap;

use indexmap::IndexSet;
use toller_analysis::Analyzer;
use toller_ir::{DocOrd, Query};
use toller_sparse::{Bm25Variant, Lengths, Ranker, Scoring, SparseError, SparseIndex, SparseQuery, Term};

use super::Tuned;
use super::error::TuneError;
use super::grid::Grid;
use super::judging::{Judged, Judging};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Bm25Grid<'a> {
    /// The values of k1.
    pub k1: &'a Grid,
    /// The values of b, at most 1.
    pub b: &'a Grid,
    /// Which form of BM25.
    pub variant: Bm25Variant,
    /// Which lengths it sees.
    pub lengths: Lengths,
}

impl Bm25Grid<'_> {
    /// The points, those of the first k1 first.
    #[must_use]
    pub fn points(&self) -> Vec<(f64, f64)> {
        let of_k1 = |k1: &f64| self.b.values().iter().map(|b| (*k1, *b)).collect::<Vec<_>>();
        self.k1.values().iter().flat_map(of_k1).collect()
    }

    fn scorings(&self) -> Vec<Scoring> {
        let scoring = |(k1, b): (f64, f64)| {
            let ranker = Ranker::Bm25 { k1: k1 as f32, b: b as f32, variant: self.variant };
            Scoring { ranker, lengths: self.lengths }
        };
        self.points().into_iter().map(scoring).collect()
    }
}

/// The measure of BM25 with each k1 and b, in the order of [`Bm25Grid::points`]: for each the value of what a
/// search with these parameters finds.
///
/// Memory grows with the postings of one query for each thread.
///
/// # Errors
/// An index made with another analyzer, or damaged; parameters out of range; judgments of none of the
/// queries, or of no document of the index.
pub fn tune_bm25(
    index: &SparseIndex,
    analyzer: &Analyzer,
    queries: &[Query],
    grid: &Bm25Grid<'_>,
    judging: &Judging<'_>,
) -> Result<Tuned, TuneError> {
    index.check_analyzer(analyzer)?;
    judging.check_queries(queries.iter().map(|query| query.id.as_str()))?;
    let scorings = grid.scorings();
    scorings.iter().try_for_each(|scoring| scoring.ranker.check())?;
    let judged = judged_ordinals(index, judging);
    if judged.is_empty() {
        let example = judging.qrels.iter().find_map(|(_, judgments)| judgments.keys().next());
        return Err(TuneError::NoJudgedDocument(example.cloned().unwrap_or_default()));
    }
    let texts: HashMap<&str, &str> =
        queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
    judging.tune(scorings.len(), |query| {
        let Some(text) = texts.get(query.id) else { return Ok(vec![query.of_nothing(); scorings.len()]) };
        let terms = SparseQuery::of_text(analyzer, text);
        let candidates = Candidates::new(index, &terms, grid.lengths)?;
        let grades = Grades::new(query, &judged);
        let mut scratch = Scratch::default();
        let value = |scoring: &Scoring| {
            let best = candidates.best(index, scoring, judging, &mut scratch)?;
            Ok(query.value(best.iter().map(|doc| grades.of(*doc))))
        };
        scorings.iter().map(value).collect()
    })
}

/// The ordinals of all judged documents that the index has.
fn judged_ordinals<'a>(index: &SparseIndex, judging: &Judging<'a>) -> HashMap<&'a str, DocOrd> {
    let named: std::collections::HashSet<&str> =
        judging.qrels.iter().flat_map(|(_, judgments)| judgments.keys()).map(String::as_str).collect();
    let ordinals = (0..index.doc_count() as u32).map(DocOrd);
    ordinals.filter_map(|doc| Some((*named.get(&*index.doc_id(doc))?, doc))).collect()
}

/// The grades of one query's judged documents.
struct Grades(Vec<(DocOrd, i32)>);

impl Grades {
    fn new(query: &Judged<'_>, ordinals: &HashMap<&str, DocOrd>) -> Self {
        let grade = |(id, grade): (&String, &i32)| Some((*ordinals.get(id.as_str())?, *grade));
        let mut grades: Vec<_> = query.judgments.iter().filter_map(grade).collect();
        grades.sort_unstable();
        Self(grades)
    }

    fn of(&self, doc: DocOrd) -> Option<i32> {
        let at = self.0.binary_search_by_key(&doc, |(doc, _)| *doc).ok()?;
        self.0.get(at).map(|(_, grade)| *grade)
    }
}

/// The documents that have a term of a query.
struct Candidates<'a> {
    /// Ascending.
    docs: Vec<u32>,
    /// The query's terms and their weights.
    terms: Vec<(Term<'a>, f32)>,
    postings: Vec<TermPostings>,
}

/// The postings of a term, as indexes.
struct TermPostings {
    /// The frequencies and lengths that occur together.
    pairs: Vec<(u32, u32)>,
    /// Of each posting the document's place among the candidates, and the pair's among the pairs.
    of: Vec<(u32, u32)>,
}

/// What is used again for the next point of the grid.
#[derive(Default)]
struct Scratch {
    sums: Vec<u32>,
    parts: Vec<u32>,
    keys: Vec<u64>,
}

impl<'a> Candidates<'a> {
    fn new(index: &'a SparseIndex, query: &SparseQuery, lengths: Lengths) -> Result<Self, SparseError> {
        let mut candidates = Self { docs: Vec::new(), terms: Vec::new(), postings: Vec::new() };
        for (term, weight) in query.terms() {
            let Some(term) = index.term(term)? else { continue };
            let mut pairs: IndexSet<(u32, u32), ahash::RandomState> = IndexSet::default();
            let mut of = Vec::with_capacity(term.statistics().doc_freq as usize);
            term.for_each_posting(|posting| {
                let length = index.length(DocOrd(posting.doc), lengths);
                let (pair, _) = pairs.insert_full((posting.tf, length));
                of.push((posting.doc, pair as u32));
            })?;
            candidates.terms.push((term, *weight));
            candidates.postings.push(TermPostings { pairs: pairs.into_iter().collect(), of });
        }
        candidates.docs =
            candidates.postings.iter().flat_map(|postings| postings.of.iter().map(|(doc, _)| *doc)).collect();
        candidates.docs.sort_unstable();
        candidates.docs.dedup();
        for postings in &mut candidates.postings {
            // Both ascend.
            let mut place = 0;
            for (doc, _) in &mut postings.of {
                while candidates.docs[place] < *doc {
                    place += 1;
                }
                *doc = place as u32;
            }
        }
        Ok(candidates)
    }

    /// The documents that the measure looks at, in trec_eval's order, of the best `k` of a search.
    fn best(
        &self,
        index: &SparseIndex,
        scoring: &Scoring,
        judging: &Judging<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<DocOrd>, SparseError> {
        let prepared = index.prepare_terms(&self.terms, scoring)?;
        let Scratch { sums, parts, keys } = scratch;
        sums.clear();
        sums.resize(self.docs.len(), 0_u32);
        for (postings, scorer) in self.postings.iter().zip(&prepared.scorers) {
            parts.clear();
            parts.extend(postings.pairs.iter().map(|(tf, length)| scorer.part(*tf, *length)));
            for (doc, pair) in &postings.of {
                sums[*doc as usize] += parts[*pair as usize];
            }
        }
        keys.clear();
        // No score is negative, so the bits of scores have the order of the scores. Of equal scores, the
        // lower ordinal has the larger key.
        let key =
            |(place, sum): (u32, &u32)| u64::from(prepared.score(*sum).to_bits()) << 32 | u64::from(!place);
        keys.extend((0..).zip(sums.iter()).map(key));
        Ok(self.ranked(index, keys, judging))
    }

    /// As [`Candidates::best`], from the keys of all candidates.
    fn ranked(&self, index: &SparseIndex, keys: &mut Vec<u64>, judging: &Judging<'_>) -> Vec<DocOrd> {
        let score = |key: u64| (key >> 32) as u32;
        let (k, depth) = (judging.k, judging.depth());
        if depth < keys.len() {
            // Documents with the score of the last may come before it in trec_eval's order, if they are among
            // the k.
            let (_, last, rest) = keys.select_nth_unstable_by(depth.max(1) - 1, |a, b| b.cmp(a));
            let last = score(*last);
            let mut ties: Vec<u64> = rest.iter().copied().filter(|key| score(*key) == last).collect();
            ties.sort_unstable_by(|a, b| b.cmp(a));
            ties.truncate(k - depth);
            keys.truncate(depth);
            keys.extend(ties);
        }
        let doc = |key: u64| DocOrd(self.docs[!(key as u32) as usize]);
        keys.sort_unstable_by(|a, b| {
            score(*b).cmp(&score(*a)).then_with(|| index.doc_id(doc(*b)).cmp(&index.doc_id(doc(*a))))
        });
        keys.iter().take(depth).map(|key| doc(*key)).collect()
    }
}
