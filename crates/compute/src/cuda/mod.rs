//! The operations on devices with memory and kernels of their own: GPUs, and for tests the CPU in their place.

mod device;
mod devices;
mod error;
mod ip_topk;
mod rates;

pub use self::device::DeviceFacts;
pub use self::devices::Devices;
pub use self::error::DeviceError;
pub use self::ip_topk::{DevicePlan, DeviceSearch};
pub use self::rates::DeviceRates;
