//! The flags that say how a model computes, and loading it.

use clap::builder::TypedValueParser;
use toller_encoder::{Compute, CrossEncoder, CrossEncoderOptions, TextPooling};
use toller_engine::{Encoder, EncoderOptions, Engine};
use toller_hub::ModelSource;
use toller_nn::Precision;

use super::choice::chosen;
use super::device::ComputeArgs;
use super::paths::ModelName;
use crate::engine::in_flags;
use crate::error::UsageError;
use crate::flags::first_given;
use crate::ui::Ui;

/// The flags that say how a model computes, shared by the commands that run one.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Truncate texts to N tokens, special tokens included [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_length: Option<u32>,

    /// Text to put before every text [default: the model's own prompt for the role]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Model that encodes queries, if it is not --model, which then encodes passages
    #[arg(long, value_name = "Q")]
    pub query_model: Option<ModelName>,

    /// How token states become a vector [default: the model's own, else mean]
    #[arg(long, value_name = "NAME", value_parser = pooling())]
    pub pooling: Option<TextPooling>,

    /// Scale vectors to unit length, so that inner products are cosines, also where the model does not
    #[arg(long)]
    pub normalize_embeddings: bool,

    /// End every text in the tokenizer's eos_token, as for models that Tevatron trained so
    #[arg(long)]
    pub append_eos_token: bool,

    /// Keep the first N dimensions of every vector, normalized again if the model normalizes (Matryoshka)
    /// [default: all, or the model's own truncate_dim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub dim: Option<u32>,

    #[command(flatten)]
    pub compute: ComputeArgs,
}

impl ModelArgs {
    /// The flags of dual encoders, and whether they are given. The last one is of cross-encoders, too.
    pub fn flags(&self) -> [(&'static str, bool); 7] {
        let Self {
            max_length,
            prompt,
            query_model,
            pooling,
            normalize_embeddings,
            append_eos_token,
            dim,
            compute: _,
        } = self;
        [
            ("--prompt", prompt.is_some()),
            ("--query-model", query_model.is_some()),
            ("--dim", dim.is_some()),
            ("--pooling", pooling.is_some()),
            ("--normalize-embeddings", *normalize_embeddings),
            ("--append-eos-token", *append_eos_token),
            ("--max-length", max_length.is_some()),
        ]
    }

    /// How the model is loaded.
    pub fn encoder(&self) -> EncoderOptions {
        EncoderOptions {
            query_model: self.query_model.as_ref().map(Into::into),
            max_length: self.max_length.map(|length| length as usize),
            prompt: self.prompt.clone(),
            pooling: self.pooling,
            normalize_embeddings: self.normalize_embeddings,
            append_eos_token: self.append_eos_token,
            dim: self.dim.map(|dim| dim as usize),
            ..self.compute.encoder()
        }
    }
}

/// For clap: a pooling by its name.
pub fn pooling() -> impl TypedValueParser<Value = TextPooling> {
    chosen(TextPooling::all().map(|pooling| (pooling.name(), "", pooling)).collect())
}

/// Loads the model with this name.
pub fn load(name: &str, args: &ModelArgs, engine: &Engine, ui: &Ui) -> crate::Result<Encoder> {
    load_pair(name, None, args, engine, ui)
}

/// As [`load`], with another model for queries, unless the flags name one.
pub fn load_pair(
    name: &str,
    query_model: Option<&str>,
    args: &ModelArgs,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<Encoder> {
    args.compute.check()?;
    let asked = args.encoder();
    let query_model = asked.query_model.or_else(|| query_model.map(str::to_owned));
    let encoder = engine.encoder(name, &EncoderOptions { query_model, ..asked }).map_err(in_flags)?;
    note_dtype(encoder.compute(), encoder.dtype(), ui);
    Ok(encoder)
}

/// Says that f16 is not faster on the CPU.
pub fn note_dtype(compute: &Compute, dtype: Precision, ui: &Ui) {
    if matches!(compute, Compute::Cpu) && dtype == Precision::F16 {
        ui.status(
            "--dtype f16: on the CPU numbers are rounded to f16 and multiplied in f32, no faster than f32",
        );
    }
}

/// Loads a cross-encoder to look at its logits: its score is not used, so any label will do.
pub fn load_cross_encoder(
    source: &ModelSource,
    args: &ModelArgs,
    engine: &Engine,
) -> crate::Result<CrossEncoder> {
    let [of_dual @ .., _] = args.flags();
    if let Some(flag) = first_given(of_dual) {
        return Err(UsageError::new(
            format!("{flag} is for dual encoders, and {} is a cross-encoder", source.directory.display()),
            format!("leave {flag} out"),
        )
        .into());
    }
    let options = CrossEncoderOptions {
        dtype: args.compute.dtype,
        compute: args.compute.open(engine)?,
        max_length: args.max_length.map(|length| length as usize),
        label: Some(0),
        batch_tokens: args.compute.batch_tokens(),
        ..CrossEncoderOptions::default()
    };
    Ok(CrossEncoder::load(&source.directory, &options)?)
}
