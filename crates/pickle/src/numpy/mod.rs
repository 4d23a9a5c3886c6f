//! numpy's arrays and scalars, as numpy 1 and 2 pickle them.

mod array;
mod dtype;
mod scalar;

pub use array::{Array, Content};
pub use dtype::{DType, Kind};
pub use scalar::Scalar;

use crate::Value;

/// Whether a value is `numpy.core.{module}.{name}`, which numpy 2 calls `numpy._core.{module}.{name}`.
fn is_core(value: Value<'_, '_>, module: &str, name: &str) -> bool {
    value.as_global().is_some_and(|(found_module, found_name)| {
        let core =
            found_module.strip_prefix("numpy.core.").or_else(|| found_module.strip_prefix("numpy._core."));
        core == Some(module) && found_name == name
    })
}
