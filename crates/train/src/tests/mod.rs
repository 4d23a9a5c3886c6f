//! Tests of whole gradients and of whole runs.

mod reference;

#[cfg(feature = "candle")]
mod candle;
mod dev;
mod gradient;
mod run;
mod tokens;
mod torch;
