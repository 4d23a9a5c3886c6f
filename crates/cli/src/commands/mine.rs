//! `toller mine`: negatives for training, from what was retrieved.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toller_corpus::Score;
use toller_files::{AtomicFile, FileError, Input, expand};
use toller_ir::{Hit, Passage, Qrels, Query, RunEntry, SearchRequest, Searcher, Setting};
use toller_mining::{Choice, Format, Mined, Negative, Positive, Selection, TextKey};
use toller_pipeline::{Chosen, QueryHits, choose_negatives, positives, wanted_passages};

use crate::commands::search::SparseArgs;
use crate::engine;
use crate::error::{Context, Failure, Remedied, UsageError};
use crate::input::{CollectionArgs, QueriesArgs};
use crate::qrels_input::QrelsArgs;
use crate::run_input::{RunInputArgs, best_first};
use crate::ui::Ui;

/// Takes negatives for training from what was retrieved for judged queries.
///
/// Queries without a relevant document are left out. Documents that are judged relevant are never taken, nor, where --corpus is given, any with the text of one. The same
/// input and flags give the same file, whatever the order of the queries.
#[derive(Debug, clap::Args)]
pub struct MineArgs {
    #[command(flatten)]
    sparse: SparseArgs,

    /// Run to take negatives from (TREC, MS MARCO, Tevatron, DPR or DuReader), instead of searching an index
    #[arg(long, value_name = "RUN", conflicts_with = "sparse")]
    run: Option<PathBuf>,

    #[command(flatten)]
    qrels: QrelsArgs,

    /// Queries: to search for, and for their texts
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Collection, for texts, and so that no copy of a relevant document is taken
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<PathBuf>,

    /// Ranks to take negatives from, the first being 1
    #[arg(long, value_name = "FROM:TO", default_value = "1:200", value_parser = ranks)]
    depth: RangeInclusive<usize>,

    /// Negatives of each query, at most
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    negatives: u32,

    /// Which of the ranks: a uniform sample, or the best
    #[arg(long, value_enum, default_value_t)]
    choose: Choose,

    /// Another seed, another sample
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// The lowest grade that is relevant
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: i32,

    /// File to write to; - for stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// jsonl, tevatron, triplets, pairs, t2ranking or rocketqa
    #[arg(long, value_name = "NAME", default_value_t)]
    output_format: Format,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    input: RunInputArgs,
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

/// Mines.
pub fn run(args: &MineArgs, ui: &Ui) -> crate::Result<()> {
    check_usage(args, ui)?;
    let qrels = args.qrels.read(args.input.skip_bad_lines, ui)?;
    let queries = read_query_texts(args, ui)?;
    let hits = hits_of(args, &qrels, &queries, ui)?;
    check_judged(args, &qrels, &hits)?;
    let queries = queries.into_iter().map(|query| (query.id, query.text)).collect();
    let sources = Sources { args, qrels: &qrels, queries: &queries, hits: &hits };
    if args.output.as_os_str() == "-" {
        return sources.mine(&mut ui.out(), Path::new("standard output"), ui);
    }
    let mut file = AtomicFile::create(&args.output)?;
    sources.mine(&mut file, &args.output, ui)?;
    Ok(file.commit()?)
}

fn check_usage(args: &MineArgs, ui: &Ui) -> Result<(), UsageError> {
    if args.run.is_none() && args.sparse.sparse.is_none() {
        return Err(UsageError::new(
            "there is nothing to take negatives from",
            "give --sparse DIR or --run RUN",
        ));
    }
    if args.sparse.sparse.is_some() && args.queries.is_none() {
        return Err(UsageError::new("an index is searched for queries", "give --queries"));
    }
    args.sparse.check()?;
    if args.output_format.needs_texts() && (args.queries.is_none() || args.corpus.is_empty()) {
        let message =
            format!("--output-format {} holds the texts of queries and passages", args.output_format);
        return Err(UsageError::new(message, "give --queries and --corpus"));
    }
    if args.output.as_os_str() == "-" && ui.json {
        return Err(UsageError::new(
            "--output - and --json would both write to stdout",
            "give --output a file",
        ));
    }
    let read = || args.run.iter().chain([&args.qrels.qrels]).chain(&args.queries).chain(&args.corpus);
    if args.corpus.iter().any(|path| Input::parse(path) == Input::Stdin) {
        return Err(UsageError::new("--corpus is read twice, and stdin can be read once", "give it a file"));
    }
    if read().filter(|path| Input::parse(*path) == Input::Stdin).count() > 1 {
        return Err(UsageError::new("stdin is named twice", "only one file can come from stdin"));
    }
    let same = |path: &&PathBuf| {
        path.canonicalize().is_ok_and(|path| args.output.canonicalize().is_ok_and(|to| to == path))
    };
    match read().find(same) {
        None => Ok(()),
        Some(input) => Err(UsageError::new(
            format!("--output {} would overwrite the input {}", args.output.display(), input.display()),
            "give --output another name",
        )),
    }
}

fn read_query_texts(args: &MineArgs, ui: &Ui) -> crate::Result<Vec<Query>> {
    let read = |path| args.queries_input.read(path, args.input.skip_bad_lines, ui);
    args.queries.as_deref().map_or(Ok(Vec::new()), read)
}

/// The hits of each query, best first, as deep as negatives are taken from.
fn hits_of(args: &MineArgs, qrels: &Qrels, queries: &[Query], ui: &Ui) -> crate::Result<Vec<QueryHits>> {
    match &args.run {
        Some(run) => hits_of_run(args, run, ui),
        None => hits_of_index(args, qrels, queries, ui),
    }
}

fn hits_of_run(args: &MineArgs, run: &PathBuf, ui: &Ui) -> crate::Result<Vec<QueryHits>> {
    let query = |(query_id, mut entries): (String, Vec<RunEntry>)| {
        best_first(&mut entries);
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
    bar.finish();
    Ok(found)
}

/// Queries that are searched at a time.
const QUERIES_PER_BLOCK: usize = 1024;

fn check_judged(args: &MineArgs, qrels: &Qrels, hits: &[QueryHits]) -> Result<(), Remedied> {
    if hits.iter().any(|query| !positives(qrels, &query.query_id, args.relevance_level).is_empty()) {
        return Ok(());
    }
    let example = hits.first().map(|query| format!(", {:?} for one", query.query_id)).unwrap_or_default();
    let searched = args.run.as_ref().or(args.queries.as_ref()).map_or(Path::new("the run"), PathBuf::as_path);
    Err(Remedied::new(
        format!(
            "no query of {} has a relevant document in {}{example}",
            searched.display(),
            args.qrels.qrels.display()
        ),
        "give the judgments of the same queries; --relevance-level says which grades are relevant",
    ))
}

/// What negatives are made of.
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
        let format = self.args.output_format;
        if let Some(header) = format.header() {
            writeln!(out, "{header}").map_err(failed)?;
        }
        for (query, chosen) in &chosen {
            format
                .write(&self.record(query, chosen, &passages), out)
                .map_err(|error| self.told(error, name))?;
        }
        out.flush().map_err(failed)?;
        self.report(&chosen, ui)
    }

    /// Of each query that has a relevant document, what is taken.
    fn choose(&self, ui: &Ui) -> crate::Result<Vec<(&QueryHits, Chosen<'_>)>> {
        let of = |query: &QueryHits| positives(self.qrels, &query.query_id, self.args.relevance_level);
        let judged: Vec<_> =
            self.hits.iter().map(|query| (query, of(query))).filter(|(_, found)| !found.is_empty()).collect();
        let relevant = judged.iter().flat_map(|(_, positives)| positives.iter().copied());
        let retrieved = judged.iter().flat_map(|(query, _)| query.hits.iter().map(|(id, _)| id.as_str()));
        let texts =
            self.of_collection(&relevant.chain(retrieved).collect(), |passage| TextKey::of(&passage.text))?;
        let lacking = || judged.iter().flat_map(|(_, found)| found).filter(|id| !texts.contains_key(**id));
        if let (false, Some(example)) = (self.args.corpus.is_empty(), lacking().next()) {
            ui.warning(format!(
                "{} relevant documents are not in --corpus, for one {example:?}",
                lacking().count()
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

    /// The passages that are written, where the format has room for their texts.
    fn passages(
        &self,
        chosen: &[(&QueryHits, Chosen<'_>)],
        ui: &Ui,
    ) -> crate::Result<HashMap<String, Passage>> {
        if !self.args.output_format.holds_texts() {
            return Ok(HashMap::new());
        }
        let of = |(query, chosen): &(&QueryHits, Chosen<'_>)| {
            let negatives = chosen.negatives.iter().filter_map(|place| query.hits.get(*place));
            let ids = negatives.map(|(id, _)| id.clone());
            ids.chain(chosen.positives.iter().map(|id| (*id).to_owned())).collect::<Vec<String>>()
        };
        let wanted: Vec<String> = chosen.iter().flat_map(of).collect();
        ui.detail(format!("reading the texts of {} passages", wanted.len()));
        self.of_collection(&wanted.iter().map(String::as_str).collect(), |passage| passage)
    }

    fn of_collection<T>(
        &self,
        wanted: &HashSet<&str>,
        keep: impl Fn(Passage) -> T,
    ) -> crate::Result<HashMap<String, T>> {
        if self.args.corpus.is_empty() {
            return Ok(HashMap::new());
        }
        let options = self.args.collection.options();
        let inputs = expand(&self.args.corpus)?;
        Ok(wanted_passages(&inputs, &options, wanted, keep).with_flag(Setting::Format, "--corpus-format")?)
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

    /// A text that is missing is the input's fault, and no failure of the file.
    fn told(&self, error: std::io::Error, name: &Path) -> Failure {
        match error.downcast::<toller_mining::MissingText>() {
            Ok(missing) => {
                let hint = "give --queries and --corpus that hold all queries and documents of the run and the judgments";
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
            "mined {negatives} negatives for {queries} queries ({left_out} without a relevant document left out): {output}"
        ));
        ui.json(|| {
            serde_json::json!({
                "output": output,
                "format": self.args.output_format.to_string(),
                "queries": queries,
                "left_out": left_out,
                "short": short,
                "negatives": negatives,
            })
        })
    }
}
