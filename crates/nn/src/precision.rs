//! What matrix products are computed in.

use std::fmt;
use std::str::FromStr;

/// What the matrix products of a model are computed in. Sums are f32, or exact; what is not a matrix product
/// (embeddings, layer norm, softmax, pooling) is f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Single precision.
    #[default]
    F32,
    /// Weights and inputs of linear layers rounded to f16, multiplied in f32: the accuracy of f16, not its speed.
    F16,
    /// Weights and inputs of linear layers, and attention, in bf16. On every CPU the bits of the instruction VDPBF16PS.
    Bf16,
    /// Linear layers in bytes with exact sums: a scale for each output of a weight, and for each row of an
    /// input as it comes (symmetric dynamic quantisation). Attention in bf16.
    Int8,
}

/// A name that is no precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a dtype to compute in: expected f32, f16, bf16 or int8")]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16, Self::Int8];

    /// The name on the command line and in stores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(name: &str) -> Result<Self, UnknownPrecision> {
        let found = Self::ALL.into_iter().find(|precision| precision.name() == name);
        found.ok_or_else(|| UnknownPrecision(name.to_owned()))
    }
}
