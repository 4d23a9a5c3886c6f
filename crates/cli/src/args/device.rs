//! Where a model computes, and devices and backends that the command line refuses before any work.

use toller_engine::{Backend, Device};
use toller_nn::Precision;

use crate::error::UsageError;

/// Flags of where a model computes, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct ComputeArgs {
    /// Where to compute
    #[arg(long, value_name = "auto|cpu|cuda[:N]|cuda:all", default_value_t = Device::Auto)]
    pub device: Device,

    /// What computes: native (Toller's kernels), or candle to compare (built with the feature `candle`)
    #[arg(long, value_name = "native|candle", default_value_t = Backend::Native)]
    pub backend: Backend,

    /// Number format to compute in; int8 on the CPU only [default: f32 on the CPU, f16 on a GPU]
    #[arg(long, value_name = "f32|f16|bf16|int8")]
    pub dtype: Option<Precision>,

    /// Tokens of a batch, at most [default: 1024 on the CPU, what fills a GPU and fits its memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_tokens: Option<u32>,
}

/// Refuses a device that the build does not support, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}

/// The same for a model's device and backend. candle has its own devices.
pub fn check_model(device: Device, backend: Backend) -> Result<(), UsageError> {
    match backend {
        Backend::Native => check(device),
        Backend::Candle => {
            backend.check().map_err(|error| UsageError::of_flag(format!("--backend {backend}"), &error))
        }
    }
}

/// Refuses a backend where no model computes.
pub fn check_unused(backend: Backend, remedy: &'static str) -> Result<(), UsageError> {
    match backend {
        Backend::Native => Ok(()),
        Backend::Candle => Err(UsageError::new("--backend is for models, and no model computes", remedy)),
    }
}
