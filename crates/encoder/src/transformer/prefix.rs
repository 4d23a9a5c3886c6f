//! Keys and values in front of every text, in every layer.

use std::path::Path;

use toller_checkpoint::{Parameters, Tensor};
use toller_nn::{Backend, Matrix};

use super::Loader;
use crate::EncoderError;
use crate::config::TransformerConfig;

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
        Some(seed) => Tensor::new(shape.to_vec(), random(seed, prefix.tokens * columns))?,
        None => Parameters::of_file(&folder.join(FILE))?.get(TENSOR, &shape)?,
    };
    loader.fingerprint.tensor(TENSOR, &tensor);
    loader.backend.name_tensor(folder, TENSOR, tensor.shape());
    let matrix = Matrix { values: tensor.values(), rows: prefix.tokens, columns };
    Ok(Some(loader.backend.table(matrix)?))
}

/// Random values with a mean of 0 and a variance of 1, as PEFT's: the sum of twelve uniform numbers is nearly
/// normal, and has the same bits on every machine.
fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    // Steele et al. 2014: SplitMix64.
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut uniforms = || {
        let bits = next();
        [0, 16, 32, 48].map(|shift| f64::from((bits >> shift) as u16) / 65_536.0).iter().sum::<f64>()
    };
    // Half a step of the uniform numbers, twelve times, is negligible.
    (0..count).map(|_| (uniforms() + uniforms() + uniforms() - 6.0) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn random_values_are_nearly_standard_normal() {
        let values = random(7, 10_000);
        let mean = |of: &dyn Fn(f64) -> f64| values.iter().map(|&x| of(f64::from(x))).sum::<f64>() / 1e4;
        assert!(mean(&|x| x).abs() < 0.03 && (mean(&|x| x * x) - 1.0).abs() < 0.05);
        assert_eq!(random(7, 3), values[..3]);
        assert_ne!(random(8, 3), values[..3]);
    }
}
