//! The flags of a cross-encoder.

use toller_encoder::{CrossEncoderOptions, ScoreActivation};
use toller_engine::Engine;
use toller_tokenizer::PairTruncation;

use super::choice::{Described, described};
use super::device::ComputeArgs;
use crate::error::UsageError;

/// Flags of how a cross-encoder scores.
#[derive(Debug, clap::Args)]
pub struct CrossEncoderArgs {
    /// Truncate pairs to N tokens, special tokens included [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_length: Option<u32>,

    #[command(flatten)]
    scoring: ScoringArgs,

    #[command(flatten)]
    pub compute: ComputeArgs,
}

/// Flags of what a score is.
#[derive(Debug, clap::Args)]
pub struct ScoringArgs {
    /// Which text is cut when a pair is too long: only_second (the passage) or longest_first
    #[arg(long, value_name = "HOW", default_value_t)]
    truncation: PairTruncation,

    /// Text to put before every query of a pair; the instruction of a language model [default: the
    /// cross-encoder's own default prompt]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    rerank_prompt: Option<String>,

    /// Label whose score counts, from 0 [default: the only label, or the second of two]
    #[arg(long, value_name = "N")]
    label: Option<usize>,

    /// How logits become a score [default: the logit of one label, the softmax of several]
    #[arg(long, value_name = "NAME", value_parser = described(ACTIVATIONS))]
    activation: Option<ScoreActivation>,
}

const ACTIVATIONS: &[Described<ScoreActivation>] = &[
    (ScoreActivation::Identity, "The label's logit"),
    (ScoreActivation::Sigmoid, "Its sigmoid"),
    (ScoreActivation::Softmax, "Its share of the softmax"),
    (ScoreActivation::Configured, "The one in the model's configuration, as sentence-transformers reads it"),
];

impl CrossEncoderArgs {
    /// Refuses wrong usage before anything is read.
    pub fn check(&self) -> Result<(), UsageError> {
        self.compute.check()
    }

    /// How the model is loaded.
    pub fn options(&self, engine: &Engine) -> crate::Result<CrossEncoderOptions> {
        self.scoring.options(self.max_length, &self.compute, engine)
    }
}

impl ScoringArgs {
    /// How a model that scores like this is loaded.
    pub fn options(
        &self,
        max_length: Option<u32>,
        machine: &ComputeArgs,
        engine: &Engine,
    ) -> crate::Result<CrossEncoderOptions> {
        Ok(CrossEncoderOptions {
            max_length: max_length.map(|length| length as usize),
            truncation: self.truncation,
            label: self.label,
            activation: self.activation,
            prompt: self.rerank_prompt.clone(),
            new_head: None,
            batch_tokens: machine.batch_tokens(),
            dtype: machine.dtype,
            compute: machine.open(engine)?,
        })
    }
}
