//! The CPU's bits: the same on every instruction set, and those of a definition in every precision.

use half::{bf16, f16};
use proptest::prelude::*;
use toller_simd::Isa;

use super::{Layer, frequencies, models, values};
use crate::attention::Attention;
use crate::attention::cpu::{Call, Scratch};
use crate::cpu::{Output, Part};
use crate::gated_linear::{GatedLinear, interleave};
use crate::linear::cpu::Linear;
use crate::linear::{Conversions, Weight};
use crate::norm::cpu::Norm;
use crate::{Activation, AttentionParameters, Cpu, Matrix, Precision, RotaryParameters, Sequences};

/// `x` `[rows, inputs]` times a weight, divided among `parts`.
fn linear(isa: Isa, x: &[f32], weight: &Weight, parts: usize) -> Vec<f32> {
    let rows = x.len() / weight.depth();
    let call = Linear { x, rows, weight, bias: &[], residual: None, activation: Activation::Identity };
    let mut out = vec![f32::NAN; rows * weight.columns()];
    let target = Output::of(&mut out);
    // Used again for every part, as a thread uses its buffers for every product.
    let mut conversions = Conversions::default();
    for index in 0..parts {
        call.run(isa, Part::new(index, parts), target, &mut conversions);
    }
    out
}

fn gated(isa: Isa, x: &[f32], weight: &Weight, columns: usize) -> Vec<f32> {
    let rows = x.len() / weight.depth();
    let call = GatedLinear { x, rows, weight, bias: &[], activation: Activation::Identity, columns };
    let mut out = vec![0.0; rows * columns];
    call.run(isa, Part::WHOLE, Output::of(&mut out), &mut Conversions::default());
    out
}

/// `x * weight^T` to the bit: `x` `[rows, depth]`, `weight` `[columns, depth]`, the result `[rows, columns]`.
///
/// In f32 and f16 a product is a chain of fused multiply-adds over the inputs. In bf16 the inputs come in
/// pairs, and the second is added first. Numbers below 2^-54 are zero. In int8 the sum is exact.
fn defined(x: &[f32], weight: &[f32], depth: usize, precision: Precision) -> Vec<f32> {
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

/// Bits, with one zero.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| (x + 0.0).to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products_have_the_defined_bits_in_every_precision(
        rows in 0_usize..110, depth in 1_usize..150, columns in 1_usize..80, seed: u64, scale in -60_i32..14,
        precision in prop::sample::select(Precision::ALL.to_vec()), zero_row: bool, parts in 1_usize..4,
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
        let expected = defined(&x, &matrix, depth, precision);
        let width = 2 * columns.next_multiple_of(toller_simd::LANES);
        let halves = Weight::new(&interleave(&matrix, &matrix, columns, depth), width, depth, precision);
        let squares: Vec<f32> = expected.iter().map(|x| x * x).collect();
        for isa in Isa::available() {
            prop_assert_eq!(bits(&linear(isa, &x, &weight, parts)), bits(&expected), "{}", isa);
            prop_assert_eq!(bits(&gated(isa, &x, &halves, columns)), bits(&squares), "{}", isa);
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits(
        model in models(), precision in prop::sample::select(Precision::ALL.to_vec()),
    ) {
        let expected = model.run(&Cpu::with_isa(precision, Isa::Portable), 0, 1);
        for isa in Isa::available() {
            let got = model.run(&Cpu::with_isa(precision, isa), 0, 1);
            for (got, expected) in got.iter().zip(&expected) {
                prop_assert_eq!(bits(got), bits(expected), "{}", isa);
            }
        }
    }
}

/// The contexts of `qkv` `[tokens, width]`, the heads divided among `parts`.
fn contexts(isa: Isa, precision: Precision, call: Call<'_>, parts: usize) -> Vec<f32> {
    let mut out = vec![f32::NAN; call.sequences.tokens() * call.attention.output_width()];
    let (target, mut scratch) = (Output::of(&mut out), Scratch::default());
    for index in 0..parts {
        call.run(isa, precision, Part::new(index, parts), target, &mut scratch);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A sequence that begins with another one's tokens has the bits that it has whole.
    #[test]
    fn shared_beginnings_leave_no_trace(
        lengths in prop::collection::vec(1_usize..120, 1..4), shared in 0_usize..130, half in 1_usize..36,
        heads in (1_usize..3, 1_usize..3), window in prop::option::of(0_usize..90),
        [rotates, norms, biased] in any::<[bool; 3]>(),
        precision in prop::sample::select(Precision::ALL.to_vec()), seed: u64, parts in 1_usize..4,
    ) {
        let (key_heads, head_size) = (heads.1, 2 * half);
        let heads = heads.0 * key_heads;
        let (bias, frequencies) = (values(seed ^ 1, heads * 9), frequencies(head_size));
        let attention = Attention::new(AttentionParameters {
            heads,
            key_heads,
            head_size,
            scale: AttentionParameters::usual_scale(head_size),
            rotary: rotates.then_some(RotaryParameters { frequencies: &frequencies, magnitude: 1.0 }),
            relative_bias: biased.then_some(Matrix { values: &bias, rows: heads, columns: 9 }),
            before: window,
            after: Some(0),
        }).unwrap();
        let rotary = attention.rotary.as_ref().map(|rotary| rotary.table(300));
        let weights = [2, 3].map(|salt| values(seed ^ salt, head_size));
        let head_norms = weights.map(|weight| {
            Norm { bias: vec![0.0; weight.len()], weight, epsilon: 1e-3, centers: false }
        });
        let width = attention.input_width();
        let run = |isa: Isa, qkv: &[f32], sequences: &Sequences, parts: usize| {
            let (head_norms, rotary) = (norms.then_some(&head_norms), rotary.as_deref());
            let call = Call { attention: &attention, qkv, sequences, head_norms, rotary };
            contexts(isa, precision, call, parts)
        };
        let common = values(seed ^ 4, shared * width);
        let own: Vec<Vec<f32>> =
            (5..).zip(&lengths).map(|(salt, length)| values(seed ^ salt, length * width)).collect();
        let together = [common.clone(), own.concat()].concat();
        let sequences = lengths.iter().map(|&length| (length, Some(0)));
        let sequences = Sequences::sharing([(shared, None)].into_iter().chain(sequences));
        for isa in Isa::available() {
            let found = run(isa, &together, &sequences, parts);
            let (first, mut rest) = found.split_at(shared * attention.output_width());
            for (own, &length) in own.iter().zip(&lengths) {
                let whole = [&common[..], own].concat();
                let alone = Sequences::from_lengths([shared + length]);
                let expected = run(isa, &whole, &alone, 1);
                let (of_common, expected) = expected.split_at(first.len());
                let (found, after) = rest.split_at(expected.len());
                prop_assert_eq!(bits(found), bits(expected), "{} on {}", precision, isa);
                prop_assert_eq!(bits(first), bits(of_common), "{} on {}", precision, isa);
                rest = after;
            }
        }
    }
}

/// What is not finite must not become a number: the store refuses such vectors.
#[test]
fn what_is_not_finite_stays_so_in_every_precision() {
    let (rows, depth, columns) = (3, 20, 18);
    for precision in Precision::ALL {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = values(1, rows * depth);
            let Layer { mut weight, .. } = Layer::new(2, columns, depth, false);
            x[depth + 3] = bad;
            weight[5 * depth + 19] = bad;
            let weight = Weight::new(&weight, columns, depth, precision);
            for isa in Isa::available() {
                for (at, product) in linear(isa, &x, &weight, 2).into_iter().enumerate() {
                    let is_bad = at / columns == 1 || at % columns == 5;
                    assert_eq!(product.is_finite(), !is_bad, "{precision} on {isa}: {product} at {at}");
                }
            }
        }
    }
}
