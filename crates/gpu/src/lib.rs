//! The runtime of devices with their own memory and kernels: GPUs, and for tests the CPU in their place.

mod arena;
mod device;
mod devices;
mod error;
mod rates;
mod times;
mod turns;

pub use self::arena::{Arena, Block};
pub use self::device::{
    Address, COMMON_SHARED_BYTES, Controls, Device, DeviceFacts, DeviceState, Launch, LibraryProduct, Matrix,
    Memory, Pinned, Queue, TensorMap, Waiting, Watched, Watcher,
};
pub use self::devices::Devices;
pub use self::error::DeviceError;
pub use self::rates::DeviceRates;
pub use self::times::{KernelTime, KernelTimes};
pub use self::turns::{Turn, Turns};
