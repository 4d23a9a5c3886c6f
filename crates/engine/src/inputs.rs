//! The files that are read where a collection or queries are named by files and folders. A folder as BEIR
//! publishes them holds both; only the file that is asked for is taken.

use std::path::{Path, PathBuf};

use toller_files::{Compression, FileError, Input, expand};

use crate::event::Event;
use crate::{Engine, EngineError};

impl Engine {
    /// [`collection_files`], with an [`Event::BeirCorpus`] for each folder in BEIR's form.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn collection_files<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Vec<Input>, EngineError> {
        for folder in paths.iter().map(AsRef::as_ref) {
            if let Some(file) = beir_corpus(folder) {
                self.notify(Event::BeirCorpus { folder, file: &file });
            }
        }
        Ok(collection_files(paths)?)
    }

    /// [`query_files`], as the engine's own.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn query_files<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Vec<Input>, EngineError> {
        Ok(query_files(paths)?)
    }
}

/// The files of a collection.
///
/// # Errors
/// When a folder cannot be listed.
pub fn collection_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>, FileError> {
    files(paths, beir_corpus)
}

/// The files of queries.
///
/// # Errors
/// When a folder cannot be listed.
pub fn query_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>, FileError> {
    files(paths, |folder| beir_file(folder, "queries.jsonl"))
}

/// The file of the passages in a folder in BEIR's form; `None` for other folders and for files.
#[must_use]
pub fn beir_corpus(folder: &Path) -> Option<PathBuf> {
    beir_file(folder, "corpus.jsonl")
}

fn files<P: AsRef<Path>>(
    paths: &[P],
    of_beir: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<Vec<Input>, FileError> {
    expand(paths.iter().map(AsRef::as_ref).map(|path| of_beir(path).unwrap_or_else(|| path.to_owned())))
}

/// The file of this name in a folder, compressed or not.
fn beir_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = |compression: Compression| match compression.ending() {
        None => folder.join(name),
        Some(ending) => folder.join(format!("{name}.{ending}")),
    };
    Compression::ALL.into_iter().map(path).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toller_files::Input;

    use super::{collection_files, query_files};

    #[test]
    fn a_folder_in_beirs_form_stands_for_the_file_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["other.jsonl", "corpus.jsonl.zst", "queries.jsonl.xz", "queries.jsonl.gz"] {
            fs::write(at(name), "").unwrap();
        }
        let one = |name: &str| vec![Input::File(at(name))];
        assert_eq!(collection_files(&[folder.path()]).unwrap(), one("corpus.jsonl.zst"));
        assert_eq!(query_files(&[folder.path()]).unwrap(), one("queries.jsonl.gz"));
        assert_eq!(query_files(&[at("other.jsonl")]).unwrap(), one("other.jsonl"));
    }
}
