//! Searchers: dense, sparse, hybrid, reranked.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::PyString;
use toller_corpus::{ColumnNames, ReadOptions, Score, read_queries};
use toller_engine::{
    Collections, DenseOptions, EncoderOptions, Hit, Query, QuerySource, Ranking, RerankOptions, Reranker,
    SearchRequest, Searcher, SparseOptions, as_run,
};
use toller_ir::counted;
use toller_pipeline::rerank::Unavailable;
use toller_pipeline::{DocumentLists, QueryFilter, SearchJob};
use toller_sparse::{Bm25Variant, Lengths, Ranker};

use crate::error::Failed;
use crate::feedback::{Asked, AskedOfVectors, feedback, vector_feedback};
use crate::flat::{StoreArgument, parse_device};
use crate::given::{Files, Kind, Reading};
use crate::mappings::{Mapped, identifier};
use crate::measures::fusion;
use crate::models::{GivenEncoder, GivenScorers, at_least_one};
use crate::paths::Paths;
use crate::runs::Run;
use crate::whole::whole;
use crate::work::{self, Session};

/// Something that retrieves documents for queries.
#[pyclass(frozen, subclass, name = "Searcher", module = "toller")]
pub(crate) struct PySearcher {
    inner: Arc<dyn Searcher>,
    /// The most queries that are searched at a time: where hits are reranked, few enough that work ends soon
    /// after a Ctrl-C.
    most: usize,
    /// The stages of a reranked searcher, between which queries are divided in another way.
    stages: Option<Stages>,
    /// Whether queries may be weights of terms.
    takes_impacts: bool,
    /// Whether they may be texts.
    takes_texts: bool,
}

/// A first stage, and what reranks its hits.
#[derive(Clone)]
struct Stages {
    first: Arc<dyn Searcher>,
    /// The most queries that the first stage searches at a time.
    most: usize,
    reranker: Arc<Reranker>,
}

/// Pairs of a query and a passage that are scored at a time: enough to use the machine.
const PAIRS: usize = 1024;

impl PySearcher {
    /// A searcher of one stage.
    fn of(inner: Arc<dyn Searcher>) -> Self {
        Self { inner, most: usize::MAX, stages: None, takes_impacts: false, takes_texts: true }
    }

    /// Refuses an index of impacts where the queries are also texts.
    fn check_takes_texts(&self) -> Result<(), Failed> {
        if self.takes_texts {
            return Ok(());
        }
        let failed =
            Failed::invalid("the queries of an index of impacts are weights of terms, and not texts");
        Err(failed.hint("name its model (sparse_model), or search it by itself and fuse or rerank its run"))
    }
}

/// Queries with their ids.
enum Queries {
    /// Identifiers and texts with nothing wrong.
    Plain(Vec<(String, String)>),
    Read(Files),
}

/// Whether there is nothing that a reader might refuse: unusual identifiers, blank texts, and duplicates.
fn are_plain(queries: &[(String, String)]) -> bool {
    let mut seen = HashSet::with_capacity(queries.len());
    let is_usual =
        |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    let is_plain = |(id, text): &(String, String)| is_usual(id) && !text.trim().is_empty();
    queries.iter().all(|query| is_plain(query) && seen.insert(query.0.as_str()))
}

impl Queries {
    /// Queries that are given as a mapping, pairs, files, a table or rows.
    fn new(given: &Bound<'_, PyAny>, reading: Reading) -> PyResult<Self> {
        // Named tuples are read by their names, as rows are.
        let is_named = given.get_item(0).is_ok_and(|first| first.hasattr("_asdict").unwrap_or(false));
        let ColumnNames { id, text, .. } = &reading.columns;
        if id.is_none() && text.is_none() && !is_named {
            let queries: PyResult<Vec<(String, String)>> = match given.extract() {
                Ok(Mapped(queries)) => Ok(queries.into_iter().collect()),
                Err(_) => given.extract(),
            };
            if let Some(queries) = queries.ok().filter(|queries| are_plain(queries)) {
                return Ok(Self::Plain(queries));
            }
        }
        Ok(Self::Read(Files::read(given, Kind::Queries, reading, &std::env::temp_dir())?))
    }

    fn all(self, session: &Arc<Session>) -> Result<Vec<Query>, Failed> {
        match self {
            Self::Plain(queries) => {
                let query = |(id, text)| Query { id, text, ..Query::default() };
                Ok(queries.into_iter().map(query).collect())
            }
            Self::Read(files) => {
                let (queries, skipped) =
                    read_queries(&files.of_queries(&session.engine()?)?, &files.queries())?;
                files.warn(session, &skipped);
                Ok(queries)
            }
        }
    }
}

#[pymethods]
impl PySearcher {
    /// Searches vectors exactly: `store` is a Store, a path or several paths. `encoder` encodes the queries
    /// and must be the model that encoded the store; or `query_vectors` is the path of a store of encoded
    /// queries. With `verify`, checksums are compared, but for those of a Store that were compared before.
    /// `vector_prf` moves queries towards their best hits: "average", "rocchio", or a dict with `method`,
    /// `docs` (3), and of rocchio `alpha` (0.9) and `beta` (0.1).
    #[staticmethod]
    #[pyo3(signature = (store, encoder=None, *, query_vectors=None, scan="auto", device="auto", verify=true,
                        any_role=false, assume_model=false, vector_prf=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn dense(
        py: Python<'_>,
        store: StoreArgument<'_>,
        encoder: Option<GivenEncoder>,
        query_vectors: Option<PathBuf>,
        scan: &str,
        device: &str,
        verify: bool,
        any_role: bool,
        assume_model: bool,
        vector_prf: Option<AskedOfVectors<'_>>,
    ) -> PyResult<Self> {
        let feedback = vector_prf.map(|asked| vector_feedback(&asked)).transpose()?;
        let (stores, is_verified) = match store {
            StoreArgument::Open(store) => (store.get().paths.clone(), store.get().is_verified),
            StoreArgument::Paths(paths) => (paths.all(), false),
        };
        let verify = verify && !is_verified;
        let queries = match (encoder, query_vectors) {
            (Some(GivenEncoder(encoder)), None) => QuerySource::Encoder { encoder, assume_model },
            (None, Some(store)) => QuerySource::Store(store),
            _ => {
                let failed = Failed::invalid("a search needs the vectors of queries once");
                return Err(failed.hint("give encoder or query_vectors").into());
            }
        };
        let scan = scan.parse().map_err(Failed::from)?;
        let device = parse_device(device)?;
        let options = DenseOptions { scan, device, part: None, verify, any_role, feedback };
        let open = move |session: &Arc<Session>| Ok(session.engine()?.dense(&stores, queries, &options)?);
        Ok(Self::of(work::run(py, None, open)?))
    }

    /// Searches all of `searchers` and fuses the best `depth` hits of each, as `fuse` does with their runs.
    #[staticmethod]
    #[pyo3(signature = (searchers, method="rrf", *, depth=1000, weights=None, rrf_k=None, normalize=None,
                        missing=None, different_collections=false))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn hybrid(
        py: Python<'_>,
        searchers: Vec<Bound<'_, Self>>,
        method: &str,
        #[pyo3(from_py_with = whole)] depth: usize,
        weights: Option<Vec<f64>>,
        rrf_k: Option<f64>,
        normalize: Option<&str>,
        missing: Option<&str>,
        different_collections: bool,
    ) -> PyResult<Self> {
        let fusion = fusion(method, weights, rrf_k, normalize, missing)?;
        at_least_one("depth", Some(depth))?;
        let collections = if different_collections { Collections::MayDiffer } else { Collections::Same };
        searchers.iter().try_for_each(|searcher| searcher.get().check_takes_texts())?;
        let most = searchers.iter().map(|searcher| searcher.get().most).min().unwrap_or(usize::MAX);
        let searchers: Vec<_> = searchers.iter().map(|searcher| searcher.get().inner.clone()).collect();
        let open = move |session: &Arc<Session>| {
            Ok(session.engine()?.hybrid(searchers, fusion, depth, collections)?)
        };
        Ok(Self { most, ..Self::of(work::run(py, None, open)?) })
    }

    /// This searcher, with its best `depth` hits ordered again by cross-encoders. `corpus` is the collection
    /// that has their texts, as `toller.encode` takes it. With `cut`, the hits below are left out;
    /// `interpolate` is the weight of the cross-encoders, if the first scores are to count too.
    #[pyo3(signature = (models, corpus, *, depth=100, cut=false, combine="mean", interpolate=None,
                        title_separator=Some(" ".to_owned()), skip_unavailable=false, id_column=None,
                        title_column=None, text_column=None, skip_bad_lines=false, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn reranked(
        &self,
        py: Python<'_>,
        models: GivenScorers,
        corpus: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] depth: usize,
        cut: bool,
        combine: &str,
        interpolate: Option<f64>,
        title_separator: Option<String>,
        skip_unavailable: bool,
        id_column: Option<String>,
        title_column: Option<String>,
        text_column: Option<String>,
        skip_bad_lines: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.check_takes_texts()?;
        let GivenScorers(models) = models;
        if models.is_empty() {
            return Err(Failed::invalid("no model to rerank with").hint("give at least one").into());
        }
        at_least_one("depth", Some(depth))?;
        let options = RerankOptions {
            depth,
            cut,
            combine: combine.parse().map_err(Failed::from)?,
            interpolate,
            title_separator,
            windows: None,
            cut_queries: false,
            unavailable: if skip_unavailable { Unavailable::KeepBelow } else { Unavailable::Refuse },
        };
        let (first, most) = (self.inner.clone(), self.most);
        let columns =
            ColumnNames { id: id_column, title: title_column, text: text_column, ..ColumnNames::default() };
        let corpus =
            Files::read(corpus, Kind::Passages, Reading { columns, skip_bad_lines }, &std::env::temp_dir())?;
        let open = move |session: &Arc<Session>| {
            let engine = session.engine()?;
            let texts = corpus.texts(&engine)?;
            let reranker = Arc::new(engine.reranker(models, texts, options)?);
            let inner: Arc<dyn Searcher> = engine.reranked(first.clone(), reranker.clone());
            Ok((inner, Stages { first, most, reranker }))
        };
        let (inner, stages) = work::run(py, progress, open)?;
        Ok(Self { most: stages.at_a_time().min(most), stages: Some(stages), ..Self::of(inner) })
    }

    /// The `k` best documents for one query, best first.
    #[pyo3(signature = (query, k=10))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: String,
        #[pyo3(from_py_with = whole)] k: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        at_least_one("k", Some(k))?;
        let searcher = self.inner.clone();
        let hits: Vec<(String, f64, u32)> = work::run(py, None, move |_| {
            let queries = [Query { id: "query".to_owned(), text: query, ..Query::default() }];
            let found =
                searcher.search(&SearchRequest::new(&queries, k)).map_err(|error| Failed::of(&*error))?;
            let hits = found.rankings.into_iter().flat_map(|ranking| ranking.hits);
            let found = |hit: Hit| {
                (searcher.doc_id(hit.doc).into_owned(), Score::F32(hit.score).as_read(), hit.doc.0)
            };
            Ok(hits.map(found).collect())
        })?;
        let class = py.import("toller.results")?.getattr("Hit")?;
        hits.into_iter().map(|hit| class.call1(hit)).collect()
    }

    /// The `k` best documents for each query, as a run. `queries` is `{query id: text}`, or pairs of both; or
    /// a table, a dataset, rows or files, as `toller.encode` takes them. `allowed` holds the only documents
    /// that may be hits, and `excluded` those of each query that may not: `{query id: document ids}`.
    #[pyo3(signature = (queries, k=1000, *, allowed=None, excluded=None, id_column=None, text_column=None,
                        skip_bad_lines=false, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn batch_search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] k: usize,
        allowed: Option<&Bound<'_, PyAny>>,
        excluded: Option<Mapped<Bound<'_, PyAny>>>,
        id_column: Option<String>,
        text_column: Option<String>,
        skip_bad_lines: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Run> {
        at_least_one("k", Some(k))?;
        let lists = lists(allowed, excluded)?;
        let (searcher, most, stages) = (self.inner.clone(), self.most, self.stages.clone());
        let vector = self.takes_impacts.then(|| ColumnNames::VECTOR.to_owned());
        let columns = ColumnNames { id: id_column, text: text_column, vector, ..ColumnNames::default() };
        let queries = Queries::new(queries, Reading { columns, skip_bad_lines })?;
        work::run(py, progress, move |session| {
            let queries = queries.all(session)?;
            let (filter, missing) = lists.in_collection(&*searcher);
            if let Some(example) = missing.first() {
                let missing = counted(missing.len(), "identifier");
                session.warn(format!(
                    "{missing} of allowed and excluded are not in the collection, for example {example:?}"
                ));
            }
            let mut run = toller_ir::Run { tag: "toller".to_owned(), ..toller_ir::Run::default() };
            let mut done = 0;
            let mut add = |block: &[Query], rankings: &[Ranking]| {
                run.queries.extend(as_run(&*searcher, block, rankings).queries);
                done += block.len();
                session.progress("searching", done as u64, Some(queries.len() as u64));
            };
            match &stages {
                Some(stages) => stages.search(&queries, k, &filter, session, add)?,
                None => {
                    let job = SearchJob { searcher: &*searcher, queries: &queries, k, filter: &filter };
                    each_block(&job, most, session, |block, found| {
                        add(block, &found);
                        Ok(())
                    })?;
                }
            }
            Ok(Run::of(run))
        })
    }

    /// The number of documents.
    fn __len__(&self) -> usize {
        self.inner.doc_count()
    }
}

/// What a search leaves out, as it is given: identifiers are strings or integers.
fn lists(
    allowed: Option<&Bound<'_, PyAny>>,
    excluded: Option<Mapped<Bound<'_, PyAny>>>,
) -> PyResult<DocumentLists> {
    let ids = |given: &Bound<'_, PyAny>| {
        if given.is_instance_of::<PyString>() {
            let failed = Failed::invalid("a string in place of document ids");
            return Err(PyErr::from(failed.hint("give a list or a set of ids")));
        }
        given.try_iter()?.map(|id| identifier(&id?)).collect::<PyResult<Vec<String>>>()
    };
    let mut pairs = Vec::new();
    for (query, documents) in excluded.map(|Mapped(excluded)| excluded).unwrap_or_default() {
        pairs.extend(ids(&documents)?.into_iter().map(|document| (query.clone(), document)));
    }
    let allowed = allowed.map(|allowed| Ok::<_, PyErr>(ids(allowed)?.into_iter().collect()));
    Ok(DocumentLists { allowed: allowed.transpose()?, excluded: pairs })
}

/// Searches at most `most` queries at a time. `take` gets the rankings of each block.
fn each_block<'a>(
    job: &SearchJob<'a>,
    most: usize,
    session: &Session,
    mut take: impl FnMut(&'a [Query], Vec<Ranking>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    job.each_block(most.min(job.at_once(SearchJob::QUERIES)), |queries, filter| {
        session.check()?;
        let found = job.searcher.search(&SearchRequest { queries, k: job.k, filter });
        take(queries, found.map_err(|error| Failed::of(&*error))?.rankings)
    })
}

impl Stages {
    /// The most queries whose hits are reranked at a time.
    fn at_a_time(&self) -> usize {
        (PAIRS / self.reranker.options().depth).max(1)
    }

    /// Searches as many queries together as the first stage wants, and reranks the hits of a few at a time.
    /// `take` gets the `k` best hits of each of these.
    fn search(
        &self,
        queries: &[Query],
        k: usize,
        filter: &QueryFilter,
        session: &Session,
        mut take: impl FnMut(&[Query], &[Ranking]),
    ) -> Result<(), Failed> {
        let k_of_first = self.reranker.options().depth.max(k);
        let job = SearchJob { searcher: &*self.first, queries, k: k_of_first, filter };
        each_block(&job, self.most, session, |block, found| {
            let few = self.at_a_time();
            for (queries, found) in block.chunks(few).zip(found.chunks(few)) {
                let stop = || session.go_on().is_break();
                let (rankings, _) = self.reranker.rerank_rankings(job.searcher, queries, found, k, &stop)?;
                take(queries, &rankings);
            }
            Ok(())
        })
    }
}

/// An inverted index that `toller.index` made, as a searcher.
///
/// `ranker` is bm25 (with k1 and b; the default), bm25-robertson, ql (with mu), ql-jm (with lambda_), or
/// impact, the only one for an index of impacts. The queries of such an index are texts if it names the
/// sparse model that made the impacts, or `sparse_model` does, which computes on `device`; otherwise, and
/// with `queries_have_impacts`, they are terms, each as often as it weighs. `rm3` and `rocchio` expand
/// queries by their best hits, with Anserini's parameters if they are True; or a dict names some, as
/// `rm3={"fb_docs": 5}`. Both need an index with document vectors. `analyzer` ("wordpiece:MODEL") is for an
/// index whose model has another place now.
#[pyclass(frozen, extends = PySearcher, module = "toller")]
pub(crate) struct SparseIndex {
    directory: PathBuf,
}

#[pymethods]
impl SparseIndex {
    #[new]
    #[pyo3(signature = (directory, *, ranker=None, k1=None, b=None, mu=None, lambda_=None, exact_lengths=false,
                        rm3=None, rocchio=None, analyzer=None, sparse_model=None, device="auto",
                        queries_have_impacts=false, verify=true))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        ranker: Option<&str>,
        k1: Option<f32>,
        b: Option<f32>,
        mu: Option<f32>,
        lambda_: Option<f32>,
        exact_lengths: bool,
        rm3: Option<Asked<'_>>,
        rocchio: Option<Asked<'_>>,
        analyzer: Option<String>,
        sparse_model: Option<String>,
        device: &str,
        queries_have_impacts: bool,
        verify: bool,
    ) -> PyResult<PyClassInitializer<Self>> {
        let is_given = ranker.is_some() || [k1, b, mu, lambda_].iter().any(Option::is_some);
        let ranker =
            is_given.then(|| parse_ranker(ranker.unwrap_or("bm25"), k1, b, mu, lambda_)).transpose()?;
        let lengths = if exact_lengths { Lengths::Exact } else { Lengths::Encoded };
        let feedback = feedback(rm3, rocchio)?;
        let options = SparseOptions {
            ranker,
            lengths,
            feedback,
            analyzer,
            model: sparse_model,
            encoder: EncoderOptions { device: parse_device(device)?, ..EncoderOptions::default() },
            queries_have_impacts,
            verify,
        };
        let path = directory.clone();
        let inner = work::run(py, None, move |session| Ok(session.engine()?.sparse(&path, &options)?))?;
        let searcher = PySearcher {
            takes_impacts: inner.has_impacts(),
            takes_texts: !inner.has_impacts() || inner.encoder().is_some(),
            ..PySearcher::of(inner)
        };
        Ok(PyClassInitializer::from(searcher).add_subclass(Self { directory }))
    }

    /// The directory.
    #[getter]
    fn directory(&self) -> String {
        self.directory.display().to_string()
    }
}

/// The ranker that arguments describe.
fn parse_ranker(
    name: &str,
    k1: Option<f32>,
    b: Option<f32>,
    mu: Option<f32>,
    lambda: Option<f32>,
) -> Result<Ranker, Failed> {
    let is_bm25 = matches!(name, "bm25" | "bm25-robertson");
    let parameters = [
        ("k1", k1, is_bm25),
        ("b", b, is_bm25),
        ("mu", mu, name == "ql"),
        ("lambda_", lambda, name == "ql-jm"),
    ];
    if let Some((parameter, ..)) = parameters.iter().find(|(_, given, has_it)| given.is_some() && !has_it) {
        let failed = Failed::invalid(format!("{parameter} has no meaning for the ranker {name}"));
        return Err(failed.hint("k1 and b are for bm25, mu is for ql, lambda_ for ql-jm"));
    }
    let bm25 = |variant| Ranker::Bm25 { k1: k1.unwrap_or(0.9), b: b.unwrap_or(0.4), variant };
    let ranker = match name {
        "bm25" => bm25(Bm25Variant::Lucene),
        "bm25-robertson" => bm25(Bm25Variant::Robertson),
        "ql" => Ranker::QlDirichlet { mu: mu.unwrap_or(1000.0) },
        "ql-jm" => Ranker::QlJelinekMercer { lambda: lambda.unwrap_or(0.1) },
        "impact" => Ranker::Impact,
        _ => {
            let failed = Failed::invalid(format!("no ranker is named {name:?}"));
            return Err(failed.hint("there are bm25, bm25-robertson, ql, ql-jm and impact"));
        }
    };
    ranker.check().map_err(|error| Failed::invalid(error.to_string()))?;
    Ok(ranker)
}

/// Reads queries: pairs of id and text.
#[pyfunction]
#[pyo3(signature = (path, *, id_column=None, text_column=None, skip_bad_lines=false))]
#[pyo3(name = "read_queries")]
pub(crate) fn queries_of_files(
    py: Python<'_>,
    path: Paths,
    id_column: Option<String>,
    text_column: Option<String>,
    skip_bad_lines: bool,
) -> PyResult<Vec<(String, String)>> {
    let columns = ColumnNames { id: id_column, text: text_column, ..ColumnNames::default() };
    work::run(py, None, move |session| {
        let files = session.engine()?.query_files(&path.all())?;
        let options = ReadOptions { skip_bad_lines, columns, ..ReadOptions::default() };
        let (queries, skipped) = read_queries(&files, &options)?;
        session.skipped(&skipped);
        session.numbered(&skipped);
        Ok(queries.into_iter().map(|query| (query.id, query.text)).collect())
    })
}
