//! Rotary position embeddings as configurations describe them.

use serde_json::Value;

use super::Refusal;

/// The base of the rotations in a table of `rope_parameters`, or `default` where the table has none.
/// Frequencies that are scaled in one of the ways for longer inputs are not supported.
pub(super) fn theta_of(parameters: Option<&Value>, default: f64) -> Result<f64, Refusal> {
    let field = |name: &str| parameters.and_then(|table| table.get(name)).filter(|value| !value.is_null());
    if let Some(kind) = field("rope_type").or_else(|| field("type")).filter(|kind| *kind != "default") {
        return Err(Refusal::Unsupported(format!("rope_type {kind}")));
    }
    if let Some(factor) = field("partial_rotary_factor").filter(|factor| factor.as_f64() != Some(1.0)) {
        return Err(Refusal::Unsupported(format!("partial_rotary_factor {factor}")));
    }
    match field("rope_theta") {
        None => Ok(default),
        Some(theta) => {
            theta.as_f64().ok_or_else(|| Refusal::Invalid(format!("rope_theta is {theta}, not a number")))
        }
    }
}
