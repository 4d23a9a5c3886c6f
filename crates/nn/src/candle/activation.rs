//! Activations with exact gradients: candle's own GELUs round constants to six digits.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use candle_core::{Result, Tensor};

use crate::Activation;

/// `activation(x)`.
pub(super) fn apply(activation: Activation, x: &Tensor) -> Result<Tensor> {
    match activation {
        Activation::Identity => Ok(x.clone()),
        Activation::Gelu => half_of_one_plus(&x.affine(FRAC_1_SQRT_2, 0.0)?.erf()?)?.mul(x),
        Activation::GeluTanh => {
            // sqrt(2/pi) (x + 0.044715 x^3)
            let inner = x.sqr()?.affine(0.044_715, 1.0)?.mul(x)?.affine(FRAC_2_PI.sqrt(), 0.0)?;
            half_of_one_plus(&inner.tanh()?)?.mul(x)
        }
        Activation::Relu => x.relu(),
        Activation::Silu => sigmoid(x)?.mul(x),
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => sigmoid(x),
    }
}

/// The hyperbolic tangent does not overflow: the gradient of exp(-x) would be infinite for a large -x.
fn sigmoid(x: &Tensor) -> Result<Tensor> {
    half_of_one_plus(&x.affine(0.5, 0.0)?.tanh()?)
}

fn half_of_one_plus(x: &Tensor) -> Result<Tensor> {
    x.affine(0.5, 0.5)
}
