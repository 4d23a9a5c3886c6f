//! A prefix in the files of PEFT, next to the transformer.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use toller_checkpoint::{Parameters, Tensor, read_json};

use super::CONFIG;
use super::files::change_json;
use crate::TrainError;
use crate::network::PREFIX;

/// Writes the keys and values in front of every text, `[tokens, layers * 2 * hidden]`.
pub(super) fn write_prefix(transformer: &Path, prefix: Tensor) -> Result<(), TrainError> {
    let tokens = prefix.shape()[0];
    let path = transformer.join("adapter_model.safetensors");
    Parameters::from_tensors(&path, [(PREFIX.to_owned(), prefix)]).write_changed(&path, &BTreeMap::new())?;
    let config: Map<String, Value> = read_json(&transformer.join(CONFIG))?.unwrap_or_default();
    let of_model = |names: &[&str]| names.iter().find_map(|name| config.get(*name)).cloned();
    change_json(&transformer.join("adapter_config.json"), |adapter| {
        adapter.insert("peft_type".to_owned(), json!("PREFIX_TUNING"));
        adapter.insert("task_type".to_owned(), json!("FEATURE_EXTRACTION"));
        adapter.insert("num_virtual_tokens".to_owned(), json!(tokens));
        adapter.insert("prefix_projection".to_owned(), json!(false));
        adapter.insert("num_transformer_submodules".to_owned(), json!(1));
        adapter.insert("inference_mode".to_owned(), json!(true));
        for (key, names) in [
            ("num_layers", &["num_hidden_layers", "n_layers"]),
            ("num_attention_heads", &["num_attention_heads", "n_heads"]),
            ("token_dim", &["hidden_size", "dim"]),
        ] {
            if let Some(value) = of_model(names) {
                adapter.insert(key.to_owned(), value);
            }
        }
    })
}
