//! The operations of a transformer over flat batches, and the backends that compute them.
//!
//! A model is written once over [`Backend`], a trait of fused steps. [`Cpu`] is fast and gives the same bits
//! on every instruction set; [`Cuda`] runs the kernels of `kernels/` on a GPU; [`Reference`] is slow,
//! obviously right, and computes in f64. `Candle`, with the feature `candle`, computes on candle's devices
//! and has gradients. An operation's parts are together: `attention/cpu.rs` is next to
//! `attention/reference.rs`.

mod activation;
mod attention;
mod backend;
#[cfg(feature = "candle")]
mod candle;
mod cpu;
mod cuda;
mod embed;
mod error;
mod gated_linear;
mod linear;
mod norm;
mod parameters;
mod pooling;
mod precision;
mod prefix;
pub mod profile;
mod reference;
mod sequences;
mod unit;

pub use activation::{Activation, UnknownActivation};
pub use backend::{Backend, Closing, Prefix, Stream, Work};
#[cfg(feature = "candle")]
pub use candle::{Candle, CandleAttention, CandleBatch, CandleDevice, CandleLinear, CandleNorm};
/// candle's devices, tensors and gradients.
#[cfg(feature = "candle")]
pub use candle_core;
pub use cpu::Cpu;
pub use cuda::{
    Cuda, CudaAttention, CudaBatch, CudaLinear, CudaNorm, CudaScratch, CudaStates, CudaTable, operation_of,
};
pub use error::NnError;
pub use parameters::{
    AttentionParameters, LinearParameters, Matrix, NormParameters, NormPlacement, Place, RotaryParameters,
};
pub use pooling::Pooling;
pub use precision::Precision;
pub use reference::Reference;
pub use sequences::Sequences;

#[cfg(test)]
mod tests;
