//! The names of a model's files and folders.

use std::path::Path;

use toller_files::FileError;

/// The folders of a model with two encoders: the queries' and the passages'.
pub const TOWERS: [&str; 2] = ["question_encoder", "ctx_encoder"];

/// The files that a tokenizer can be, the best first.
pub const TOKENIZER_FILES: [&str; 5] =
    ["tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model"];

/// The names of what a folder holds, sorted. A name that is no Unicode is none of a model's.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(FileError::on("list", folder))? {
        names.extend(entry.map_err(FileError::on("list", folder))?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
