//! Where a model is trained: on the CPU, or on candle's devices.

#[cfg(feature = "candle")]
use toller_nn::CandleDevice;
use toller_nn::Precision;
use toller_train::Compute;

#[cfg(feature = "candle")]
use crate::backend::{gpu, has_gpu};
use crate::event::Event;
use crate::{Backend, BackendError, Device, Engine, EngineError};

impl Engine {
    /// Where a model is trained on `device`, through `backend` if one is asked for: by candle on GPUs, else
    /// by Toller's own kernels. `dtype` is what factors of products are rounded to; `None` for bf16 on a GPU,
    /// and f32 on the CPU. Reports a GPU that [`Device::Auto`] chose.
    ///
    /// # Errors
    /// [`EngineError::Backend`] if nothing trains there in this build, or not in this number format.
    pub fn training(
        &self,
        device: Device,
        backend: Option<Backend>,
        dtype: Option<Precision>,
    ) -> Result<Compute, EngineError> {
        Ok(compute(device, backend, dtype, |event| self.notify(event))?)
    }
}

#[cfg(feature = "candle")]
fn compute(
    device: Device,
    backend: Option<Backend>,
    dtype: Option<Precision>,
    notify: impl Fn(Event<'_>),
) -> Result<Compute, BackendError> {
    let Some(devices) = devices(device, backend, notify)? else { return native(dtype) };
    let on_cpu = devices.iter().all(|device| device.device().is_cpu());
    let default = if on_cpu { Precision::F32 } else { Precision::Bf16 };
    Ok(Compute::Candle { devices, dtype: dtype.unwrap_or(default) })
}

/// In this build only on the CPU.
#[cfg(not(feature = "candle"))]
fn compute(
    device: Device,
    backend: Option<Backend>,
    dtype: Option<Precision>,
    _: impl Fn(Event<'_>),
) -> Result<Compute, BackendError> {
    match (device, backend) {
        (_, Some(Backend::Candle)) => Err(BackendError::NotBuilt),
        (Device::Auto | Device::Cpu, _) => native(dtype),
        (_, Some(Backend::Native)) => Err(BackendError::NativeTraining),
        (_, None) => Err(BackendError::Training),
    }
}

/// The CPU by Toller's own kernels.
fn native(dtype: Option<Precision>) -> Result<Compute, BackendError> {
    match dtype {
        None | Some(Precision::F32) => Ok(Compute::Cpu),
        Some(other) => Err(BackendError::NativeDtype(other)),
    }
}

/// The devices of candle; `None` for the CPU without candle. `auto` is the first GPU that candle has, else
/// the CPU; a GPU is reported.
#[cfg(feature = "candle")]
fn devices(
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

#[cfg(all(test, feature = "candle", not(feature = "candle-cuda")))]
mod tests {
    use super::devices;
    use crate::{Backend, BackendError, Device};

    #[test]
    fn the_cpu_trains_with_and_without_candle() {
        let count = |device, backend| {
            devices(device, backend, |_| {}).map(|devices| devices.map(|devices| devices.len()))
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
}
