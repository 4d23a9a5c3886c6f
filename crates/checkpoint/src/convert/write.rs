//! A model directory: config.json, vocab.txt, tokenizer_config.json, model.safetensors.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use toller_files::{AtomicFile, FileError};

use super::ConvertError;
use super::model::Model;
use crate::elements::StoredTensor;
use crate::safetensors::{self, Entry};

/// A model and where it goes.
pub(super) struct Directory<'a> {
    pub(super) path: &'a Path,
    pub(super) model: &'a Model<'a>,
    pub(super) tokenizer: Tokenizer<'a>,
}

/// BERT's tokenizer.
pub(super) struct Tokenizer<'a> {
    pub(super) tokens: &'a [String],
    pub(super) lower_case: bool,
    pub(super) max_length: usize,
}

/// The file without which a directory is not a model.
pub(super) const WEIGHTS_FILE: &str = "model.safetensors";

impl Directory<'_> {
    /// Writes all files.
    pub(super) fn write(&self) -> Result<(), ConvertError> {
        let path = self.path;
        std::fs::create_dir_all(path).map_err(FileError::on("create", path))?;
        write_json(&path.join("config.json"), &Value::Object(self.model.config.clone()))?;
        let vocabulary: String = self.tokenizer.tokens.iter().flat_map(|token| [token, "\n"]).collect();
        write_file(&path.join("vocab.txt"), vocabulary.as_bytes())?;
        let tokenizer = json!({
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.tokenizer.lower_case,
            "model_max_length": self.tokenizer.max_length,
        });
        write_json(&path.join("tokenizer_config.json"), &tokenizer)?;
        if self.model.pools_first_token {
            self.write_pooling()?;
        }
        write_weights(path, &self.model.tensors)
    }

    /// The form in which sentence-transformers states that the vector is the first token's state.
    fn write_pooling(&self) -> Result<(), ConvertError> {
        let folder = self.path.join("1_Pooling");
        std::fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
        let pooling = json!({
            "word_embedding_dimension": self.model.hidden(),
            "pooling_mode_cls_token": true,
            "pooling_mode_mean_tokens": false,
        });
        write_json(&folder.join("config.json"), &pooling)?;
        let module = |index: usize, path: &str, class: &str| {
            let class = format!("sentence_transformers.models.{class}");
            json!({"idx": index, "name": index.to_string(), "path": path, "type": class})
        };
        write_json(
            &self.path.join("modules.json"),
            &json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")]),
        )
    }
}

/// Writes tensors as the weights of a model.
pub(super) fn write_weights(
    directory: &Path,
    tensors: &BTreeMap<String, StoredTensor<'_>>,
) -> Result<(), ConvertError> {
    let entries: Vec<Entry<'_>> = tensors
        .iter()
        .map(|(name, tensor)| Entry { name, dtype: tensor.layout.dtype, shape: &tensor.layout.shape })
        .collect();
    safetensors::write(&directory.join(WEIGHTS_FILE), &entries, |name| {
        tensors[name].row_major().map_err(|problem| ConvertError::Variable {
            path: directory.to_owned(),
            name: name.to_owned(),
            problem,
        })
    })
}

/// Writes a file whole.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ConvertError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(FileError::on("write", path))?;
    Ok(file.commit()?)
}

fn write_json(path: &Path, value: &Value) -> Result<(), ConvertError> {
    write_file(path, format!("{value:#}\n").as_bytes())
}
