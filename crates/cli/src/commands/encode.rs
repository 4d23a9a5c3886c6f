//! `toller encode`: texts in, a store out.

use std::path::{Path, PathBuf};

use clap::ArgGroup;
use toller_corpus::ColumnNames;
use toller_encoder::{EncoderError, TitleMode, TitleName};
use toller_engine::{EncodeOptions, Encoder, Engine, Role, TextSource};
use toller_ir::counted;
use toller_pipeline::EncodeReport;
use toller_store::{Codes, Content, DType};

use super::store::quantize::{CODES, quantize_store};
use super::text_source;
use crate::args::choice::{by_name, one_of};
use crate::args::input::{BadLinesArgs, CORPUS_FORMAT, CollectionArgs, QueriesArgs};
use crate::args::model::{self, ModelArgs};
use crate::args::paths::{InputPath, ModelName, OutputPath};
use crate::args::shard::ShardArg;
use crate::engine::{self, unit};
use crate::error::UsageError;
use crate::flags::first_given;
use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("texts").args(["corpus", "queries"]).required(true),
    override_usage = "toller encode [OPTIONS] --model <M> --output <STORE>\n           <--corpus <FILE>...|--queries <FILE>...>"
)]
pub struct EncodeArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name (`toller models`
    /// lists them). A sparse model (SPLADE) makes a store of impacts, for `toller index --vectors`
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Collection: JSONL, TSV, CSV, TREC or Parquet files, directories of them, URLs (s3://, gs://, az://),
    /// or - for stdin; .gz, .zst and .xz are read
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    /// Queries to encode instead of a collection
    #[arg(long, value_name = "FILE", num_args = 1..)]
    queries: Vec<InputPath>,

    /// Directory to write the store to; if the same encode was interrupted, it is resumed
    #[arg(short, long, value_name = "STORE")]
    output: OutputPath,

    /// Number format of the stored vectors [default: f32]
    #[arg(long, value_name = "f32|f16|bf16")]
    store_dtype: Option<DType>,

    /// Also store int8 codes, which searches for few queries read instead of the vectors. They are made when
    /// all vectors are there, as by `toller store quantize` [default: none]
    #[arg(long, value_name = "int8|none", value_parser = one_of(CODES))]
    codes: Option<Codes>,

    /// How a title is given to the model: joined with the text by --title-separator; as `title [SEP] text` in
    /// one segment (DPR); or as a pair of segments (RocketQA) [default: sep or pair for models that are known
    /// to be trained so, else join]
    #[arg(long, value_name = "join|sep|pair", value_parser = by_name::<TitleName>(TitleName::NAMES), conflicts_with = "queries")]
    title_mode: Option<TitleName>,

    /// Text between a title and its text if they are joined [default: that of the model's training, else " "]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "queries")]
    title_separator: Option<String>,

    /// Give the model this field after each text, as the second segment: the paragraph of a sentence (ReQA).
    /// If both are too long together, the field is cut, not the text
    #[arg(long, value_name = "NAME", conflicts_with = "queries")]
    context_field: Option<String>,

    /// Encode only part I of N of the collection, counted from 1; all parts share one --output. auto: the
    /// part that a job array of Slurm, Kubernetes or AWS Batch gives to this task, or srun or torchrun to
    /// this process; auto/N: the same of N parts, where not all tasks run
    #[arg(long, value_name = "I/N|auto|auto/N", conflicts_with = "queries")]
    shard: Option<ShardArg>,

    /// Rows of a shard file: the most that an interruption can lose [default: as in a store that is resumed,
    /// else a sixteenth of the texts, as a power of two from 256 to 8192]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows_per_shard: Option<u32>,

    /// Replace the store that is there instead of resuming it
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    #[command(flatten)]
    model_args: ModelArgs,
}

impl EncodeArgs {
    /// The store that is written.
    pub fn store(&self) -> &Path {
        &self.output
    }

    /// Refuses `--overwrite` where a scheduler may run the command several times until it is done.
    pub fn check_resumes(&self) -> Result<(), UsageError> {
        if self.overwrite {
            let hint = format!("leave it out; if {} is there, remove it first", self.output.display());
            return Err(UsageError::new("with --overwrite each try of a shard would begin again", hint));
        }
        Ok(())
    }
}

pub fn run(args: &EncodeArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("a store")?;
    let part = args.shard.map(|shard| shard.resolve(ui)).transpose()?;
    // What no model allows is found before one is loaded.
    titles(args, None)?;
    // First, so that Ctrl-C leaves nothing behind from here on.
    let stop = interrupt::flag(ui, "finishing the shard that is under way; finished shards are kept")?;
    let engine = engine::open(ui)?;
    let encoder = model::load(&args.model, &args.model_args, &engine, ui)?;
    let options = EncodeOptions { part, ..options(args, &encoder)? };
    let source = source(args, &engine, ui)?;
    let report = engine.encode(&encoder, &source, &args.output, &options, &stop)?;
    let directory = report.manifest.spec.directory(&args.output);
    if report.was_complete {
        let store = directory.display();
        ui.status(format!("{store} is complete; nothing to do (--overwrite encodes it again)"));
    } else {
        ui.skipped("", source.skipped());
    }
    // Impacts have none.
    let codes = args.codes.filter(|_| report.manifest.spec.content != Content::Impacts);
    if let (Some(codes), false) = (codes, report.interrupted) {
        quantize_store(&directory, codes, false, ui)?;
    }
    print_report(args, &report, &source, ui)?;
    if report.interrupted {
        let done = report.rows_done;
        let all = report.manifest.spec.expected_rows();
        let again =
            if args.overwrite { "run the command without --overwrite" } else { "run the command again" };
        return Err(
            Interrupted { resume: format!("{done} of {all} rows are written; {again} to go on") }.into()
        );
    }
    Ok(())
}

/// How titles are given to a model whose own way is `own`, if flags say so.
fn titles(args: &EncodeArgs, own: Option<&TitleMode>) -> Result<Option<TitleMode>, UsageError> {
    let EncodeArgs { title_mode, title_separator, context_field, .. } = args;
    let titles = TitleMode::of(own, *title_mode, title_separator.clone(), context_field.clone());
    titles.map_err(|error| UsageError::of(&error))
}

/// Refuses flags of vectors, for a model that makes none.
fn check_sparse(args: &EncodeArgs) -> Result<(), UsageError> {
    let given = first_given([
        ("--codes int8", args.codes == Some(Codes::Int8)),
        ("--store-dtype", args.store_dtype.is_some()),
    ]);
    match given {
        None => Ok(()),
        Some(what) => Err(UsageError::of(&EncoderError::Sparse { what }).with_remedy("leave it out")),
    }
}

/// How texts are encoded, as a whole.
fn options(args: &EncodeArgs, encoder: &Encoder) -> Result<EncodeOptions, UsageError> {
    if encoder.is_sparse() {
        check_sparse(args)?;
    }
    Ok(EncodeOptions {
        titles: titles(args, encoder.model().titles())?,
        store_dtype: args.store_dtype.unwrap_or(DType::F32),
        part: None,
        rows_per_shard: args.rows_per_shard.map(|rows| rows as usize),
        overwrite: args.overwrite,
        drops_current_shard: false,
    })
}

/// The store that is there and how it differs, if this command would not make such a store of the same texts.
pub fn other_store(args: &EncodeArgs, ui: &Ui) -> crate::Result<Option<(PathBuf, String)>> {
    let encoder = model::load(&args.model, &args.model_args, &engine::open(ui)?, ui)?;
    let role = if args.queries.is_empty() { Role::Passage } else { Role::Query };
    let checked = encoder.check_store(&args.output, role, &options(args, &encoder)?);
    Ok(checked.err().map(|error| (args.output.to_path_buf(), error.to_string())))
}

/// The collection or the queries.
fn source(args: &EncodeArgs, engine: &Engine, ui: &Ui) -> crate::Result<TextSource> {
    let skip_bad_lines = args.bad_lines.skip_bad_lines;
    let (given, what) = match args.queries.is_empty() {
        true => (args.queries_input.first_given(), "--queries"),
        false => (args.collection.has_format().then_some(CORPUS_FORMAT), "--corpus"),
    };
    if let Some(flag) = given {
        let message = format!("{flag} is for {what}, which is not given");
        return Err(UsageError::new(message, "leave it out").into());
    }
    if args.queries.is_empty() {
        let mut reading = args.collection.options(skip_bad_lines);
        reading.columns.context.clone_from(&args.context_field);
        return text_source::collection(&args.corpus, &args.output, &reading, engine, ui);
    }
    let mut reading = args.queries_input.options(skip_bad_lines);
    // Where nothing else is read, the names of columns are also those of queries.
    let (own, names) = (reading.columns, args.collection.columns());
    reading.columns = ColumnNames { id: own.id.or(names.id), text: own.text.or(names.text), ..names };
    text_source::queries(&args.queries, &reading, engine, ui)
}

/// The result: a sentence on stderr, or JSON on stdout.
fn print_report(args: &EncodeArgs, report: &EncodeReport, source: &TextSource, ui: &Ui) -> crate::Result<()> {
    let seconds = report.duration.as_secs_f64();
    let rate = |count| per_second(count, seconds);
    let spec = &report.manifest.spec;
    if report.manifest.spec.expected_rows() == 0 {
        ui.status(format!(
            "this part of {} is empty: there are fewer passages than parts",
            args.output.display()
        ));
    } else if report.rows > 0 {
        let held = match spec.content {
            Content::Vectors(dtype) => format!("{} x {dtype}", spec.dim),
            Content::Impacts => format!("impacts over {}", counted(spec.dim, "term")),
        };
        ui.status(format!(
            "encoded {} ({}) in {seconds:.1} s: {:.1} {}/s, {:.0} tokens/s\n{} of {held} in {}",
            counted(report.rows, source.role().name()),
            counted(report.tokens, "token"),
            rate(report.rows),
            unit(source.role()),
            rate(report.tokens),
            counted(report.manifest.count, "row"),
            args.output.display(),
        ));
    }
    if report.full_rows > 0 {
        let (full, most) = (counted(report.full_rows, "text"), spec.encoding.max_length);
        let verb = if report.full_rows == 1 { "has" } else { "have" };
        ui.status(format!("{full} {verb} {most} tokens, the most that are taken; what was longer is cut"));
    }
    if report.zero_rows > 0 {
        let (model, zero, is_one) = (&spec.model, report.zero_rows, report.zero_rows == 1);
        ui.warning(match spec.content {
            Content::Vectors(_) => {
                let (vectors, verb) = (counted(zero, "vector"), if is_one { "is" } else { "are" });
                format!("{vectors} of {model} {verb} all zeros; check the model's weights")
            }
            Content::Impacts => {
                let (texts, verb) = (counted(zero, "text"), if is_one { "has" } else { "have" });
                format!("{texts} {verb} no term with a weight")
            }
        });
    }
    ui.json(|| {
        serde_json::json!({
            "store": args.output.display().to_string(),
            "model": spec.model.name,
            "query_model": spec.model.query_model,
            "model_fingerprint": spec.model.fingerprint,
            "source_fingerprint": spec.source.fingerprint,
            "rows": report.manifest.count,
            "complete": report.manifest.complete,
            "dim": spec.dim,
            "dtype": spec.content.to_string(),
            "compute_dtype": spec.encoding.compute_dtype,
            "encoded_rows": report.rows,
            "encoded_tokens": report.tokens,
            "texts_of_most_tokens": report.full_rows,
            "seconds": seconds,
            "rows_per_second": rate(report.rows),
            "tokens_per_second": rate(report.tokens),
            "skipped": source.skipped().total(),
        })
    })
}
