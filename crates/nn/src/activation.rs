//! Activation functions.

use std::str::FromStr;

use toller_simd::{self as simd, Simd};

/// The activation functions of the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// x.
    #[default]
    Identity,
    /// x/2 (1 + erf(x/sqrt(2))): `gelu` (Hendrycks and Gimpel 2016, section 2).
    Gelu,
    /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): `gelu_new`, `gelu_pytorch_tanh` (same, section 2).
    GeluTanh,
    /// max(x, 0).
    Relu,
    /// x / (1 + exp(-x)): `silu`, `swish`.
    Silu,
    /// tanh(x).
    Tanh,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
}

/// A name that is not a known activation function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown activation function {0:?}; known are {names}", names = Activation::NAMES)]
pub struct UnknownActivation(pub String);

impl FromStr for Activation {
    type Err = UnknownActivation;

    /// Parses the names of Hugging Face configurations (`gelu`) and of PyTorch modules
    /// (`torch.nn.modules.activation.Tanh`).
    fn from_str(name: &str) -> Result<Self, UnknownActivation> {
        let last = name.rsplit('.').next().unwrap_or(name);
        match last.to_ascii_lowercase().as_str() {
            "identity" | "linear" => Ok(Self::Identity),
            "gelu" | "gelu_python" => Ok(Self::Gelu),
            // Several names of one formula.
            "gelu_new" | "gelu_fast" | "gelu_accurate" | "gelu_pytorch_tanh" | "gelu_python_tanh"
            | "gelu_tanh" => Ok(Self::GeluTanh),
            "relu" => Ok(Self::Relu),
            "silu" | "swish" => Ok(Self::Silu),
            "tanh" => Ok(Self::Tanh),
            "sigmoid" => Ok(Self::Sigmoid),
            _ => Err(UnknownActivation(name.to_owned())),
        }
    }
}

impl Activation {
    /// The known names, for a message.
    pub const NAMES: &str =
        "gelu, gelu_new (gelu_pytorch_tanh, gelu_fast), relu, silu (swish), tanh, sigmoid and identity";

    /// The name in Hugging Face configurations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_new",
            Self::Relu => "relu",
            Self::Silu => "silu",
            Self::Tanh => "tanh",
            Self::Sigmoid => "sigmoid",
        }
    }

    /// The function in f64: the reference.
    #[must_use]
    pub fn reference(self, x: f64) -> f64 {
        match self {
            Self::Identity => x,
            Self::Gelu => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
            Self::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + libm::tanh(inner))
            }
            Self::Relu => x.max(0.0),
            Self::Silu => x / (1.0 + libm::exp(-x)),
            Self::Tanh => libm::tanh(x),
            Self::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
        }
    }

    /// Applies the function to sixteen lanes.
    #[inline(always)]
    pub(crate) fn apply<S: Simd>(self, simd: S, x: S::F32) -> S::F32 {
        match self {
            Self::Identity => x,
            Self::Gelu => simd::gelu(simd, x),
            Self::GeluTanh => simd::gelu_tanh(simd, x),
            // The second operand stays if it is NaN.
            Self::Relu => simd.max(simd.splat(0.0), x),
            Self::Silu => simd.mul(x, simd::sigmoid(simd, x)),
            Self::Tanh => simd::tanh(simd, x),
            Self::Sigmoid => simd::sigmoid(simd, x),
        }
    }
}
