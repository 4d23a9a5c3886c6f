//! candle against the reference: results, and gradients against central differences in f64.

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, Tensor};
use proptest::prelude::*;

use super::{Candle, Products};
use crate::reference::ReferenceStates;
use crate::tests::{
    ACTIVATIONS, Model, check_near_reference, for_each_alone, models, relative_error, unchanged, values,
};
use crate::{Activation, NnError, NormPlacement, Pooling, Precision, Reference};

/// What neighbours may change in pooled states, and in vectors: the scaling to unit length magnifies the
/// change of a vector near zero.
const NEIGHBOURS: [f64; 2] = [1e-5, 1e-3];

const SMOOTH: &[Pooling] =
    &[Pooling::Cls, Pooling::Mean, Pooling::MeanSqrtLen, Pooling::WeightedMean, Pooling::LastToken];

fn on_cpu(precision: Precision) -> Candle {
    Candle::new(Device::Cpu, precision).unwrap()
}

fn check(precision: Precision, model: &Model, tolerance: f64) {
    let candle = on_cpu(precision);
    let together = check_near_reference(&candle, model, tolerance);
    if precision == Precision::F32 {
        for_each_alone(&candle, model, &together, |result, alone, of_sequence| {
            let change = relative_error(alone, of_sequence);
            assert!(change <= NEIGHBOURS[result], "neighbours change {change:e} of result {result}");
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn candle_is_near_the_reference(model in models()) {
        check(Precision::F32, &model, 1e-4);
    }

    #[test]
    fn lower_precisions_are_not_far(model in models()) {
        let model = Model { sharpness: model.sharpness.min(1.0), ..model };
        check(Precision::F16, &model, 0.02);
        check(Precision::Bf16, &model, 0.15);
    }
}

/// Two numbers for every result: what it adds to the loss.
fn slopes(model: &Model, index: usize, count: usize) -> Vec<f64> {
    values(model.seed ^ (20 + index as u64), count).into_iter().map(f64::from).collect()
}

/// The loss in f64 by the reference.
fn loss(model: &Model, change: &dyn Fn(usize, &[f32]) -> Vec<f32>) -> f64 {
    let results = model.states(&Reference, &mut (), 0, change);
    let of = |(index, states): (usize, &ReferenceStates)| -> f64 {
        let slopes = slopes(model, index, states.values.len());
        states.values.iter().zip(slopes).map(|(x, slope)| x * slope).sum()
    };
    results.iter().enumerate().map(of).sum()
}

/// Changes of a parameter's values by about 2^-18, up or down.
fn nudged(model: &Model, parameter: usize, values_before: &[f32], up: bool) -> Vec<f32> {
    let directions = values(model.seed ^ (100 + parameter as u64), values_before.len());
    let step = if up { 2_f32.powi(-18) } else { -2_f32.powi(-18) };
    values_before.iter().zip(directions).map(|(x, direction)| x + step * direction).collect()
}

/// The gradients of candle in `number` against central differences of the reference, along one direction for
/// each parameter: the errors relative to what the values of a parameter add, and the largest of that.
fn check_gradients(model: &Model, number: DType, tolerance: f64) {
    let candle = Candle { states: number, inner: Products::exact(number), ..on_cpu(Precision::F32) };
    let candle = candle.with_gradients();
    let results = model.states(&candle, &mut (), 0, &unchanged);
    let terms = results.iter().enumerate().map(|(index, states)| {
        let slopes = slopes(model, index, states.elem_count());
        let slopes =
            Tensor::from_vec(slopes, states.shape(), &Device::Cpu).unwrap().to_dtype(number).unwrap();
        states.mul(&slopes).unwrap().sum_all().unwrap()
    });
    let total = terms.reduce(|a, b| a.add(&b).unwrap()).unwrap();
    let gradients: GradStore = total.backward().unwrap();

    let variables = candle.variables();
    let mut found = Vec::with_capacity(variables.len());
    for (parameter, variable) in variables.iter().enumerate() {
        let host = |tensor: &Tensor| -> Vec<f64> {
            tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
        };
        let gradient = gradients.get(variable).unwrap_or_else(|| panic!("no gradient of {parameter}"));
        let before: Vec<f32> = host(variable).iter().map(|&x| x as f32).collect();
        let [high, low] = [true, false].map(|up| nudged(model, parameter, &before, up));
        let along = |up: bool| {
            let change = |index: usize, values: &[f32]| {
                if index == parameter { nudged(model, parameter, values, up) } else { values.to_vec() }
            };
            loss(model, &change)
        };
        let expected = along(true) - along(false);
        let steps = high.iter().zip(&low).map(|(&high, &low)| f64::from(high) - f64::from(low));
        let terms: Vec<f64> = host(gradient).iter().zip(steps).map(|(slope, step)| slope * step).collect();
        let size = terms.iter().map(|x| x * x).sum::<f64>().sqrt();
        found.push((terms.iter().sum::<f64>() - expected, size));
    }
    let largest = found.iter().fold(0.0, |largest: f64, (_, size)| largest.max(*size));
    for (parameter, (error, size)) in found.iter().enumerate() {
        let allowed = tolerance * size + 1e-2 * tolerance * largest;
        assert!(error.abs() <= allowed, "parameter {parameter}: {error:e} of {size:e}, {model:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn gradients_are_central_differences(model in models()) {
        prop_assume!(model.lengths.iter().any(|&length| length > model.skipped));
        let smooth = if model.activation == Activation::Relu { Activation::Gelu } else { model.activation };
        // A norm of one number, and a centered one of two, gives little but a sign: a step, not a slope.
        let head_size = if model.norms_heads { model.head_size.max(4) } else { model.head_size };
        let width = model.width.max(3);
        let model = Model { activation: smooth, poolings: SMOOTH, width, head_size, ..model };
        // Differences see the curvature of narrow norms: 1e-5 of a slope.
        check_gradients(&model, DType::F64, 1e-4);
    }
}

fn small(activation: Activation, poolings: &'static [Pooling]) -> Model {
    Model {
        seed: 11,
        lengths: vec![3, 5, 3],
        width: 6,
        inner: 8,
        heads: 2,
        key_heads: 1,
        head_size: 4,
        norms_heads: true,
        scale: 1.5,
        rotates: true,
        reach: Some(2),
        window: (Some(3), None),
        has_bias: true,
        centers: true,
        gates: true,
        norms_halves: true,
        placement: NormPlacement::Before,
        first_placement: NormPlacement::Before,
        activation,
        sharpness: 1.0,
        skipped: 1,
        prefix: 2,
        poolings,
    }
}

/// Steps with kinks, where differences are taken on one side of each.
#[test]
fn gradients_of_relu_and_the_maximum() {
    check_gradients(&small(Activation::Relu, &Pooling::ALL), DType::F64, 1e-5);
}

#[test]
fn gradients_in_f32() {
    for activation in ACTIVATIONS {
        check_gradients(&small(activation, SMOOTH), DType::F32, 1e-4);
    }
}

/// -inf in masked scores, and the square root of zero, have no gradients that are not numbers.
#[test]
fn gradients_are_finite_at_the_edges() {
    let model =
        Model { lengths: vec![0, 1, 4], has_bias: false, skipped: 2, ..small(Activation::Silu, SMOOTH) };
    check_gradients(&model, DType::F64, 1e-5);
    let large = Model { sharpness: 1e4, ..model };
    let candle = on_cpu(Precision::F32).with_gradients();
    let [pooled, kept] = large.states(&candle, &mut (), 0, &unchanged);
    let total = pooled.sum_all().unwrap().add(&kept.sum_all().unwrap()).unwrap();
    let gradients = total.backward().unwrap();
    for variable in candle.variables() {
        let largest = gradients.get(&variable).unwrap().abs().unwrap().max_all().unwrap();
        assert!(largest.to_scalar::<f32>().unwrap().is_finite());
    }
}

#[test]
fn too_little_memory_of_a_gpu_is_an_error_of_its_own() {
    let of = |message: &str| NnError::from(candle_core::Error::Cuda(message.into()));
    let message = "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")";
    assert_eq!(of(message), NnError::CandleMemory(message.to_owned()));
    assert_eq!(of("no kernel"), NnError::Candle("no kernel".to_owned()));
}

#[test]
fn what_candle_does_not_have_is_refused() {
    let error = Candle::new(Device::Cpu, Precision::Int8).unwrap_err();
    assert_eq!(error.to_string(), "models do not compute in int8 through candle");
    assert!(on_cpu(Precision::F32).variables().is_empty());
}
