//! Evaluation, comparison and fusion of runs.

use std::num::NonZeroUsize;
use std::sync::Arc;

use indexmap::IndexMap;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator};
use toller_corpus::Score;
use toller_eval::{
    CompareOptions, EvalOptions, Evaluation, Measure, MeasureError, PairComparison, Pairs, QueryEvaluation,
    Test, compare_pairs, none_judged, parse_measures,
};
use toller_ir::RunEntry;
use toller_pipeline::fusion::{Fusion, Method, UnknownMethod, fuse_runs};

use crate::error::Failed;
use crate::models::at_least_one;
use crate::names::names;
use crate::runs::{GivenQrels, GivenRun, Run, arcs};
use crate::whole::whole;
use crate::work;

/// Measures as an argument, by their names.
pub(crate) struct Measures(Vec<Measure>);

impl<'py> FromPyObject<'_, 'py> for Measures {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(parse_measures(&names(&given, "measures")?.join(" ")).map_err(Failed::from)?))
    }
}

/// Tests of significance as an argument, by their names.
#[derive(Default)]
pub(crate) struct Tests(Option<Vec<Test>>);

impl<'py> FromPyObject<'_, 'py> for Tests {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let names = names(&given, "tests")?.join(" ");
        let names = names.split([',', ' ']).filter(|name| !name.is_empty());
        // The command line's name is shorter.
        let test = |name: &str| if name == "t" { Ok(Test::T) } else { name.parse() };
        let tests = names.map(test).collect::<Result<_, _>>();
        Ok(Self(Some(tests.map_err(Failed::from)?)))
    }
}

/// The measures of a run: a mapping of their names to their values over all queries. `per_query` has those of
/// each query.
#[pyclass(frozen, mapping, name = "Evaluation", module = "toller")]
pub(crate) struct PyEvaluation {
    evaluation: Evaluation,
    /// What `per_query` gives, once it was asked for.
    per_query: PyOnceLock<Py<PyDict>>,
}

/// A query's id, whether it has results, its values, and their weights.
type QueryParts = (String, bool, Vec<f64>, Vec<f64>);

/// What an evaluation is pickled as: the names of its measures, their values over all queries, those of each
/// query, and the numbers of missing and of unjudged queries.
type Parts = (Vec<String>, Vec<f64>, Vec<QueryParts>, usize, usize);

#[pymethods]
impl PyEvaluation {
    /// The value of a measure over all queries.
    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        let value = self.value(measure).map_err(Failed::from)?;
        value.ok_or_else(|| PyKeyError::new_err(measure.to_owned()))
    }

    fn __len__(&self) -> usize {
        self.evaluation.measures.len()
    }

    fn __contains__(&self, measure: &Bound<'_, PyAny>) -> bool {
        self.value_of(measure).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys().into_pyobject(py)?.try_iter()
    }

    /// The names of the measures, in order.
    fn keys(&self) -> Vec<String> {
        self.names().collect()
    }

    /// The value of each measure over all queries, in order.
    fn values(&self) -> &[f64] {
        &self.evaluation.aggregates
    }

    /// The measures with their values over all queries, in order.
    fn items(&self) -> Vec<(String, f64)> {
        self.names().zip(self.evaluation.aggregates.iter().copied()).collect()
    }

    /// The value of a measure over all queries, or `default` for a measure that is not there.
    #[pyo3(signature = (measure, default=None, /))]
    fn get<'py>(
        &self,
        measure: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.value_of(measure);
        found.map_or(Ok(default), |value| Ok(Some(value.into_pyobject(measure.py())?.into_any())))
    }

    /// The value of each measure over all queries.
    #[getter]
    fn aggregates(&self) -> IndexMap<String, f64> {
        self.items().into_iter().collect()
    }

    /// The value of each measure for each query: `{query id: {measure: value}}`, with the names that
    /// `aggregates` has. It is the same dictionary each time.
    #[getter]
    fn per_query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self.per_query.get_or_try_init(py, || self.by_query(py).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    /// How many judged queries the run has no results for.
    #[getter]
    fn missing(&self) -> usize {
        self.evaluation.missing
    }

    /// How many queries of the run are not judged. They are ignored.
    #[getter]
    fn unjudged(&self) -> usize {
        self.evaluation.unjudged
    }

    fn __repr__(&self) -> String {
        let values = self.aggregates();
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}: {value:.4}")).collect();
        format!("Evaluation({})", values.join(", "))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().evaluation == self.evaluation)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let made_by = slf.py().import("toller._toller")?.getattr("evaluation_of")?;
        let own = slf.get();
        let Evaluation { aggregates, per_query, missing, unjudged, .. } = own.evaluation.clone();
        let parts = |query: QueryEvaluation| (query.query_id, query.retrieved, query.values, query.weights);
        let per_query = per_query.into_iter().map(parts).collect();
        Ok((made_by, (own.names().collect(), aggregates, per_query, missing, unjudged)))
    }
}

/// Makes a pickled evaluation.
#[pyfunction]
pub(crate) fn evaluation_of(
    measures: Measures,
    aggregates: Vec<f64>,
    per_query: Vec<QueryParts>,
    missing: usize,
    unjudged: usize,
) -> PyEvaluation {
    let query =
        |(query_id, retrieved, values, weights)| QueryEvaluation { query_id, retrieved, values, weights };
    let per_query = per_query.into_iter().map(query).collect();
    PyEvaluation::new(Evaluation { measures: measures.0, per_query, aggregates, missing, unjudged })
}

impl PyEvaluation {
    fn new(evaluation: Evaluation) -> Self {
        Self { evaluation, per_query: PyOnceLock::new() }
    }

    /// The value of a measure over all queries, by any of its names.
    fn value(&self, measure: &str) -> Result<Option<f64>, MeasureError> {
        Ok(match &parse_measures(measure)?[..] {
            [measure] => self.evaluation.aggregate(measure),
            _ => None,
        })
    }

    /// The same of anything; nothing for what is not the name of a measure.
    fn value_of(&self, measure: &Bound<'_, PyAny>) -> Option<f64> {
        measure.extract::<&str>().ok().and_then(|measure| self.value(measure).ok().flatten())
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.evaluation.measures.iter().map(Measure::to_string)
    }

    fn by_query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names: Vec<String> = self.names().collect();
        let queries = PyDict::new(py);
        for query in &self.evaluation.per_query {
            let values = PyDict::new(py);
            for (name, value) in names.iter().zip(&query.values) {
                values.set_item(name, value)?;
            }
            queries.set_item(&query.query_id, values)?;
        }
        Ok(queries)
    }
}

/// Evaluates a run as trec_eval does: `measures` as in ir_measures' notation or trec_eval's, "nDCG@10 RR@10"
/// or any iterable of such names or of ir_measures' measures. Those of a set are sorted by their names.
///
/// `missing` says what a judged query without results counts: "zero", or "skip" to leave it out.
/// `remove_query` leaves out documents with the identifier of their query, as BEIR does.
#[pyfunction]
#[pyo3(signature = (qrels, run, measures, *, missing="zero", relevance_level=1, depth=None, remove_query=false))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn evaluate(
    py: Python<'_>,
    qrels: GivenQrels,
    run: GivenRun,
    measures: Measures,
    missing: &str,
    #[pyo3(from_py_with = whole)] relevance_level: u32,
    #[pyo3(from_py_with = whole)] depth: Option<usize>,
    remove_query: bool,
) -> PyResult<PyEvaluation> {
    let options = EvalOptions {
        missing: missing.parse().map_err(Failed::from)?,
        relevance_level,
        depth: at_least_one("depth", depth)?.and_then(NonZeroUsize::new),
    };
    let (GivenQrels(qrels), GivenRun(mut run)) = (qrels, run);
    let evaluation = work::run(py, None, move |session| {
        if remove_query {
            Arc::make_mut(&mut run).remove_queries();
        }
        let evaluation = toller_eval::evaluate(&qrels, &run, &measures.0, &options)?;
        if let Some(found) = none_judged(&qrels, &run) {
            session.warn(found.to_string());
        }
        Ok(evaluation)
    })?;
    Ok(PyEvaluation::new(evaluation))
}

/// Compares runs by significance tests on their queries: each with the run of the number `baseline`, or each
/// with each other if that is None.
///
/// `tests` are of t-test, randomization, bootstrap, wilcoxon and tukey, in one string or a list; `correction`
/// is holm, bonferroni, bh or none.
#[pyfunction]
#[pyo3(signature = (qrels, runs, measures, *, baseline=Some(0), tests=Tests::default(),
                    correction="holm", permutations=100_000, seed=42, relevance_level=1))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    qrels: GivenQrels,
    runs: Vec<GivenRun>,
    measures: Measures,
    #[pyo3(from_py_with = whole)] baseline: Option<usize>,
    tests: Tests,
    correction: &str,
    #[pyo3(from_py_with = whole)] permutations: u64,
    #[pyo3(from_py_with = whole)] seed: u64,
    #[pyo3(from_py_with = whole)] relevance_level: u32,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let correction = correction.parse().map_err(Failed::from)?;
    let default = CompareOptions::default();
    let tests = tests.0.unwrap_or(default.tests);
    let options = CompareOptions { correction, permutations, seed, tests, ..default };
    if let Some(baseline) = baseline.filter(|baseline| *baseline >= runs.len()) {
        return Err(Failed::invalid(format!("baseline={baseline} of {} runs", runs.len())).into());
    }
    let pairs = baseline.map_or(Pairs::All, Pairs::With);
    let (GivenQrels(qrels), runs) = (qrels, arcs(runs));
    let compared = work::run(py, None, move |session| {
        let evaluation = EvalOptions { relevance_level, ..EvalOptions::default() };
        let evaluations = runs.iter().map(|run| toller_eval::evaluate(&qrels, run, &measures.0, &evaluation));
        let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
        for (number, run) in runs.iter().enumerate() {
            if let Some(found) = none_judged(&qrels, run) {
                session.warn(format!("run {number}: {found}"));
            }
        }
        Ok(compare_pairs(&evaluations.iter().collect::<Vec<_>>(), pairs, &options)?)
    })?;
    let class = py.import("toller.results")?.getattr("Comparison")?;
    compared.iter().map(|compared| comparison(&class, compared)).collect()
}

/// A comparison as `toller.Comparison`.
fn comparison<'py>(class: &Bound<'py, PyAny>, compared: &PairComparison) -> PyResult<Bound<'py, PyAny>> {
    let PairComparison { baseline, run, measure, queries, t_test, interval, .. } = compared;
    let outcomes = compared.tests.iter().map(|tested| tested.outcome);
    let p_values: IndexMap<&str, f64> =
        outcomes.map(|outcome| (outcome.test().name(), outcome.p_value())).collect();
    let adjusted: IndexMap<&str, f64> =
        compared.tests.iter().map(|tested| (tested.outcome.test().name(), tested.adjusted_p)).collect();
    class.call1((
        *baseline,
        *run,
        measure.to_string(),
        *queries,
        (compared.means[0], compared.means[1]),
        t_test.mean_difference,
        (interval.low, interval.high),
        (compared.wins, compared.ties, compared.losses),
        compared.effect.cohens_d,
        p_values,
        adjusted,
    ))
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
    runs: Vec<GivenRun>,
    method: &str,
    #[pyo3(from_py_with = whole)] k: usize,
    #[pyo3(from_py_with = whole)] depth: Option<usize>,
    weights: Option<Vec<f64>>,
    rrf_k: Option<f64>,
    normalize: Option<&str>,
    missing: Option<&str>,
) -> PyResult<Run> {
    let fusion = fusion(method, weights, rrf_k, normalize, missing)?;
    let depth = at_least_one("depth", depth)?.unwrap_or(usize::MAX);
    at_least_one("k", Some(k))?;
    let runs = arcs(runs);
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
