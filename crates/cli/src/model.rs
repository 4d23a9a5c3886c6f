//! Loading a model as the command line names it.

use std::ops::ControlFlow;

use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, Role, TextPooling};
use toller_hub::{ModelSource, Origin, ResolveEvent, ResolveOptions, resolve_model};
use toller_nn::Precision;
use toller_store::ModelInfo;

use crate::device::Device;
use crate::error::UsageError;
use crate::ui::Ui;

/// The flags that say how a model computes, shared by the commands that run one.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Truncate texts to N tokens, special tokens included [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_length: Option<u32>,

    /// Text to put before every text [default: the model's own prompt for the role]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Model of the queries, where it is another than --model, which is the passages' then
    #[arg(long, value_name = "Q")]
    pub query_model: Option<String>,

    /// How token states become a vector [default: the model's own; mean where it does not say]
    #[arg(long, value_name = "NAME", value_parser = pooling)]
    pub pooling: Option<TextPooling>,

    /// Keep the first N dimensions of every vector, scaled to unit length again where the model does so
    /// (Matryoshka) [default: all, or the model's own truncate_dim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub dim: Option<u32>,

    /// Where to compute
    #[arg(long, value_name = "auto|cpu|cuda[:N]|cuda:all", default_value_t = Device::Auto, help_heading = "Machine")]
    pub device: Device,

    /// What to compute in [default: f32 on the CPU]
    #[arg(long, value_name = "f32|f16|bf16|int8", help_heading = "Machine")]
    pub dtype: Option<Precision>,

    /// Tokens of a batch, at most [default: 1024 on the CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Machine")]
    pub batch_tokens: Option<u32>,
}

impl ModelArgs {
    /// What to compute in.
    pub fn dtype(&self) -> Precision {
        self.dtype.unwrap_or_default()
    }
}

fn pooling(name: &str) -> Result<TextPooling, String> {
    TextPooling::from_name(name).ok_or_else(|| {
        format!("known are {}", TextPooling::all().map(TextPooling::name).collect::<Vec<_>>().join(", "))
    })
}

/// A model that is ready to run, with the identity that stores keep.
pub struct LoadedModel {
    pub encoder: DualEncoder,
    pub info: ModelInfo,
}

/// Resolves and loads the model that `name` stands for.
pub fn load(name: &str, args: &ModelArgs, ui: &Ui) -> crate::Result<LoadedModel> {
    announce(args, ui)?;
    load_from(resolve(name, ui)?, name, args, ui)
}

/// As [`load`], for the queries of a search: `--device` is where vectors are searched, the model is computed on the CPU.
pub fn load_for_search(name: &str, args: &ModelArgs, ui: &Ui) -> crate::Result<LoadedModel> {
    note_dtype(args, ui);
    load_from(resolve(name, ui)?, name, args, ui)
}

/// Says where it is computed, and in what; an error where that cannot be.
pub fn announce(args: &ModelArgs, ui: &Ui) -> Result<(), UsageError> {
    args.device.for_models()?;
    if args.device == Device::Auto {
        ui.detail(format!("device: cpu ({})", toller_simd::Isa::active()));
    }
    note_dtype(args, ui);
    Ok(())
}

/// Says what is not as one would expect.
fn note_dtype(args: &ModelArgs, ui: &Ui) {
    if args.dtype() == Precision::F16 {
        ui.status(
            "--dtype f16: on the CPU numbers are rounded to f16 and multiplied in f32, no faster than f32",
        );
    }
}

/// Loads a cross-encoder. Its score is not asked for, so any label will do.
pub fn load_cross_encoder(source: &ModelSource, args: &ModelArgs) -> crate::Result<CrossEncoder> {
    let flags = [
        ("--query-model", args.query_model.is_some()),
        ("--prompt", args.prompt.is_some()),
        ("--dim", args.dim.is_some()),
    ];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
        return Err(UsageError::new(
            format!("{flag} is for dual encoders, and {} is a cross-encoder", source.directory.display()),
            format!("leave {flag} out"),
        )
        .into());
    }
    let options = CrossEncoderOptions {
        max_length: args.max_length.map(|length| length as usize),
        label: Some(0),
        batch_tokens: args.batch_tokens.map(|tokens| tokens as usize),
        dtype: args.dtype(),
        ..CrossEncoderOptions::default()
    };
    Ok(CrossEncoder::load(&source.directory, &options)?)
}

/// Loads the model that `name` stands for from where its files are.
pub fn load_from(source: ModelSource, name: &str, args: &ModelArgs, ui: &Ui) -> crate::Result<LoadedModel> {
    let query_source = args.query_model.as_deref().map(|name| resolve(name, ui)).transpose()?;
    let options = LoadOptions {
        query_model: query_source.map(|source| source.directory),
        max_length: args.max_length.map(|length| length as usize),
        pooling: args.pooling,
        dim: args.dim.map(|dim| dim as usize),
        prompt: args.prompt.clone(),
        batch_tokens: args.batch_tokens.map(|tokens| tokens as usize),
        dtype: args.dtype(),
        known: match &source.origin {
            Origin::Known(model) => Some(model.clone()),
            Origin::Directory | Origin::Hub { .. } => None,
        },
    };
    let encoder = DualEncoder::load(&source.directory, &options)?;
    if encoder.tower(Role::Passage).pooling_is_assumed() {
        ui.warning(format!(
            "{name} does not say how it pools: taking the mean, as sentence-transformers does; --pooling decides"
        ));
    }
    let unexpected = encoder.unexpected_tensors();
    if let Some(first) = unexpected.first() {
        ui.warning(format!(
            "{name}: {} tensors have no place in the architecture that config.json describes and no effect, the \
             first is {first:?}",
            unexpected.len()
        ));
    }
    let name = match &args.query_model {
        Some(query_model) => format!("{name} with {query_model} for queries"),
        None => name.to_owned(),
    };
    let info = ModelInfo { name, fingerprint: encoder.fingerprint().to_owned() };
    Ok(LoadedModel { encoder, info })
}

/// Finds the model's files, downloading them if need be.
pub fn resolve(name: &str, ui: &Ui) -> crate::Result<ModelSource> {
    let (mut bar, mut is_waiting) = (None, false);
    let mut on_event = |event: ResolveEvent<'_>| {
        match event {
            ResolveEvent::Waiting { file } => {
                if !std::mem::replace(&mut is_waiting, true) {
                    ui.status(format!("waiting for another process, which is downloading {file}"));
                }
            }
            ResolveEvent::Started { file, total_bytes } => {
                bar = Some(ui.progress(file, "bytes", total_bytes.unwrap_or(0)));
            }
            ResolveEvent::Advanced { done_bytes, .. } => {
                if let Some(bar) = &bar {
                    bar.set(done_bytes);
                }
            }
            ResolveEvent::Finished { .. } => {
                if let Some(bar) = bar.take() {
                    bar.finish();
                }
            }
            ResolveEvent::Unconfirmed { reason } => {
                ui.warning(format!("using the downloaded model as it is: {reason}"))
            }
        }
        ControlFlow::Continue(())
    };
    let source = resolve_model(name, &ResolveOptions::from_env(), &mut on_event)?;
    let origin = match &source.origin {
        Origin::Directory => String::new(),
        Origin::Known(model) => format!(", known as {}", model.name),
        Origin::Hub { id, commit } => format!(", {id} at {commit}"),
    };
    ui.detail(format!("model: {}{origin}", source.directory.display()));
    Ok(source)
}
