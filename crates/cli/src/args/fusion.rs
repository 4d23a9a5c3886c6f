//! The flags that say how rankings are fused.

use toller_pipeline::fusion::{Fusion, Method, Missing, Normalization, UnknownMethod};

use super::choice::{Choice, one_of};
use crate::error::UsageError;

/// Flags of a fusion, except its method.
#[derive(Debug, clap::Args)]
pub struct FusionArgs {
    /// Weight of the second run; the first has weight 1: first + A * second [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true, conflicts_with = "weights")]
    pub alpha: Option<f64>,

    /// A weight for each run, in order, as in 1,0.5,2 [default: 1 each]
    #[arg(long, value_name = "W,W...", value_delimiter = ',', allow_negative_numbers = true)]
    weights: Vec<f64>,

    /// The constant that rrf adds to ranks [default: 60]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    rrf_k: Option<f64>,

    #[command(flatten)]
    scale: ScaleArgs,
}

/// Flags of what a method does to scores.
#[derive(Debug, clap::Args)]
pub struct ScaleArgs {
    /// The scale of the scores [default: the method's]
    #[arg(long, value_name = "SCALE", value_parser = one_of(SCALES))]
    normalize: Option<Normalization>,

    /// The score of a document that is missing from a run [default: the method's]
    #[arg(long, value_name = "WHAT", value_parser = one_of(MISSING))]
    missing: Option<Missing>,
}

const SCALES: &[Choice<Normalization>] = &[
    ("none", "The scores as they are", Normalization::None),
    ("min-max", "From 0 to 1, per query", Normalization::MinMax),
    ("centred", "From -1/2 to 1/2, per query", Normalization::Centred),
    ("z-score", "Mean 0, deviation 1, per query", Normalization::ZScore),
];

const MISSING: &[Choice<Missing>] = &[
    ("left-out", "None: the run does not count for it", Missing::LeftOut),
    ("zero", "0", Missing::Zero),
    ("minimum", "The run's lowest score", Missing::Minimum),
];

impl FusionArgs {
    /// Whether any of the flags is given.
    pub fn is_given(&self) -> bool {
        let Self { alpha, weights, rrf_k, scale: ScaleArgs { normalize, missing } } = self;
        alpha.is_some() || !weights.is_empty() || rrf_k.is_some() || normalize.is_some() || missing.is_some()
    }

    /// The fusion of `lists` rankings by `method`.
    pub fn fusion(&self, method: &Method, lists: usize) -> Result<Fusion, UsageError> {
        let mut fusion = self.scale.fusion(method)?;
        if let Some(k) = self.rrf_k {
            if !matches!(fusion.normalization, Normalization::ReciprocalRank { .. }) {
                let message = format!("--rrf-k has no meaning for {method}");
                return Err(UsageError::new(message, "leave it out, or fuse by rrf"));
            }
            fusion.normalization = Normalization::ReciprocalRank { k };
        }
        fusion.weights = self.weights.clone();
        if let Some(alpha) = self.alpha {
            if lists != 2 {
                let message = format!("--alpha weighs the second of two runs, but there are {lists}");
                return Err(UsageError::new(message, "give each run a weight with --weights"));
            }
            fusion.weights = vec![1.0, alpha];
        }
        fusion.check(lists).map_err(|error| UsageError::of(&error))?;
        Ok(fusion)
    }
}

impl ScaleArgs {
    /// The method, with the scale that was asked for.
    pub fn fusion(&self, method: &Method) -> Result<Fusion, UsageError> {
        let mut fusion = method.fusion();
        for (flag, given) in
            [("--normalize", self.normalize.is_some()), ("--missing", self.missing.is_some())]
        {
            if given && method.is_by_rank() {
                let message = format!("{flag} has no meaning for {method}, which looks at ranks alone");
                return Err(UsageError::new(message, format!("leave {flag} out")));
            }
        }
        fusion.normalization = self.normalize.unwrap_or(fusion.normalization);
        fusion.missing = self.missing.unwrap_or(fusion.missing);
        Ok(fusion)
    }
}

/// For clap: a method by its name.
pub fn method(name: &str) -> Result<&'static Method, String> {
    name.parse().map_err(|error: UnknownMethod| error.to_string())
}
