//! Negatives for training.

use std::io;
use std::path::PathBuf;

use pyo3::prelude::*;
use toller_corpus::read_queries;
use toller_files::{AtomicFile, CompressedWriter, Compression, FileError};
use toller_mining::{Choice, Format, MissingText, Selection};
use toller_pipeline::{MineJob, QueryHits};

use crate::error::Failed;
use crate::given::{Files, Kind, Reading, parent};
use crate::runs::{Qrels, Run};
use crate::work;

/// Writes negatives from a run. Returns the numbers of queries, of queries that were left out, of queries
/// with fewer negatives than wanted, and of negatives.
#[pyfunction]
#[pyo3(signature = (run, qrels, output, *, queries=None, corpus=None, depth=(1, 200), negatives=30, choose="sample",
                    seed=42, relevance_level=1, format="jsonl", skip_bad_lines=false))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn mine(
    py: Python<'_>,
    run: &Bound<'_, Run>,
    qrels: &Bound<'_, Qrels>,
    output: PathBuf,
    queries: Option<&Bound<'_, PyAny>>,
    corpus: Option<&Bound<'_, PyAny>>,
    depth: (usize, usize),
    negatives: usize,
    choose: &str,
    seed: u64,
    relevance_level: i32,
    format: &str,
    skip_bad_lines: bool,
) -> PyResult<(usize, usize, usize, usize)> {
    let format: Format = format.parse().map_err(Failed::from)?;
    if depth.0 == 0 || depth.1 < depth.0 || negatives == 0 {
        let failed =
            Failed::invalid(format!("{negatives} negatives of the ranks {} to {}", depth.0, depth.1));
        return Err(failed.hint("ranks begin at 1: depth=(1, 200)").into());
    }
    let choice = match choose {
        "sample" => Choice::Sample { seed },
        "top" => Choice::Top,
        _ => {
            let failed = Failed::invalid(format!("no choice of negatives is named {choose:?}"));
            return Err(failed.hint("there are sample and top").into());
        }
    };
    if format.needs_texts() && (queries.is_none() || corpus.is_none()) {
        let failed = Failed::invalid(format!("the format {format} needs the texts of queries and passages"));
        return Err(failed.hint("give queries and corpus").into());
    }
    let selection = Selection { ranks: depth.0..=depth.1, count: negatives, choice };
    let reading = Reading { skip_bad_lines, ..Reading::default() };
    let read = |given: Option<&Bound<'_, PyAny>>, kind| {
        given.map(|given| Files::read(given, kind, reading.clone(), parent(&output))).transpose()
    };
    let (queries, corpus) = (read(queries, Kind::Queries)?, read(corpus, Kind::Passages)?);
    if queries.iter().chain(&corpus).any(|files| files.has(&output)) {
        let failed = Failed::invalid(format!("{} would be overwritten, which is read", output.display()));
        return Err(failed.hint("name another output").into());
    }
    let (run, qrels) = (run.get().run.clone(), qrels.get().qrels.clone());
    work::run(py, None, move |session| {
        let engine = session.engine()?;
        let queries = match &queries {
            Some(files) => {
                let (queries, skipped) = read_queries(&files.of_queries(&engine)?, &files.queries())?;
                if skipped.total() > 0 {
                    session.warn(skipped.to_string());
                }
                queries
            }
            None => Vec::new(),
        };
        let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
        let collection = match &corpus {
            Some(files) => Some((files.of_collection(&engine)?, files.collection())),
            None => None,
        };
        let job = MineJob {
            hits: &QueryHits::of_run((*run).clone(), depth.1),
            qrels: &qrels,
            relevance_level,
            selection: &selection,
            format,
            queries: &queries,
            collection: collection.as_ref().map(|(inputs, options)| (inputs.as_slice(), options)),
        };
        let mining = job.choose()?;
        if mining.queries() == 0 {
            return Err(Failed::invalid("no query of the run has a relevant document in the judgments")
                .hint(
                    "give the judgments of the same queries; relevance_level is the lowest relevant grade",
                ));
        }
        if mining.skipped.total() > 0 {
            session.warn(mining.skipped.to_string());
        }
        if let Some((count, first)) = &mining.missing {
            session.warn(format!("{count} relevant documents are not in corpus, for example {first:?}"));
        }
        let mut out = CompressedWriter::new(AtomicFile::create(&output)?, Compression::named(&output));
        mining.write(&mut out).map_err(|error| failure(error, &output))?;
        session.check()?;
        out.finish().map_err(FileError::on("write", &output))?.commit()?;
        Ok((mining.queries(), mining.left_out(), mining.short(), mining.negatives()))
    })
}

/// A missing text is an error of the input, not of the output file.
fn failure(error: io::Error, output: &std::path::Path) -> Failed {
    match error.downcast::<MissingText>() {
        Ok(missing) => Failed::invalid(missing.to_string())
            .hint("give queries and corpus with all queries and documents of the run and the judgments"),
        Err(error) => FileError::new("write", output, error).into(),
    }
}
