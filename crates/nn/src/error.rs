//! Why parameters cannot be laid out, or a step cannot be computed.

use toller_gpu::DeviceError;

use crate::Precision;

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
    /// A precision that GPUs do not have.
    #[error("models do not compute in {0} on a GPU")]
    GpuPrecision(Precision),
    /// A precision that candle does not have.
    #[error("models do not compute in {0} through candle")]
    CandlePrecision(Precision),
    /// A step of candle.
    #[error("candle: {0}")]
    Candle(String),
    /// A batch that does not fit in the memory of candle's GPU.
    #[error("candle's GPU has too little free memory: {0}")]
    CandleMemory(String),
    /// A device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A weight with more inputs than sums of bytes have room for.
    #[error("int8 sums over {max} inputs at most, not {depth}")]
    Int8Depth {
        /// The weight's inputs.
        depth: usize,
        /// The most inputs that are possible.
        max: usize,
    },
}

#[cfg(feature = "candle")]
impl From<candle_core::Error> for NnError {
    fn from(error: candle_core::Error) -> Self {
        let message = error.to_string();
        // candle's errors are of this type only in builds with CUDA, and are wrapped in others.
        let is_of_memory = ["CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED"];
        if is_of_memory.iter().any(|code| message.contains(code)) {
            return Self::CandleMemory(message);
        }
        Self::Candle(message)
    }
}
