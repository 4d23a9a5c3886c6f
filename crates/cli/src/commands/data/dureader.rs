//! `toller data dureader`: how DuReader-retrieval was made, and its own formats.

use std::collections::HashSet;

use toller_corpus::RunFormat;
use toller_datasets::{
    DomainFiles, Labelling, OtherDomain, PREDICTION_DEPTH, PassageIds, SpanF1, SpanUnit, label_dureader,
    read_official, similar_queries, with_query_ids, write_official, write_other_domain, write_pool,
    write_prediction,
};
use toller_files::{Input, expand};
use toller_ir::{Run, RunEntry};

use super::folder::FolderArgs;
use crate::args::choice::by_name;
use crate::args::input::{BadLinesArgs, QueriesArgs};
use crate::args::number::finite;
use crate::args::paths::InputPath;
use crate::args::qrels::{QrelsArgs, QrelsIfAnyArgs};
use crate::args::runs::RunInputArgs;
use crate::args::texts::TextsArgs;
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum DuReaderCommand {
    Label(LabelArgs),
    Pool(PoolArgs),
    Similar(Box<SimilarArgs>),
    Read(ReadArgs),
    Write(Box<WriteArgs>),
    Predict(PredictArgs),
    Domain(DomainArgs),
}

/// Make passages and judgments of DuReader's documents and answers.
///
/// A paragraph is positive if the F1 of any of its spans and an answer reaches the threshold. Paragraphs are
/// joined to passages; a passage is positive if one of its paragraphs is. Titles are left out. A passage's
/// identifier is its row.
#[derive(Debug, clap::Args)]
pub struct LabelArgs {
    /// DuReader's JSON, one object a line, compressed or not; `-` is stdin
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// The lowest F1 of a span and an answer
    #[arg(long, value_name = "F1", default_value_t = 0.5, value_parser = share)]
    threshold: f64,

    /// F1 must be higher than the threshold, as the paper's text says; its algorithm lets equal ones pass
    #[arg(long)]
    strict: bool,

    /// What is counted for F1
    #[arg(long, value_name = "UNIT", default_value_t, value_parser = by_name::<SpanUnit>(SpanUnit::NAMES))]
    unit: SpanUnit,

    /// Characters that a passage of several paragraphs exceeds
    #[arg(long, value_name = "N", default_value_t = 256)]
    length: usize,

    /// Keep the titles of documents
    #[arg(long)]
    titles: bool,
}

/// Pool the first documents of runs as one run, to rerank.
///
/// After `toller rerank`, `toller annotate packages --depth 5` takes the best of the pool.
#[derive(Debug, clap::Args)]
pub struct PoolArgs {
    /// The runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Documents of each query and run
    #[arg(long, value_name = "N", default_value_t = 50)]
    depth: usize,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Remove training queries that resemble a development or test query.
///
/// The run has the development and test queries as queries, the training queries as documents, and the
/// similarity by any model as scores: `toller encode` and `search` the training queries, or rerank that run.
/// With --qrels, the judgments of the training queries that stay are written, too.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data dureader similar [OPTIONS] --output <DIR>\n           --queries <FILE> <RUN>"
)]
pub struct SimilarArgs {
    /// The run of similar queries
    #[arg(value_name = "RUN")]
    run: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// The training queries: files or folders of files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    queries: Vec<InputPath>,

    /// Queries are similar if their score is higher
    #[arg(long, value_name = "SCORE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = finite)]
    threshold: f64,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    qrels: QrelsIfAnyArgs,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Read dev.json or train.json as published, and its collection.
#[derive(Debug, clap::Args)]
pub struct ReadArgs {
    /// JSON of questions with answer_paragraphs, one a line
    #[arg(value_name = "INPUT")]
    input: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// The parts of the collection (part-00 ...) in their order, since rows are counted over them; written
    /// with the identifiers of --ids
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "ids")]
    passages: Vec<InputPath>,

    /// passage2id.map.json: also write judgments whose documents are rows
    #[arg(long, value_name = "FILE")]
    ids: Option<InputPath>,
}

/// Write dev.json as published, from queries, judgments and texts.
#[derive(Debug, clap::Args)]
pub struct WriteArgs {
    #[command(flatten)]
    qrels: QrelsArgs,

    #[command(flatten)]
    texts: TextsArgs,

    #[command(flatten)]
    folder: FolderArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

/// Write prediction.json, which the official script evaluates.
///
/// DuReader's own runs (res.top50) have texts as queries and rows as documents: give --queries and --ids.
#[derive(Debug, clap::Args)]
#[command(mut_arg("queries_format", |format| format.requires("queries")))]
pub struct PredictArgs {
    /// The run
    #[arg(value_name = "RUN")]
    run: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// The questions with their identifiers (dev.json), if the run's queries are texts; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    queries: Vec<InputPath>,

    #[command(flatten)]
    queries_input: QueriesArgs,

    /// passage2id.map.json, if the run's documents are rows
    #[arg(long, value_name = "FILE")]
    ids: Option<InputPath>,

    /// Passages of each query; the script reads 50
    #[arg(long, value_name = "N", default_value_t = PREDICTION_DEPTH)]
    depth: usize,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Build an out-of-domain set: cMedQA 2 or cCOVID-News.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data dureader domain [OPTIONS] --output <DIR>\n           --passages <FILE> --questions <FILE> <NAME>"
)]
pub struct DomainArgs {
    /// Which
    #[arg(value_name = "NAME", value_parser = by_name::<OtherDomain>(OtherDomain::NAMES))]
    name: OtherDomain,

    #[command(flatten)]
    folder: FolderArgs,

    /// cMedQA's answer.csv, or cCOVID-News' articles
    #[arg(long, value_name = "FILE")]
    passages: InputPath,

    /// cMedQA's question.csv, or cCOVID-News' questions
    #[arg(long, value_name = "FILE")]
    questions: InputPath,

    /// cMedQA's test_candidates.txt
    #[arg(long, value_name = "FILE", required_if_eq("name", "cmedqa"))]
    candidates: Option<InputPath>,
}

fn share(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|value| *value > 0.0 && *value <= 1.0)
        .ok_or_else(|| "a number above 0, at most 1".to_owned())
}

/// Carries out a command.
pub fn run(command: &DuReaderCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        DuReaderCommand::Label(args) => label(args, ui),
        DuReaderCommand::Pool(args) => pool(args, ui),
        DuReaderCommand::Similar(args) => similar(args, ui),
        DuReaderCommand::Read(args) => read(args, ui),
        DuReaderCommand::Write(args) => write(args, ui),
        DuReaderCommand::Predict(args) => predict(args, ui),
        DuReaderCommand::Domain(args) => domain(args, ui),
    }
}

fn label(args: &LabelArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(&args.inputs, ui)?;
    let labelling = Labelling {
        rule: SpanF1 { threshold: args.threshold, strict: args.strict },
        unit: args.unit,
        length: args.length,
        titles: args.titles,
    };
    let inputs: Vec<Input> = args.inputs.iter().map(InputPath::input).collect();
    let (files, statistics) = label_dureader(&inputs, &labelling, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

fn pool(args: &PoolArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(&args.runs, ui)?;
    let runs = args.input.read_each(&args.runs, ui)?;
    let (files, statistics) = write_pool(runs, args.depth, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

fn similar(args: &SimilarArgs, ui: &Ui) -> crate::Result<()> {
    let files = std::iter::once(&args.run).chain(&args.queries).chain(&args.qrels.qrels);
    let _claim = args.folder.claim(files, ui)?;
    let queries = args.queries_input.read(&args.queries, args.input.skip_bad_lines(), ui)?;
    let run = args.input.read(&args.run, ui)?;
    let known: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    if !run.queries.values().flatten().any(|hit| known.contains(hit.doc_id.as_str())) {
        let message = format!("no document of {} is a query of --queries", args.run.input());
        let hint =
            "give --queries the training queries that were searched: they are the documents of the run";
        return Err(Remedied::new(message, hint).into());
    }
    let similar = similar_queries(&run, args.threshold);
    let qrels = args.qrels.read(args.input.skip_bad_lines(), ui)?;
    let qrels = args.qrels.qrels.is_some().then_some(&qrels);
    let (files, statistics) = similar.write(&queries, qrels, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

fn ids(file: Option<&InputPath>) -> crate::Result<Option<PassageIds>> {
    Ok(file.map(|file| PassageIds::read(&file.input())).transpose()?)
}

fn read(args: &ReadArgs, ui: &Ui) -> crate::Result<()> {
    let _claim =
        args.folder.claim(std::iter::once(&args.input).chain(&args.passages).chain(&args.ids), ui)?;
    let parts = if args.passages.is_empty() { Vec::new() } else { expand(&args.passages)? };
    let ids = ids(args.ids.as_ref())?;
    let (files, statistics) = read_official(&args.input.input(), &parts, ids.as_ref(), &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

fn write(args: &WriteArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(std::iter::once(&args.qrels.qrels).chain(args.texts.files()), ui)?;
    if args.texts.queries.is_empty() || args.texts.corpus.is_empty() {
        return Err(UsageError::new("dev.json has texts", "give --queries and --corpus").into());
    }
    let skip_bad_lines = args.bad_lines.skip_bad_lines;
    let queries = args.texts.read_queries(skip_bad_lines, ui)?;
    let qrels = args.qrels.read(skip_bad_lines, ui)?;
    let relevant = qrels.iter().flat_map(|(_, judged)| judged).filter(|(_, grade)| **grade > 0);
    let wanted = relevant.map(|(id, _)| id.as_str()).collect();
    let texts = args.texts.documents(&wanted, skip_bad_lines, ui, |passage| passage.text)?;
    let (files, statistics) = write_official(&queries, &qrels, &texts, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

fn predict(args: &PredictArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(std::iter::once(&args.run).chain(&args.queries).chain(&args.ids), ui)?;
    let (mut run, format) = args.input.read_with_format(&args.run, ui)?;
    if args.ids.is_none() {
        check_documents(&args.run, &run, format, ui)?;
    }
    if !args.queries.is_empty() {
        let queries = args.queries_input.read(&args.queries, args.input.skip_bad_lines(), ui)?;
        run = with_query_ids(run, &queries)?;
    } else if format == RunFormat::DuReader {
        let message =
            format!("{}: its queries are texts, and predictions need identifiers", args.run.display());
        return Err(UsageError::new(message, "give --queries the questions with their identifiers").into());
    }
    let ids = ids(args.ids.as_ref())?;
    let (files, statistics) = write_prediction(&run, args.depth, ids.as_ref(), &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

/// Refuses rows as documents, or says that the documents may be rows.
fn check_documents(path: &InputPath, run: &Run, format: RunFormat, ui: &Ui) -> Result<(), UsageError> {
    let is_row = |entry: &RunEntry| entry.doc_id.parse::<u64>().is_ok();
    if !run.queries.values().flatten().all(is_row) {
        return Ok(());
    }
    let path = path.display();
    if format == RunFormat::DuReader {
        let message = format!("{path}: its documents are rows, and predictions need identifiers");
        return Err(UsageError::new(message, "give --ids passage2id.map.json"));
    }
    ui.warning(format!(
        "{path}: its documents are numbers; if these are rows, give --ids passage2id.map.json"
    ));
    Ok(())
}

fn domain(args: &DomainArgs, ui: &Ui) -> crate::Result<()> {
    if args.name == OtherDomain::CovidNews && args.candidates.is_some() {
        let message = "--candidates is for cmedqa: the questions of covid-news name their articles";
        return Err(UsageError::new(message, "leave --candidates out").into());
    }
    let _claim =
        args.folder.claim([&args.passages, &args.questions].into_iter().chain(&args.candidates), ui)?;
    let files = DomainFiles {
        passages: args.passages.input(),
        questions: args.questions.input(),
        candidates: args.candidates.as_ref().map(InputPath::input),
    };
    let (files, statistics) = write_other_domain(args.name, &files, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}
