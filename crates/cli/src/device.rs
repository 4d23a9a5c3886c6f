//! Where to compute, as the command line names it.

use std::fmt;
use std::str::FromStr;

use toller_gpu::{DeviceError, Devices};
use toller_simd::Isa;

use crate::error::{Context, UsageError};
use crate::flags;
use crate::ui::Ui;

/// A device as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The best that the build and the machine have.
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

/// Memory of the stand-in for a GPU.
#[cfg(feature = "shim")]
const SHIM_BYTES: u64 = 1 << 30;

impl FromStr for Device {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let ordinal = |number: &str| number.parse().map(Self::Cuda).ok();
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "cuda:all" => Ok(Self::AllCuda),
            #[cfg(feature = "shim")]
            "shim" => Ok(Self::Shim),
            _ => name
                .strip_prefix("cuda:")
                .and_then(ordinal)
                .ok_or_else(|| "auto, cpu, cuda, cuda:N or cuda:all".to_owned()),
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
    /// For what has no kernels for GPUs yet: an error where one is asked for.
    pub fn for_models(self) -> Result<(), UsageError> {
        self.check()?;
        match self {
            Self::Auto | Self::Cpu => Ok(()),
            _ => Err(UsageError::new(
                format!("--device {self}: models are computed on the CPU so far"),
                "use --device cpu; search --device cuda searches on GPUs",
            )),
        }
    }

    /// That the build has the device, whatever the machine has: an error of usage, before any work.
    pub fn check(self) -> Result<(), UsageError> {
        match self {
            Self::Cuda(_) | Self::AllCuda if !cfg!(feature = "cuda") => {
                Err(UsageError::of_flag(format!("--device {self}"), &DeviceError::NotBuilt))
            }
            _ => Ok(()),
        }
    }

    /// Whether the CPU stands in for a GPU.
    pub fn is_stand_in(self) -> bool {
        #[cfg(feature = "shim")]
        return self == Self::Shim;
        #[cfg(not(feature = "shim"))]
        false
    }

    /// The devices that search; `None` for the CPU. Says which, where that was not said by the user.
    pub fn devices(self, ui: &Ui) -> crate::Result<Option<Devices>> {
        self.check()?;
        let opened = match self {
            Self::Cpu => return Ok(None),
            Self::Auto => return Ok(automatic(ui)),
            Self::Cuda(ordinal) => Devices::cuda(ordinal),
            Self::AllCuda => Devices::all(),
            #[cfg(feature = "shim")]
            Self::Shim => Ok(Devices::shim(&[SHIM_BYTES])),
        };
        Ok(Some(opened.context(format!("--device {self}"))?))
    }
}

/// The first GPU if there is one that can be used, else the CPU.
fn automatic(ui: &Ui) -> Option<Devices> {
    match Devices::cuda(0) {
        Ok(devices) => {
            devices.facts().for_each(|facts| ui.status(format!("searching on {}", facts.name)));
            Some(devices)
        }
        Err(DeviceError::NotBuilt | DeviceError::NoDriver | DeviceError::NoDevice { .. }) => {
            ui.detail(format!("searching on the CPU ({})", Isa::active()));
            None
        }
        // There is a GPU, and it is not used.
        Err(error) => {
            ui.warning(format!("searching on the CPU: {}", flags::in_one_line(&error)));
            None
        }
    }
}
