//! What makes two models the same model.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Tensor;

/// A fingerprint over everything that decides a model's vectors: weights, tokenizer, architecture,
/// pooling, prompts. Files that say the same in another form (safetensors or pickle, with or without a
/// prefix) have the same fingerprint, since it is taken over the tensors as they are used.
pub struct Fingerprint(blake3::Hasher);

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    /// The fingerprint of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"toller model 1");
        Self(hasher)
    }

    /// Adds a named value. Lengths are hashed too, so that no two sequences of values run together.
    pub fn value(&mut self, name: &str, value: &[u8]) {
        for part in [name.as_bytes(), value] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    /// Adds a JSON value, the keys of its objects in byte order, however the parser keeps them.
    pub fn json(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<&String, &Value> = fields.iter().collect();
                self.value(name, fields.len().to_string().as_bytes());
                fields.into_iter().for_each(|(key, value)| self.json(key, value));
            }
            Value::Array(items) => {
                self.value(name, items.len().to_string().as_bytes());
                items.iter().for_each(|item| self.json("", item));
            }
            plain => self.value(name, plain.to_string().as_bytes()),
        }
    }

    /// Adds a tensor.
    pub fn tensor(&mut self, name: &str, tensor: &Tensor) {
        self.value(name, format!("{:?}", tensor.shape()).as_bytes());
        self.0.update(tensor.as_ref());
    }

    /// The fingerprint as 32 hexadecimal digits (128 bits).
    pub fn finish(&self) -> String {
        let mut hex = self.0.finalize().to_hex().to_string();
        hex.truncate(32);
        hex
    }
}
