//! Devices that the command line refuses before any work.

use toller_engine::Device;

use crate::error::UsageError;

/// Refuses a device that the build does not support, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}
