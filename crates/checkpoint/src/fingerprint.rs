//! What makes two models the same model.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Tensor;

/// A fingerprint over everything that decides a model's vectors: weights, tokenizer, architecture,
/// pooling, prompts. Files that say the same in another form (safetensors or pickle, with or without a
/// prefix) have the same fingerprint, since it is taken over the tensors as they are used.
pub struct Fingerprint {
    hasher: blake3::Hasher,
    /// Numbers of all tensors.
    parameters: u64,
    /// Of what was added since a part began.
    part: Option<blake3::Hasher>,
}

/// The hash of nothing yet.
fn empty() -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"toller model 1");
    hasher
}

/// A hash as 32 hexadecimal digits (128 bits).
fn digits(hasher: &blake3::Hasher) -> String {
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(32);
    hex
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    /// The fingerprint of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { hasher: empty(), parameters: 0, part: None }
    }

    /// Begins a part of the model that has a fingerprint of its own, too.
    pub fn begin_part(&mut self) {
        self.part = Some(empty());
    }

    /// The fingerprint of the part that began last, as if it were the whole.
    pub fn end_part(&mut self) -> String {
        digits(&self.part.take().unwrap_or_else(empty))
    }

    fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        if let Some(part) = &mut self.part {
            part.update(bytes);
        }
    }

    /// Adds a named value. Lengths are hashed too, so that no two sequences of values run together.
    pub fn value(&mut self, name: &str, value: &[u8]) {
        for part in [name.as_bytes(), value] {
            self.update(&(part.len() as u64).to_le_bytes());
            self.update(part);
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
        self.update(tensor.as_ref());
        self.parameters += tensor.shape().iter().product::<usize>() as u64;
    }

    /// The numbers of all tensors so far.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// The fingerprint as 32 hexadecimal digits (128 bits).
    pub fn finish(&self) -> String {
        digits(&self.hasher)
    }
}
