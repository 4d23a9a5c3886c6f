//! Negatives for training.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use toller_corpus::read_queries;
use toller_eval::{NoneJudged, none_judged};
use toller_files::{CompressedWriter, FileError};
use toller_ir::counted;
use toller_mining::{Count, Format, Inputs, MissingText, ScoreRule, Selection};
use toller_pipeline::{MineJob, QueryHits, RerankScores, Scored};

use crate::by_name::by_name;
use crate::error::Failed;
use crate::given::{Files, Kind, Reading, parent};
use crate::models::at_least_one;
use crate::runs::{GivenQrels, GivenRun, arcs};
use crate::work;

/// The options of mining, as `toller.mine` gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MineOptions<'py> {
    #[pyo3(default)]
    queries: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    corpus: Option<Bound<'py, PyAny>>,
    depth: (usize, usize),
    negatives: usize,
    #[pyo3(default)]
    per_positive: Option<usize>,
    #[pyo3(default)]
    positives: Option<usize>,
    choose: String,
    seed: u64,
    relevance_level: i32,
    format: String,
    skip_bad_lines: bool,
    scores: Vec<GivenRun>,
    #[pyo3(default)]
    max_score: Option<f64>,
    #[pyo3(default)]
    min_score: Option<f64>,
    #[pyo3(default)]
    absolute_margin: Option<f64>,
    #[pyo3(default)]
    relative_margin: Option<f64>,
    #[pyo3(default)]
    min_positive_score: Option<f64>,
    #[pyo3(default)]
    new_positive_score: Option<f64>,
}

impl MineOptions<'_> {
    fn rule(&self) -> ScoreRule {
        ScoreRule {
            max_negative: self.max_score,
            min_negative: self.min_score,
            absolute_margin: self.absolute_margin,
            relative_margin: self.relative_margin,
            min_positive: self.min_positive_score,
            new_positives: self.new_positive_score,
        }
    }

    fn selection(&self) -> Result<Selection, Failed> {
        let (first, last) = self.depth;
        let count = self.per_positive.map_or(Count::PerQuery(self.negatives), Count::PerPositive);
        Ok(Selection { ranks: first..=last, count, choice: self.choose.parse()?, seed: self.seed })
    }
}

/// Writes negatives from runs. Returns the numbers of queries, of queries that were left out, of queries
/// with fewer negatives than wanted, of positives and of negatives.
#[pyfunction]
pub(crate) fn mine(
    py: Python<'_>,
    runs: Vec<GivenRun>,
    qrels: Option<GivenQrels>,
    output: PathBuf,
    #[pyo3(from_py_with = by_name)] options: MineOptions<'_>,
) -> PyResult<(usize, usize, usize, usize, usize)> {
    let format: Format = options.format.parse().map_err(Failed::from)?;
    let (selection, rule) = (options.selection()?, options.rule());
    let inputs = Inputs {
        qrels: qrels.is_some(),
        scores: !options.scores.is_empty(),
        queries: options.queries.is_some(),
        corpus: options.corpus.is_some(),
    };
    inputs.check(&selection, &rule, format).map_err(Failed::from)?;
    let positives = at_least_one("positives", options.positives)?;
    let reading = Reading { skip_bad_lines: options.skip_bad_lines, ..Reading::default() };
    let read = |given: Option<&Bound<'_, PyAny>>, kind| {
        given.map(|given| Files::read(given, kind, reading.clone(), parent(&output))).transpose()
    };
    let queries = read(options.queries.as_ref(), Kind::Queries)?;
    let corpus = read(options.corpus.as_ref(), Kind::Passages)?;
    if queries.iter().chain(&corpus).any(|files| files.has(&output)) {
        let failed = Failed::invalid(format!("{} would be overwritten, which is read", output.display()));
        return Err(failed.hint("name another output").into());
    }
    let (runs, scores) = (arcs(runs), arcs(options.scores));
    let qrels = qrels.map_or_else(Arc::default, |GivenQrels(qrels)| qrels);
    let relevance_level = options.relevance_level;
    work::run(py, None, move |session| {
        let engine = session.engine()?;
        let queries = match &queries {
            Some(files) => {
                let (queries, skipped) = read_queries(&files.of_queries(&engine)?, &files.queries())?;
                files.warn(session, &skipped);
                queries
            }
            None => Vec::new(),
        };
        let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
        let collection = match &corpus {
            Some(files) => Some((files.of_collection(&engine)?, files.collection())),
            None => None,
        };
        let copies = runs.iter().map(|run| (**run).clone());
        let is_scored = !scores.is_empty();
        let scores = RerankScores::of_runs(scores.iter().map(|run| (**run).clone()));
        let job = MineJob {
            hits: &QueryHits::of_runs(copies, *selection.ranks.end()),
            qrels: &qrels,
            relevance_level,
            positives,
            scored: is_scored.then_some(Scored { scores: &scores, rule }),
            selection: &selection,
            format,
            queries: &queries,
            collection: collection.as_ref().map(|(inputs, options)| (inputs.as_slice(), options)),
        };
        if let Some(scored) = job.scored {
            scored.check(job.hits)?;
        }
        // Of several runs, one with judged documents is enough.
        let unjudged: Option<Vec<NoneJudged<'_>>> = runs.iter().map(|run| none_judged(&qrels, run)).collect();
        if let Some(first) = unjudged.iter().flatten().next() {
            session.warn(first.to_string());
        }
        let mining = job.choose(&|read| session.progress("reading", read, None))?;
        mining.left_out_without_text().for_each(|problem| session.warn(problem));
        mining.left_out_unscored("scores").for_each(|problem| session.warn(problem));
        if mining.queries() == 0 {
            return Err(Failed::invalid("no query of the run has a positive").hint(
                "give the judgments of the same queries; relevance_level is the lowest relevant grade",
            ));
        }
        session.skipped(&mining.skipped);
        if let Some((count, first)) = &mining.missing {
            let documents = counted(*count, "relevant document");
            session.warn(format!("{documents} missing from corpus, for example {first:?}"));
        }
        if mining.is_in_vain() {
            let failed = Failed::invalid(format!("no negative for {}", counted(mining.queries(), "query")));
            return Err(failed.hint("take other or deeper ranks with depth, or wider limits of scores"));
        }
        let mut out = CompressedWriter::create(&output)?;
        mining.write(&mut out).map_err(|error| failure(error, &output))?;
        session.check()?;
        out.finish().map_err(FileError::on("write", &output))?.commit()?;
        Ok((mining.queries(), mining.left_out(), mining.short(), mining.positives(), mining.negatives()))
    })
}

/// A missing text is an error of the input, not of the output file.
fn failure(error: io::Error, output: &std::path::Path) -> Failed {
    match error.downcast::<MissingText>() {
        Ok(missing) => missing.into(),
        Err(error) => FileError::new("write", output, error).into(),
    }
}
