//! What computes models: Toller's own kernels, or candle.

use toller_encoder::Compute;
use toller_ir::{Explain, Remedy, Setting, named, remedy};
#[cfg(feature = "candle")]
use toller_nn::candle_core;

use crate::Device;

named! {
    /// What computes a model on a device.
    #[derive(Default)]
    pub enum Backend: "a backend" {
        /// Toller's own kernels for the device.
        #[default]
        Native = "native",
        /// candle, an independent implementation to compare with. In builds with the feature `candle`.
        Candle = "candle",
    }
}

/// Why a backend cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// This build has no candle.
    #[error("this toller was built without candle")]
    NotBuilt,
    /// This build has candle for the CPU alone.
    #[error("this toller was built with candle for the CPU, not for CUDA")]
    NoCuda,
    /// Several devices, or a stand-in.
    #[error("candle does not compute on {0}")]
    Device(Device),
    /// candle cannot open a GPU.
    #[error("candle cannot open cuda:{ordinal}: {message}")]
    Open {
        /// The number of the device, from zero.
        ordinal: usize,
        /// candle's message.
        message: String,
    },
}

impl Explain for BackendError {
    fn remedy(&self) -> Option<Remedy> {
        let (native, on_cpu) = (Setting::Backend.to("native"), Setting::Device.to("cpu"));
        Some(match self {
            Self::NotBuilt => remedy!("use {}, or build with the feature `candle`", native),
            Self::NoCuda => {
                remedy!("use {} or {}, or build with the feature `candle-cuda`", on_cpu, native)
            }
            Self::Device(_) => remedy!("use {} or {}", on_cpu, Setting::Device.to("cuda:N")),
            Self::Open { .. } => remedy!("look at nvidia-smi, or use {}", on_cpu),
        })
    }
}

impl Backend {
    /// Whether this build has the backend.
    ///
    /// # Errors
    /// [`BackendError::NotBuilt`].
    pub fn check(self) -> Result<(), BackendError> {
        match self {
            Self::Candle if !cfg!(feature = "candle") => Err(BackendError::NotBuilt),
            _ => Ok(()),
        }
    }
}

/// Where candle computes on `device`: `auto` is a GPU if candle has CUDA.
#[cfg(feature = "candle")]
pub(crate) fn candle(device: Device) -> Result<Compute, BackendError> {
    let has_cuda = cfg!(feature = "candle-cuda");
    let ordinal = match device {
        Device::Cpu => None,
        Device::Auto => has_cuda.then_some(0),
        Device::Cuda(_) if !has_cuda => return Err(BackendError::NoCuda),
        Device::Cuda(ordinal) => Some(ordinal),
        _ => return Err(BackendError::Device(device)),
    };
    let Some(ordinal) = ordinal else { return Ok(Compute::Candle(candle_core::Device::Cpu)) };
    let opened = candle_core::Device::new_cuda(ordinal);
    let opened = opened.map_err(|error| BackendError::Open { ordinal, message: error.to_string() });
    Ok(Compute::Candle(opened?))
}

/// Nowhere.
#[cfg(not(feature = "candle"))]
pub(crate) fn candle(_: Device) -> Result<Compute, BackendError> {
    Err(BackendError::NotBuilt)
}

#[cfg(test)]
mod tests {
    use toller_ir::Explain;

    use super::{Backend, candle};
    use crate::Device;

    #[test]
    fn what_candle_cannot_do_is_refused_with_a_remedy() {
        let built = cfg!(feature = "candle");
        assert_eq!(Backend::Candle.check().is_ok(), built);
        assert_eq!(Backend::Native.check(), Ok(()));
        assert_eq!(candle(Device::Cpu).is_ok(), built);
        let error = candle(Device::AllCuda).err().map(|error| (error.to_string(), error.remedy()));
        let (message, remedy) = error.unwrap_or_default();
        let expected = if built {
            "candle does not compute on cuda:all"
        } else {
            "this toller was built without candle"
        };
        assert_eq!(message, expected);
        assert!(remedy.is_some_and(|remedy| remedy.to_string().starts_with("use ")));
    }
}
