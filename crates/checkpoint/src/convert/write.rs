//! A model directory: config.json, vocab.txt, tokenizer_config.json, model.safetensors.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use toller_files::{AtomicFile, FileError};

use super::ConvertError;
use super::model::Model;
use crate::elements::Element;

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

/// A tensor of a safetensors file.
pub(super) struct Entry {
    pub(super) name: String,
    /// As safetensors names types.
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: usize,
}

/// Checks that a directory is not there or holds nothing.
pub(super) fn check_empty(directory: &Path) -> Result<(), ConvertError> {
    if !directory.exists() {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(directory).map_err(FileError::on("list", directory))?;
    if entries.next().is_some() { Err(ConvertError::OutputExists(directory.to_owned())) } else { Ok(()) }
}

impl Directory<'_> {
    /// Writes all files, the weights last: without them the directory is no model.
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
        let entries: Vec<Entry> = self
            .model
            .tensors
            .iter()
            .map(|(name, tensor)| Entry {
                name: name.clone(),
                dtype: match tensor.layout.element {
                    Element::F16 => "F16",
                    Element::Bf16 => "BF16",
                    Element::F64 => "F64",
                    Element::F32 | Element::Integer { .. } => "F32",
                },
                shape: tensor.layout.shape.clone(),
                bytes: tensor.layout.len() * tensor.layout.element.bytes(),
            })
            .collect();
        write_safetensors(&path.join("model.safetensors"), &entries, |index, out| {
            let Some((name, tensor)) = self.model.tensors.iter().nth(index) else { return Ok(()) };
            let bytes = tensor.row_major().map_err(|problem| ConvertError::Variable {
                path: path.to_owned(),
                name: name.clone(),
                problem,
            })?;
            out.write_all(&bytes).map_err(FileError::on("write", path)).map_err(ConvertError::from)
        })
    }

    /// sentence-transformers' way to say that the vector is the first token's state.
    fn write_pooling(&self) -> Result<(), ConvertError> {
        let folder = self.path.join("1_Pooling");
        std::fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
        let pooling = json!({
            "word_embedding_dimension": self.model.hidden(),
            "pooling_mode_cls_token": true,
            "pooling_mode_mean_tokens": false,
        });
        write_json(&folder.join("config.json"), &pooling)?;
        let module = |index: usize, path: &str, class: &str| json!({"idx": index, "name": index.to_string(), "path": path, "type": format!("sentence_transformers.models.{class}")});
        write_json(
            &self.path.join("modules.json"),
            &json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")]),
        )
    }
}

/// Writes tensors one after the other; `write` writes the one of an index.
pub(super) fn write_safetensors(
    path: &Path,
    entries: &[Entry],
    mut write: impl FnMut(usize, &mut dyn Write) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let mut header = Map::new();
    // Without it, transformers refuses the file.
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let mut end = 0usize;
    for entry in entries {
        let start = end;
        end = end.saturating_add(entry.bytes);
        let value = json!({"dtype": entry.dtype, "shape": entry.shape, "data_offsets": [start, end]});
        header.insert(entry.name.clone(), value);
    }
    let mut header = Value::Object(header).to_string();
    // Data begin at a multiple of 8 bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut file = AtomicFile::create(path)?;
    let start = (header.len() as u64).to_le_bytes();
    file.write_all(&start)
        .and_then(|()| file.write_all(header.as_bytes()))
        .map_err(FileError::on("write", path))?;
    for index in 0..entries.len() {
        write(index, &mut file)?;
    }
    file.commit()?;
    Ok(())
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
