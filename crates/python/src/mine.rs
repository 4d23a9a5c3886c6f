//! Negatives for training.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use toller_corpus::read_queries;
use toller_files::{AtomicFile, CompressedWriter, Compression, FileError};
use toller_mining::{Count, Format, MissingText, ScoreRule, Selection};
use toller_pipeline::{MineJob, QueryHits, RerankScores, Scored};

use crate::error::Failed;
use crate::given::{Files, Kind, Reading, parent};
use crate::runs::{Qrels, Run};
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
    scores: Vec<Bound<'py, Run>>,
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
    fn rule(&self) -> Result<ScoreRule, Failed> {
        let rule = ScoreRule {
            max_negative: self.max_score,
            min_negative: self.min_score,
            absolute_margin: self.absolute_margin,
            relative_margin: self.relative_margin,
            min_positive: self.min_positive_score,
            new_positives: self.new_positive_score,
        };
        if self.scores.is_empty() && rule != ScoreRule::default() {
            let failed = Failed::invalid("a threshold of scores needs scores");
            return Err(failed.hint("give scores, the run of a reranker"));
        }
        let bounds = [self.max_score, self.min_score, self.min_positive_score, self.new_positive_score];
        if let Some(bound) = bounds.into_iter().flatten().find(|bound| !bound.is_finite()) {
            return Err(Failed::invalid(format!("a score of {bound}")).hint("give a finite number"));
        }
        if let (Some(least), Some(most)) = (self.min_score, self.max_score)
            && least > most
        {
            let failed =
                Failed::invalid(format!("no score is from {least} (min_score) to {most} (max_score)"));
            return Err(failed.hint("give a max_score of at least min_score"));
        }
        let margins = [self.absolute_margin, self.relative_margin];
        if let Some(margin) =
            margins.into_iter().flatten().find(|margin| !margin.is_finite() || *margin < 0.0)
        {
            return Err(Failed::invalid(format!("a margin of {margin}")).hint("give a number of at least 0"));
        }
        Ok(rule)
    }

    fn selection(&self) -> Result<Selection, Failed> {
        let (first, last) = self.depth;
        let count = self.per_positive.map_or(Count::PerQuery(self.negatives), Count::PerPositive);
        let wanted = self.per_positive.unwrap_or(self.negatives);
        if first == 0 || last < first || wanted == 0 || self.positives == Some(0) {
            let failed = Failed::invalid(format!("{wanted} negatives of the ranks {first} to {last}"));
            return Err(failed.hint("ranks begin at 1, and numbers are not 0: depth=(1, 200)"));
        }
        Ok(Selection { ranks: first..=last, count, choice: self.choose.parse()?, seed: self.seed })
    }
}

/// Writes negatives from runs. Returns the numbers of queries, of queries that were left out, of queries
/// with fewer negatives than wanted, of positives and of negatives.
#[pyfunction]
pub(crate) fn mine(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    qrels: Option<Bound<'_, Qrels>>,
    output: PathBuf,
    options: MineOptions<'_>,
) -> PyResult<(usize, usize, usize, usize, usize)> {
    let format: Format = options.format.parse().map_err(Failed::from)?;
    let (selection, rule) = (options.selection()?, options.rule()?);
    if format.needs_texts() && (options.queries.is_none() || options.corpus.is_none()) {
        let failed = Failed::invalid(format!("the format {format} needs the texts of queries and passages"));
        return Err(failed.hint("give queries and corpus").into());
    }
    if qrels.is_none() && rule.new_positives.is_none() {
        let failed = Failed::invalid("nothing says which documents are relevant");
        return Err(failed.hint("give qrels, or scores with new_positive_score").into());
    }
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
    let arcs = |runs: &[Bound<'_, Run>]| runs.iter().map(|run| run.get().run.clone()).collect::<Vec<_>>();
    let (runs, scores) = (arcs(&runs), arcs(&options.scores));
    let qrels = qrels.map_or_else(Arc::default, |qrels| qrels.get().qrels.clone());
    let (relevance_level, positives) = (options.relevance_level, options.positives);
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
        let runs = runs.iter().map(|run| (**run).clone());
        let is_scored = !scores.is_empty();
        let scores = RerankScores::of_runs(scores.iter().map(|run| (**run).clone()));
        let job = MineJob {
            hits: &QueryHits::of_runs(runs, *selection.ranks.end()),
            qrels: &qrels,
            relevance_level,
            positives,
            scored: is_scored.then_some(Scored { scores: &scores, rule }),
            selection: &selection,
            format,
            queries: &queries,
            collection: collection.as_ref().map(|(inputs, options)| (inputs.as_slice(), options)),
        };
        let mining = job.choose()?;
        if mining.queries() == 0 {
            return Err(Failed::invalid("no query of the run has a positive").hint(
                "give the judgments of the same queries; relevance_level is the lowest relevant grade",
            ));
        }
        if mining.skipped.total() > 0 {
            session.warn(mining.skipped.to_string());
        }
        if let Some((count, first)) = &mining.missing {
            session.warn(format!("{count} relevant documents are not in corpus, for example {first:?}"));
        }
        if let Some((count, first)) = &mining.unscored {
            session.warn(format!("{count} documents have no score in scores, for example {first:?}"));
        }
        let mut out = CompressedWriter::new(AtomicFile::create(&output)?, Compression::named(&output));
        mining.write(&mut out).map_err(|error| failure(error, &output))?;
        session.check()?;
        out.finish().map_err(FileError::on("write", &output))?.commit()?;
        Ok((mining.queries(), mining.left_out(), mining.short(), mining.positives(), mining.negatives()))
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
