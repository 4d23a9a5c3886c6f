//! Devices that the command line refuses before any work.

use toller_engine::Device;

use crate::error::UsageError;

/// Refuses GPUs for models, which have no GPU kernels yet.
pub fn for_models(device: Device) -> Result<(), UsageError> {
    check(device)?;
    match device {
        Device::Auto | Device::Cpu => Ok(()),
        _ => Err(UsageError::new(
            format!("--device {device}: models compute only on the CPU so far"),
            "use --device cpu; search --device cuda searches on GPUs",
        )),
    }
}

/// Refuses a device that the build does not support, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}
