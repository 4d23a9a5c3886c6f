//! The devices that a search runs on.

use std::sync::Arc;

use super::device::{self, Device};
use super::{DeviceError, DeviceFacts};

/// Opened devices, at least one.
#[derive(Clone, Debug)]
pub struct Devices(Vec<Arc<dyn Device>>);

impl Devices {
    /// How many GPUs the machine has.
    ///
    /// # Errors
    /// Where this build or this machine can use none: [`DeviceError::NotBuilt`], [`DeviceError::NoDriver`],
    /// [`DeviceError::StubDriver`], [`DeviceError::DriverTooOld`].
    pub fn count() -> Result<usize, DeviceError> {
        device::count()
    }

    /// The GPU of a number.
    ///
    /// # Errors
    /// Those of [`Devices::count`]; [`DeviceError::NoDevice`], [`DeviceError::TooOldDevice`], and
    /// [`DeviceError::Failed`].
    pub fn cuda(ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self(vec![device::open(ordinal)?]))
    }

    /// All GPUs.
    ///
    /// # Errors
    /// As for [`Devices::cuda`].
    pub fn all() -> Result<Self, DeviceError> {
        let count = Self::count()?;
        if count == 0 {
            return Err(DeviceError::NoDevice { ordinal: 0, count });
        }
        Ok(Self((0..count).map(device::open).collect::<Result<_, _>>()?))
    }

    /// As many stand-ins as `memory` has numbers, each with so many bytes: the CPU executes the kernels, thread by thread and slowly,
    /// and checks what they do. For tests.
    #[cfg(any(test, feature = "shim"))]
    #[must_use]
    pub fn shim(memory: &[u64]) -> Self {
        let device = |(number, &bytes): (usize, &u64)| -> Arc<dyn Device> {
            Arc::new(device::HostDevice::new(number, bytes))
        };
        Self(memory.iter().enumerate().map(device).collect())
    }

    /// What each of them is.
    pub fn facts(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.0.iter().map(|device| device.facts())
    }

    /// The devices, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Device>> {
        self.0.iter()
    }
}
