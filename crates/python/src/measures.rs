//! Evaluation, comparison and fusion of runs.

use std::num::NonZeroUsize;

use indexmap::IndexMap;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use toller_corpus::Score;
use toller_eval::{
    CompareOptions, EvalOptions, Evaluation, Measure, PairComparison, Pairs, compare_pairs, parse_measures,
};
use toller_ir::RunEntry;
use toller_pipeline::fusion::{Fusion, Method, UnknownMethod, fuse_runs};

use crate::error::Failed;
use crate::models::at_least_one;
use crate::runs::{Qrels, Run};
use crate::work;

/// The measures of a run: over all queries by `evaluation["nDCG@10"]`, and for each query in `per_query`.
#[pyclass(frozen, name = "Evaluation", module = "toller")]
pub(crate) struct PyEvaluation(Evaluation);

#[pymethods]
impl PyEvaluation {
    /// The value of a measure over all queries.
    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        let wanted = parse_measures(measure).map_err(Failed::from)?;
        let value = match &wanted[..] {
            [measure] => self.0.aggregate(measure),
            _ => None,
        };
        value.ok_or_else(|| PyKeyError::new_err(measure.to_owned()))
    }

    /// The value of each measure over all queries.
    #[getter]
    fn aggregates(&self) -> IndexMap<String, f64> {
        self.names().zip(self.0.aggregates.iter().copied()).collect()
    }

    /// The value of each measure for each query: `{query id: {measure: value}}`.
    #[getter]
    fn per_query(&self) -> IndexMap<&str, IndexMap<String, f64>> {
        let queries = self.0.per_query.iter();
        queries
            .map(|query| (query.query_id.as_str(), self.names().zip(query.values.iter().copied()).collect()))
            .collect()
    }

    /// How many judged queries the run has no results for.
    #[getter]
    fn missing(&self) -> usize {
        self.0.missing
    }

    /// How many queries of the run are not judged. They are ignored.
    #[getter]
    fn unjudged(&self) -> usize {
        self.0.unjudged
    }

    fn __repr__(&self) -> String {
        let values = self.aggregates();
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}: {value:.4}")).collect();
        format!("Evaluation({})", values.join(", "))
    }
}

impl PyEvaluation {
    fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.0.measures.iter().map(Measure::to_string)
    }
}

/// Evaluates a run as trec_eval does: `measures` as in ir_measures' notation or trec_eval's, "nDCG@10 RR@10".
///
/// `missing` says what a judged query without results counts: "zero", or "skip" to leave it out.
#[pyfunction]
#[pyo3(signature = (qrels, run, measures, *, missing="zero", relevance_level=1, depth=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    qrels: &Bound<'_, Qrels>,
    run: &Bound<'_, Run>,
    measures: &str,
    missing: &str,
    relevance_level: u32,
    depth: Option<usize>,
) -> PyResult<PyEvaluation> {
    let measures = parse_measures(measures).map_err(Failed::from)?;
    let options = EvalOptions {
        missing: missing.parse().map_err(Failed::from)?,
        relevance_level,
        depth: at_least_one("depth", depth)?.and_then(NonZeroUsize::new),
    };
    let (qrels, run) = (qrels.get().qrels.clone(), run.get().run.clone());
    work::run(py, None, move |_| Ok(PyEvaluation(toller_eval::evaluate(&qrels, &run, &measures, &options)?)))
}

/// Two runs compared by one measure, on the queries that both hold.
#[pyclass(frozen, module = "toller")]
pub(crate) struct Comparison(PairComparison);

#[pymethods]
impl Comparison {
    /// The number of the run that is compared with.
    #[getter]
    fn baseline(&self) -> usize {
        self.0.baseline
    }

    /// The number of the run that is compared.
    #[getter]
    fn run(&self) -> usize {
        self.0.run
    }

    /// The measure.
    #[getter]
    fn measure(&self) -> String {
        self.0.measure.to_string()
    }

    /// The number of queries.
    #[getter]
    fn queries(&self) -> usize {
        self.0.queries
    }

    /// The mean of the baseline, and that of the run.
    #[getter]
    fn means(&self) -> (f64, f64) {
        let [baseline, run] = self.0.means;
        (baseline, run)
    }

    /// The mean difference: run less baseline.
    #[getter]
    fn difference(&self) -> f64 {
        self.0.t_test.mean_difference
    }

    /// The ends of the interval of the mean difference.
    #[getter]
    fn interval(&self) -> (f64, f64) {
        (self.0.interval.low, self.0.interval.high)
    }

    /// Queries on which the run is better, the same and worse.
    #[getter]
    fn wins_ties_losses(&self) -> (usize, usize, usize) {
        (self.0.wins, self.0.ties, self.0.losses)
    }

    /// Cohen's d of paired samples.
    #[getter]
    fn cohens_d(&self) -> f64 {
        self.0.effect.cohens_d
    }

    /// The p-value of each test.
    #[getter]
    fn p_values(&self) -> IndexMap<&'static str, f64> {
        let outcomes = self.0.tests.iter().map(|tested| tested.outcome);
        outcomes.map(|outcome| (outcome.test().name(), outcome.p_value())).collect()
    }

    /// The p-value of each test, corrected for the number of comparisons by one measure.
    #[getter]
    fn adjusted_p_values(&self) -> IndexMap<&'static str, f64> {
        self.0.tests.iter().map(|tested| (tested.outcome.test().name(), tested.adjusted_p)).collect()
    }

    fn __repr__(&self) -> String {
        let Self(PairComparison { baseline, run, measure, .. }) = self;
        let values = format!("{:+.4}, p {:?}", self.difference(), self.adjusted_p_values());
        format!("Comparison(run {run} with run {baseline} by {measure}: {values})")
    }
}

/// Compares runs by significance tests on their queries: each with the run of the number `baseline`, or each
/// with each other if that is None.
///
/// `tests` are of t-test, randomization, bootstrap, wilcoxon and tukey; `correction` is holm, bonferroni, bh
/// or none.
#[pyfunction]
#[pyo3(signature = (qrels, runs, measures, *, baseline=Some(0), tests=vec!["t-test".to_owned(), "randomization".to_owned()],
                    correction="holm", permutations=100_000, seed=42, relevance_level=1))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn compare(
    py: Python<'_>,
    qrels: &Bound<'_, Qrels>,
    runs: Vec<Bound<'_, Run>>,
    measures: &str,
    baseline: Option<usize>,
    tests: Vec<String>,
    correction: &str,
    permutations: u64,
    seed: u64,
    relevance_level: u32,
) -> PyResult<Vec<Comparison>> {
    let correction = correction.parse().map_err(Failed::from)?;
    let tests = tests.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(Failed::from)?;
    let options = CompareOptions { correction, permutations, seed, tests, ..CompareOptions::default() };
    if let Some(baseline) = baseline.filter(|baseline| *baseline >= runs.len()) {
        return Err(Failed::invalid(format!("baseline={baseline} of {} runs", runs.len())).into());
    }
    let pairs = baseline.map_or(Pairs::All, Pairs::With);
    let measures = parse_measures(measures).map_err(Failed::from)?;
    let qrels = qrels.get().qrels.clone();
    let runs: Vec<_> = runs.iter().map(|run| run.get().run.clone()).collect();
    work::run(py, None, move |_| {
        let evaluation = EvalOptions { relevance_level, ..EvalOptions::default() };
        let evaluations = runs.iter().map(|run| toller_eval::evaluate(&qrels, run, &measures, &evaluation));
        let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
        let compared = compare_pairs(&evaluations.iter().collect::<Vec<_>>(), pairs, &options)?;
        Ok(compared.into_iter().map(Comparison).collect())
    })
}

/// The fusion that arguments describe.
pub(crate) fn fusion(
    method: &str,
    weights: Option<Vec<f64>>,
    rrf_k: Option<f64>,
    normalize: Option<&str>,
    missing: Option<&str>,
) -> Result<Fusion, Failed> {
    let method: &Method =
        method.parse().map_err(|error: UnknownMethod| Failed::invalid(error.to_string()))?;
    let normalize = normalize.map(str::parse).transpose()?;
    let missing = missing.map(str::parse).transpose()?;
    Ok(Fusion { weights: weights.unwrap_or_default(), ..method.with(normalize, missing, rrf_k)? })
}

/// Fuses runs into one: the `k` best documents of each query, from the `depth` best of each run (None for
/// all).
///
/// `method` is one of interpolate, mr-tydi-script, z-score, rrf, combsum, combmnz, combanz, combmax, combmin,
/// combmed, borda and mean. Each run has its weight in `weights`.
#[pyfunction]
#[pyo3(signature = (runs, method="rrf", *, k=1000, depth=None, weights=None, rrf_k=None, normalize=None, missing=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn fuse(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    method: &str,
    k: usize,
    depth: Option<usize>,
    weights: Option<Vec<f64>>,
    rrf_k: Option<f64>,
    normalize: Option<&str>,
    missing: Option<&str>,
) -> PyResult<Run> {
    let fusion = fusion(method, weights, rrf_k, normalize, missing)?;
    let depth = at_least_one("depth", depth)?.unwrap_or(usize::MAX);
    at_least_one("k", Some(k))?;
    let runs: Vec<_> = runs.iter().map(|run| run.get().run.clone()).collect();
    work::run(py, None, move |_| {
        let runs: Vec<toller_ir::Run> = runs.iter().map(|run| (**run).clone()).collect();
        let entry = |&(doc_id, score): &(&str, f32)| RunEntry {
            doc_id: doc_id.to_owned(),
            score: Score::F32(score).as_read(),
        };
        let fused = fuse_runs(&runs, &fusion, depth, k)?;
        let queries =
            fused.iter().map(|query| (query.query_id.to_owned(), query.hits.iter().map(entry).collect()));
        Ok(Run::of(toller_ir::Run { tag: "toller".to_owned(), queries: queries.collect() }))
    })
}
