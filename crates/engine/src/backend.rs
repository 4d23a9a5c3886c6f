//! What computes models: Toller's own kernels, or candle.

use toller_encoder::Compute;
use toller_ir::{Explain, Remedy, Setting, named, remedy};
#[cfg(feature = "candle")]
use toller_nn::CandleDevice;

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
    /// This build has candle for the CPU alone.
    #[error("this toller was built with candle for the CPU, not for CUDA")]
    NoCuda,
    /// Training on a GPU, in a build without candle's CUDA.
    #[error("models are trained on GPUs through candle, and this toller was built without candle's CUDA")]
    Training,
    /// Training on a GPU by Toller's own kernels.
    #[error("Toller's own kernels do not train models on GPUs")]
    NativeTraining,
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

/// The devices of candle that train on `device`; `None` for the CPU without candle. `auto` is the first GPU
/// that candle has, else the CPU; a GPU is reported.
#[cfg(feature = "candle")]
pub(crate) fn training(
    device: Device,
    backend: Option<Backend>,
    notify: impl Fn(Event<'_>),
) -> Result<Option<Vec<CandleDevice>>, BackendError> {
    let is_gpu = !matches!(device, Device::Auto | Device::Cpu);
    if is_gpu && backend == Some(Backend::Native) {
        return Err(BackendError::NativeTraining);
    }
    let without = |error| if error == BackendError::NoCuda { BackendError::Training } else { error };
    match device {
        Device::Cuda(ordinal) => Ok(Some(vec![gpu(ordinal).map_err(without)?])),
        Device::AllCuda => all_gpus().map_err(without).map(Some),
        Device::Auto if backend != Some(Backend::Native) && has_gpu()? => {
            notify(Event::DeviceChosen("cuda:0, through candle"));
            Ok(Some(vec![gpu(0)?]))
        }
        Device::Auto | Device::Cpu => {
            Ok((backend == Some(Backend::Candle)).then(|| vec![CandleDevice::cpu()]))
        }
        #[cfg(feature = "shim")]
        Device::Shim => Err(BackendError::Device(device)),
    }
}

#[cfg(feature = "candle-cuda")]
fn all_gpus() -> Result<Vec<CandleDevice>, BackendError> {
    let open = |message: String| BackendError::Open { ordinal: 0, message };
    let count = CandleDevice::gpus().map_err(|error| open(error.to_string()))?;
    if count == 0 {
        return Err(open("there is no GPU".to_owned()));
    }
    (0..count).map(gpu).collect()
}

#[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
fn all_gpus() -> Result<Vec<CandleDevice>, BackendError> {
    Err(BackendError::NoCuda)
}

/// Nothing trains there in this build but the CPU.
#[cfg(not(feature = "candle"))]
pub(crate) fn check_training(device: Device, backend: Option<Backend>) -> Result<(), BackendError> {
    match (device, backend) {
        (_, Some(Backend::Candle)) => Err(BackendError::NotBuilt),
        (Device::Auto | Device::Cpu, _) => Ok(()),
        (_, Some(Backend::Native)) => Err(BackendError::NativeTraining),
        (_, None) => Err(BackendError::Training),
    }
}

#[cfg(feature = "candle-cuda")]
fn gpu(ordinal: usize) -> Result<CandleDevice, BackendError> {
    CandleDevice::gpu(ordinal).map_err(|error| BackendError::Open { ordinal, message: error.to_string() })
}

#[cfg(feature = "candle-cuda")]
fn has_gpu() -> Result<bool, BackendError> {
    let count = CandleDevice::gpus();
    count
        .map(|count| count > 0)
        .map_err(|error| BackendError::Open { ordinal: 0, message: error.to_string() })
}

#[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
fn gpu(_: usize) -> Result<CandleDevice, BackendError> {
    Err(BackendError::NoCuda)
}

#[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
fn has_gpu() -> Result<bool, BackendError> {
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

    #[cfg(all(feature = "candle", not(feature = "candle-cuda")))]
    use super::BackendError;
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
    fn the_cpu_trains_with_and_without_candle() {
        let count = |device, backend| {
            super::training(device, backend, |_| {}).map(|devices| devices.map(|devices| devices.len()))
        };
        for device in [Device::Auto, Device::Cpu] {
            assert_eq!(count(device, None), Ok(None));
            assert_eq!(count(device, Some(Backend::Native)), Ok(None));
            assert_eq!(count(device, Some(Backend::Candle)), Ok(Some(1)));
        }
        for device in [Device::Cuda(0), Device::AllCuda] {
            assert_eq!(count(device, Some(Backend::Native)), Err(BackendError::NativeTraining));
            for backend in [None, Some(Backend::Candle)] {
                assert_eq!(count(device, backend), Err(BackendError::Training));
            }
        }
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
            (compute.name_of(compute.dtype()).as_str(), reports.get()),
            ("f32 by candle on the CPU", 1)
        );
    }
}
