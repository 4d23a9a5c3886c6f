//! What can go wrong with a device.

use toller_ir::{Command, Explain, Remedy, Setting, remedy};

/// Why a device cannot be used or has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// This build has no kernels for a GPU.
    #[error("this toller was built without CUDA")]
    NotBuilt,
    /// The machine has no driver.
    #[error("there is no NVIDIA driver: the library libcuda.so.1 is not found")]
    NoDriver,
    /// The stub library of a toolkit, which is meant for linking, is found before the driver's own.
    #[error("the first libcuda.so.1 in the library path is the stub of a CUDA toolkit, not the driver's own")]
    StubDriver,
    /// The driver is older than the compiler of the kernels.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, and this toller's kernels were compiled with CUDA {}.{}",
        found.0, found.1, needed.0, needed.1
    )]
    DriverTooOld {
        /// The CUDA release that the driver supports.
        found: (u32, u32),
        /// The release of the compiler.
        needed: (u32, u32),
    },
    /// The machine has no such device.
    #[error("there is no device cuda:{ordinal}: the driver sees {count}")]
    NoDevice {
        /// The number of the device, from zero.
        ordinal: usize,
        /// How many devices there are.
        count: usize,
    },
    /// The device does not have the instructions that the kernels need.
    #[error(
        "{name} has compute capability {}.{}, and the kernels need 8.0 or higher",
        capability.0, capability.1
    )]
    TooOldDevice {
        /// The device.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// A library of NVIDIA's that ours is compared with is not found.
    #[error("{what} takes NVIDIA's cuBLAS, and {library} is not found")]
    NoLibrary {
        /// What takes it.
        what: &'static str,
        /// Its file.
        library: &'static str,
    },
    /// The device has less free memory than some work needs.
    #[error("{name} has {free} bytes of free memory, and {what} needs at least {needed}")]
    TooLittleMemory {
        /// The device.
        name: String,
        /// Bytes that are free.
        free: u64,
        /// The least bytes that are needed.
        needed: u64,
        /// The work that needs them.
        what: String,
    },
    /// A call has failed.
    #[error("{name}: {call} failed: {message}")]
    Failed {
        /// The device.
        name: String,
        /// The call.
        call: String,
        /// The device's message.
        message: String,
    },
}

impl Explain for DeviceError {
    fn remedy(&self) -> Option<Remedy> {
        let on_cpu = || Setting::Device.to("cpu");
        Some(match self {
            Self::NotBuilt => remedy!(
                "use {}, or build with the feature `cuda`; `{}` lists what this build can do",
                on_cpu(),
                Command::Doctor
            ),
            Self::NoDriver => remedy!(
                "install the NVIDIA driver, or name the folder of libcuda.so.1 in LD_LIBRARY_PATH; \
                 without a GPU use {}",
                on_cpu()
            ),
            Self::StubDriver => "take the toolkit's folder `stubs` out of LD_LIBRARY_PATH".into(),
            Self::DriverTooOld { needed: (major, _), .. } => format!(
                "install a driver for CUDA {major} or newer, or build toller with an older CUDA toolkit \
                 in CUDA_HOME"
            )
            .into(),
            Self::NoDevice { count: 0, .. } => {
                remedy!("look at nvidia-smi and CUDA_VISIBLE_DEVICES; without a GPU use {}", on_cpu())
            }
            Self::NoDevice { count, .. } => remedy!(
                "use {} with N below {}, or {}",
                Setting::Device.to("cuda:N"),
                count.to_string(),
                Setting::Device.to("cuda:all"),
            ),
            Self::TooOldDevice { .. } => remedy!("use an A100, H100 or a newer GPU, or {}", on_cpu()),
            Self::NoLibrary { library, .. } => format!(
                "name the folder of {library} in LD_LIBRARY_PATH: that of a CUDA toolkit, or of \
                 `pip install nvidia-cublas`"
            )
            .into(),
            Self::TooLittleMemory { .. } => remedy!(
                "free memory that other programs hold on the device (see nvidia-smi), search with a smaller \
                 {}, cut texts by {}, or use {}",
                Setting::K,
                Setting::MaxLength,
                on_cpu()
            ),
            Self::Failed { .. } => {
                remedy!("look for faults of the GPU in the system's log (dmesg, Xid), or use {}", on_cpu())
            }
        })
    }
}
