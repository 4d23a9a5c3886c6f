//! Runs and qrels.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PyType};
use toller_corpus::{
    MaxPassage, QrelsFormat, ReadOptions, RunFormat, RunLayout, TrecRunWriter, read_qrels, read_run,
};
use toller_files::{CompressedWriter, FileError};
use toller_ir::{RunEntry, UnknownName};

use crate::error::Failed;
use crate::mappings::{Grade, Mapped, identifier};
use crate::models::at_least_one;
use crate::paths::{input, wrong_type};
use crate::whole::whole;
use crate::work;

/// What a system retrieved for each query: a mapping of query ids to the scores of documents by their ids.
///
/// Scores are those that a reader of the run's file gets.
#[pyclass(frozen, mapping, module = "toller")]
pub(crate) struct Run {
    pub(crate) run: Arc<toller_ir::Run>,
}

/// Documents and scores by query, as Python has them.
type Scores = Mapped<Mapped<f64>>;

#[pymethods]
impl Run {
    /// A run of `{query id: {document id: score}}`. Documents are put in the order of their scores, the best
    /// first; equal scores keep the order that they are given in.
    #[new]
    #[pyo3(signature = (scores, tag="toller"))]
    fn new(scores: Scores, tag: &str) -> Self {
        let entries = |Mapped(documents): Mapped<f64>| {
            documents.into_iter().map(|(doc_id, score)| RunEntry { doc_id, score }).collect()
        };
        let queries = scores.0.into_iter().map(|(query, documents)| (query, entries(documents)));
        Self::sorted(toller_ir::Run { tag: tag.to_owned(), queries: queries.collect() })
    }

    /// Reads a run: TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet, plain or compressed. The format
    /// is detected unless it is given. Documents are put in the order of their scores, as in a run of a
    /// mapping. With `skip_bad_lines`, bad lines are left out, with a warning.
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, skip_bad_lines=false))]
    fn read(py: Python<'_>, path: PathBuf, format: Option<&str>, skip_bad_lines: bool) -> PyResult<Self> {
        let format = format.map(str::parse::<RunFormat>).transpose().map_err(Failed::from)?;
        let options = ReadOptions { format, skip_bad_lines, ..ReadOptions::default() };
        work::run(py, None, move |session| {
            let (run, skipped) = read_run(&input(path), &options)?;
            session.skipped(&skipped);
            Ok(Self::sorted(run))
        })
    }

    /// Writes a run in TREC's format, or as "msmarco" or "tevatron" have it, without a tag. The file appears
    /// when it is whole, compressed if its name ends in .gz, .zst or .xz. With `tab_separated`, identifiers
    /// may hold spaces.
    #[pyo3(signature = (path, *, tag=None, tab_separated=false, format="trec"))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        tag: Option<&str>,
        tab_separated: bool,
        format: &str,
    ) -> PyResult<()> {
        let layout: RunLayout = format.parse().map_err(|error: UnknownName| Failed::from(error))?;
        if layout != RunLayout::Trec && tag.is_some() {
            let hint = "leave tag or format out";
            return Err(Failed::invalid(format!("a run as {layout} has no tag")).hint(hint).into());
        }
        let run = self.run.clone();
        let own = if run.tag.is_empty() { "toller" } else { &run.tag };
        let tag = tag.unwrap_or(own).to_owned();
        work::run(py, None, move |_| {
            let out = CompressedWriter::create(&path)?;
            let mut writer = TrecRunWriter::new(out, &path, &tag)?.layout(layout);
            if tab_separated {
                writer = writer.tab_separated();
            }
            writer.write_run(&run)?;
            let written = writer.finish()?.finish().map_err(FileError::on("write", &path))?;
            Ok(written.commit()?)
        })
    }

    /// A run of documents instead of passages, each with the score of its best passage (MaxP). A document's
    /// id is that of its passages up to the first `delimiter`; `hits` documents of each query are kept, or
    /// all.
    #[pyo3(signature = (*, delimiter="#", hits=None))]
    fn max_passage(
        &self,
        delimiter: &str,
        #[pyo3(from_py_with = whole)] hits: Option<usize>,
    ) -> PyResult<Self> {
        if delimiter.is_empty() {
            let hint = "name what separates a document's id from the rest of a passage's";
            return Err(Failed::invalid("delimiter is empty").hint(hint).into());
        }
        let hits = at_least_one("hits", hits)?.unwrap_or(usize::MAX);
        let max_passage = MaxPassage { delimiter: delimiter.to_owned(), hits };
        let documents = |entries: &Vec<RunEntry>| {
            let passages = entries.iter().map(|entry| (&entry.doc_id, entry.score));
            max_passage.documents(passages).map(|(doc_id, score)| RunEntry { doc_id, score }).collect()
        };
        let queries = self.run.queries.iter().map(|(query, entries)| (query.clone(), documents(entries)));
        let run = toller_ir::Run { tag: self.run.tag.clone(), queries: queries.collect() };
        Ok(Self { run: Arc::new(run) })
    }

    /// The run's tag.
    #[getter]
    fn tag(&self) -> &str {
        &self.run.tag
    }

    /// All queries as `{query id: {document id: score}}`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (query, entries) in &self.run.queries {
            dict.set_item(query, documents(py, entries)?)?;
        }
        Ok(dict)
    }

    fn __len__(&self) -> usize {
        self.run.queries.len()
    }

    fn __contains__(&self, query: &Bound<'_, PyAny>) -> bool {
        identifier(query).is_ok_and(|query| self.run.queries.contains_key(&query))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, query: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let query = identifier(query)?;
        let entries = self.run.queries.get(&query).ok_or_else(|| PyKeyError::new_err(query))?;
        documents(py, entries)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let ids: Vec<&str> = self.run.queries.keys().map(String::as_str).collect();
        ids.into_pyobject(py)?.try_iter()
    }

    /// The ids of the queries, in order.
    fn keys(&self) -> Vec<&str> {
        self.run.queries.keys().map(String::as_str).collect()
    }

    /// The scores of each query's documents, in order.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.values())
    }

    /// The queries with the scores of their documents, in order.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.items())
    }

    /// The scores of a query's documents, or `default` for a query that is not there.
    #[pyo3(signature = (query, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = identifier(query).ok().and_then(|query| self.run.queries.get(&query));
        found.map_or(Ok(default), |entries| Ok(Some(documents(py, entries)?.into_any())))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().run.queries == self.run.queries)
    }

    fn __repr__(&self) -> String {
        let hits: usize = self.run.queries.values().map(Vec::len).sum();
        format!("Run({:?}: {hits} hits of {} queries)", self.run.tag, self.run.queries.len())
    }

    #[expect(clippy::type_complexity, reason = "what pickle takes: a type and its arguments")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyDict>, String))> {
        let run = slf.get();
        Ok((slf.get_type(), (run.to_dict(slf.py())?, run.tag().to_owned())))
    }
}

impl Run {
    pub(crate) fn of(run: toller_ir::Run) -> Self {
        Self { run: Arc::new(run) }
    }

    /// The same of a run in any order: files have ranks by the order, so it has to be that of the scores.
    fn sorted(mut run: toller_ir::Run) -> Self {
        run.queries.values_mut().for_each(|entries| entries.sort_by(RunEntry::best_first));
        Self::of(run)
    }
}

/// A run as an argument: a [`Run`], or a mapping of which one is made.
pub(crate) struct GivenRun(pub(crate) Arc<toller_ir::Run>);

impl<'py> FromPyObject<'_, 'py> for GivenRun {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(run) = given.cast::<Run>() {
            return Ok(Self(run.get().run.clone()));
        }
        check_mapping(&given, "a Run or a dict {query id: {document id: score}}")?;
        Ok(Self(Run::new(given.extract()?, "toller").run))
    }
}

/// The runs of several arguments.
pub(crate) fn arcs(runs: Vec<GivenRun>) -> Vec<Arc<toller_ir::Run>> {
    runs.into_iter().map(|GivenRun(run)| run).collect()
}

/// Judgments as an argument: [`Qrels`], or a mapping of which they are made.
pub(crate) struct GivenQrels(pub(crate) Arc<toller_ir::Qrels>);

impl<'py> FromPyObject<'_, 'py> for GivenQrels {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(qrels) = given.cast::<Qrels>() {
            return Ok(Self(qrels.get().qrels.clone()));
        }
        check_mapping(&given, "a Qrels or a dict {query id: {document id: grade}}")?;
        Ok(Self(Qrels::new(given.extract()?).qrels))
    }
}

fn check_mapping(given: &Bound<'_, PyAny>, expected: &str) -> PyResult<()> {
    given.cast::<PyMapping>().map(drop).map_err(|_| wrong_type(given, expected))
}

fn documents<'py>(py: Python<'py>, entries: &[RunEntry]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for RunEntry { doc_id, score } in entries {
        dict.set_item(doc_id, score)?;
    }
    Ok(dict)
}

/// Relevance judgments: a mapping of query ids to the grades of documents by their ids.
#[pyclass(frozen, mapping, module = "toller")]
pub(crate) struct Qrels {
    pub(crate) qrels: Arc<toller_ir::Qrels>,
}

/// Grades by query, as Python has them.
type Grades = Mapped<Mapped<Grade>>;

#[pymethods]
impl Qrels {
    /// Judgments of `{query id: {document id: grade}}`.
    #[new]
    fn new(grades: Grades) -> Self {
        let mut qrels = toller_ir::Qrels::new();
        for (query, Mapped(documents)) in &grades.0 {
            for (document, grade) in documents {
                qrels.insert(query, document, grade.0);
            }
        }
        Self { qrels: Arc::new(qrels) }
    }

    /// Reads judgments: TREC, BEIR's or T2Ranking's TSV, plain or compressed.
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, skip_bad_lines=false))]
    fn read(py: Python<'_>, path: PathBuf, format: Option<&str>, skip_bad_lines: bool) -> PyResult<Self> {
        let format = format.map(str::parse::<QrelsFormat>).transpose().map_err(Failed::from)?;
        let options = ReadOptions { format, skip_bad_lines, ..ReadOptions::default() };
        work::run(py, None, move |session| {
            let (qrels, skipped) = read_qrels(&input(path), &options)?;
            session.skipped(&skipped);
            Ok(Self { qrels: Arc::new(qrels) })
        })
    }

    /// All judgments as `{query id: {document id: grade}}`.
    fn to_dict(&self) -> IndexMap<&str, &IndexMap<String, i32>> {
        self.qrels.iter().collect()
    }

    fn __len__(&self) -> usize {
        self.qrels.len()
    }

    fn __contains__(&self, query: &Bound<'_, PyAny>) -> bool {
        identifier(query).is_ok_and(|query| self.qrels.query(&query).is_some())
    }

    fn __getitem__(&self, query: &Bound<'_, PyAny>) -> PyResult<&IndexMap<String, i32>> {
        let query = identifier(query)?;
        self.qrels.query(&query).ok_or_else(|| PyKeyError::new_err(query))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys().into_pyobject(py)?.try_iter()
    }

    /// The ids of the queries, in order.
    fn keys(&self) -> Vec<&str> {
        self.qrels.iter().map(|(query, _)| query).collect()
    }

    /// The grades of each query's documents, in order.
    fn values(&self) -> Vec<&IndexMap<String, i32>> {
        self.qrels.iter().map(|(_, documents)| documents).collect()
    }

    /// The queries with the grades of their documents, in order.
    fn items(&self) -> Vec<(&str, &IndexMap<String, i32>)> {
        self.qrels.iter().collect()
    }

    /// The grades of a query's documents, or `default` for a query that is not there.
    #[pyo3(signature = (query, default=None, /))]
    fn get<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = identifier(query).ok().and_then(|query| self.qrels.query(&query));
        found.map_or(Ok(default), |documents| Ok(Some(documents.into_pyobject(query.py())?.into_any())))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().qrels == self.qrels)
    }

    fn __repr__(&self) -> String {
        let judged: usize = self.qrels.iter().map(|(_, documents)| documents.len()).sum();
        format!("Qrels({judged} judgments of {} queries)", self.qrels.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let grades = slf.get().to_dict().into_pyobject(slf.py())?.into_any();
        Ok((slf.get_type().into_any(), (grades,)))
    }
}
