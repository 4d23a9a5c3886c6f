//! Keys and values in front of every text, in every layer.

use std::path::Path;

use toller_checkpoint::{Parameters, Tensor};
use toller_nn::{Backend, Matrix};

use super::Loader;
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::random::normal;

/// PEFT's file, and its tensor: `[tokens, layers * 2 * hidden]`, of each layer the keys, then the values.
const FILE: &str = "adapter_model.safetensors";
const TENSOR: &str = "prompt_embeddings";

/// The prefix of a model, if it has one.
pub(super) fn load<B: Backend>(
    loader: &mut Loader<'_, B>,
    folder: &Path,
    config: &TransformerConfig,
) -> Result<Option<B::Table>, EncoderError> {
    let Some(prefix) = config.prefix else { return Ok(None) };
    let attention = &config.attention;
    let columns = config.layers * 2 * attention.key_heads * attention.head_size;
    let shape = [prefix.tokens, columns];
    let tensor = match prefix.seed {
        Some(seed) => Tensor::new(shape.to_vec(), normal(seed, prefix.tokens * columns))?,
        None => Parameters::of_file(&folder.join(FILE))?.get(TENSOR, &shape)?,
    };
    loader.fingerprint.tensor(TENSOR, &tensor);
    loader.backend.name_tensor(folder, TENSOR, tensor.shape());
    let matrix = Matrix { values: tensor.values(), rows: prefix.tokens, columns };
    Ok(Some(loader.backend.table(matrix)?))
}
