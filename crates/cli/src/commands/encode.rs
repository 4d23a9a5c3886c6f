//! `toller encode`: texts in, a store out.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use toller_encoder::Role;
use toller_files::{FileError, expand};
use toller_pipeline::{EncodeJob, EncodeProgress, EncodeReport, TitleMode};
use toller_store::{
    DEFAULT_ROWS_PER_SHARD, DType, Encoding, ModelInfo, Part, Source, StoreSpec, StoreWriter,
};

use super::encode_source::TextSource;
use super::store::quantize::{CodesName, quantize_store};
use crate::args::input::InputArgs;
use crate::args::paths::{InputPath, ModelName, OutputPath};
use crate::error::UsageError;
use crate::interrupt::{self, Interrupted};
use crate::model::{self, LoadedModel, ModelArgs};
use crate::ui::Ui;
use crate::verifying::verifying;

/// Arguments of `toller encode`.
#[derive(Debug, clap::Args)]
pub struct EncodeArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name (`toller models` lists them)
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Collection: JSONL, TSV or Parquet files, directories of them, or - for stdin; .gz, .zst and .xz are read
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "queries", conflicts_with = "queries")]
    corpus: Vec<InputPath>,

    /// Queries to encode instead of a collection
    #[arg(long, value_name = "FILE", num_args = 1..)]
    queries: Vec<InputPath>,

    /// Directory to write the store to; an interrupted encode of the same is resumed
    #[arg(short, long, value_name = "STORE")]
    output: OutputPath,

    /// What to store
    #[arg(long, value_name = "f32|f16|bf16", default_value_t = DType::F32)]
    store_dtype: DType,

    /// What to store beside the vectors: int8 codes, which searches for few queries read instead of them. Made when all
    /// vectors are there, as by `toller store quantize`
    #[arg(long, value_enum, value_name = "int8|none")]
    codes: Option<CodesName>,

    /// How a title is given to the model: one text with the separator between; `title [SEP] text` as one segment (DPR);
    /// or as a pair of segments (RocketQA)
    #[arg(long, value_name = "join|sep|pair", value_enum, default_value_t = TitleModeName::Join, conflicts_with = "queries")]
    title_mode: TitleModeName,

    /// Text to put between a title and its text where they are joined [default: a blank]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "queries")]
    title_separator: Option<String>,

    /// Encode only the I-th of N parts of the collection, I from 1; the parts share one --output
    #[arg(long, value_name = "I/N", conflicts_with = "queries")]
    shard: Option<PartArg>,

    /// Rows of a shard file: what an interruption loses at most
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROWS_PER_SHARD as u32, value_parser = clap::value_parser!(u32).range(1..))]
    rows_per_shard: u32,

    /// Replace the store that is there instead of resuming it
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    model_args: ModelArgs,
}

/// A title mode as given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TitleModeName {
    Join,
    Sep,
    Pair,
}

fn title_mode(args: &EncodeArgs) -> Result<TitleMode, UsageError> {
    match (args.title_mode, &args.title_separator) {
        (TitleModeName::Join, separator) => {
            Ok(TitleMode::Join(separator.clone().unwrap_or_else(|| " ".to_owned())))
        }
        (_, Some(_)) => Err(UsageError::new(
            "--title-separator joins a title and its text, which --title-mode sep and pair keep apart",
            "leave one of them out",
        )),
        (TitleModeName::Sep, None) => Ok(TitleMode::Sep),
        (TitleModeName::Pair, None) => Ok(TitleMode::Pair),
    }
}

/// `I/N` as given on the command line.
#[derive(Clone, Copy, Debug)]
struct PartArg {
    index: u32,
    of: u32,
}

impl FromStr for PartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let (index, of) = numbers.ok_or("I/N, as in 3/8")?;
        Part::new(index, of, 0).map_err(|error| error.to_string())?;
        Ok(Self { index, of })
    }
}

/// Encodes.
pub fn run(args: &EncodeArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("a store")?;
    // First, so that Ctrl-C leaves nothing behind from here on.
    let stop = interrupt::flag(ui, "stopping at the end of this shard")?;
    let model = model::load(&args.model, &args.model_args, ui)?;
    let role = if args.queries.is_empty() { Role::Passage } else { Role::Query };
    let titles = title_mode(args)?;
    let source = open_source(args, role, ui)?;
    let spec = spec(args, &model, role, &titles, &source)?;

    let writer = if args.overwrite {
        StoreWriter::overwrite(&args.output, spec)?
    } else {
        resume(&args.output, spec, ui)?
    };
    if writer.is_complete() {
        ui.status(format!(
            "{} is complete; nothing to do (--overwrite encodes it again)",
            writer.directory().display()
        ));
        let report = EncodeReport::nothing_to_do(writer.manifest().clone());
        let directory = writer.directory().to_owned();
        drop(writer);
        make_codes(args, &directory, ui)?;
        return print_report(args, &report, &source, ui);
    }
    let job = EncodeJob { encoder: &model.encoder, role, threads, stop: &stop };
    let directory = writer.directory().to_owned();
    let report = encode(&job, &titles, &source, writer, ui)?;
    source.report_skipped(ui);
    if !report.interrupted {
        make_codes(args, &directory, ui)?;
    }
    print_report(args, &report, &source, ui)?;
    if report.interrupted {
        let done = report.rows_done;
        let all = report.manifest.spec.expected_rows();
        return Err(Interrupted {
            resume: format!("{done} of {all} rows are in the store; run the same command again to go on"),
        }
        .into());
    }
    Ok(())
}

/// Gives the store, or the part of one, the codes that were asked for.
fn make_codes(args: &EncodeArgs, directory: &Path, ui: &Ui) -> crate::Result<()> {
    if let Some(codes) = args.codes {
        quantize_store(directory, codes.into(), false, ui)?;
    }
    Ok(())
}

/// Creates the store, or opens the one that is there; says which of its shards are damaged and so written anew.
pub(super) fn resume(store: &Path, spec: StoreSpec, ui: &Ui) -> crate::Result<StoreWriter> {
    let writer = verifying(true, ui, |options| StoreWriter::create_or_resume_with(store, spec, options))?;
    for damage in writer.damaged() {
        ui.warning(format!(
            "{}; its {} rows are written anew",
            damage.error,
            damage.rows.end - damage.rows.start
        ));
    }
    Ok(writer)
}

fn open_source(args: &EncodeArgs, role: Role, ui: &Ui) -> crate::Result<TextSource> {
    match role {
        Role::Passage => {
            let inputs = expand(args.corpus.iter().map(|path| beir_corpus(path, ui)))?;
            TextSource::collection(&inputs, &args.output, &args.input.options()?, ui)
        }
        Role::Query => {
            let inputs = expand(&args.queries)?;
            TextSource::queries(&inputs, &args.input.options()?, ui)
        }
    }
}

fn spec(
    args: &EncodeArgs,
    model: &LoadedModel,
    role: Role,
    titles: &TitleMode,
    source: &TextSource,
) -> crate::Result<StoreSpec> {
    let tower = model.encoder.tower(role);
    let part = args.shard.map(|part| Part::new(part.index, part.of, source.texts())).transpose()?;
    Ok(StoreSpec {
        model: ModelInfo { name: model.info.name.clone(), fingerprint: model.info.fingerprint.clone() },
        encoding: Encoding {
            role,
            prompt: tower.prompt().to_owned(),
            max_length: tower.max_length(),
            title_mode: titles.name().to_owned(),
            title_separator: titles.separator().to_owned(),
            compute_dtype: args.model_args.dtype().to_string(),
            normalized: tower.normalizes(),
            pooling: tower.pooling(),
        },
        dim: tower.dim(),
        dtype: args.store_dtype,
        rows_per_shard: args.rows_per_shard as usize,
        source: Source { fingerprint: source.fingerprint().to_string(), passages: source.texts() },
        part,
    })
}

fn encode(
    job: &EncodeJob<'_>,
    titles: &TitleMode,
    source: &TextSource,
    writer: StoreWriter,
    ui: &Ui,
) -> crate::Result<EncodeReport> {
    let spec = &writer.manifest().spec;
    let first = spec.part.map_or(0, |part| part.first_row);
    let missing =
        writer.missing_rows().into_iter().map(|rows| first + rows.start..first + rows.end).collect();
    let bar = ui.progress("encoding", source.unit(), spec.expected_rows());
    if writer.rows_done() > 0 {
        let next = writer.missing_rows().first().map_or(writer.rows_done(), |rows| rows.start);
        ui.status(format!("resuming {} at row {next}", writer.directory().display()));
        bar.already_done(writer.rows_done());
    }
    let texts = source.read(missing, titles)?;
    let started = std::time::Instant::now();
    let on_progress = |progress: EncodeProgress| {
        bar.set(progress.rows);
        bar.message(match progress.stopping_in {
            Some(rows) => format!("stopping in {rows} {}", source.unit()),
            None => format!("{:.0} tokens/s", progress.tokens as f64 / started.elapsed().as_secs_f64()),
        });
    };
    let report = toller_pipeline::encode(job, texts, writer, on_progress);
    bar.finish();
    Ok(report?)
}

/// The result: a sentence on stderr, or JSON on stdout.
fn print_report(args: &EncodeArgs, report: &EncodeReport, source: &TextSource, ui: &Ui) -> crate::Result<()> {
    let seconds = report.duration.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let spec = &report.manifest.spec;
    if report.manifest.spec.expected_rows() == 0 {
        ui.status(format!(
            "this part of {} is empty: there are fewer passages than parts",
            args.output.display()
        ));
    } else if report.rows > 0 {
        ui.status(format!(
            "encoded {} {} ({} tokens) in {seconds:.1} s: {:.1} {}/s, {:.0} tokens/s; {} rows of {} x {} in {}",
            report.rows,
            source.unit(),
            report.tokens,
            rate(report.rows),
            source.unit(),
            rate(report.tokens),
            report.manifest.count,
            spec.dim,
            spec.dtype,
            args.output.display(),
        ));
    }
    ui.json(|| {
        serde_json::json!({
            "store": args.output.display().to_string(),
            "model": spec.model.name,
            "model_fingerprint": spec.model.fingerprint,
            "source_fingerprint": spec.source.fingerprint,
            "rows": report.manifest.count,
            "complete": report.manifest.complete,
            "dim": spec.dim,
            "dtype": spec.dtype.to_string(),
            "compute_dtype": spec.encoding.compute_dtype,
            "encoded_rows": report.rows,
            "encoded_tokens": report.tokens,
            "seconds": seconds,
            "rows_per_second": rate(report.rows),
            "tokens_per_second": rate(report.tokens),
            "skipped": source.skipped().total(),
        })
    })
}

/// A folder as BEIR publishes them holds the queries beside the corpus: only the latter is meant.
pub(super) fn beir_corpus(path: &Path, ui: &Ui) -> PathBuf {
    let names = ["corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.jsonl.xz"];
    match names.map(|name| path.join(name)).into_iter().find(|corpus| corpus.is_file()) {
        Some(corpus) => {
            ui.status(format!("{} holds a BEIR collection: reading {}", path.display(), corpus.display()));
            corpus
        }
        None => path.to_owned(),
    }
}

/// Where the spool of standard input goes: beside the store, whose disk has to hold the vectors anyway.
pub(super) fn spool_directory(output: &Path) -> crate::Result<&Path> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(FileError::on("create", parent))?;
    Ok(parent)
}
