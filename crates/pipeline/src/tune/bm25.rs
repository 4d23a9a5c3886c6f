//! BM25's k1 and b.
//!
//! Every point of the grid is searched with. To score all documents of a query for many points together is
//! faster on small collections, but its time and memory grow with all postings of the query, which searches
//! mostly skip (benches/results/hybrid.md).

use std::collections::HashMap;

use toller_analysis::Analyzer;
use toller_ir::{DocOrd, Hit, Query};
use toller_sparse::{Bm25Variant, Lengths, Ranker, Scoring, Search, SparseError, SparseIndex, SparseQuery};

use super::Tuned;
use super::error::TuneError;
use super::grid::Grid;
use super::judging::{Judged, Judging};
use crate::ordinals::ordinals_among;

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
/// search with these parameters finds. `on_progress` is given the number of judged queries that are done.
///
/// # Errors
/// An index made with another analyzer, of impacts, or damaged; parameters out of range; judgments of none
/// of the queries, or of no document of the index.
pub fn tune_bm25(
    index: &SparseIndex,
    analyzer: &Analyzer,
    queries: &[Query],
    grid: &Bm25Grid<'_>,
    judging: &Judging<'_>,
    on_progress: &(dyn Fn(u64) + Sync),
) -> Result<Tuned, TuneError> {
    index.check_analyzer(analyzer)?;
    judging.check_queries(queries.iter().map(|query| query.id.as_str()))?;
    let scorings = grid.scorings();
    scorings.iter().try_for_each(|scoring| index.check_scoring(scoring))?;
    let named = judging.qrels.iter().flat_map(|(_, judgments)| judgments.keys()).map(String::as_str);
    let ids = (0..index.doc_count() as u32).map(|doc| index.doc_id(DocOrd(doc)));
    let judged = ordinals_among(ids, &named.collect());
    if judged.is_empty() {
        let example = judging.qrels.iter().find_map(|(_, judgments)| judgments.keys().next());
        return Err(TuneError::NoJudgedDocument(example.cloned().unwrap_or_default()));
    }
    let texts: HashMap<&str, &str> =
        queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
    let start = || Search::new(index, Scoring::default());
    judging.tune(scorings.len(), on_progress, start, |search, query| {
        let Some(text) = texts.get(query.id) else { return Ok(vec![query.of_nothing(); scorings.len()]) };
        let terms = SparseQuery::of_text(analyzer, text);
        let grades = Grades::new(query, &judged);
        let value = |scoring: &Scoring| {
            search.set_scoring(*scoring);
            let best = best(search, index, &terms, judging)?;
            Ok(query.value(best.iter().map(|doc| grades.of(*doc))))
        };
        scorings.iter().map(value).collect()
    })
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

/// The documents that the measure looks at, in trec_eval's order, of the best `k` of a search.
fn best(
    search: &mut Search<'_>,
    index: &SparseIndex,
    query: &SparseQuery,
    judging: &Judging<'_>,
) -> Result<Vec<DocOrd>, SparseError> {
    let (k, depth) = (judging.k, judging.depth());
    let score = |hits: &[Hit], rank: usize| hits.get(rank.checked_sub(1)?).map(|hit| hit.score.to_bits());
    // One hit more than the measure looks at shows whether the last one has a rival.
    let mut hits = search.run(query, k.min(depth.saturating_add(1)), &|_| true)?.hits;
    if hits.len() > depth && score(&hits, depth) == score(&hits, depth + 1) {
        // Documents with the score of the last may come before it in trec_eval's order, if they are among
        // the k.
        hits = search.run(query, k, &|_| true)?.hits;
    }
    hits.sort_unstable_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| index.doc_id(b.doc).cmp(&index.doc_id(a.doc)))
    });
    hits.truncate(depth);
    Ok(hits.iter().map(|hit| hit.doc).collect())
}
