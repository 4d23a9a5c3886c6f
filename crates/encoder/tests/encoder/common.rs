//! What the tests share: copies of models that a test may change, expected values, errors.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use toller_encoder::{DualEncoder, EncoderError, LoadOptions, TextEncoder};
use toller_tokenizer::Tokens;

/// A text with its tokens and its vectors in float64: a line of an `expected` file.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) role: Option<String>,
    pub(crate) input_ids: Vec<u32>,
    pub(crate) embedding: Vec<f64>,
    pub(crate) pooler: Option<Vec<f64>>,
}

/// A pair of texts with its tokens.
#[derive(Deserialize)]
pub(crate) struct Pair {
    pub(crate) query: String,
    pub(crate) passage: String,
    pub(crate) input_ids: Vec<u32>,
}

/// The lines of a file of JSON, at least one.
pub(crate) fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<T> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!lines.is_empty(), "{} has no lines", path.display());
    lines
}

/// Gives tensors of a file other names.
pub(crate) fn rename_tensors(path: &Path, from: &str, to: &str) {
    let bytes = fs::read(path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&rest[..length]).unwrap().replace(from, to);
    let renamed = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &rest[length..]].concat();
    fs::write(path, renamed).unwrap();
}

/// The length of the difference, as a share of the expected vector's length.
pub(crate) fn relative_error(got: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let difference: f64 = got.iter().zip(expected).map(|(&a, b)| (f64::from(a) - b).powi(2)).sum();
    let length: f64 = expected.iter().map(|b| b * b).sum();
    (difference / length).sqrt()
}

/// Token ids are identical, vectors are near, and a text by itself has the same bits as in one batch of all.
pub(crate) fn check(
    tower: &TextEncoder,
    cases: &[&Case],
    tolerance: f64,
    expected: impl Fn(&Case) -> &[f64],
) {
    let tokens: Vec<Tokens> = cases.iter().map(|case| tower.tokenize(&case.text).unwrap()).collect();
    let together = tower.encode(&tokens).unwrap();
    for ((case, tokens), got) in cases.iter().zip(&tokens).zip(together.chunks_exact(tower.dim())) {
        assert_eq!(tokens.input_ids, case.input_ids, "token ids of {:?}", case.text);
        let error = relative_error(got, expected(case));
        assert!(error <= tolerance, "relative error {error:e} for {} tokens, {:?}", tokens.len(), case.text);
        assert_eq!(tower.encode(std::slice::from_ref(tokens)).unwrap(), got, "{:?} alone", case.text);
    }
}

/// A copy of a model that a test may change.
pub(crate) struct Copy(TempDir);

impl Copy {
    /// A copy of all files of a folder, and of the folders in it.
    pub(crate) fn of(folder: &Path) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_files(folder, copy.path());
        Self(copy)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, value: &Value) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    }

    /// Changes one JSON file, or makes it.
    pub(crate) fn edit(self, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let text = fs::read(self.path().join(name));
        let mut value = text.map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
        change(&mut value);
        self.write(name, &value);
        self
    }

    /// Sets a field of one JSON file.
    pub(crate) fn set(self, name: &str, key: &str, value: Value) -> Self {
        self.edit(name, |file| file[key] = value)
    }

    pub(crate) fn remove(self, name: &str) -> Self {
        fs::remove_file(self.path().join(name)).unwrap();
        self
    }

    /// Adds tensors to a file of weights, or makes it.
    pub(crate) fn add_tensors(self, file: &str, tensors: &[(&str, &[usize], Vec<f32>)]) -> Self {
        let path = self.path().join(file);
        let bytes = fs::read(&path).unwrap_or_else(|_| b"\x02\0\0\0\0\0\0\0{}".to_vec());
        let start = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let mut header: Value = serde_json::from_slice(&bytes[8..start]).unwrap();
        let mut data = bytes[start..].to_vec();
        for (name, shape, values) in tensors {
            let at = data.len();
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            header[name] = json!({"dtype": "F32", "shape": shape, "data_offsets": [at, data.len()]});
        }
        let header = header.to_string();
        let length = (header.len() as u64).to_le_bytes();
        fs::write(&path, [&length[..], header.as_bytes(), &data].concat()).unwrap();
        self
    }

    /// The error that loading must end in.
    pub(crate) fn error(&self, options: &LoadOptions) -> EncoderError {
        DualEncoder::load(self.path(), options).err().unwrap()
    }
}

/// Copies all files of a folder, and the folders in it.
pub(crate) fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            copy_files(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}
