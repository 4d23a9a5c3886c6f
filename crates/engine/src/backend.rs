//! What computes models: Toller's own kernels, or candle.

use toller_encoder::Compute;
use toller_ir::{Explain, Remedy, Setting, named, remedy};
#[cfg(feature = "candle")]
use toller_nn::CandleDevice;
use toller_nn::Precision;

use crate::Device;
use crate::event::Event;

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
    /// This build has candle only for the CPU.
    #[error("this toller was built with candle for the CPU, not for CUDA")]
    NoCuda,
    /// Training on a GPU, in a build without candle's CUDA.
    #[error("models are trained on GPUs through candle, and this toller was built without candle's CUDA")]
    Training,
    /// Training on a GPU by Toller's own kernels.
    #[error("Toller's own kernels do not train models on GPUs")]
    NativeTraining,
    /// Training by Toller's own kernels in another number format.
    #[error("Toller's own kernels train in f32")]
    NativeDtype(Precision),
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
            Self::Training => remedy!("use {}, or build with the feature `candle-cuda`", on_cpu),
            Self::NativeTraining => remedy!("use {}, or {}", Setting::Backend.to("candle"), on_cpu),
            Self::NativeDtype(_) => {
                remedy!("leave {} out, or give {}", Setting::Dtype, Setting::Backend.to("candle"))
            }
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

/// Where candle computes on `device`. `auto` is the first GPU if candle has CUDA and there is one, else the
/// CPU; the choice is reported.
#[cfg(feature = "candle")]
pub(crate) fn candle(device: Device, notify: impl Fn(Event<'_>)) -> Result<Compute, BackendError> {
    let chosen = match device {
        Device::Cpu => CandleDevice::cpu(),
        Device::Cuda(ordinal) => gpu(ordinal)?,
        Device::Auto if has_gpu()? => {
            notify(Event::DeviceChosen("cuda:0, through candle"));
            gpu(0)?
        }
        Device::Auto => {
            notify(Event::CpuChosen(None));
            CandleDevice::cpu()
        }
        _ => return Err(BackendError::Device(device)),
    };
    Ok(Compute::Candle(chosen))
}

#[cfg(feature = "candle-cuda")]
pub(crate) fn gpu(ordinal: usize) -> Result<CandleDevice, BackendError> {
    CandleDevice::gpu(ordinal).map_err(|error| BackendError::Open { ordinal, message: error.to_string() })
}

#[cfg(feature = "candle-cuda")]
pub(crate) fn has_gpu() -> Result<bool, BackendError> {
    let count = CandleDevice::gpus();
    count
        .map(|count| count > 0)
        .map_err(|error| BackendError::Open { ordinal: 0, message: error.to_string() })
}

#[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
pub(crate) fn gpu(_: usize) -> Result<CandleDevice, BackendError> {
    Err(BackendError::NoCuda)
}

#[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
pub(crate) fn has_gpu() -> Result<bool, BackendError> {
    Ok(false)
}

/// Nowhere.
#[cfg(not(feature = "candle"))]
pub(crate) fn candle(_: Device, _: impl Fn(Event<'_>)) -> Result<Compute, BackendError> {
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
        assert_eq!(candle(Device::Cpu, |_| {}).is_ok(), built);
        let error = candle(Device::AllCuda, |_| {}).err().map(|error| (error.to_string(), error.remedy()));
        let (message, remedy) = error.unwrap_or_default();
        let expected = if built {
            "candle does not compute on cuda:all"
        } else {
            "this toller was built without candle"
        };
        assert_eq!(message, expected);
        assert!(remedy.is_some_and(|remedy| remedy.to_string().starts_with("use ")));
    }

    #[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
    #[test]
    fn auto_is_the_cpu_without_cuda_and_is_reported() {
        let reports = std::cell::Cell::new(0);
        let report = |event: crate::Event<'_>| {
            assert!(matches!(event, crate::Event::CpuChosen(None)));
            reports.set(reports.get() + 1);
        };
        let compute = candle(Device::Auto, report).unwrap();
        assert_eq!(
            (compute.name_of(toller_nn::Precision::F32).as_str(), reports.get()),
            ("f32 by candle on the CPU", 1)
        );
    }
}
