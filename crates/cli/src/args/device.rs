//! Devices and backends that the command line refuses before any work.

use toller_engine::{Backend, Device};

use crate::error::UsageError;

/// Refuses a device that the build does not support, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}

/// The same for a model's device and backend. candle has its own devices.
pub fn check_model(device: Device, backend: Backend) -> Result<(), UsageError> {
    match backend {
        Backend::Native => check(device),
        Backend::Candle => {
            backend.check().map_err(|error| UsageError::of_flag(format!("--backend {backend}"), &error))
        }
    }
}
