//! Models against Hugging Face transformers in float64, and what their files may say.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod architectures;
#[cfg(feature = "candle")]
mod candle;
mod chat_models;
mod common;
mod configurations;
mod convert;
mod cross_encoder;
mod golden;
mod gpu;
mod layouts;
mod lora;
mod pairs;
mod prefix;
mod sparse;
mod token_classifier;
mod tokenizer_flags;
