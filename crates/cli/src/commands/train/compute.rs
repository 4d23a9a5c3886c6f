//! Where a model is trained.

use toller_engine::{BackendError, Device, Engine, EngineError};
use toller_train::Compute;

use super::args::RunArgs;
use crate::error::{Failure, UsageError};

/// What `--device`, `--backend` and `--dtype` ask for.
pub fn compute(args: &RunArgs, engine: &Engine) -> crate::Result<Compute> {
    let device = args.device.unwrap_or(Device::Auto);
    engine.training(device, args.backend, args.dtype).map_err(|error| refused(args, error))
}

/// What the build does not train on is a wrong flag.
fn refused(args: &RunArgs, error: EngineError) -> Failure {
    let EngineError::Backend(error) = error else { return error.into() };
    let flags = match &error {
        BackendError::NativeDtype(dtype) => vec![format!("--dtype {dtype}")],
        _ => {
            let device = args.device.map(|device| format!("--device {device}"));
            device.into_iter().chain(args.backend.map(|backend| format!("--backend {backend}"))).collect()
        }
    };
    // Without a flag, it is the machine that cannot be used.
    if flags.is_empty() {
        return EngineError::Backend(error).into();
    }
    UsageError::of_flag(flags.join(" "), &error).into()
}
