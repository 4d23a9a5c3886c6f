//! Why parameters cannot be laid out, or a step cannot be computed.

/// Why a backend cannot compute what it is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    /// Shapes that do not agree.
    #[error("{0}")]
    Shape(String),
    /// A step that the backend does not have.
    #[error("{0}")]
    Unsupported(String),
    /// A weight with more inputs than sums of bytes have room for.
    #[error("int8 sums over {max} inputs at most, not {depth}")]
    Int8Depth {
        /// The weight's inputs.
        depth: usize,
        /// The most inputs that are possible.
        max: usize,
    },
}
