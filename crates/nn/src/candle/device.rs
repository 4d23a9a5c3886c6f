//! One of candle's devices, and what the bits of its products depend on.

use candle_core::Device;
#[cfg(feature = "candle-cuda")]
use candle_core::cuda::{CudaDevice, WrapErr, cudarc::driver};

/// The CPU, or a GPU with its compute capability.
#[derive(Clone, Debug)]
pub struct CandleDevice {
    device: Device,
    /// Major and minor.
    capability: Option<(i32, i32)>,
}

impl CandleDevice {
    /// The CPU.
    #[must_use]
    pub fn cpu() -> Self {
        Self { device: Device::Cpu, capability: None }
    }

    /// How many GPUs CUDA's driver sees.
    ///
    /// # Errors
    /// Those of the driver.
    #[cfg(feature = "candle-cuda")]
    pub fn gpus() -> candle_core::Result<usize> {
        match driver::CudaContext::device_count() {
            Err(driver::DriverError(driver::sys::CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(0),
            count => Ok(usize::try_from(count.w()?)?),
        }
    }

    /// The GPU of this number.
    ///
    /// # Errors
    /// Those of candle.
    #[cfg(feature = "candle-cuda")]
    pub fn gpu(ordinal: usize) -> candle_core::Result<Self> {
        // With a stream of its own: the default stream is one for each thread, and threads that load and
        // threads that compute would not wait for each other.
        let device = CudaDevice::new_with_stream(ordinal)?;
        let capability = device.cuda_stream().context().compute_capability().w()?;
        Ok(Self { device: Device::Cuda(device), capability: Some(capability) })
    }

    /// The device as candle has it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What the bits of products depend on: `the CPU`, or `CUDA 9.0`.
    #[must_use]
    pub fn kind(&self) -> String {
        match self.capability {
            None => "the CPU".to_owned(),
            Some((major, minor)) => format!("CUDA {major}.{minor}"),
        }
    }
}
