//! Whole jobs on collections: encoding into a store, and building an inverted index.

use std::path::PathBuf;

use pyo3::prelude::*;
use toller_corpus::ColumnNames;
use toller_encoder::TitleMode;
use toller_engine::{EncodeOptions, IndexOptions};

use crate::error::Failed;
use crate::given::{Collection, Files, Kind, Reading, parent};
use crate::models::{GivenEncoder, at_least_one};
use crate::training_options::parse;
use crate::whole::whole;
use crate::work;

/// Encodes a collection or queries into a store, or goes on where an interrupted encode of the same ended.
/// Returns the directory.
#[pyfunction]
#[pyo3(signature = (encoder, output, *, corpus=None, queries=None, store_dtype="f32", title_mode=None,
                    title_separator=None, context_field=None, shard=None, rows_per_shard=None, overwrite=false, id_column=None,
                    title_column=None, text_column=None, skip_bad_lines=false, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn encode(
    py: Python<'_>,
    encoder: GivenEncoder,
    output: PathBuf,
    corpus: Option<&Bound<'_, PyAny>>,
    queries: Option<&Bound<'_, PyAny>>,
    store_dtype: &str,
    title_mode: Option<&str>,
    title_separator: Option<String>,
    context_field: Option<String>,
    #[pyo3(from_py_with = whole)] shard: Option<(u32, u32)>,
    #[pyo3(from_py_with = whole)] rows_per_shard: Option<usize>,
    overwrite: bool,
    id_column: Option<String>,
    title_column: Option<String>,
    text_column: Option<String>,
    skip_bad_lines: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PathBuf> {
    let GivenEncoder(encoder) = encoder;
    if encoder.is_sparse() {
        let failed = Failed::invalid("the model gives weights to terms, and makes no vectors");
        return Err(failed.hint("make a store of impacts on the command line: `toller encode`").into());
    }
    let own = encoder.model().titles();
    let titles = TitleMode::of(own, parse(title_mode)?, title_separator, context_field.clone());
    let titles = titles.map_err(Failed::from)?;
    let options = EncodeOptions {
        titles,
        store_dtype: store_dtype.parse().map_err(Failed::from)?,
        part: shard,
        rows_per_shard: at_least_one("rows_per_shard", rows_per_shard)?,
        overwrite,
        drops_current_shard: true,
    };
    let columns = ColumnNames {
        id: id_column,
        title: title_column,
        text: text_column,
        context: context_field,
        vector: None,
    };
    let reading = Reading { columns, skip_bad_lines };
    let texts = match (corpus, queries) {
        (Some(corpus), None) => Texts::Corpus(Collection::read(corpus, reading, &output)?),
        (None, Some(_)) if reading.columns.context.is_some() => {
            let failed = Failed::invalid("context_field is for a collection, and queries are given");
            return Err(failed.hint("leave context_field out").into());
        }
        (None, Some(queries)) => {
            Texts::Queries(Files::read(queries, Kind::Queries, reading, parent(&output))?)
        }
        _ => {
            let failed = Failed::invalid("a store is of a collection or of queries");
            return Err(failed.hint("give corpus or queries").into());
        }
    };
    work::run(py, progress, move |session| {
        session.wait_for_interrupted()?;
        let engine = session.engine()?;
        let source = match &texts {
            Texts::Corpus(corpus) => corpus.source(&engine, &output)?,
            Texts::Queries(files) => engine.queries(&files.of_queries(&engine)?, &files.queries())?,
        };
        match &texts {
            Texts::Corpus(_) => session.skipped(source.skipped()),
            Texts::Queries(files) => files.warn(session, source.skipped()),
        }
        let encoded = engine.encode(&encoder, &source, &output, &options, session.stop())?;
        if encoded.zero_rows > 0 {
            session.warn(format!("{} vectors are all zeros; check the model's weights", encoded.zero_rows));
        }
        Ok(encoded.manifest.spec.directory(&output))
    })
}

/// What is encoded.
enum Texts {
    Corpus(Collection),
    Queries(Files),
}

/// Builds an inverted index of a collection, unless it is there.
#[pyfunction]
#[pyo3(signature = (corpus, output, *, analyzer, title_separator=Some(" ".to_owned()), doc_vectors=false,
                    memory_bytes=None, overwrite=false, id_column=None, title_column=None, text_column=None,
                    skip_bad_lines=false, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn index(
    py: Python<'_>,
    corpus: &Bound<'_, PyAny>,
    output: PathBuf,
    analyzer: String,
    title_separator: Option<String>,
    doc_vectors: bool,
    #[pyo3(from_py_with = whole)] memory_bytes: Option<usize>,
    overwrite: bool,
    id_column: Option<String>,
    title_column: Option<String>,
    text_column: Option<String>,
    skip_bad_lines: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let memory_bytes = memory_bytes.unwrap_or(IndexOptions::default().memory_bytes);
    let options = IndexOptions { title_separator, doc_vectors, memory_bytes, overwrite };
    let columns =
        ColumnNames { id: id_column, title: title_column, text: text_column, ..ColumnNames::default() };
    let corpus = Collection::read(corpus, Reading { columns, skip_bad_lines }, &output)?;
    work::run(py, progress, move |session| {
        session.wait_for_interrupted()?;
        let engine = session.engine()?;
        let analyzer = engine.analyzer(&analyzer)?;
        let source = corpus.source(&engine, &output)?;
        session.skipped(source.skipped());
        engine.index(&source, &analyzer, &output, &options, session.stop())?;
        Ok(())
    })
}
