//! `toller store import`: other programs' vectors in, a store out.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use toller_engine::{Engine, Role};
use toller_exchange::{
    ExchangeError, IdsFrom, Source, SourceOptions, Survey, VectorFormat, import, store_spec, survey,
};
use toller_ir::{Setting, counted};
use toller_store::{DType, Encoding, StoreSpec, StoreWriter};

use crate::args::choice::by_name;
use crate::args::model::{self, ModelArgs};
use crate::args::paths::{InputPath, ModelName, OutputPath};
use crate::engine;
use crate::error::{Context, UsageError};
use crate::flags::first_given;
use crate::interrupt::{self, Interrupted};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// Files of vectors, as one collection in this order: FAISS's IndexFlatIP, Pyserini's directory, .npy,
    /// Parquet, JSONL, Tevatron's or DPR's pickles, .fbin or .fvecs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<InputPath>,

    /// Directory to write the store to; if the same import was interrupted, it is resumed
    #[arg(short, long, value_name = "STORE")]
    output: OutputPath,

    /// Format of the files, if their first bytes do not show it
    #[arg(long, value_name = "NAME", value_parser = by_name::<VectorFormat>(VectorFormat::NAMES))]
    vectors_format: Option<VectorFormat>,

    /// File of identifiers, one per line or a JSON list; once for each file of vectors [default: the file
    /// next to the vectors: X.ids.txt or X.ids.json for X.npy, docid for Pyserini's index]
    #[arg(long, value_name = "FILE", conflicts_with = "row_ids")]
    ids: Vec<InputPath>,

    /// Use row numbers as identifiers, counted from 0 through all files
    #[arg(long)]
    row_ids: bool,

    /// Parquet column or JSONL field of the identifiers [default: _id, id or docid]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// Parquet column or JSONL field of the vectors [default: embedding, embeddings, emb or vector]
    #[arg(long, value_name = "NAME")]
    vector_column: Option<String>,

    /// Round float64 to float32 instead of refusing it
    #[arg(long)]
    narrow_f64: bool,

    /// Accept a FAISS index of another metric than the inner product
    #[arg(long)]
    any_metric: bool,

    /// What the vectors represent
    #[arg(long, value_name = "passage|query", default_value_t = Role::Passage)]
    role: Role,

    /// Number format of the stored vectors [default: f16 if all files hold float16, else f32]
    #[arg(long, value_name = "f32|f16|bf16")]
    store_dtype: Option<DType>,

    /// Replace the store that is there instead of resuming it
    #[arg(long)]
    overwrite: bool,

    /// Model that made the vectors, as you state: the store can then be searched with it. Without --model the
    /// model of the store is unknown
    #[arg(long, value_name = "M")]
    model: Option<ModelName>,

    #[command(flatten)]
    model_args: ModelArgs,
}

pub fn run(args: &ImportArgs, ui: &Ui) -> crate::Result<()> {
    if args.model.is_none() {
        check_unused(&args.model_args)?;
    }
    let stop = interrupt::flag(ui, "stopping")?;
    let source = Source::open(&InputPath::all(&args.files), &source_options(args))
        .with_flag(Setting::Format, "--vectors-format")?;
    ui.detail(format!("source: {} vectors of {}", source.rows(), source.dim()));
    let surveyed = check(&source, &stop, ui)?;
    let engine = engine::open(ui)?;
    let spec = spec(args, &source, &surveyed, &engine, ui)?;

    let writer = if args.overwrite {
        StoreWriter::overwrite(&args.output, spec)?
    } else {
        engine.resume(&args.output, spec)?
    };
    if writer.is_complete() {
        let store = writer.directory().display();
        ui.status(format!("{store} is complete; nothing to do (--overwrite imports it again)"));
        return report(args, writer.manifest(), ui);
    }
    let bar = ui.progress("importing", "vectors", surveyed.rows);
    let outcome = import(&source, writer, &mut |rows| {
        bar.set(rows);
        go_on(&stop)
    });
    drop(bar);
    let manifest = outcome.map_err(stopped("run the same command again to go on"))?;
    let store = args.output.display();
    ui.status(format!(
        "imported {} of {} x {} into {store}",
        counted(manifest.count, "vector"),
        manifest.spec.dim,
        manifest.spec.content
    ));
    report(args, &manifest, ui)
}

/// Refuses flags that have no effect without a model.
fn check_unused(args: &ModelArgs) -> Result<(), UsageError> {
    match first_given(args.flags().into_iter().chain(args.compute.flags())) {
        None => Ok(()),
        Some(flag) => Err(UsageError::new(
            format!("{flag} is for the model that made the vectors, and none is named"),
            format!("give --model, or leave {flag} out"),
        )),
    }
}

fn source_options(args: &ImportArgs) -> SourceOptions {
    let ids = match (args.row_ids, args.ids.as_slice()) {
        (true, _) => IdsFrom::Rows,
        (false, []) => IdsFrom::NextTo,
        (false, files) => IdsFrom::Files(InputPath::all(files)),
    };
    SourceOptions {
        format: args.vectors_format,
        ids,
        id_column: args.id_column.clone(),
        vector_column: args.vector_column.clone(),
        narrow_f64: args.narrow_f64,
        any_metric: args.any_metric,
    }
}

fn check(source: &Source, stop: &AtomicBool, ui: &Ui) -> crate::Result<Survey> {
    let bar = ui.progress("checking", "vectors", source.rows());
    let surveyed = survey(source, &mut |rows| {
        bar.set(rows);
        go_on(stop)
    });
    surveyed.map_err(stopped("nothing was written"))
}

/// The spec of the store. With a model it is the spec of an encode, if the vectors do not contradict the
/// model.
fn spec(
    args: &ImportArgs,
    source: &Source,
    surveyed: &Survey,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<StoreSpec> {
    let dtype = args.store_dtype.unwrap_or_else(|| source.store_dtype());
    let mut spec = store_spec(source, surveyed, args.role, dtype);
    let Some(name) = &args.model else { return Ok(spec) };

    let encoder = model::load(name, &args.model_args, engine, ui)?;
    let tower = encoder.model().tower(args.role);
    let contradiction = |what: String| {
        UsageError::new(
            format!("--model {name}: {what}"),
            "name the model that made the vectors, or leave out --model",
        )
    };
    if encoder.is_sparse() {
        return Err(contradiction("it gives weights to terms, and makes no vectors".to_owned()).into());
    }
    if tower.dim() != source.dim() {
        let what = format!("its vectors have {} numbers, but these have {}", tower.dim(), source.dim());
        return Err(contradiction(what).into());
    }
    if tower.normalizes() && !surveyed.normalized {
        return Err(contradiction("its vectors have unit length, but these do not".to_owned()).into());
    }
    spec.encoding = Encoding {
        prompt: tower.prompt().to_owned(),
        max_length: tower.max_length(),
        normalized: tower.normalizes(),
        pooling: tower.pooling(),
        ..spec.encoding
    };
    spec.model = encoder.info().clone();
    Ok(spec)
}

fn report(args: &ImportArgs, manifest: &toller_store::Manifest, ui: &Ui) -> crate::Result<()> {
    let spec = &manifest.spec;
    if !spec.model.is_known() {
        ui.status("the model of the store is unknown: search the store with --query-vectors, or with --model and --assume-model");
    }
    ui.json(|| {
        serde_json::json!({
            "store": args.output.display().to_string(),
            "model": spec.model.is_known().then_some(&spec.model.name),
            "query_model": spec.model.query_model,
            "model_fingerprint": spec.model.fingerprint,
            "source_fingerprint": spec.source.fingerprint,
            "rows": manifest.count,
            "dim": spec.dim,
            "dtype": spec.content.to_string(),
            "role": spec.encoding.role.to_string(),
            "normalized": spec.encoding.normalized,
        })
    })
}

/// Whether work goes on.
pub(super) fn go_on(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// For `map_err`: work that the user stopped is not a failure.
pub(super) fn stopped(resume: &'static str) -> impl FnOnce(ExchangeError) -> crate::error::Failure {
    move |error| match error {
        ExchangeError::Stopped => Interrupted { resume: resume.to_owned() }.into(),
        error => error.into(),
    }
}
