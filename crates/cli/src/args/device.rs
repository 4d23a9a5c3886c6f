//! Where a model computes, and devices and backends that the command line refuses before any work.

use toller_encoder::Compute;
use toller_engine::{Backend, Device, EncoderOptions, Engine};
use toller_nn::Precision;

use crate::engine::in_flags;
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

    /// Number format to compute in; int8 on the CPU only [default: f32 on the CPU; on a
    /// GPU f16, or bf16 for decoders and T5]
    #[arg(long, value_name = "f32|f16|bf16|int8")]
    pub dtype: Option<Precision>,

    /// Tokens of a batch, at most [default: 1024 on the CPU, what fills a GPU and fits its memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_tokens: Option<u32>,
}

impl ComputeArgs {
    /// Refuses a device and a backend that the build does not support. candle has its own devices.
    pub fn check(&self) -> Result<(), UsageError> {
        match self.backend {
            Backend::Native => check(self.device),
            Backend::Candle => self
                .backend
                .check()
                .map_err(|error| UsageError::of_flag(format!("--backend {}", self.backend), &error)),
        }
    }

    /// The flags, and whether they are given. The CPU and the usual backend need not be asked for.
    pub fn flags(&self) -> [(&'static str, bool); 4] {
        let Self { device, backend, dtype, batch_tokens } = self;
        [
            ("--dtype", dtype.is_some()),
            ("--device", !matches!(device, Device::Auto | Device::Cpu)),
            ("--backend", *backend != Backend::Native),
            ("--batch-tokens", batch_tokens.is_some()),
        ]
    }

    /// How a model is loaded that computes so.
    pub fn encoder(&self) -> EncoderOptions {
        EncoderOptions {
            device: self.device,
            backend: self.backend,
            dtype: self.dtype,
            batch_tokens: self.batch_tokens(),
            ..EncoderOptions::default()
        }
    }

    /// Refuses a backend where no model computes.
    pub fn check_unused(&self, remedy: &'static str) -> Result<(), UsageError> {
        match self.backend {
            Backend::Native => Ok(()),
            Backend::Candle => Err(UsageError::new("--backend is for models, and no model computes", remedy)),
        }
    }

    /// What computes.
    pub fn open(&self, engine: &Engine) -> crate::Result<Compute> {
        engine.compute(self.device, self.backend).map_err(in_flags)
    }

    /// Tokens of a batch.
    pub fn batch_tokens(&self) -> Option<usize> {
        self.batch_tokens.map(|tokens| tokens as usize)
    }
}

/// Refuses a device that the build does not support, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}
