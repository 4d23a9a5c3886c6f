//! Text to vectors and pairs of texts to scores: resolving a model's name, tokenization, the transformer, pooling, dual
//! encoders, cross-encoders.

mod batch;
mod config;
pub mod convert;
mod cross_encoder;
mod dual_encoder;
mod elements;
pub mod env;
mod error;
mod fingerprint;
mod head;
mod input;
mod known_layout;
mod layout;
mod legacy_torch;
mod pooling;
mod reference;
pub mod resolve;
mod tensors;
mod text_encoder;
mod text_tokenizer;
mod tokenizer;
mod transformer;

pub use batch::{TokenizedText, Tokens};
pub use cross_encoder::{CrossEncoder, CrossEncoderOptions, ScoreActivation};
pub use dual_encoder::{DEFAULT_BATCH_TOKENS, DualEncoder, LoadOptions, Role};
pub use error::{Contradiction, EncoderError};
pub use input::{TextInput, TitleTypes};
pub use pooling::TextPooling;
pub use reference::{ReferenceCrossEncoder, ReferenceEncoder, ReferenceLogits};
pub use text_encoder::TextEncoder;
pub use text_tokenizer::TextTokenizer;
pub use tokenizer::PairTruncation;
