//! Products of a linear layer in less than f32.

use half::{bf16, f16};

use crate::Precision;

/// `x * weight^T` in `precision`, to the bit: `x` `[rows, in]`, `weight` `[out, in]`, the result `[rows, out]`.
///
/// In f32 and f16 a product is a chain of fused multiply-adds over the inputs. In bf16 the inputs come in pairs, of
/// which the second is added first, and numbers below 2^-54 are zero. In int8 the sum is exact.
#[must_use]
pub fn reduced_linear(x: &[f32], weight: &[f32], depth: usize, precision: Precision) -> Vec<f32> {
    let product = |x: &[f32], weight: &[f32]| match precision {
        Precision::F32 => chain(x, weight),
        Precision::F16 => {
            let round = |numbers: &[f32]| -> Vec<f32> {
                numbers.iter().map(|&number| f16::from_f32(number).to_f32()).collect()
            };
            chain(&round(x), &round(weight))
        }
        Precision::Bf16 => {
            let round = |&number: &f32| {
                if number.abs() < 2_f32.powi(-54) { 0.0 } else { bf16::from_f32(number).to_f32() }
            };
            let swapped = |numbers: &[f32]| -> Vec<f32> {
                numbers.chunks(2).flat_map(|pair| pair.iter().rev().map(round)).collect()
            };
            chain(&swapped(x), &swapped(weight))
        }
        Precision::Int8 => {
            let ((x, x_scale), (weight, weight_scale)) = (bytes(x), bytes(weight));
            let sum: i32 = x.iter().zip(&weight).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            sum as f32 * (weight_scale * x_scale)
        }
    };
    x.chunks_exact(depth)
        .flat_map(|x| weight.chunks_exact(depth).map(move |weight| product(x, weight)))
        .collect()
}

fn chain(x: &[f32], weight: &[f32]) -> f32 {
    x.iter().zip(weight).fold(0.0, |sum, (x, weight)| x.mul_add(*weight, sum))
}

/// Numbers as bytes, and what a byte is multiplied by.
fn bytes(numbers: &[f32]) -> (Vec<i8>, f32) {
    let largest = numbers.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
    if largest < 1e-30 {
        return (vec![0; numbers.len()], 0.0);
    }
    let inverse = 127.0 / largest;
    (numbers.iter().map(|number| (number * inverse).round_ties_even() as i8).collect(), largest / 127.0)
}
