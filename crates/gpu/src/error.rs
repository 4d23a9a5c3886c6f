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
    /// A library of NVIDIA's that ours is compared with is not found, or does not work.
    #[error("{what} takes NVIDIA's cuBLAS, and {library} is not found or does not work")]
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
    /// Blocks of the device have less shared memory than a kernel needs.
    #[error("{kernel} needs {needed} bytes of shared memory, and blocks on {name} have at most {most}")]
    TooLittleSharedMemory {
        /// The device.
        name: String,
        /// The kernel.
        kernel: &'static str,
        /// The bytes that a block needs.
        needed: u32,
        /// The most bytes that a block can have.
        most: u32,
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
        /// The number of the driver's result; 0 of failures that are not the driver's.
        code: u32,
    },
}

impl DeviceError {
    /// Whether memory was missing, so that less work may succeed.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::TooLittleMemory { .. } | Self::Failed { code: OUT_OF_MEMORY, .. })
    }
}

/// Whether all later calls of this GPU's context fail, too, after this result of the driver: errors of memory
/// that cannot be corrected, of kernels, and of connections. The process's other GPUs go on.
#[cfg(any(feature = "cuda", test))]
pub(crate) fn is_sticky(code: u32) -> bool {
    matches!(code, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 999)
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;

/// What to do after the driver's result of this number (CUresult, in the driver's manual).
fn of_code(code: u32) -> Remedy {
    let on_cpu = || Setting::Device.to("cpu");
    match code {
        OUT_OF_MEMORY => {
            remedy!("free memory that other programs hold on the device (see nvidia-smi), or use {}", on_cpu())
        }
        // Not initialized.
        3 => "open devices after a fork, or spawn processes instead".into(),
        // Device unavailable.
        46 => "wait for the other process that has the GPU to itself, or change its compute mode (nvidia-smi -c)".into(),
        // No binary for the GPU; unsupported PTX.
        209 | 222 => "install a newer driver, or build with the CUDA release of the driver".into(),
        // Illegal address, instruction and their kind.
        700 | 714..=719 => {
            "this is a mistake of toller's: set TOLLER_WATCH_LAUNCHES=1 to see the kernel, and report it".into()
        }
        // System not ready.
        802 => "start NVIDIA's fabric manager: GPUs of this machine are connected by switches".into(),
        // Driver mismatch; compatibility libraries.
        803 | 804 => {
            "restart the machine after an update of the driver, and take libraries of another driver out of \
             LD_LIBRARY_PATH"
                .into()
        }
        _ => remedy!("look for faults of the GPU in the system's log (dmesg, Xid), or use {}", on_cpu()),
    }
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
            Self::TooOldDevice { .. } => remedy!(
                "use an A100, H100 or a newer GPU: name it by {}, or list only such GPUs in CUDA_VISIBLE_DEVICES; \
                 without one use {}",
                Setting::Device.to("cuda:N"),
                on_cpu()
            ),
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
            Self::TooLittleSharedMemory { .. } => {
                remedy!("use {}, whose kernels need half of it, or {}", Setting::Dtype.to("f16"), on_cpu())
            }
            Self::Failed { code, .. } => of_code(*code),
        })
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Explain;

    use super::{DeviceError, is_sticky};

    #[test]
    fn results_of_the_driver_have_their_remedies() {
        let failed = |code| {
            let [name, call, message] = ["cuda:0", "cuInit", "..."].map(str::to_owned);
            DeviceError::Failed { name, call, message, code }
        };
        for (code, says) in [
            (0, "dmesg"),
            (2, "free memory"),
            (46, "compute mode"),
            (700, "TOLLER_WATCH_LAUNCHES"),
            (802, "fabric manager"),
            (999, "dmesg"),
        ] {
            let remedy = failed(code).remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
            assert!(remedy.contains(says), "{code}: {remedy}");
            assert_eq!(failed(code).is_out_of_memory(), code == 2);
            assert_eq!(is_sticky(code), [700, 999].contains(&code));
        }
    }

    /// It may be one of several GPUs of the machine.
    #[test]
    fn an_old_device_can_be_left_out() {
        let old = DeviceError::TooOldDevice { name: "cuda:1 (Tesla P4)".to_owned(), capability: (6, 1) };
        let remedy = old.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
        assert!(remedy.contains("cuda:N") && remedy.contains("CUDA_VISIBLE_DEVICES"), "{remedy}");
    }
}
