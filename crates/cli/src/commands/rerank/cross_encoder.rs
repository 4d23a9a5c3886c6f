//! The flags of a cross-encoder.

use toller_encoder::{CrossEncoderOptions, ScoreActivation};
use toller_engine::Device;
use toller_nn::Precision;
use toller_tokenizer::PairTruncation;

use crate::device;
use crate::error::UsageError;

/// Flags of how a cross-encoder scores.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(in crate::commands) struct CrossEncoderArgs {
    /// Truncate pairs to N tokens, special tokens included [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_length: Option<u32>,

    #[command(flatten)]
    scoring: ScoringArgs,

    /// Where to compute
    #[arg(long, value_name = "auto|cpu|cuda[:N]", default_value_t = Device::Auto, help_heading = "Machine")]
    device: Device,

    /// What to compute in [default: f32 on the CPU]
    #[arg(long, value_name = "f32|f16|bf16|int8", help_heading = "Machine")]
    dtype: Option<Precision>,

    /// Tokens of a batch, at most [default: 1024 on the CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Machine")]
    batch_tokens: Option<u32>,
}

/// Flags of what a score is.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(in crate::commands) struct ScoringArgs {
    /// What gives way when a pair is longer: only_second (the passage) or longest_first
    #[arg(long, value_name = "HOW", default_value_t)]
    truncation: PairTruncation,

    /// Label whose score counts, from 0 [default: the only one, or the last of two]
    #[arg(long, value_name = "N")]
    label: Option<usize>,

    /// What makes a score of the logits [default: the logit of a model of one label, softmax of several]
    #[arg(long, value_enum, value_name = "NAME")]
    activation: Option<ActivationName>,
}

/// An activation as given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ActivationName {
    /// The label's logit
    Logit,
    /// Its sigmoid
    Sigmoid,
    /// Its share of the softmax
    Softmax,
    /// What the model's configuration says, as sentence-transformers reads it
    Configured,
}

impl CrossEncoderArgs {
    /// What can be refused before anything is read.
    pub(in crate::commands) fn check(&self) -> Result<(), UsageError> {
        device::for_models(self.device)
    }

    /// What it computes in.
    pub(in crate::commands) fn dtype(&self) -> Precision {
        self.dtype.unwrap_or_default()
    }

    /// How the model is loaded.
    pub(in crate::commands) fn options(&self) -> CrossEncoderOptions {
        self.scoring.options(self.max_length, self.dtype(), self.batch_tokens)
    }
}

impl ScoringArgs {
    /// How the model is loaded that is to compute so.
    pub(in crate::commands) fn options(
        &self,
        max_length: Option<u32>,
        dtype: Precision,
        batch_tokens: Option<u32>,
    ) -> CrossEncoderOptions {
        CrossEncoderOptions {
            max_length: max_length.map(|length| length as usize),
            truncation: self.truncation,
            label: self.label,
            activation: self.activation.map(ActivationName::activation),
            batch_tokens: batch_tokens.map(|tokens| tokens as usize),
            dtype,
        }
    }
}

impl ActivationName {
    fn activation(self) -> ScoreActivation {
        match self {
            Self::Logit => ScoreActivation::Identity,
            Self::Sigmoid => ScoreActivation::Sigmoid,
            Self::Softmax => ScoreActivation::Softmax,
            Self::Configured => ScoreActivation::Configured,
        }
    }
}
