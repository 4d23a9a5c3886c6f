//! `toller mine`: negatives for training, from what was retrieved.

use std::collections::HashMap;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use toller_corpus::Score;
use toller_files::{FileError, Input};
use toller_ir::{Hit, Passage, Qrels, Query, RunEntry, SearchRequest, Searcher, counted};
use toller_mining::{Choice, Format, Mined, Negative, Positive, Selection, TextKey};
use toller_pipeline::{Chosen, QueryHits, choose_negatives, positives};

use crate::args::choice::by_name;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::qrels::QrelsArgs;
use crate::args::runs::RunInputArgs;
use crate::args::sparse::SparseArgs;
use crate::args::texts::TextsArgs;
use crate::engine;
use crate::error::{Failure, Remedied, UsageError};
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
    let sources = Sources { args, qrels: &qrels, queries: &queries, hits: &hits };
    args.output.write(ui, |out, name| sources.mine(out, name, ui))
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
    if args.texts.corpus.iter().any(|path| path.input() == Input::Stdin) {
        return Err(UsageError::new("--corpus is read twice, and stdin only once", "give --corpus a file"));
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
    let query = |(query_id, mut entries): (String, Vec<RunEntry>)| {
        entries.sort_by(RunEntry::best_first);
        entries.truncate(*args.depth.end());
        QueryHits { query_id, hits: entries.into_iter().map(|entry| (entry.doc_id, entry.score)).collect() }
    };
    Ok(args.input.read(run, ui)?.queries.into_iter().map(query).collect())
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

/// The input of the choice of negatives.
struct Sources<'a> {
    args: &'a MineArgs,
    qrels: &'a Qrels,
    queries: &'a HashMap<String, String>,
    hits: &'a [QueryHits],
}

impl Sources<'_> {
    /// Chooses the negatives of every query and writes them.
    fn mine(&self, out: &mut dyn Write, name: &Path, ui: &Ui) -> crate::Result<()> {
        let chosen = self.choose(ui)?;
        let passages = self.passages(&chosen, ui)?;
        let failed = |error| FileError::new("write", name, error);
        let format = self.args.format;
        if let Some(header) = format.header() {
            writeln!(out, "{header}").map_err(failed)?;
        }
        for (query, chosen) in &chosen {
            format
                .write(&self.record(query, chosen, &passages), out)
                .map_err(|error| self.failure(error, name))?;
        }
        out.flush().map_err(failed)?;
        self.report(&chosen, ui)
    }

    /// Chooses for each query that has a relevant document.
    fn choose(&self, ui: &Ui) -> crate::Result<Vec<(&QueryHits, Chosen<'_>)>> {
        let of = |query: &QueryHits| positives(self.qrels, &query.query_id, self.args.relevance_level);
        let judged: Vec<_> =
            self.hits.iter().map(|query| (query, of(query))).filter(|(_, found)| !found.is_empty()).collect();
        let relevant = judged.iter().flat_map(|(_, positives)| positives.iter().copied());
        let retrieved = judged.iter().flat_map(|(query, _)| query.hits.iter().map(|(id, _)| id.as_str()));
        let wanted = relevant.chain(retrieved).collect();
        let skip_bad_lines = self.args.input.skip_bad_lines();
        let texts =
            self.args.texts.documents(&wanted, skip_bad_lines, ui, |passage| TextKey::of(&passage.text))?;
        let missing = || judged.iter().flat_map(|(_, found)| found).filter(|id| !texts.contains_key(**id));
        if let (false, Some(example)) = (self.args.texts.corpus.is_empty(), missing().next()) {
            ui.warning(format!(
                "{} relevant documents are not in --corpus, for example {example:?}",
                missing().count()
            ));
        }
        let Self { args, .. } = self;
        let choice = match args.choose {
            Choose::Top => Choice::Top,
            Choose::Sample => Choice::Sample { seed: args.seed },
        };
        let selection = Selection { ranks: args.depth.clone(), count: args.negatives as usize, choice };
        let choose = |(query, positives)| (query, choose_negatives(&selection, query, positives, &texts));
        Ok(judged.into_iter().map(choose).collect())
    }

    /// The passages whose texts are written, if the format holds texts.
    fn passages(
        &self,
        chosen: &[(&QueryHits, Chosen<'_>)],
        ui: &Ui,
    ) -> crate::Result<HashMap<String, Passage>> {
        if !self.args.format.holds_texts() {
            return Ok(HashMap::new());
        }
        let of = |(query, chosen): &(&QueryHits, Chosen<'_>)| {
            let negatives = chosen.negatives.iter().filter_map(|place| query.hits.get(*place));
            let ids = negatives.map(|(id, _)| id.clone());
            ids.chain(chosen.positives.iter().map(|id| (*id).to_owned())).collect::<Vec<String>>()
        };
        let wanted: Vec<String> = chosen.iter().flat_map(of).collect();
        ui.detail(format!("reading the texts of {}", counted(wanted.len(), "passage")));
        let wanted = wanted.iter().map(String::as_str).collect();
        self.args.texts.documents(&wanted, self.args.input.skip_bad_lines(), ui, |passage| passage)
    }

    fn record<'r>(
        &'r self,
        query: &'r QueryHits,
        chosen: &Chosen<'r>,
        passages: &'r HashMap<String, Passage>,
    ) -> Mined<'r> {
        let positive = |id: &&'r str| Positive { id, passage: passages.get(*id) };
        let negative = |place: &usize| {
            let (id, score) = query.hits.get(*place)?;
            Some(Negative { id, rank: place + 1, score: *score, passage: passages.get(id) })
        };
        Mined {
            query_id: &query.query_id,
            query: self.queries.get(&query.query_id).map(String::as_str),
            positives: chosen.positives.iter().map(positive).collect(),
            negatives: chosen.negatives.iter().filter_map(negative).collect(),
        }
    }

    /// A missing text is an error of the input, not of the output file.
    fn failure(&self, error: std::io::Error, name: &Path) -> Failure {
        match error.downcast::<toller_mining::MissingText>() {
            Ok(missing) => {
                let hint =
                    "give --queries and --corpus with all queries and documents of the run and the judgments";
                Remedied::new(missing.to_string(), hint).into()
            }
            Err(error) => FileError::new("write", name, error).into(),
        }
    }

    fn report(&self, chosen: &[(&QueryHits, Chosen<'_>)], ui: &Ui) -> crate::Result<()> {
        let wanted = self.args.negatives as usize;
        let short = chosen.iter().filter(|(_, chosen)| chosen.negatives.len() < wanted).count();
        let negatives: usize = chosen.iter().map(|(_, chosen)| chosen.negatives.len()).sum();
        let (queries, left_out) = (chosen.len(), self.hits.len() - chosen.len());
        if short > 0 {
            ui.warning(format!(
                "{short} of {queries} queries have fewer than {wanted} negatives in these ranks"
            ));
        }
        let output = self.args.output.display().to_string();
        ui.status(format!(
            "mined {} for {} in {output}; left out {left_out} without a relevant document",
            counted(negatives, "negative"),
            counted(queries, "query")
        ));
        ui.json(|| {
            serde_json::json!({
                "output": output,
                "format": self.args.format.to_string(),
                "queries": queries,
                "left_out": left_out,
                "short": short,
                "negatives": negatives,
            })
        })
    }
}
