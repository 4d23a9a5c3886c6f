//! Texts to vectors or to weights of terms, pairs of texts to scores, and tokens to labels: the transformer,
//! pooling, dual encoders, sparse encoders, cross-encoders, token classifiers.

mod batch;
mod class;
mod compute;
mod config;
mod cross_encoder;
mod dual_encoder;
mod error;
mod head;
mod input;
mod known_layout;
mod layout;
mod masked_lm;
mod modules;
mod network;
mod pooling;
mod random;
mod reference;
mod static_terms;
mod terms;
mod text_chat;
mod text_encoder;
mod text_tokenizer;
mod titles;
mod token_classifier;
mod tower;
mod transformer;
mod windows;

pub use batch::BatchSize;
pub use class::Class;
pub use compute::Compute;
pub use config::NewPrefix;
pub use cross_encoder::{CrossEncoder, CrossEncoderOptions, NewHead, PairText, ScoreActivation};
pub use dual_encoder::{DualEncoder, LoadOptions, prompt_names};
pub use error::{Contradiction, EncoderError};
pub use input::{TextInput, TitleTypes};
pub use network::{Network, Output, Watch};
pub use pooling::TextPooling;
pub use reference::{ReferenceCrossEncoder, ReferenceEncoder, ReferenceLogits};
pub use terms::Terms;
pub use text_encoder::TextEncoder;
pub use text_tokenizer::TextTokenizer;
pub use titles::{NotJoined, TitleMode, TitleName};
pub use token_classifier::{Document, TokenClassifier, TokenClassifierOptions, Window};
pub use toller_ir::Role;
