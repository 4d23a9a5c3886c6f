//! `toller mine`: negatives for training, from what was retrieved.

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use toller_corpus::Score;
use toller_files::FileError;
use toller_ir::{Hit, Qrels, Query, SearchRequest, Searcher, Setting, counted};
use toller_mining::{Choice, Format, Selection};
use toller_pipeline::{MineJob, Mining, QueryHits, positives};

use crate::args::choice::by_name;
use crate::args::input::CORPUS_FORMAT;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::QrelsArgs;
use crate::args::runs::RunInputArgs;
use crate::args::sparse::SparseArgs;
use crate::args::texts::TextsArgs;
use crate::engine;
use crate::error::{Context, Failure, Remedied, UsageError};
use crate::ui::Ui;

/// Takes negatives for training from what was retrieved for judged queries.
///
/// Queries without a relevant document are left out. Relevant documents are never used as negatives; with
/// --corpus, neither are copies of their text. The same input and flags give the same file, whatever the
/// order of the queries.
#[derive(Debug, clap::Args)]
pub struct MineArgs {
    /// Run to take negatives from (TREC, MS MARCO, Tevatron, DPR or DuReader), instead of searching an index
    #[arg(long, value_name = "RUN", conflicts_with = "sparse")]
    run: Option<InputPath>,

    #[command(flatten)]
    qrels: QrelsArgs,

    #[command(flatten)]
    texts: TextsArgs,

    /// Ranks to take negatives from, counted from 1
    #[arg(long, value_name = "FROM:TO", default_value = "1:200", value_parser = ranks)]
    depth: RangeInclusive<usize>,

    /// Negatives of each query, at most
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    negatives: u32,

    /// Which documents of these ranks: a uniform sample, or the best
    #[arg(long, value_enum, default_value_t)]
    choose: Choose,

    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: i32,

    /// File to write to; - for stdout
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,

    /// Format of the file that is written
    #[arg(long, value_name = "NAME", default_value_t, value_parser = by_name::<Format>(Format::NAMES))]
    format: Format,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    sparse: SparseArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Choose {
    #[default]
    Sample,
    Top,
}

fn ranks(text: &str) -> Result<RangeInclusive<usize>, String> {
    let range = text.split_once(':').and_then(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?));
    range
        .filter(|range| *range.start() >= 1 && !range.is_empty())
        .ok_or_else(|| "FROM:TO, as in 1:200".to_owned())
}

pub fn run(args: &MineArgs, ui: &Ui) -> crate::Result<()> {
    check_usage(args, ui)?;
    let qrels = args.qrels.read(args.input.skip_bad_lines(), ui)?;
    let queries = args.texts.read_queries(args.input.skip_bad_lines(), ui)?;
    let hits = hits_of(args, &qrels, &queries, ui)?;
    check_judged(args, &qrels, &hits)?;
    let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
    let choice = match args.choose {
        Choose::Top => Choice::Top,
        Choose::Sample => Choice::Sample { seed: args.seed },
    };
    let collection = args.texts.collection(args.input.skip_bad_lines())?;
    let job = MineJob {
        hits: &hits,
        qrels: &qrels,
        relevance_level: args.relevance_level,
        selection: &Selection { ranks: args.depth.clone(), count: args.negatives as usize, choice },
        format: args.format,
        queries: &queries,
        collection: collection.as_ref().map(|(inputs, options)| (inputs.as_slice(), options)),
    };
    args.output.write(ui, |out, name| mine(args, &job, out, name, ui))
}

fn check_usage(args: &MineArgs, ui: &Ui) -> Result<(), UsageError> {
    if args.run.is_none() && args.sparse.sparse.is_none() {
        return Err(UsageError::new(
            "there is nothing to take negatives from",
            "give --sparse DIR or --run RUN",
        ));
    }
    if args.sparse.sparse.is_some() && args.texts.queries.is_none() {
        return Err(UsageError::new("searching an index needs --queries", "give --queries"));
    }
    args.sparse.check()?;
    if args.format.needs_texts() && (args.texts.queries.is_none() || args.texts.corpus.is_empty()) {
        let message = format!("--format {} needs the texts of queries and passages", args.format);
        return Err(UsageError::new(message, "give --queries and --corpus"));
    }
    if let Some(once) = args.texts.corpus.iter().find(|path| path.input().reads_once()) {
        let message = format!("--corpus is read twice, and {} can be read only once", once.input());
        return Err(UsageError::new(message, "give --corpus a file"));
    }
    let read = args.run.iter().chain([&args.qrels.qrels]).chain(args.texts.files());
    Inputs::files(read).check_with(&args.output, ui)
}

/// The hits of each query, best first, as deep as negatives are taken from.
fn hits_of(args: &MineArgs, qrels: &Qrels, queries: &[Query], ui: &Ui) -> crate::Result<Vec<QueryHits>> {
    match &args.run {
        Some(run) => hits_of_run(args, run, ui),
        None => hits_of_index(args, qrels, queries, ui),
    }
}

fn hits_of_run(args: &MineArgs, run: &InputPath, ui: &Ui) -> crate::Result<Vec<QueryHits>> {
    Ok(QueryHits::of_run(args.input.read(run, ui)?, *args.depth.end()))
}

/// Searches for the queries that have a relevant document.
fn hits_of_index(
    args: &MineArgs,
    qrels: &Qrels,
    queries: &[Query],
    ui: &Ui,
) -> crate::Result<Vec<QueryHits>> {
    let has_positive = |query: &&Query| !positives(qrels, &query.id, args.relevance_level).is_empty();
    let queries: Vec<Query> = queries.iter().filter(has_positive).cloned().collect();
    let Some(searcher) = args.sparse.open(true, &engine::open(ui)?)? else { return Ok(Vec::new()) };
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let mut found = Vec::with_capacity(queries.len());
    for block in queries.chunks(QUERIES_PER_BLOCK) {
        let response = searcher.search(&SearchRequest::new(block, *args.depth.end()))?;
        for (query, ranking) in block.iter().zip(response.rankings) {
            let hit = |hit: &Hit| (searcher.doc_id(hit.doc).into_owned(), Score::F32(hit.score).as_read());
            found
                .push(QueryHits { query_id: query.id.clone(), hits: ranking.hits.iter().map(hit).collect() });
        }
        bar.set(found.len() as u64);
    }
    Ok(found)
}

/// Queries that are searched at a time.
const QUERIES_PER_BLOCK: usize = 1024;

fn check_judged(args: &MineArgs, qrels: &Qrels, hits: &[QueryHits]) -> Result<(), Remedied> {
    if hits.iter().any(|query| !positives(qrels, &query.query_id, args.relevance_level).is_empty()) {
        return Ok(());
    }
    let example = hits.first().map(|query| format!(", for example {:?}", query.query_id)).unwrap_or_default();
    let searched =
        args.run.as_ref().or(args.texts.queries.as_ref()).map_or(Path::new("the run"), |path| path);
    Err(Remedied::new(
        format!(
            "no query of {} has a relevant document in {}{example}",
            searched.display(),
            args.qrels.qrels.display()
        ),
        "give the judgments of the same queries; --relevance-level sets the lowest relevant grade",
    ))
}

/// Chooses the negatives of every query and writes them.
fn mine(args: &MineArgs, job: &MineJob<'_>, out: &mut dyn Write, name: &Path, ui: &Ui) -> crate::Result<()> {
    let mining = job.choose().with_flag(Setting::Format, CORPUS_FORMAT)?;
    ui.skipped("", &mining.skipped);
    if let Some((count, first)) = &mining.missing {
        ui.warning(format!("{count} relevant documents are not in --corpus, for example {first:?}"));
    }
    mining.write(out).map_err(|error| failure(error, name))?;
    report(args, &mining, ui)
}

/// A missing text is an error of the input, not of the output file.
fn failure(error: std::io::Error, name: &Path) -> Failure {
    match error.downcast::<toller_mining::MissingText>() {
        Ok(missing) => {
            let hint =
                "give --queries and --corpus with all queries and documents of the run and the judgments";
            Remedied::new(missing.to_string(), hint).into()
        }
        Err(error) => FileError::new("write", name, error).into(),
    }
}

fn report(args: &MineArgs, mining: &Mining<'_>, ui: &Ui) -> crate::Result<()> {
    let (queries, left_out) = (mining.queries(), mining.left_out());
    let (short, negatives) = (mining.short(), mining.negatives());
    if short > 0 {
        ui.warning(format!(
            "{short} of {queries} queries have fewer than {} negatives in these ranks",
            args.negatives
        ));
    }
    let output = args.output.display().to_string();
    ui.status(format!(
        "mined {} for {} in {output}; left out {left_out} without a relevant document",
        counted(negatives, "negative"),
        counted(queries, "query")
    ));
    ui.json(|| {
        serde_json::json!({
            "output": output,
            "format": args.format.to_string(),
            "queries": queries,
            "left_out": left_out,
            "short": short,
            "negatives": negatives,
        })
    })
}
