//! The flags that say how rankings are fused.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use toller_pipeline::fusion::{Fusion, FusionError, METHODS, Method, Missing, Scale};

use super::choice::{Described, described};
use crate::error::UsageError;
use crate::flags;

/// Flags of the fusion of --sparse and --dense.
#[derive(Debug, clap::Args)]
pub struct HybridArgs {
    /// How the hits of --sparse and --dense are fused: a method of `toller fuse`; --alpha is the weight of
    /// the dense scores
    #[arg(long, value_name = "NAME", value_parser = MethodParser)]
    pub fusion: Option<&'static Method>,

    /// Hits of --sparse and --dense to fuse
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub fusion_depth: u32,

    #[command(flatten)]
    pub args: FusionArgs,
}

/// Flags of a fusion, except its method.
#[derive(Debug, clap::Args)]
pub struct FusionArgs {
    /// Weight of the second run; the first has weight 1: first + A * second [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true, conflicts_with = "weights")]
    pub alpha: Option<f64>,

    /// A weight for each run, in order, as in 1,0.5,2 [default: 1 each]
    #[arg(long, value_name = "W,W...", value_delimiter = ',', allow_negative_numbers = true)]
    weights: Vec<f64>,

    #[command(flatten)]
    scale: ScaleArgs,
}

/// Flags of what a method does to scores and ranks.
#[derive(Debug, clap::Args)]
pub struct ScaleArgs {
    /// The constant that rrf adds to ranks [default: 60]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    rrf_k: Option<f64>,

    /// The scale of the scores [default: the method's]
    #[arg(long, value_name = "SCALE", value_parser = described(SCALES))]
    normalize: Option<Scale>,

    /// The score of a document that is missing from a run [default: the method's]
    #[arg(long, value_name = "WHAT", value_parser = described(MISSING))]
    missing: Option<Missing>,
}

const SCALES: &[Described<Scale>] = &[
    (Scale::None, "The scores as they are"),
    (Scale::MinMax, "From 0 to 1, per query"),
    (Scale::Centred, "From -1/2 to 1/2, per query"),
    (Scale::ZScore, "Mean 0, deviation 1, per query"),
];

const MISSING: &[Described<Missing>] = &[
    (Missing::LeftOut, "None: the run does not count for it"),
    (Missing::Zero, "0"),
    (Missing::Minimum, "The run's lowest score"),
];

impl FusionArgs {
    /// Whether any of the flags is given.
    pub fn is_given(&self) -> bool {
        let Self { alpha, weights, scale: ScaleArgs { rrf_k, normalize, missing } } = self;
        alpha.is_some() || !weights.is_empty() || rrf_k.is_some() || normalize.is_some() || missing.is_some()
    }

    /// The fusion of `lists` rankings by `method`.
    pub fn fusion(&self, method: &Method, lists: usize) -> Result<Fusion, UsageError> {
        let mut fusion = self.scale.fusion(method)?;
        fusion.weights = self.weights.clone();
        if let Some(alpha) = self.alpha {
            if lists != 2 {
                let message = format!("--alpha weighs the second of two runs, but there are {lists}");
                return Err(UsageError::new(message, "give each run a weight with --weights"));
            }
            fusion.weights = vec![1.0, alpha];
        }
        fusion.check(lists).map_err(|error| in_flags(&error))?;
        Ok(fusion)
    }
}

impl ScaleArgs {
    /// The method, with the scale and the constant that were asked for.
    pub fn fusion(&self, method: &Method) -> Result<Fusion, UsageError> {
        let Self { rrf_k, normalize, missing } = *self;
        method.with(normalize, missing, rrf_k).map_err(|error| in_flags(&error))
    }
}

/// The error, which calls a setting as the flag that was given.
fn in_flags(error: &FusionError) -> UsageError {
    let usage = UsageError::of(error);
    match error {
        FusionError::NoMeaning { setting, method } => {
            usage.with_message(format!("{} has no meaning for {method}", flags::flag(*setting)))
        }
        _ => usage,
    }
}

/// For clap: a method by its name, however that is written, with all methods in the help.
#[derive(Clone)]
pub struct MethodParser;

impl TypedValueParser for MethodParser {
    type Value = &'static Method;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<&'static Method, clap::Error> {
        let by_name = |name: &str| name.parse::<&'static Method>();
        TypedValueParser::parse_ref(&by_name, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(METHODS.iter().map(|method| PossibleValue::new(method.name).help(method.summary))))
    }
}
