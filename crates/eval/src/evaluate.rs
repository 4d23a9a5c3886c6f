//! A run against judgments: every measure, per query and over all queries.

use std::fmt;
use std::num::NonZeroUsize;

use indexmap::IndexMap;
use rayon::prelude::*;
use toller_ir::{Qrels, Run, counted, named};

use crate::error::EvalError;
use crate::measure::Measure;
use crate::measures::ndcg;
use crate::ranking::{BadRanking, JudgedRanking, Judgment};

named! {
    /// What a judged query without results in the run counts.
    #[derive(Default)]
    pub enum MissingQueries: "a way to count queries without results" {
        /// It counts as a query that retrieved nothing (ir_measures; trec_eval's `-c`).
        #[default]
        CountAsZero = "zero",
        /// It is left out (trec_eval 9 without `-c`), so a run gains by skipping hard queries.
        Skip = "skip",
    }
}

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvalOptions {
    /// How queries count that are missing from the run.
    pub missing: MissingQueries,
    /// The lowest grade that is relevant, for measures without their own (trec_eval's `-l`).
    pub relevance_level: u32,
    /// How many documents of each query count (trec_eval's `-M`); all if `None`.
    pub depth: Option<NonZeroUsize>,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self { missing: MissingQueries::default(), relevance_level: 1, depth: None }
    }
}

/// The values of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryEvaluation {
    /// The query.
    pub query_id: String,
    /// Whether the run has results for it.
    pub retrieved: bool,
    /// The value of each measure, in the order of [`Evaluation::measures`].
    pub values: Vec<f64>,
    /// How much each value counts over all queries: 1, unless the measure says otherwise.
    pub weights: Vec<f64>,
}

/// The values of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// What was measured.
    pub measures: Vec<Measure>,
    /// Each query's values, in the order of the bytes of the query ids (the order in which trec_eval
    /// adds them up).
    pub per_query: Vec<QueryEvaluation>,
    /// The value of each measure over all queries: the mean, or the sum of a count.
    pub aggregates: Vec<f64>,
    /// How many judged queries the run has no results for, whether counted or left out.
    pub missing: usize,
    /// How many queries of the run are not judged; they are ignored.
    pub unjudged: usize,
}

impl Evaluation {
    /// The value of `measure` over all queries, if it was measured.
    #[must_use]
    pub fn aggregate(&self, measure: &Measure) -> Option<f64> {
        let at = self.measures.iter().position(|other| other == measure)?;
        self.aggregates.get(at).copied()
    }

    /// The evaluation of only these queries, each given once; `None` if none of them was evaluated. The
    /// counts of missing and of unjudged queries still cover the whole run.
    #[must_use]
    pub fn restricted_to<'q>(&self, queries: impl IntoIterator<Item = &'q str>) -> Option<Self> {
        let place = |id: &str| self.per_query.binary_search_by(|query| query.query_id.as_str().cmp(id)).ok();
        let mut places: Vec<usize> = queries.into_iter().filter_map(place).collect();
        if places.is_empty() {
            return None;
        }
        places.sort_unstable();
        let per_query: Vec<QueryEvaluation> =
            places.iter().filter_map(|place| self.per_query.get(*place)).cloned().collect();
        let aggregates = aggregates(&self.measures, &per_query);
        Some(Self { measures: self.measures.clone(), per_query, aggregates, ..*self })
    }
}

/// Evaluates `run` against `qrels` by `measures`.
///
/// The ranking of a query is by score descending, then document id descending, as trec_eval's; ranks
/// in the run's file do not matter.
///
/// # Errors
/// If the run or the qrels are empty or share no query, a document is listed twice for a query, a score
/// is not a number, or a gain overflows.
pub fn evaluate(
    qrels: &Qrels,
    run: &Run,
    measures: &[Measure],
    options: &EvalOptions,
) -> Result<Evaluation, EvalError> {
    let judged_in_run = check_common_queries(qrels, run)?;
    let mut queries: Vec<_> = qrels.iter().collect();
    queries.sort_unstable_by_key(|(query_id, _)| *query_id);

    queries.retain(|(query_id, _)| {
        options.missing == MissingQueries::CountAsZero || run.queries.contains_key(*query_id)
    });
    let evaluated: Vec<_> = queries
        .par_iter()
        .map(|(query_id, judgments)| evaluate_query(query_id, judgments, run, measures, options))
        .collect();
    // One after the other, so that the error is the first query's.
    let per_query = evaluated.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Evaluation {
        measures: measures.to_vec(),
        aggregates: aggregates(measures, &per_query),
        per_query,
        missing: qrels.len() - judged_in_run,
        unjudged: run.queries.len() - judged_in_run,
    })
}

fn evaluate_query(
    query_id: &str,
    judgments: &IndexMap<String, i32>,
    run: &Run,
    measures: &[Measure],
    options: &EvalOptions,
) -> Result<QueryEvaluation, EvalError> {
    let entries = run.queries.get(query_id);
    let depth = options.depth.map(NonZeroUsize::get);
    let ranking = JudgedRanking::new(judgments, entries.map_or(&[], Vec::as_slice), depth)
        .map_err(|bad| bad_ranking(query_id, bad))?;
    check_gains(query_id, &ranking, measures)?;
    let (level, retrieved) = (options.relevance_level, entries.is_some());
    Ok(QueryEvaluation {
        query_id: query_id.to_owned(),
        retrieved,
        values: measures.iter().map(|measure| measure.compute(&ranking, level)).collect(),
        weights: measures.iter().map(|measure| measure.weight(&ranking, level, retrieved)).collect(),
    })
}

/// Checks that measures are functions of the rank of the first relevant document.
///
/// # Errors
/// [`EvalError::NotOfFirstRank`] for the first that is not.
pub fn check_first_rank_measures(measures: &[Measure]) -> Result<(), EvalError> {
    match measures.iter().find(|measure| measure.of_first_rank(None).is_none()) {
        None => Ok(()),
        Some(measure) => Err(EvalError::NotOfFirstRank { measure: measure.to_string() }),
    }
}

/// Evaluates by the rank of each query's first relevant document, given with the query's identifier; `None`
/// where no relevant document has a rank.
///
/// # Errors
/// If there is no query, or a measure is not a function of that rank.
pub fn evaluate_first_ranks(
    mut ranks: Vec<(String, Option<f64>)>,
    measures: &[Measure],
) -> Result<Evaluation, EvalError> {
    check_first_rank_measures(measures)?;
    if ranks.is_empty() {
        return Err(EvalError::EmptyQrels);
    }
    ranks.sort_by(|(a, _), (b, _)| a.cmp(b));
    let of_query = |(query_id, rank): (String, Option<f64>)| {
        let values: Vec<f64> = measures.iter().filter_map(|measure| measure.of_first_rank(rank)).collect();
        let weights = vec![1.0; values.len()];
        QueryEvaluation { query_id, retrieved: true, values, weights }
    };
    let per_query: Vec<_> = ranks.into_iter().map(of_query).collect();
    Ok(Evaluation {
        measures: measures.to_vec(),
        aggregates: aggregates(measures, &per_query),
        per_query,
        missing: 0,
        unjudged: 0,
    })
}

/// The measures of many rankings of one query, for a caller that looks up the grades of the documents itself.
///
/// The values equal those of [`evaluate`] if the rankings are in the same order: by score descending, then
/// document id descending.
#[derive(Clone, Debug)]
pub struct QueryJudge<'a> {
    /// A ranking without documents.
    nothing: JudgedRanking,
    measures: &'a [Measure],
    relevance_level: u32,
}

impl<'a> QueryJudge<'a> {
    /// For a query with these judgments.
    ///
    /// # Errors
    /// If a gain overflows, or a measure needs more than the ranking of this query.
    pub fn new(
        query_id: &str,
        judgments: &IndexMap<String, i32>,
        measures: &'a [Measure],
        relevance_level: u32,
    ) -> Result<Self, EvalError> {
        let nothing = JudgedRanking::of_judgments(Vec::new(), judgments);
        check_gains(query_id, &nothing, measures)?;
        measures.iter().try_for_each(check_of_rankings)?;
        Ok(Self { nothing, measures, relevance_level })
    }

    /// The value of each measure for a ranking, given the grade of each document, best first; `None` for an
    /// unjudged document.
    pub fn values(&self, ranking: impl IntoIterator<Item = Option<i32>>) -> Vec<f64> {
        let judgment = |grade: Option<i32>| grade.map_or(Judgment::Absent, Judgment::from);
        let judgments = ranking.into_iter().map(judgment).collect();
        let ranking = self.nothing.reranked(judgments);
        self.measures.iter().map(|measure| measure.compute(&ranking, self.relevance_level)).collect()
    }
}

/// The number of queries that are judged and in the run; an error if there are none.
pub(crate) fn check_common_queries(qrels: &Qrels, run: &Run) -> Result<usize, EvalError> {
    let Some((qrels_example, _)) = qrels.iter().next() else { return Err(EvalError::EmptyQrels) };
    let Some((run_example, _)) = run.queries.first() else { return Err(EvalError::EmptyRun) };
    let common = run.queries.keys().filter(|query_id| qrels.query(query_id).is_some()).count();
    if common == 0 {
        return Err(EvalError::NoJudgedQuery {
            run_queries: run.queries.len(),
            run_example: run_example.clone(),
            qrels_queries: qrels.len(),
            qrels_example: qrels_example.to_owned(),
        });
    }
    Ok(common)
}

/// A run without a judged document: the judgments seem to be of another collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoneJudged<'a> {
    /// The number of documents that the run has for judged queries.
    pub documents: usize,
    /// One of them.
    pub retrieved: &'a str,
    /// A document that is judged.
    pub judged: &'a str,
}

impl fmt::Display for NoneJudged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { documents, retrieved, judged } = self;
        let documents = counted(*documents, "document");
        write!(
            f,
            "none of the {documents} retrieved for judged queries is judged, for example {retrieved:?}; one \
             that is judged is {judged:?}"
        )
    }
}

/// What a run retrieved for judged queries, if it has such documents and none of them is judged.
#[must_use]
pub fn none_judged<'a>(qrels: &'a Qrels, run: &'a Run) -> Option<NoneJudged<'a>> {
    let (mut documents, mut example) = (0, None);
    for (query_id, entries) in &run.queries {
        let Some(judgments) = qrels.query(query_id) else { continue };
        if entries.iter().any(|entry| judgments.contains_key(&entry.doc_id)) {
            return None;
        }
        documents += entries.len();
        example = example.or(entries.first());
    }
    let judged = qrels.iter().find_map(|(_, judgments)| judgments.keys().next()).map_or("", String::as_str);
    example.map(|entry| NoneJudged { documents, retrieved: &entry.doc_id, judged })
}

pub(crate) fn bad_ranking(query_id: &str, bad: BadRanking) -> EvalError {
    let query_id = query_id.to_owned();
    match bad {
        BadRanking::Duplicate(doc_id) => EvalError::DuplicateDocument { query_id, doc_id },
        BadRanking::NotANumber(doc_id) => EvalError::ScoreNotANumber { query_id, doc_id },
    }
}

/// An error if a gain of the query's grades would overflow sums.
pub(crate) fn check_gains(
    query_id: &str,
    ranking: &JudgedRanking,
    measures: &[Measure],
) -> Result<(), EvalError> {
    for measure in measures.iter().filter(|measure| measure.parameters.has_own_gains()) {
        for grade in &ranking.grades {
            if ndcg::gain(&measure.parameters, *grade).abs() > ndcg::MAX_GAIN {
                return Err(EvalError::GainTooLarge {
                    query_id: query_id.to_owned(),
                    grade: *grade,
                    measure: measure.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// An error if a measure needs more than each query's judgments in the order of its ranking.
pub(crate) fn check_of_rankings(measure: &Measure) -> Result<(), EvalError> {
    match measure.is_of_rankings() {
        true => Ok(()),
        false => Err(EvalError::NotOfRankings { measure: measure.to_string() }),
    }
}

/// The value of each measure over all queries.
fn aggregates(measures: &[Measure], per_query: &[QueryEvaluation]) -> Vec<f64> {
    let weighted = |at: usize| {
        let of_query = move |query: &QueryEvaluation| Some((*query.values.get(at)?, *query.weights.get(at)?));
        per_query.iter().filter_map(of_query)
    };
    measures.iter().enumerate().map(|(at, measure)| measure.aggregate_weighted(weighted(at))).collect()
}
