//! Layer normalisation (Ba et al. 2016, equation 4), and without its mean RMSNorm.

pub(crate) mod cpu;
pub(crate) mod reference;

use crate::{NnError, NormParameters};

/// Checks that a norm has a width, and a bias of the same width if any.
pub(crate) fn check(norm: &NormParameters<'_>) -> Result<(), NnError> {
    let width = norm.weight.len();
    match norm.bias {
        _ if width == 0 => Err(NnError::Shape("a norm of nothing".to_owned())),
        Some(bias) if bias.len() != width => {
            Err(NnError::Shape(format!("a norm with {width} weights and {} biases", bias.len())))
        }
        _ => Ok(()),
    }
}
