//! The files of a model: their names, the weights in them, the manifests of published models, and the
//! conversion of other frameworks' checkpoints.

pub mod convert;
mod elements;
mod error;
mod files;
mod fingerprint;
mod json;
mod lora;
mod manifest;
mod model_type;
mod parameters;
mod read;
mod safetensors;
mod tensor;
mod torch;
mod weights;

pub use error::ModelError;
pub use files::{ModuleEntry, TOKENIZER_FILES, TOWERS, read_modules, read_route, stays_inside};
pub use fingerprint::Fingerprint;
pub use json::{read_json, required_json};
pub use lora::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, AdapterConfig, labels_of_adapter};
pub use manifest::{CheckpointCopy, KnownModel, MANIFESTS, PypiCopy};
pub use model_type::ModelType;
pub use parameters::Parameters;
pub use read::{read_file, read_text};
pub use tensor::Tensor;
pub use weights::{ShardIndex, choose as choose_weights, is_index};
