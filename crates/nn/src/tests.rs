//! One suite for every instruction set of the CPU: near the f64 reference, and the same bits everywhere.
#![allow(clippy::unwrap_used)]

use std::marker::PhantomData;

use candle_core::{Device, Tensor};
use half::bf16;
use proptest::prelude::*;

use crate::cpu::attention::Attention;
use crate::cpu::gated_linear::{GatedLinear, interleave};
use crate::cpu::layer_norm::LayerNorm;
use crate::cpu::linear::Linear;
use crate::cpu::weight::Weight;
use crate::{Activation, AttentionOptions, Precision, RelativeBias, Rotary, Sequences, reference};
use toller_simd::{Isa, Kernel, LANES, dispatch_on, dispatch_pairs_on};

/// Runs a kernel on every instruction set, asserts equal bits, and returns the result.
fn everywhere<K: Kernel<Output = Vec<f32>>>(kernel: impl Fn() -> K) -> Vec<f32> {
    on_every(|isa| dispatch_on(isa, kernel()))
}

/// Computes on every instruction set, asserts equal bits, and returns the result.
fn on_every(compute: impl Fn(Isa) -> Vec<f32>) -> Vec<f32> {
    let expected = compute(Isa::Portable);
    for isa in Isa::available() {
        let got = compute(isa);
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
        let weight = Weight::new(&matrix, columns, depth, Precision::F32);
        let padded = bias.map(padded).unwrap_or_default();
        let got = on_every(|isa| Linear { x: &x, rows, weight: &weight, bias: &padded, residual, activation }.on(isa));
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
        let weight = Weight::new(&values(seed ^ 1, columns * depth), columns, depth, Precision::F32);
        let run = |x: &[f32]| {
            let activation = Activation::Gelu;
            let rows = x.len() / depth;
            on_every(|isa| Linear { x, rows, weight: &weight, bias: &[], residual: None, activation }.on(isa))
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
    fn gated_linear_equals_the_reference(
        rows in 0_usize..30, depth in 1_usize..60, columns in 1_usize..70, seed: u64,
        activation in prop::sample::select(ACTIVATIONS.to_vec()), with_bias: bool,
    ) {
        let x = values(seed, rows * depth);
        let halves = [values(seed ^ 1, columns * depth), values(seed ^ 2, columns * depth)];
        let biases = [values(seed ^ 3, columns), values(seed ^ 4, columns)];
        let width = 2 * columns.next_multiple_of(LANES);
        let weight = Weight::new(&interleave(&halves[0], &halves[1], columns, depth), width, depth, Precision::F32);
        let bias = if with_bias { interleave(&biases[0], &biases[1], columns, 1) } else { Vec::new() };
        let got = on_every(|isa| GatedLinear { x: &x, rows, weight: &weight, bias: &bias, activation, columns }.on(isa));
        let [activated, linear] = [0, 1].map(|half| (&halves[half][..], with_bias.then_some(&biases[half][..])));
        let expected = reference::gated_linear(&x, activated, linear, activation, depth);
        // Each factor is at most depth + 1, with the rounding of a chain of as many products.
        let allowed = 4.0 * ((depth + 2) as f64).powi(2) * f64::from(f32::EPSILON) * (depth + 1) as f64 + 1e-6;
        prop_assert_eq!(got.len(), expected.len());
        for (&got, &expected) in got.iter().zip(&expected) {
            prop_assert!((f64::from(got) - expected).abs() <= allowed.min(1e-3), "{got} for {expected}");
        }
        for (row, x) in x.chunks_exact(depth).enumerate() {
            let alone = on_every(|isa| GatedLinear { x, rows: 1, weight: &weight, bias: &bias, activation, columns }.on(isa));
            prop_assert_eq!(&alone[..], &got[row * columns..(row + 1) * columns]);
        }
    }

    #[test]
    fn attention_equals_the_reference(
        lengths in prop::collection::vec(0_usize..70, 0..5), heads in 1_usize..4, half_size in 1_usize..36,
        odd: bool, seed: u64, sharpness in 0.1_f32..20.0, rotates: bool, reach in prop::option::of(0_usize..9),
        window in prop::option::of(0_usize..80),
    ) {
        let head_size = 2 * half_size - usize::from(odd && !rotates);
        let positions = Positions::new(heads, head_size, rotates, reach, window, seed);
        let sequences = Sequences::from_lengths(lengths);
        let width = 3 * heads * head_size;
        let qkv: Vec<f32> = values(seed, sequences.tokens() * width).iter().map(|x| x * sharpness).collect();
        let got = positions.attend(&qkv, sequences.offsets(), head_size);
        let expected = reference::attention(&qkv, sequences.offsets(), head_size, &positions.options());
        prop_assert!(relative_error(&got, &expected) < 1e-4 * f64::from(sharpness.max(1.0)));

        // A sequence alone gives the same bits as among others.
        for tokens in sequences.ranges() {
            let qkv = &qkv[tokens.start * width..tokens.end * width];
            let alone = positions.attend(qkv, &[0, tokens.len() as u32], head_size);
            prop_assert_eq!(&alone[..], &got[tokens.start * width / 3..tokens.end * width / 3]);
        }
    }

    #[test]
    fn attention_in_bf16_is_that_of_the_rounded_numbers(
        lengths in prop::collection::vec(0_usize..70, 0..5), heads in 1_usize..4, half_size in 1_usize..36,
        odd: bool, seed: u64, sharpness in 0.1_f32..8.0, rotates: bool, reach in prop::option::of(0_usize..9),
        window in prop::option::of(0_usize..80),
    ) {
        let head_size = 2 * half_size - usize::from(odd && !rotates);
        let positions = Positions::new(heads, head_size, rotates, reach, window, seed);
        let sequences = Sequences::from_lengths(lengths);
        let width = 3 * heads * head_size;
        let qkv: Vec<f32> = values(seed, sequences.tokens() * width).iter().map(|x| x * sharpness).collect();
        let got = positions.attend_in_bf16(&qkv, sequences.offsets(), head_size);
        // What is rotated is rounded after it.
        if !rotates {
            let rounded: Vec<f32> = qkv.iter().map(|&x| bf16::from_f32(x).to_f32()).collect();
            let expected = reference::attention(&rounded, sequences.offsets(), head_size, &positions.options());
            // A weight is wrong by at most 2^-9 for its rounding and 1e-4 for its exponential, twice as the sum is
            // too; 1e-3 is for the scores' sums.
            let allowed = f64::from(sharpness) * (1.0 / 512.0 + 2e-4 + 1e-3);
            for (&got, &expected) in got.iter().zip(&expected) {
                prop_assert!((f64::from(got) - expected).abs() <= allowed, "{got} for {expected}");
            }
        }
        for tokens in sequences.ranges() {
            let qkv = &qkv[tokens.start * width..tokens.end * width];
            let alone = positions.attend_in_bf16(qkv, &[0, tokens.len() as u32], head_size);
            prop_assert_eq!(&alone[..], &got[tokens.start * width / 3..tokens.end * width / 3]);
        }
    }

    #[test]
    fn products_have_the_bits_of_the_reference_in_every_precision(
        rows in 0_usize..110, depth in 1_usize..150, columns in 1_usize..80, seed: u64, scale in -60_i32..14,
        precision in prop::sample::select(Precision::ALL.to_vec()), zero_row: bool,
    ) {
        let scaled = |seed: u64, count: usize| -> Vec<f32> {
            values(seed, count).iter().map(|x| x * 2_f32.powi(scale)).collect()
        };
        let mut x = scaled(seed, rows * depth);
        if zero_row {
            x.iter_mut().take(depth).for_each(|x| *x = 0.0);
        }
        let matrix = scaled(seed ^ 1, columns * depth);
        let weight = Weight::new(&matrix, columns, depth, precision);
        let activation = Activation::Identity;
        let got = on_every(|isa| Linear { x: &x, rows, weight: &weight, bias: &[], residual: None, activation }.on(isa));
        let expected = reference::reduced_linear(&x, &matrix, depth, precision);
        prop_assert_eq!(bits(&got), bits(&expected));

        let width = 2 * columns.next_multiple_of(LANES);
        let halves = Weight::new(&interleave(&matrix, &matrix, columns, depth), width, depth, precision);
        let gated = on_every(|isa| GatedLinear { x: &x, rows, weight: &halves, bias: &[], activation, columns }.on(isa));
        let squares: Vec<f32> = expected.iter().map(|x| x * x).collect();
        prop_assert_eq!(bits(&gated), bits(&squares));
    }
}

/// Bits, with one zero.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| (x + 0.0).to_bits()).collect()
}

/// What is not finite must not become a number: the store refuses it.
#[test]
fn what_is_not_finite_stays_so_in_every_precision() {
    let (rows, depth, columns) = (3, 20, 18);
    for precision in Precision::ALL {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = values(1, rows * depth);
            let mut matrix = values(2, columns * depth);
            x[depth + 3] = bad;
            matrix[5 * depth + 19] = bad;
            let weight = Weight::new(&matrix, columns, depth, precision);
            let activation = Activation::Identity;
            for isa in Isa::available() {
                let linear = Linear { x: &x, rows, weight: &weight, bias: &[], residual: None, activation };
                for (at, product) in linear.on(isa).into_iter().enumerate() {
                    let is_bad = at / columns == 1 || at % columns == 5;
                    assert_eq!(product.is_finite(), !is_bad, "{precision} on {isa}: {product} at {at}");
                }
            }
        }
    }
}

/// What attention may know of positions.
struct Positions {
    heads: usize,
    rotary: Option<Rotary>,
    relative_bias: Option<RelativeBias>,
    window: Option<usize>,
}

impl Positions {
    fn new(
        heads: usize,
        head_size: usize,
        rotates: bool,
        reach: Option<usize>,
        window: Option<usize>,
        seed: u64,
    ) -> Self {
        let relative_bias = reach.map(|reach| {
            let columns = 2 * reach + 1;
            let table: Vec<f32> = values(seed ^ 7, heads * columns).iter().map(|x| 3.0 * x).collect();
            RelativeBias::new(&Tensor::from_vec(table, (heads, columns), &Device::Cpu).unwrap()).unwrap()
        });
        Self { heads, rotary: rotates.then(|| Rotary::new(head_size, 100.0).unwrap()), relative_bias, window }
    }

    fn options(&self) -> AttentionOptions<'_> {
        AttentionOptions {
            heads: self.heads,
            rotary: self.rotary.as_ref(),
            relative_bias: self.relative_bias.as_ref(),
            window: self.window,
            ..AttentionOptions::default()
        }
    }

    /// Attention in f32 on every instruction set.
    fn attend(&self, qkv: &[f32], offsets: &[u32], head_size: usize) -> Vec<f32> {
        self.attention(qkv, offsets, head_size, |isa, attention| dispatch_on(isa, attention))
    }

    /// Attention in bf16 on every instruction set.
    fn attend_in_bf16(&self, qkv: &[f32], offsets: &[u32], head_size: usize) -> Vec<f32> {
        self.attention(qkv, offsets, head_size, |isa, attention| {
            dispatch_pairs_on(isa, attention.of::<bf16>())
        })
    }

    fn attention(
        &self,
        qkv: &[f32],
        offsets: &[u32],
        head_size: usize,
        compute: impl Fn(Isa, Attention<'_>) -> Vec<f32>,
    ) -> Vec<f32> {
        let longest = offsets.windows(2).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0);
        let table = self.rotary.as_ref().map(|rotary| rotary.table(longest as usize));
        on_every(|isa| {
            let attention = Attention {
                qkv,
                offsets,
                heads: self.heads,
                head_size,
                rotary: table.as_deref(),
                relative_bias: self.relative_bias.as_ref(),
                window: self.window,
                operand: PhantomData,
            };
            compute(isa, attention)
        })
    }
}

/// 515 tokens are several blocks of queries and many panels of keys; a window of 64 leaves most of them out.
#[test]
fn long_sequences_and_extreme_scores() {
    let (heads, head_size) = (2, 32);
    let sequences = Sequences::from_lengths([515, 1]);
    let qkv: Vec<f32> =
        values(7, sequences.tokens() * 3 * heads * head_size).iter().map(|x| x * 50.0).collect();
    for (rotates, reach, window) in
        [(false, None, None), (true, None, Some(64)), (false, Some(91), None), (true, Some(4), Some(0))]
    {
        let positions = Positions::new(heads, head_size, rotates, reach, window, 7);
        let got = positions.attend(&qkv, sequences.offsets(), head_size);
        let expected = reference::attention(&qkv, sequences.offsets(), head_size, &positions.options());
        assert!(relative_error(&got, &expected) < 2e-3, "{}", relative_error(&got, &expected));
    }
}

/// A key outside the window changes no bit; one at its edge does.
#[test]
fn a_window_ends_where_it_ends() {
    let (heads, head_size, n, window) = (1, 16, 300, 64);
    let positions = Positions::new(heads, head_size, true, None, Some(window), 1);
    let width = 3 * heads * head_size;
    let qkv = values(3, n * width);
    let before = positions.attend(&qkv, &[0, n as u32], head_size);
    let changed = 150;
    let mut other = qkv;
    other[changed * width + head_size..(changed + 1) * width].fill(2.5);
    let after = positions.attend(&other, &[0, n as u32], head_size);
    for token in 0..n {
        let of = |out: &[f32]| out[token * head_size..(token + 1) * head_size].to_vec();
        assert_eq!(of(&before) != of(&after), token.abs_diff(changed) <= window, "token {token}");
    }
}

#[test]
fn names_of_activations() {
    assert_eq!("gelu".parse(), Ok(Activation::Gelu));
    assert_eq!("torch.nn.modules.activation.Tanh".parse(), Ok(Activation::Tanh));
    assert_eq!("torch.nn.modules.linear.Identity".parse(), Ok(Activation::Identity));
    for tanh in ["gelu_new", "gelu_fast", "gelu_pytorch_tanh"] {
        assert_eq!(tanh.parse(), Ok(Activation::GeluTanh));
    }
    assert_eq!("swish".parse(), Ok(Activation::Silu));
    for unknown in ["mish", "quick_gelu", "gelu_10", ""] {
        let error = unknown.parse::<Activation>().unwrap_err().to_string();
        assert!(
            error.contains(&format!("{unknown:?}")) && error.contains("known are gelu, gelu_new"),
            "{error}"
        );
    }
    assert!(ACTIVATIONS.iter().all(|activation| activation.name().parse() == Ok(*activation)));
}

#[test]
fn names_of_precisions() {
    assert!(Precision::ALL.iter().all(|precision| precision.name().parse() == Ok(*precision)));
    assert!("fp8".parse::<Precision>().is_err());
}
