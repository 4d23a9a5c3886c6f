//! `toller search`: queries in, a TREC run out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use toller_corpus::{TrecRunWriter, read_queries};
use toller_encoder::Role;
use toller_files::{AtomicFile, Input};
use toller_index::{FlatIndex, IndexOptions};
use toller_ir::{Query, Ranking};
use toller_pipeline::encode_queries;
use toller_store::{OpenOptions, Store};

use crate::error::UsageError;
use crate::input::InputArgs;
use crate::interrupt::{self, Interrupted};
use crate::model::{self, ModelArgs};
use crate::ui::Ui;

/// Queries that are encoded and searched at a time: enough to use the machine fully, few enough that
/// their rankings of a thousand hits stay small and the progress visible.
const QUERIES_PER_BLOCK: usize = 1024;

/// Arguments of `toller search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1.., required = true)]
    dense: Vec<PathBuf>,

    /// Model to encode the queries with: the one that the store was encoded with
    #[arg(long, value_name = "M", required_unless_present = "query_vectors")]
    model: Option<String>,

    /// Store of encoded queries, instead of a model and queries
    #[arg(long, value_name = "STORE", conflicts_with_all = ["model", "queries"])]
    query_vectors: Option<PathBuf>,

    /// Queries: TSV, JSONL, TREC topics, DPR, EntityQuestions, DuReader; - for stdin
    #[arg(long, value_name = "FILE", required_unless_present = "query_vectors")]
    queries: Option<PathBuf>,

    /// Hits to return for each query
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    /// File to write the TREC run to; - for stdout
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,

    /// The run's tag
    #[arg(long, value_name = "TAG", default_value = "toller")]
    tag: String,

    /// How to scan the vectors; every way gives the same hits and scores
    #[arg(long, value_enum, value_name = "auto|f32|f16|int8", default_value_t = Scan::Auto, help_heading = "Machine")]
    scan: Scan,

    /// Trust the store's files without verifying their checksums
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    model_args: ModelArgs,
}

/// The precision of the first pass over the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scan {
    Auto,
    F32,
    F16,
    Int8,
}

/// Searches.
pub fn run(args: &SearchArgs, ui: &Ui) -> anyhow::Result<()> {
    check_usage(args, ui)?;
    let started = Instant::now();
    let stop = interrupt::flag(ui, "stopping")?;
    let index = open_index(&args.dense, !args.no_verify, ui)?;
    let (queries, vectors) = query_vectors(args, &index, ui)?;
    let prepared = started.elapsed();

    let searching = Instant::now();
    let hits = if args.output.as_os_str() == "-" {
        let run = TrecRunWriter::new(ui.out(), "standard output", &args.tag)?;
        write_run(args, &index, &queries, &vectors, &stop, run, ui)?.1
    } else {
        let run = TrecRunWriter::new(AtomicFile::create(&args.output)?, &args.output, &args.tag)?;
        let (file, hits) = write_run(args, &index, &queries, &vectors, &stop, run, ui)?;
        file.commit()?;
        hits
    };
    report(args, &index, queries.len(), hits, prepared.as_secs_f64(), searching.elapsed().as_secs_f64(), ui)
}

/// What can be refused before anything is read.
fn check_usage(args: &SearchArgs, ui: &Ui) -> Result<(), UsageError> {
    model::check_device(args.model_args.device, ui)?;
    match args.scan {
        Scan::Auto | Scan::F32 => Ok(()),
        Scan::F16 | Scan::Int8 => Err(UsageError::new(
            format!("--scan {}: this toller scans in f32 only", format!("{:?}", args.scan).to_lowercase()),
            "use --scan auto; the hits are the same",
        )),
    }
}

fn open_index(stores: &[PathBuf], verify: bool, ui: &Ui) -> anyhow::Result<FlatIndex> {
    let bar = ui.progress("verifying", "bytes", 0);
    let progress = |progress: toller_store::VerifyProgress| bar.set(progress.bytes_done);
    let options = OpenOptions { verify, progress: Some(&progress) };
    let index = FlatIndex::open(stores, &options, &IndexOptions::default());
    bar.finish();
    let index = index?;
    ui.detail(format!("index: {} vectors of {} x {}", index.doc_count(), index.dim(), index.store().dtype()));
    Ok(index)
}

/// The queries' identifiers and vectors `[queries, dim]`.
fn query_vectors(args: &SearchArgs, index: &FlatIndex, ui: &Ui) -> anyhow::Result<(Vec<String>, Vec<f32>)> {
    if let Some(path) = &args.query_vectors {
        return stored_queries(path, index);
    }
    let (Some(model), Some(queries)) = (&args.model, &args.queries) else {
        return Err(UsageError::new(
            "search needs queries",
            "give --model and --queries, or --query-vectors",
        )
        .into());
    };
    let (queries, skipped) = read_queries(&[Input::parse(queries)], &args.input.options()?)?;
    if skipped.total() > 0 {
        ui.warning(skipped.to_string());
    }
    let model = model::load(model, &args.model_args, ui)?;
    index.store().check_model(&model.info)?;
    let prompt = args.model_args.prompt.as_deref().unwrap_or_else(|| model.encoder.prompt(Role::Query));
    let bar = ui.progress("encoding", "queries", queries.len() as u64);
    let mut vectors = Vec::with_capacity(queries.len() * index.dim());
    for block in queries.chunks(QUERIES_PER_BLOCK) {
        vectors.extend(encode_queries(&model.encoder, prompt, block)?);
        bar.set((vectors.len() / index.dim().max(1)) as u64);
    }
    bar.finish();
    Ok((queries.into_iter().map(|Query { id, .. }| id).collect(), vectors))
}

/// Queries that were encoded before.
fn stored_queries(path: &Path, index: &FlatIndex) -> anyhow::Result<(Vec<String>, Vec<f32>)> {
    let store = Store::open(&[path.to_owned()], &OpenOptions::default())?;
    index.store().check_model(&store.manifest().spec.model)?;
    let mut ids = Vec::with_capacity(store.count());
    let mut vectors = vec![0.0; store.count() * store.dim()];
    let mut rest = &mut vectors[..];
    for shard in store.shards() {
        let (rows, after) = rest.split_at_mut(shard.rows() * store.dim());
        shard.embeddings().widen(0..rows.len(), rows);
        ids.extend((0..shard.rows()).map(|row| shard.id(row).to_owned()));
        rest = after;
    }
    Ok((ids, vectors))
}

/// Searches block by block and writes the run; gives back what it was written to and the number of hits.
fn write_run<W: Write>(
    args: &SearchArgs,
    index: &FlatIndex,
    queries: &[String],
    vectors: &[f32],
    stop: &AtomicBool,
    mut run: TrecRunWriter<W>,
    ui: &Ui,
) -> anyhow::Result<(W, u64)> {
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let (mut done, mut hits) = (0, 0);
    for (ids, vectors) in
        queries.chunks(QUERIES_PER_BLOCK).zip(vectors.chunks(QUERIES_PER_BLOCK * index.dim().max(1)))
    {
        if stop.load(Ordering::Relaxed) {
            bar.finish();
            return Err(Interrupted { resume: format!("{} was not written", args.output.display()) }.into());
        }
        for (id, Ranking { hits: found }) in ids.iter().zip(index.search(vectors, args.k as usize)?) {
            let hits_of_query = found.iter().map(|hit| (index.doc_id(hit.doc), hit.score));
            run.write_query(id, hits_of_query)?;
            hits += found.len() as u64;
        }
        done += ids.len() as u64;
        bar.set(done);
    }
    bar.finish();
    Ok((run.finish()?, hits))
}

fn report(
    args: &SearchArgs,
    index: &FlatIndex,
    queries: usize,
    hits: u64,
    prepared_secs: f64,
    search_secs: f64,
    ui: &Ui,
) -> anyhow::Result<()> {
    let rate = queries as f64 / search_secs.max(1e-9);
    ui.status(format!(
        "searched {} vectors for {queries} queries in {search_secs:.2} s ({rate:.0} queries/s, \
         {prepared_secs:.1} s to prepare): {hits} hits in {}",
        index.doc_count(),
        args.output.display(),
    ));
    if args.output.as_os_str() == "-" {
        // Stdout carries the run.
        return Ok(());
    }
    ui.json(&serde_json::json!({
        "run": args.output,
        "queries": queries,
        "vectors": index.doc_count(),
        "k": args.k,
        "hits": hits,
        "prepare_seconds": prepared_secs,
        "search_seconds": search_secs,
        "queries_per_second": rate,
    }))
}
