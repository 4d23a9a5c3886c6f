//! Search over stored embeddings: [`FlatIndex`] scores every vector of a store, exactly.
//!
//! It answers "which passages are nearest to these query vectors?". It does not make the query vectors
//! (the encoder does), nor approximate: there is no graph and no quantizer to train or to rebuild.

mod error;
mod flat;
mod read_ahead;

pub use error::IndexError;
pub use flat::FlatIndex;
pub use read_ahead::available_memory;
