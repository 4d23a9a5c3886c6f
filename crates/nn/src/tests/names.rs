//! The names of activations and precisions.

use super::ACTIVATIONS;
use crate::{Activation, Precision};

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
