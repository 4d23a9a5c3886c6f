//! Where a model is trained.

use toller_engine::{Device, Engine, EngineError};
use toller_nn::Precision;
use toller_train::Compute;

use super::args::RunArgs;
use crate::error::{Failure, UsageError};

/// What `--device`, `--backend` and `--dtype` ask for.
#[cfg(feature = "candle")]
pub fn compute(args: &RunArgs, engine: &Engine) -> crate::Result<Compute> {
    let device = args.device.unwrap_or(Device::Auto);
    let devices = engine.training(device, args.backend).map_err(|error| refused(args, error))?;
    let Some(devices) = devices else { return native(args) };
    let on_cpu = devices.iter().all(|device| device.device().is_cpu());
    let default = if on_cpu { Precision::F32 } else { Precision::Bf16 };
    Ok(Compute::Candle { devices, dtype: args.dtype.unwrap_or(default) })
}

/// What `--device`, `--backend` and `--dtype` ask for.
#[cfg(not(feature = "candle"))]
pub fn compute(args: &RunArgs, engine: &Engine) -> crate::Result<Compute> {
    let device = args.device.unwrap_or(Device::Auto);
    engine.training(device, args.backend).map_err(|error| refused(args, error))?;
    native(args)
}

/// A device or a backend that the build does not train on is a wrong flag.
fn refused(args: &RunArgs, error: EngineError) -> Failure {
    let EngineError::Backend(error) = error else { return error.into() };
    let device = args.device.map(|device| format!("--device {device}"));
    let backend = args.backend.map(|backend| format!("--backend {backend}"));
    let flags: Vec<String> = device.into_iter().chain(backend).collect();
    // Without a flag, it is the machine that cannot be used.
    if flags.is_empty() {
        return EngineError::Backend(error).into();
    }
    UsageError::of_flag(flags.join(" "), &error).into()
}

/// The CPU by Toller's own kernels.
fn native(args: &RunArgs) -> crate::Result<Compute> {
    match args.dtype.filter(|&dtype| dtype != Precision::F32) {
        None => Ok(Compute::Cpu),
        Some(dtype) => {
            let message = format!("--dtype {dtype}: Toller's own kernels train in f32");
            Err(UsageError::new(message, "leave --dtype out, or give --backend candle").into())
        }
    }
}
