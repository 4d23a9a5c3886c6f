//! `toller mine`: negatives for training, from what was retrieved.

use std::collections::HashSet;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use toller_corpus::Score;
use toller_files::FileError;
use toller_ir::{Hit, Qrels, Query, Run, SearchResponse, Searcher, Setting, counted};
use toller_mining::{Choice, Count, Format, Pooled, ScoreRule, Selection};
use toller_pipeline::{
    DocumentLists, MineJob, Mining, QueryFilter, QueryHits, RerankScores, Scored, SearchJob, positives,
};

use crate::args::choice::by_name;
use crate::args::filter::RemoveQueryArgs;
use crate::args::input::CORPUS_FORMAT;
use crate::args::number::finite;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::QrelsIfAnyArgs;
use crate::args::replacing::{OverwriteArgs, has_first_line};
use crate::args::runs::{RunInputArgs, warn_of_none_judged};
use crate::args::sparse::SparseArgs;
use crate::args::texts::TextsArgs;
use crate::engine;
use crate::error::{Context, Failure, Remedied, UsageError};
use crate::ui::Ui;

/// The seed of a sample unless another is given.
const SEED: u64 = 42;

/// Take negatives for training from what was retrieved.
///
/// Queries without a relevant document are left out. Relevant documents are never used as negatives; with
/// --corpus, neither are copies of their text. Of several runs, a document has its best rank. With --scores,
/// a reranker decides which documents are sure enough. The same input and flags give the same file, whatever
/// the order of the queries.
#[derive(Debug, clap::Args)]
#[command(mut_arg("queries", |queries| queries.num_args(1..)))]
pub struct MineArgs {
    /// Runs to take negatives from (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet), instead of
    /// searching an index
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "sparse")]
    run: Vec<InputPath>,

    #[command(flatten)]
    qrels: QrelsIfAnyArgs,

    #[command(flatten)]
    texts: TextsArgs,

    /// Ranks to take negatives from, counted from 1
    #[arg(long, value_name = "FROM:TO", default_value = "1:200", value_parser = ranks)]
    depth: RangeInclusive<usize>,

    /// Negatives of each query, at most [default: 30]
    #[arg(long, value_name = "N", conflicts_with = "per_positive", value_parser = clap::value_parser!(u32).range(1..))]
    negatives: Option<u32>,

    /// Negatives for each of a query's positives, at most, instead of --negatives. In pairs, the positives
    /// take turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_positive: Option<u32>,

    /// Positives of each query, at most: those with the best ranks [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    positives: Option<u32>,

    /// Which documents of these ranks: a uniform sample, or the best
    #[arg(long, default_value_t, value_parser = by_name::<Choice>(Choice::NAMES))]
    choose: Choice,

    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: i32,

    /// File to write to; - for stdout
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,

    #[command(flatten)]
    overwrite: OverwriteArgs,

    /// Format of the file that is written
    #[arg(long, value_name = "NAME", default_value_t, value_parser = by_name::<Format>(Format::NAMES))]
    format: Format,

    #[command(flatten)]
    scores: ScoreArgs,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    own: RemoveQueryArgs,

    #[command(flatten)]
    sparse: SparseArgs,
}

/// Flags of a reranker's scores. Thresholds are on the scale of its scores.
#[derive(Debug, clap::Args)]
struct ScoreArgs {
    /// A reranker's runs (`toller rerank`) with scores of these documents. A document without a score is
    /// neither a negative nor a positive. The scores are written with the documents
    #[arg(long, value_name = "RUN", num_args = 1..)]
    scores: Vec<InputPath>,

    /// The highest score of a negative (RocketQA: 0.1)
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = finite)]
    max_score: Option<f64>,

    /// The lowest score of a negative
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = finite)]
    min_score: Option<f64>,

    /// How far a negative's score is below that of each positive, at least
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = margin)]
    absolute_margin: Option<f64>,

    /// The same, as a share of the positive's score (NV-Retriever's TopK-PercPos of 95%: 0.05)
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = share)]
    relative_margin: Option<f64>,

    /// Leave out positives with a lower score (RocketQA: 0.9)
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = finite)]
    min_positive_score: Option<f64>,

    /// Take documents with at least this score for positives, too, unless they are judged not relevant. Needs
    /// no --qrels
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true, value_parser = finite)]
    new_positive_score: Option<f64>,
}

impl ScoreArgs {
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
}

fn ranks(text: &str) -> Result<RangeInclusive<usize>, String> {
    let range = text.split_once(':').and_then(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?));
    range
        .filter(|range| *range.start() >= 1 && !range.is_empty())
        .ok_or_else(|| "FROM:TO, as in 1:200".to_owned())
}

fn margin(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|number| *number >= 0.0).ok_or_else(|| "a number of at least 0".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    margin(text).ok().filter(|share| *share <= 1.0).ok_or_else(|| "a share from 0 to 1".to_owned())
}

pub fn run(args: &MineArgs, ui: &Ui) -> crate::Result<()> {
    check_usage(args, ui)?;
    let skip_bad_lines = args.input.skip_bad_lines();
    let qrels = args.qrels.read(skip_bad_lines, ui)?;
    let queries = args.texts.read_queries(skip_bad_lines, ui)?;
    let hits = hits_of(args, &qrels, &queries, ui)?;
    check_judged(args, &qrels, &hits)?;
    let missing = missing_queries(args, &qrels, &hits);
    if missing > 0 {
        let place = if args.run.is_empty() { "a text in --queries" } else { "results in --run" };
        ui.warning(format!("left out {} without {place}", counted(missing, "judged query")));
    }
    let scores = RerankScores::of_runs(args.input.read_each(&args.scores.scores, ui)?);
    let scored =
        args.scores.scores.first().map(|run| (run, Scored { scores: &scores, rule: args.scores.rule() }));
    if let Some((run, scored)) = &scored {
        scored.check(&hits).map_err(|error| Remedied::of_flag(run.display(), &error))?;
    }
    let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
    let collection = args.texts.collection(skip_bad_lines)?;
    let job = MineJob {
        hits: &hits,
        qrels: &qrels,
        relevance_level: args.relevance_level,
        positives: args.positives.map(|most| most as usize),
        scored: scored.map(|(_, scored)| scored),
        selection: &args.selection(),
        format: args.format,
        queries: &queries,
        collection: collection.as_ref().map(|(inputs, options)| (inputs.as_slice(), options)),
    };
    args.output.write(ui, |out, name| mine(args, &job, missing, out, name, ui))
}

impl MineArgs {
    fn selection(&self) -> Selection {
        Selection { ranks: self.depth.clone(), count: self.count(), choice: self.choose, seed: self.seed }
    }

    fn count(&self) -> Count {
        match (self.negatives, self.per_positive) {
            (None, Some(count)) => Count::PerPositive(count as usize),
            (negatives, _) => Count::PerQuery(negatives.unwrap_or(30) as usize),
        }
    }
}

/// Refuses options that do not go together.
pub fn check_options(args: &MineArgs) -> Result<(), UsageError> {
    if args.run.is_empty() && args.sparse.sparse.is_none() {
        return Err(UsageError::new(
            "there is nothing to take negatives from",
            "give --sparse DIR or --run RUN",
        ));
    }
    if args.choose == Choice::Top && args.seed != SEED {
        return Err(UsageError::new("--seed has no effect on --choose top", "leave one of them out"));
    }
    let inputs = toller_mining::Inputs {
        qrels: args.qrels.qrels.is_some(),
        scores: !args.scores.scores.is_empty(),
        queries: !args.texts.queries.is_empty(),
        corpus: !args.texts.corpus.is_empty(),
    };
    let checked = inputs.check(&args.selection(), &args.scores.rule(), args.format);
    checked.map_err(|error| UsageError::of(&error))?;
    if args.sparse.sparse.is_some() && args.texts.queries.is_empty() {
        return Err(UsageError::new("searching an index needs --queries", "give --queries"));
    }
    args.sparse.check()
}

fn check_usage(args: &MineArgs, ui: &Ui) -> Result<(), UsageError> {
    check_options(args)?;
    args.sparse.check_reads_texts("search it by itself, and give its run as --run")?;
    if let Some(once) = args.texts.corpus.iter().find(|path| path.input().reads_once()) {
        let message = format!("--corpus is read twice, and {} can be read only once", once.input());
        return Err(UsageError::new(message, "give --corpus a file"));
    }
    let read = args.run.iter().chain(&args.qrels.qrels).chain(&args.scores.scores).chain(args.texts.files());
    Inputs::files(read).check_with(&args.output, ui)?;
    let is_of_format = |file: &Path| has_first_line(file, |line| args.format.is_shown_by(line));
    if !args.format.is_recognizable() {
        return args.overwrite.check_new(&args.output);
    }
    args.overwrite.check(&args.output, &format!("a file of negatives as {}", args.format), is_of_format)
}

/// The hits of each query, best first, as deep as negatives are taken from.
fn hits_of(args: &MineArgs, qrels: &Qrels, queries: &[Query], ui: &Ui) -> crate::Result<Vec<QueryHits>> {
    if args.run.is_empty() {
        return hits_of_index(args, qrels, queries, ui);
    }
    let mut runs = args.input.read_each(&args.run, ui)?;
    if args.own.remove_query {
        runs.iter_mut().for_each(Run::remove_queries);
    }
    for (path, run) in args.run.iter().zip(&runs) {
        warn_of_none_judged(&path.input().to_string(), run, qrels, ui);
    }
    Ok(QueryHits::of_runs(runs, *args.depth.end()))
}

/// Searches for the queries that have a relevant document, or may get one.
fn hits_of_index(
    args: &MineArgs,
    qrels: &Qrels,
    queries: &[Query],
    ui: &Ui,
) -> crate::Result<Vec<QueryHits>> {
    let has_positive = |query: &&Query| {
        args.scores.new_positive_score.is_some()
            || !positives(qrels, &query.id, args.relevance_level).is_empty()
    };
    let queries: Vec<Query> = queries.iter().filter(has_positive).cloned().collect();
    let Some(searcher) = args.sparse.open(&queries, true, None, &engine::open(ui)?)? else {
        return Ok(Vec::new());
    };
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let filter = match args.own.remove_query {
        true => DocumentLists::without_queries(&queries).in_collection(&*searcher).0,
        false => QueryFilter::default(),
    };
    let job = SearchJob { searcher: &*searcher, queries: &queries, k: *args.depth.end(), filter: &filter };
    let mut found = Vec::with_capacity(queries.len());
    let take = |block: &[Query], SearchResponse { rankings, .. }| {
        for (query, ranking) in block.iter().zip(rankings) {
            let hit = |(hit, rank): (&Hit, usize)| {
                let (id, score) = (searcher.doc_id(hit.doc).into_owned(), Score::F32(hit.score).as_read());
                Pooled { id, rank, score }
            };
            let hits = ranking.hits.iter().zip(1..).map(hit).collect();
            found.push(QueryHits { query_id: query.id.clone(), hits });
        }
        bar.set(found.len() as u64);
        Ok(())
    };
    let searched: crate::Result<()> = job.run(take);
    searched?;
    Ok(found)
}

fn check_judged(args: &MineArgs, qrels: &Qrels, hits: &[QueryHits]) -> Result<(), Remedied> {
    let Some(judged) = args.qrels.qrels.as_ref().filter(|_| args.scores.new_positive_score.is_none()) else {
        return Ok(());
    };
    if hits.iter().any(|query| !positives(qrels, &query.query_id, args.relevance_level).is_empty()) {
        return Ok(());
    }
    let example = hits.first().map(|query| format!(", for example {:?}", query.query_id)).unwrap_or_default();
    let searched = args.run.first().or(args.texts.queries.first()).map_or(Path::new("the run"), |path| path);
    Err(Remedied::new(
        format!(
            "no query of {} has a relevant document in {}{example}",
            searched.display(),
            judged.display()
        ),
        "give the judgments of the same queries; --relevance-level sets the lowest relevant grade",
    ))
}

/// How many judged queries have a relevant document and no results.
fn missing_queries(args: &MineArgs, qrels: &Qrels, hits: &[QueryHits]) -> usize {
    let found: HashSet<&str> = hits.iter().map(|query| query.query_id.as_str()).collect();
    let is_missing =
        |query: &str| !found.contains(query) && !positives(qrels, query, args.relevance_level).is_empty();
    qrels.iter().filter(|(query, _)| is_missing(query)).count()
}

/// Chooses the negatives of every query and writes them.
fn mine(
    args: &MineArgs,
    job: &MineJob<'_>,
    missing: usize,
    out: &mut dyn Write,
    name: &Path,
    ui: &Ui,
) -> crate::Result<()> {
    let bar = job.collection.map(|_| ui.progress("reading", "passages", 0));
    let on_read = |passages| bar.iter().for_each(|bar| bar.set(passages));
    let mining = job.choose(&on_read).with_flag(Setting::Format, CORPUS_FORMAT)?;
    drop(bar);
    ui.skipped("", &mining.skipped);
    if let Some((count, first)) = &mining.missing {
        let documents = counted(*count, "relevant document");
        ui.warning(format!("{documents} missing from --corpus, for example {first:?}"));
    }
    mining.left_out_without_text().for_each(|problem| ui.warning(problem));
    mining.left_out_unscored("--scores").for_each(|problem| ui.warning(problem));
    if mining.queries() == 0 {
        let hint = match (&mining.queries_without_text, &mining.missing) {
            (Some(_), _) => "give --queries the texts of the judged queries",
            (None, Some(_)) => "give --corpus the collection that was judged",
            (None, None) => "give --scores of relevant documents, or lower --min-positive-score",
        };
        return Err(Remedied::new("no query has a positive left", hint).into());
    }
    if mining.is_in_vain() {
        let queries = counted(mining.queries(), "query");
        let hint = "take other or deeper ranks with --depth, or wider limits of scores";
        return Err(Remedied::new(format!("no negative for {queries}"), hint).into());
    }
    mining.write(out).map_err(|error| failure(error, name))?;
    report(args, &mining, missing, ui)
}

/// A missing text is an error of the input, not of the output file.
fn failure(error: std::io::Error, name: &Path) -> Failure {
    match error.downcast::<toller_mining::MissingText>() {
        Ok(missing) => missing.into(),
        Err(error) => FileError::new("write", name, error).into(),
    }
}

fn report(args: &MineArgs, mining: &Mining<'_>, missing: usize, ui: &Ui) -> crate::Result<()> {
    let (queries, left_out) = (mining.queries(), mining.left_out());
    let (short, negatives) = (mining.short(), mining.negatives());
    if short > 0 {
        let wanted = match args.count() {
            Count::PerQuery(count) => counted(count, "negative"),
            Count::PerPositive(count) => format!("{} a positive", counted(count, "negative")),
        };
        let all = counted(queries, "query");
        let none = match mining.without_negatives() {
            0 => String::new(),
            none => format!(", and none for {none}"),
        };
        ui.warning(format!("fewer than {wanted} in these ranks for {short} of {all}{none}"));
    }
    let output = args.output.display().to_string();
    // A warning has counted those without a text.
    let without_text = mining.queries_without_text.as_ref().map_or(0, |(count, _)| *count);
    ui.status(format!(
        "mined {} for {} in {output}; left out {} without a positive",
        counted(negatives, "negative"),
        counted(queries, "query"),
        left_out - without_text
    ));
    ui.json(|| {
        serde_json::json!({
            "output": output,
            "format": args.format.to_string(),
            "queries": queries,
            "left_out": left_out,
            "missing": missing,
            "short": short,
            "without_negatives": mining.without_negatives(),
            "positives": mining.positives(),
            "negatives": negatives,
        })
    })
}
