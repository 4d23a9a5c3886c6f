//! Tests of whole gradients and of whole runs.

mod prefix;
mod reference;

#[cfg(feature = "candle")]
mod candle;
mod dev;
#[cfg(feature = "candle")]
mod devices;
mod gradient;
mod refused;
mod run;
mod saved;
mod tokens;
mod torch;
