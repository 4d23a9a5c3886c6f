//! The names of a model's files and folders.

use std::path::Path;

use serde::Deserialize;

use crate::{ModelError, read_json};

/// The folders of a model with two encoders: the queries' and the passages'.
pub const TOWERS: [&str; 2] = ["question_encoder", "ctx_encoder"];

/// The files that a tokenizer can be, the best first.
pub const TOKENIZER_FILES: [&str; 5] =
    ["tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model"];

/// The file in which sentence-transformers lists the modules of a model.
const MODULES: &str = "modules.json";

/// One entry of `modules.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ModuleEntry {
    /// The module's folder; empty for the model's own.
    pub path: String,
    /// The Python class, `sentence_transformers.models.Pooling`.
    #[serde(rename = "type")]
    pub class: String,
}

/// The entries of the `modules.json` in a model's directory; `None` without the file.
///
/// # Errors
/// When the file is not as expected, or a folder lies outside of the model.
pub fn read_modules(directory: &Path) -> Result<Option<Vec<ModuleEntry>>, ModelError> {
    let path = directory.join(MODULES);
    let modules: Option<Vec<ModuleEntry>> = read_json(&path)?;
    let mut entries = modules.iter().flatten();
    match entries.find(|entry| !entry.path.is_empty() && !stays_inside(entry.path.trim_end_matches('/'))) {
        None => Ok(modules),
        Some(entry) => {
            let problem = format!("the path {:?} leads out of the model's directory", entry.path);
            Err(ModelError::Config { path, problem })
        }
    }
}

/// Whether a path that a model's file names stays inside the model's directory.
#[must_use]
pub fn stays_inside(path: &str) -> bool {
    !path.contains(['\\', ':', '\0']) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::{read_modules, stays_inside};

    #[test]
    fn paths_stay_inside() {
        assert!(stays_inside("1_Pooling/config.json"));
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", "C:/x", "./x"] {
            assert!(!stays_inside(path), "{path}");
        }
    }

    #[test]
    fn modules_lie_in_the_model() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_modules(folder.path()).unwrap(), None);
        let write = |path: &str| {
            let entry = format!("[{{\"path\": {path:?}, \"type\": \"a.Pooling\"}}]");
            fs::write(folder.path().join("modules.json"), entry).unwrap();
            read_modules(folder.path())
        };
        for path in ["", "1_Pooling", "1_Pooling/", "deep/er"] {
            assert_eq!(write(path).unwrap().unwrap()[0].path, path);
        }
        for path in ["../outside", "/etc", "a/../..", "..", "//"] {
            let error = write(path).unwrap_err().to_string();
            assert!(error.contains("modules.json: the path") && error.contains("leads out"), "{error}");
        }
    }
}
