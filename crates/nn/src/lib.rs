//! The numeric operations of the engine: `reference` is slow and obviously right, `cpu` is fast and
//! gives the same bits on every instruction set. Each operation plugs into candle as a custom operation.

mod activation;
mod attention;
mod cpu;
mod custom_op;
mod embed;
mod gated_linear;
mod layer_norm;
mod linear;
mod normalize;
mod pooling;
mod precision;
pub mod profile;
pub mod reference;
mod relative_bias;
mod rotary;
mod sequences;

pub use activation::{Activation, UnknownActivation};
pub use attention::{AttentionOptions, attention};
pub use embed::{Lookup, embed};
pub use gated_linear::GatedLinear;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use normalize::normalize;
pub use pooling::{Pooling, pool, pool_after};
pub use precision::{Precision, UnknownPrecision};
pub use relative_bias::RelativeBias;
pub use rotary::Rotary;
pub use sequences::Sequences;

#[cfg(test)]
mod tests;
