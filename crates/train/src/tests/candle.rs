//! The recorder's gradients against those of candle's autograd, for the same weights.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed")]

use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, Network, NewPrefix};
use toller_ir::Role;
use toller_nn::candle_core::{Device, Tensor};
use toller_nn::{Candle, Precision};
use toller_tokenizer::Tokens;

use crate::dropout::Places;
use crate::model::{Compute, Model};
use crate::network::{Gradients, OnDevice, Recorder, Replica, Texts, Tower, Weights};

const TEXTS: [&str; 4] = [
    "Tollers retrieve ducks and passages.",
    "a gun",
    "Rain falls mainly in the plain, they said",
    "snow, snow",
];

fn with_gradients() -> Candle {
    Candle::new(Device::Cpu, Precision::F32).unwrap().with_gradients()
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()))
}

/// Compares the gradients of a sum of all results with different weights.
fn check(name: &str, tower: &Tower, candle: &Network<Candle>, texts: &[Tokens]) {
    let mut rows = Vec::new();
    let spans = tower.forward(Texts { tokens: texts, first: 0, unpooled: 0 }, None, true, &mut rows).unwrap();
    let slopes: Vec<f32> = (0..rows.len()).map(|index| (index as f32 + 0.5).sin()).collect();
    let mut expected = Gradients::zeros(tower.weights());
    tower.backward(spans, &slopes, &mut expected);

    let results = candle.forward(&mut (), texts, 0, 0).unwrap();
    let slopes = Tensor::from_vec(slopes, results.shape(), &Device::Cpu).unwrap();
    let gradients = results.mul(&slopes).unwrap().sum_all().unwrap().backward().unwrap();
    let variables = candle.backend().variables();
    assert_eq!(variables.len(), expected.values().len(), "{name}: parameters");
    let largest_of_all = expected.values().iter().map(|values| largest(values)).fold(0.0, f32::max);
    let parameters = tower.weights().parameters().iter().zip(expected.values());
    let trained = parameters.zip(&variables).filter(|((parameter, _), _)| !parameter.frozen);
    for ((parameter, expected), variable) in trained {
        let tensors = &parameter.tensors;
        let gradient =
            gradients.get(variable).unwrap_or_else(|| panic!("{name}: no gradient of {tensors:?}"));
        let found: Vec<f32> = gradient.flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(found.len(), expected.len(), "{name}: {tensors:?}");
        let errors: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
        // A gradient can be zero up to rounding, such as the gradient of the keys' biases.
        let allowed = 1e-4 * largest(expected) + 1e-6 * largest_of_all;
        let worst = largest(&errors);
        assert!(worst <= allowed, "{name}: {tensors:?}: off by {worst:e}, not {allowed:e}");
    }
}

#[test]
fn gradients_are_those_of_candle() {
    for name in ["bert-mean", "ernie-cls", "mbert-dpr", "xlmr-mean"] {
        let Some(folder) = super::model(name) else { continue };
        let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
        let model = Model::dual(&encoder, false, None, &Compute::Cpu).unwrap();
        for (tower, role) in model.towers().iter().zip([Role::Query, Role::Passage]) {
            let of_role = encoder.tower(role);
            let texts: Vec<Tokens> = TEXTS.iter().map(|text| of_role.tokenize(text).unwrap()).collect();
            check(name, tower, &of_role.on(with_gradients()).unwrap(), &texts);
        }
    }
    for name in ["bert-mean", "xlmr-mean"] {
        let Some(folder) = super::model(name) else { continue };
        let new_prefix = Some(NewPrefix { tokens: 5, seed: 1 });
        let encoder =
            DualEncoder::load(&folder, &LoadOptions { new_prefix, ..LoadOptions::default() }).unwrap();
        let model = Model::dual(&encoder, false, None, &Compute::Cpu).unwrap();
        let tower = encoder.tower(Role::Query);
        let texts: Vec<Tokens> = TEXTS.iter().map(|text| tower.tokenize(text).unwrap()).collect();
        let trained = model.towers()[0].weights().parameters().iter().filter(|parameter| !parameter.frozen);
        assert_eq!(trained.count(), 1, "{name}: the prefix alone");
        check(name, &model.towers()[0], &tower.on(with_gradients()).unwrap(), &texts);
    }
    for name in ["bert-ce", "ernie-ce", "xlmr-ce"] {
        let Some(folder) = super::model(name) else { continue };
        let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
        let encoder = CrossEncoder::load(&folder, &options).unwrap();
        let pair = |text: &&str| encoder.tokenize_pair("what do tollers retrieve", text).unwrap();
        let texts: Vec<Tokens> = TEXTS.iter().map(pair).collect();
        let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
        check(name, &model.towers()[0], &encoder.on(with_gradients()).unwrap(), &texts);
    }
}

#[test]
fn a_network_with_other_parameters_is_no_replica() {
    let folder = toller_testing::repository("tests/fixtures/tiny-bert");
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let passages = encoder.tower(Role::Passage);
    let dropped = Places::of_model(&folder, false).unwrap();
    let replica = |weights: &Weights| {
        let candle = Candle::new(Device::Cpu, Precision::F32).unwrap();
        Replica::new(passages.on(OnDevice::new(candle)).unwrap(), weights, dropped)
    };
    let weights = || passages.on(Recorder::default()).unwrap().backend().take_weights();
    assert!(replica(&weights()).is_ok());
    let (mut fewer, mut others) = (weights(), weights());
    fewer.parameters.pop();
    others.parameters.reverse();
    for weights in [fewer, others] {
        assert!(replica(&weights).is_err_and(|error| error.to_string().contains("not those of the network")));
    }
}
