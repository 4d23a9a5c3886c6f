//! What the command line refuses of devices, before any work.

use toller_engine::Device;

use crate::error::UsageError;

/// For what has no kernels for GPUs yet: an error where one is asked for.
pub fn for_models(device: Device) -> Result<(), UsageError> {
    check(device)?;
    match device {
        Device::Auto | Device::Cpu => Ok(()),
        _ => Err(UsageError::new(
            format!("--device {device}: models are computed on the CPU so far"),
            "use --device cpu; search --device cuda searches on GPUs",
        )),
    }
}

/// That the build has the device, whatever the machine has.
pub fn check(device: Device) -> Result<(), UsageError> {
    device.check().map_err(|error| UsageError::of_flag(format!("--device {device}"), &error))
}
