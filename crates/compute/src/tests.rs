//! One suite for every instruction set of the CPU: near the f64 reference, and the same bits everywhere.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use crate::cpu::attention::Attention;
use crate::cpu::layer_norm::LayerNorm;
use crate::cpu::linear::Linear;
use crate::cpu::tile::Packed;
use crate::simd::{Isa, Kernel, LANES, dispatch_on};
use crate::{Activation, Sequences, reference};

/// Runs a kernel on every instruction set, asserts equal bits, and returns the result.
fn everywhere<K: Kernel<Output = Vec<f32>>>(kernel: impl Fn() -> K) -> Vec<f32> {
    let expected = dispatch_on(Isa::Portable, kernel());
    for isa in Isa::available() {
        let got = dispatch_on(isa, kernel());
        assert_eq!(got.len(), expected.len());
        let differing = got.iter().zip(&expected).position(|(a, b)| a.to_bits() != b.to_bits());
        assert_eq!(differing, None, "{isa} differs from the portable lanes");
    }
    expected
}

/// The largest difference, relative to the largest expected value.
fn relative_error(got: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let largest = expected.iter().fold(1e-30_f64, |largest, x| largest.max(x.abs()));
    got.iter().zip(expected).fold(0.0_f64, |worst, (&a, &b)| worst.max((f64::from(a) - b).abs())) / largest
}

/// Pseudo-random values in -1..1, from a seed.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        })
        .collect()
}

fn absolute(values: &[f32]) -> Vec<f32> {
    values.iter().map(|x| x.abs()).collect()
}

fn padded(bias: &[f32]) -> Vec<f32> {
    let mut bias = bias.to_vec();
    bias.resize(bias.len().next_multiple_of(LANES), 0.0);
    bias
}

const ACTIVATIONS: [Activation; 7] = [
    Activation::Identity,
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Relu,
    Activation::Silu,
    Activation::Tanh,
    Activation::Sigmoid,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn linear_equals_the_reference(
        rows in 0_usize..40, depth in 1_usize..150, columns in 1_usize..100, seed: u64,
        activation in prop::sample::select(ACTIVATIONS.to_vec()), with_bias: bool, with_residual: bool,
    ) {
        let x = values(seed, rows * depth);
        let matrix = values(seed ^ 1, columns * depth);
        let bias = values(seed ^ 2, columns);
        let residual = values(seed ^ 3, rows * columns);
        let bias = with_bias.then_some(&bias[..]);
        let residual = with_residual.then_some(&residual[..]);
        let weight = Packed::new(&matrix, columns, depth);
        let padded = bias.map(padded).unwrap_or_default();
        let got = everywhere(|| Linear { x: &x, rows, weight: &weight, bias: &padded, residual, activation });
        let expected = reference::linear(&x, &matrix, bias, residual, activation, depth);
        // The rounding of a chain of products (Higham 2002, section 3.1), which no activation magnifies by
        // more than 1.13, and that of the activation, the bias and the residual.
        let magnitude = reference::linear(&absolute(&x), &absolute(&matrix), None, None, Activation::Identity, depth);
        for ((&got, &expected), &magnitude) in got.iter().zip(&expected).zip(&magnitude) {
            let allowed = 1.13 * (depth + 2) as f64 * f64::from(f32::EPSILON / 2.0) * (magnitude + 1.0) + 1e-6;
            prop_assert!((f64::from(got) - expected).abs() <= allowed, "{got} for {expected}");
        }
    }

    #[test]
    fn a_row_of_a_linear_layer_does_not_depend_on_its_neighbours(
        rows in 1_usize..60, depth in 1_usize..80, columns in 1_usize..70, seed: u64,
    ) {
        let x = values(seed, rows * depth);
        let weight = Packed::new(&values(seed ^ 1, columns * depth), columns, depth);
        let run = |x: &[f32]| {
            let activation = Activation::Gelu;
            let rows = x.len() / depth;
            everywhere(|| Linear { x, rows, weight: &weight, bias: &[], residual: None, activation })
        };
        let together = run(&x);
        for (row, x) in x.chunks_exact(depth).enumerate() {
            prop_assert_eq!(&run(x)[..], &together[row * columns..(row + 1) * columns]);
        }
    }

    #[test]
    fn layer_norm_equals_the_reference(rows in 0_usize..10, width in 1_usize..200, seed: u64, scale in 0.01_f32..100.0) {
        let x: Vec<f32> = values(seed, rows * width).iter().map(|x| x * scale + scale).collect();
        let (weight, bias) = (values(seed ^ 1, width), values(seed ^ 2, width));
        let got = everywhere(|| LayerNorm { x: &x, weight: &weight, bias: &bias, epsilon: 1e-5 });
        prop_assert!(relative_error(&got, &reference::layer_norm(&x, &weight, &bias, 1e-5)) < 1e-4);
    }

    #[test]
    fn attention_equals_the_reference(
        lengths in prop::collection::vec(0_usize..70, 0..5), heads in 1_usize..4, head_size in 1_usize..70,
        seed: u64, sharpness in 0.1_f32..20.0,
    ) {
        let sequences = Sequences::from_lengths(lengths);
        let qkv: Vec<f32> =
            values(seed, sequences.tokens() * 3 * heads * head_size).iter().map(|x| x * sharpness).collect();
        let offsets = sequences.offsets();
        let got = everywhere(|| Attention { qkv: &qkv, offsets, heads, head_size });
        let expected = reference::attention(&qkv, offsets, heads, head_size);
        prop_assert!(relative_error(&got, &expected) < 1e-4 * f64::from(sharpness.max(1.0)));

        // A sequence alone gives the same bits as among others.
        for tokens in sequences.ranges() {
            let width = 3 * heads * head_size;
            let alone = Sequences::from_lengths([tokens.len()]);
            let qkv = &qkv[tokens.start * width..tokens.end * width];
            let alone = everywhere(|| Attention { qkv, offsets: alone.offsets(), heads, head_size });
            prop_assert_eq!(&alone[..], &got[tokens.start * width / 3..tokens.end * width / 3]);
        }
    }
}

#[test]
fn long_sequences_and_extreme_scores() {
    let (heads, head_size) = (2, 32);
    let sequences = Sequences::from_lengths([515, 1]);
    let qkv: Vec<f32> =
        values(7, sequences.tokens() * 3 * heads * head_size).iter().map(|x| x * 50.0).collect();
    let got = everywhere(|| Attention { qkv: &qkv, offsets: sequences.offsets(), heads, head_size });
    let expected = reference::attention(&qkv, sequences.offsets(), heads, head_size);
    assert!(relative_error(&got, &expected) < 2e-3, "{}", relative_error(&got, &expected));
}

#[test]
fn names_of_activations() {
    assert_eq!("gelu".parse(), Ok(Activation::Gelu));
    assert_eq!("torch.nn.modules.activation.Tanh".parse(), Ok(Activation::Tanh));
    assert_eq!("torch.nn.modules.linear.Identity".parse(), Ok(Activation::Identity));
    assert!("mish".parse::<Activation>().is_err());
    assert!(ACTIVATIONS.iter().all(|activation| activation.name().parse() == Ok(*activation)));
}
