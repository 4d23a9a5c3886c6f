//! Activation functions and their derivatives.

use toller_nn::Activation;
use toller_simd::product::Floats;
use toller_simd::{self as simd, Kernel, LANES, Simd};

/// Writes `activation(x)` to `out`.
pub(crate) struct Activate<'a> {
    pub(crate) activation: Activation,
    pub(crate) x: &'a [f32],
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Activate<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (x, out) in self.x.chunks(LANES).zip(self.out.chunks_mut(LANES)) {
            if self.activation == Activation::Gelu {
                let count = x.len().min(out.len());
                // SAFETY: both slices hold `count` values.
                unsafe {
                    let value = simd::gelu(simd, simd.load_part(x.as_ptr(), count));
                    simd.store_part(out.as_mut_ptr(), value, count);
                }
            } else {
                let value = |x: f32| self.activation.reference(f64::from(x)) as f32;
                out.iter_mut().zip(x).for_each(|(out, &x)| *out = value(x));
            }
        }
    }
}

/// Multiplies `gradient` by the derivative at `x`.
pub(crate) struct Derive<'a> {
    pub(crate) activation: Activation,
    pub(crate) x: &'a [f32],
    pub(crate) gradient: &'a mut [f32],
}

impl Kernel for Derive<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (x, gradient) in self.x.chunks(LANES).zip(self.gradient.chunks_mut(LANES)) {
            if self.activation == Activation::Gelu {
                let count = x.len().min(gradient.len());
                // SAFETY: both slices hold `count` values.
                unsafe {
                    let derivative = simd::gelu_derivative(simd, simd.load_part(x.as_ptr(), count));
                    let value = simd.mul(simd.load_part(gradient.as_ptr(), count), derivative);
                    simd.store_part(gradient.as_mut_ptr(), value, count);
                }
            } else {
                let derivative = |x: f32| derivative(self.activation, f64::from(x)) as f32;
                gradient.iter_mut().zip(x).for_each(|(gradient, &x)| *gradient *= derivative(x));
            }
        }
    }
}

/// The derivative in f64. That of `relu` at 0 is 0, as in PyTorch.
pub(crate) fn derivative(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => 1.0,
        Activation::Gelu => {
            let density = libm::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt();
            Activation::Gelu.reference(x) / if x == 0.0 { 1.0 } else { x }
                + if x == 0.0 { 0.5 } else { x * density }
        }
        Activation::GeluTanh => {
            let scale = (2.0 / std::f64::consts::PI).sqrt();
            let tanh = libm::tanh(scale * (x + 0.044_715 * x.powi(3)));
            let inner = scale * (1.0 + 3.0 * 0.044_715 * x * x);
            0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * inner
        }
        Activation::Relu => f64::from(u8::from(x > 0.0)),
        Activation::Silu => {
            let sigmoid = Activation::Sigmoid.reference(x);
            sigmoid * (1.0 + x * (1.0 - sigmoid))
        }
        Activation::Tanh => 1.0 - libm::tanh(x).powi(2),
        Activation::Sigmoid => {
            let sigmoid = Activation::Sigmoid.reference(x);
            sigmoid * (1.0 - sigmoid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Activate, Derive, derivative};
    use toller_nn::Activation::{Gelu, GeluTanh, Identity, Relu, Sigmoid, Silu, Tanh};

    #[test]
    fn derivatives_are_those_of_the_functions() {
        for activation in [Gelu, GeluTanh, Identity, Relu, Sigmoid, Silu, Tanh] {
            for x in (-60..=60).map(|step| f64::from(step) * 0.11 + 0.01) {
                let h = 1e-5;
                let slope = (activation.reference(x + h) - activation.reference(x - h)) / (2.0 * h);
                assert!((derivative(activation, x) - slope).abs() < 1e-9, "{activation:?} at {x}");
                let (x, mut out, mut gradient) = ([x as f32; 1], [0.0; 1], [2.0; 1]);
                toller_simd::dispatch(Activate { activation, x: &x, out: &mut out });
                toller_simd::dispatch(Derive { activation, x: &x, gradient: &mut gradient });
                assert!((f64::from(out[0]) - activation.reference(f64::from(x[0]))).abs() < 2e-6);
                assert!((f64::from(gradient[0]) - 2.0 * slope).abs() < 5e-6, "{activation:?} at {x:?}");
            }
        }
        assert_eq!(derivative(Relu, 0.0), 0.0);
    }
}
