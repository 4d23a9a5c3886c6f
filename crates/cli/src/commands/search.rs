//! `toller search`: queries in, a TREC run out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use toller_compute::{IpTopkOptions, Scan};
use toller_corpus::TrecRunWriter;
use toller_files::AtomicFile;

use super::search_filter::FilterArgs;
use super::search_queries::SearchQueries;
use crate::error::UsageError;
use crate::input::InputArgs;
use crate::interrupt::{self, Interrupted};
use crate::model::{self, ModelArgs};
use crate::ui::Ui;

/// Queries that are searched at a time, at most: enough to use the machine fully, few enough to see
/// progress.
const QUERIES_PER_BLOCK: usize = 1024;

/// Hits that are held at a time, unless a single query has more.
const HITS_PER_BLOCK: usize = 8 << 20;

/// Arguments of `toller search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1.., required = true)]
    pub(super) dense: Vec<PathBuf>,

    /// Model to encode the queries with: the one that the store was encoded with
    #[arg(long, value_name = "M", required_unless_present = "query_vectors")]
    pub(super) model: Option<String>,

    /// Store of encoded queries (`toller encode --queries`), instead of a model and queries
    #[arg(long, value_name = "STORE", conflicts_with_all = ["model", "query_model", "queries", "prompt", "max_length", "pooling", "dtype", "format", "skip_bad_lines"])]
    pub(super) query_vectors: Option<PathBuf>,

    /// Queries: TSV, JSONL, TREC topics, DPR, EntityQuestions, DuReader; - for stdin
    #[arg(long, value_name = "FILE", required_unless_present = "query_vectors")]
    pub(super) queries: Option<PathBuf>,

    /// Hits to return for each query
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    /// File to write the TREC run to; - for stdout
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,

    /// The run's tag
    #[arg(long, value_name = "TAG", default_value = "toller", value_parser = tag)]
    tag: String,

    /// Separate the run's columns by tabs, so that identifiers may hold spaces (trec_eval cannot read such a run)
    #[arg(long)]
    tab_separated: bool,

    /// How to scan the vectors; every way gives the same hits and scores
    #[arg(long, value_name = "auto|f32|f16|int8", default_value_t = Scan::Auto, help_heading = "Machine")]
    scan: Scan,

    #[command(flatten)]
    filter: FilterArgs,

    /// Trust the stores: verify no checksums, and no identifiers across several stores
    #[arg(long)]
    pub(super) no_verify: bool,

    /// Take a store of queries for --dense, or one of passages for --query-vectors
    #[arg(long)]
    pub(super) any_role: bool,

    /// Take --model for the model of a store that was imported without one
    #[arg(long, conflicts_with = "query_vectors")]
    pub(super) assume_model: bool,

    #[command(flatten)]
    pub(super) input: InputArgs,

    #[command(flatten)]
    pub(super) model_args: ModelArgs,
}

fn tag(text: &str) -> Result<String, String> {
    let one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if one_word { Ok(text.to_owned()) } else { Err("one word, as in my-run".to_owned()) }
}

/// Searches.
pub fn run(args: &SearchArgs, ui: &Ui) -> anyhow::Result<()> {
    check_usage(args, ui)?;
    let stop = interrupt::flag(ui, "stopping")?;
    if args.output.as_os_str() == "-" {
        let run = TrecRunWriter::new(ui.out(), "standard output", &args.tag)?;
        search(args, run, &stop, ui)?;
        return Ok(());
    }
    // Before the work, so that an output that cannot be written costs none.
    let run = TrecRunWriter::new(AtomicFile::create(&args.output)?, &args.output, &args.tag)?;
    search(args, run, &stop, ui)?.commit()?;
    Ok(())
}

/// What can be refused before anything is read.
fn check_usage(args: &SearchArgs, ui: &Ui) -> Result<(), UsageError> {
    model::check_device(args.model_args.device)?;
    if args.output.as_os_str() == "-" && ui.json {
        return Err(UsageError::new(
            "--output - and --json would both write to stdout",
            "give --output a file",
        ));
    }
    let from_stdin = args.queries.iter().chain(args.filter.files()).filter(|file| file.as_os_str() == "-");
    if from_stdin.count() > 1 {
        return Err(UsageError::new(
            "of --queries, --exclude and --allow more than one would read stdin",
            "give files to all but one",
        ));
    }
    let mut read = args.queries.iter().chain(args.filter.files());
    let overwritten = read.find(|file| is_same_file(file, &args.output));
    let inside = args.dense.iter().chain(&args.query_vectors).find(|store| is_inside(&args.output, store));
    if let Some(input) = overwritten.or(inside) {
        return Err(UsageError::new(
            format!("--output {} would overwrite the input {}", args.output.display(), input.display()),
            "give --output another name",
        ));
    }
    Ok(())
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Whether `path`, which need not exist, lies in `directory`.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent
        .canonicalize()
        .is_ok_and(|parent| directory.canonicalize().is_ok_and(|directory| parent.starts_with(directory)))
}

/// Searches block by block, writes the run, reports, and gives back what the run was written to.
fn search<W: Write>(
    args: &SearchArgs,
    mut run: TrecRunWriter<W>,
    stop: &AtomicBool,
    ui: &Ui,
) -> anyhow::Result<W> {
    if args.tab_separated {
        run = run.tab_separated();
    }
    let started = Instant::now();
    let queries = SearchQueries::open(args, ui)?;
    let ids = (0..queries.len()).map(|query| queries.id(query));
    let filter = args.filter.read(queries.index(), ids, ui)?;
    let prepare_secs = started.elapsed().as_secs_f64();

    let searching = Instant::now();
    let index = queries.index();
    let k = args.k as usize;
    let block = (HITS_PER_BLOCK / k.min(index.doc_count()).max(1)).clamp(1, QUERIES_PER_BLOCK);
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let (mut hits, mut nominated, mut most_nominated) = (0, 0, 0);
    for first in (0..queries.len()).step_by(block) {
        if stop.load(Ordering::Relaxed) {
            bar.finish();
            return Err(Interrupted { resume: "no run was written".to_owned() }.into());
        }
        let range = first..queries.len().min(first + block);
        let options =
            IpTopkOptions { scan: args.scan, filter: filter.of(range.clone()), ..IpTopkOptions::default() };
        let found = queries.search(range.clone(), k, &options)?;
        nominated += found.nominated.iter().sum::<usize>();
        most_nominated = found.nominated.into_iter().max().unwrap_or(0).max(most_nominated);
        for (query, ranking) in range.clone().zip(found.rankings) {
            run.write_query(
                queries.id(query),
                ranking.hits.iter().map(|hit| (index.doc_id(hit.doc), hit.score)),
            )?;
            hits += ranking.hits.len();
        }
        bar.set(range.end as u64);
    }
    bar.finish();
    let written_to = run.finish()?;

    let search_secs = searching.elapsed().as_secs_f64();
    let rate = queries.len() as f64 / search_secs.max(1e-9);
    let output =
        if args.output.as_os_str() == "-" { "stdout".into() } else { args.output.display().to_string() };
    ui.status(format!(
        "searched {} vectors for {} queries in {search_secs:.2} s ({rate:.0} queries/s, {prepare_secs:.1} s to \
         prepare): {hits} hits in {output}",
        index.doc_count(),
        queries.len(),
    ));
    let mean_nominated = nominated as f64 / queries.len().max(1) as f64;
    ui.detail(format!(
        "--scan {}: nominated {mean_nominated:.1} vectors a query on average, {most_nominated} at most",
        args.scan
    ));
    ui.json(|| {
        serde_json::json!({
            "run": output,
            "scan": args.scan.to_string(),
            "nominated_mean": mean_nominated,
            "nominated_max": most_nominated,
            "queries": queries.len(),
            "vectors": index.doc_count(),
            "k": k,
            "hits": hits,
            "prepare_seconds": prepare_secs,
            "search_seconds": search_secs,
            "queries_per_second": rate,
        })
    })?;
    Ok(written_to)
}
