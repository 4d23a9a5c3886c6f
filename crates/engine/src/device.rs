//! Where models compute and vectors are searched.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Weak};

use toller_encoder::Compute;
use toller_gpu::{DeviceError, Devices};
use toller_ir::locked;

use crate::event::Event;
use crate::{Backend, Engine, EngineError, backend};

/// A device by its name: `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:all`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The best that the build and the machine have.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A CUDA device.
    Cuda(usize),
    /// All CUDA devices.
    AllCuda,
    /// The CPU in the place of a GPU, for tests.
    #[cfg(feature = "shim")]
    Shim,
}

/// A text that is not the name of a [`Device`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("auto, cpu, cuda, cuda:N or cuda:all")]
pub struct UnknownDevice;

/// Memory of the stand-in for a GPU.
#[cfg(feature = "shim")]
const SHIM_BYTES: u64 = 1 << 30;

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "cuda:all" => Ok(Self::AllCuda),
            #[cfg(feature = "shim")]
            "shim" => Ok(Self::Shim),
            _ => {
                let ordinal = name.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                ordinal.map(Self::Cuda).ok_or(UnknownDevice)
            }
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::AllCuda => f.write_str("cuda:all"),
            #[cfg(feature = "shim")]
            Self::Shim => f.write_str("shim"),
        }
    }
}

impl Device {
    /// Whether this build can use the device, whatever the machine has.
    ///
    /// # Errors
    /// [`DeviceError::NotBuilt`].
    pub fn check(self) -> Result<(), DeviceError> {
        match self {
            Self::Cuda(_) | Self::AllCuda if !cfg!(feature = "cuda") => Err(DeviceError::NotBuilt),
            _ => Ok(()),
        }
    }

    /// Whether the CPU stands in for a GPU.
    #[must_use]
    pub fn is_stand_in(self) -> bool {
        #[cfg(feature = "shim")]
        return self == Self::Shim;
        #[cfg(not(feature = "shim"))]
        false
    }
}

impl Engine {
    /// The devices that `device` names; `None` for the CPU. Reports the choice of `auto`.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the device that was asked for cannot be used.
    pub fn devices(&self, device: Device) -> Result<Option<Devices>, EngineError> {
        let opened = match device {
            Device::Cpu => Ok(None),
            Device::Auto => Ok(self.automatic()),
            Device::Cuda(ordinal) => Devices::cuda(ordinal).map(Some),
            Device::AllCuda => Devices::all().map(Some),
            #[cfg(feature = "shim")]
            Device::Shim => Ok(Some(Devices::shim(&[SHIM_BYTES]))),
        };
        let opened = opened.map_err(|source| EngineError::Device { device, source })?;
        if let (Some(devices), Some(watcher)) = (&opened, &self.launch_watcher) {
            devices.watch(watcher);
        }
        if let (Some(devices), Some(adjust)) = (&opened, &self.adjust) {
            adjust(devices);
        }
        let mut known = locked(&self.opened);
        known.retain(|device| device.strong_count() > 0);
        known.extend(opened.iter().flat_map(Devices::iter).map(Arc::downgrade));
        Ok(opened)
    }

    /// The name of a device in use that has failed in a way that only a new process can undo.
    pub fn lost_device(&self) -> Option<String> {
        let known = locked(&self.opened);
        let mut in_use = known.iter().filter_map(Weak::upgrade);
        in_use.find(|device| device.is_lost()).map(|device| device.facts().name.clone())
    }

    /// Where models compute on `device` through `backend`. Reports the choice of `auto`.
    ///
    /// # Errors
    /// As for [`Engine::devices`]; [`EngineError::Backend`] if the backend cannot be used there.
    pub fn compute(&self, device: Device, backend: Backend) -> Result<Compute, EngineError> {
        match backend {
            Backend::Native => Ok(self.devices(device)?.map_or(Compute::Cpu, Compute::Gpus)),
            Backend::Candle => Ok(backend::candle(device, |event| self.notify(event))?),
        }
    }

    /// The first GPU that can be used, or the CPU.
    fn automatic(&self) -> Option<Devices> {
        match Devices::count().and_then(|count| first_usable(count, Devices::cuda)) {
            Ok(devices) => {
                devices.facts().for_each(|facts| self.notify(Event::DeviceChosen(&facts.name)));
                Some(devices)
            }
            Err(DeviceError::NotBuilt | DeviceError::NoDriver | DeviceError::NoDevice { .. }) => {
                self.notify(Event::CpuChosen(None));
                None
            }
            // There is a GPU, and it is not used.
            Err(error) => {
                self.notify(Event::CpuChosen(Some(&error)));
                None
            }
        }
    }
}

/// The first of `count` devices that opens. If none does, the error is that of device 0.
fn first_usable<T>(
    count: usize,
    mut open: impl FnMut(usize) -> Result<T, DeviceError>,
) -> Result<T, DeviceError> {
    let mut failed = None;
    for ordinal in 0..count {
        match open(ordinal) {
            Ok(device) => return Ok(device),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    Err(failed.unwrap_or(DeviceError::NoDevice { ordinal: 0, count }))
}

#[cfg(test)]
mod tests {
    use toller_gpu::DeviceError;
    #[cfg(feature = "shim")]
    use toller_gpu::Launch;

    #[cfg(feature = "shim")]
    use super::Device;
    use super::first_usable;
    #[cfg(feature = "shim")]
    use crate::Engine;

    #[test]
    fn the_first_usable_device_is_taken() {
        let too_old = |ordinal: usize| DeviceError::TooOldDevice {
            name: format!("cuda:{ordinal}"),
            capability: (6, 1),
        };
        let open = |usable: usize| {
            move |ordinal| if ordinal >= usable { Ok(ordinal) } else { Err(too_old(ordinal)) }
        };
        assert_eq!(first_usable(3, open(0)), Ok(0));
        assert_eq!(first_usable(3, open(2)), Ok(2));
        assert_eq!(first_usable(3, open(3)), Err(too_old(0)));
        assert_eq!(first_usable(0, open(0)), Err(DeviceError::NoDevice { ordinal: 0, count: 0 }));
    }

    #[cfg(feature = "shim")]
    #[test]
    fn a_device_that_failed_is_lost_as_long_as_it_is_in_use() {
        let engine = Engine::builder().threads(1).build().unwrap();
        let devices = engine.devices(Device::Shim).unwrap().unwrap();
        assert_eq!(engine.lost_device(), None);
        let launch =
            Launch { kernel: "no_such_kernel", grid: [1; 3], threads: 32, shared_bytes: 0, argument: &[] };
        // SAFETY: the kernel does not exist, so nothing runs.
        assert!(devices.iter().all(|device| unsafe { device.launch(&launch) }.is_err()));
        assert_eq!(engine.lost_device().as_deref(), Some("shim:0"));
        drop(devices);
        assert_eq!(engine.lost_device(), None, "others are opened for the next model");
    }
}
