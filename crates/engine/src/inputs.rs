//! The files that are read where a collection or queries are named by files and folders. A folder as BEIR
//! publishes them holds both, as files or, on Hugging Face, as folders; only what is asked for is taken.

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
    files(paths, |folder| of_beir(folder, "queries"))
}

/// The file or folder of the passages in a folder in BEIR's form; `None` for other folders and for files.
#[must_use]
pub fn beir_corpus(folder: &Path) -> Option<PathBuf> {
    of_beir(folder, "corpus")
}

fn files<P: AsRef<Path>>(
    paths: &[P],
    part: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<Vec<Input>, FileError> {
    expand(paths.iter().map(AsRef::as_ref).map(|path| part(path).unwrap_or_else(|| path.to_owned())))
}

/// The part of this name of a folder in BEIR's form: a file of JSON lines, compressed or not; or a folder, if
/// there are both.
fn of_beir(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = |compression: Compression| match compression.ending() {
        None => folder.join(format!("{name}.jsonl")),
        Some(ending) => folder.join(format!("{name}.jsonl.{ending}")),
    };
    let file = Compression::ALL.into_iter().map(path).find(|file| file.is_file());
    let has_folders = || ["corpus", "queries"].iter().all(|part| folder.join(part).is_dir());
    file.or_else(|| has_folders().then(|| folder.join(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toller_files::Input;

    use super::{beir_corpus, collection_files, query_files};

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

    #[test]
    fn a_folder_of_two_folders_stands_for_the_one_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str| {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
        };
        let (passages, queries) = ("corpus/corpus-0.parquet", "queries/queries-0.parquet");
        let inputs = |names: &[&str]| names.iter().map(|name| Input::File(at(name))).collect::<Vec<_>>();
        write(passages);
        assert_eq!(beir_corpus(folder.path()), None);
        write(queries);
        assert_eq!(collection_files(&[folder.path()]).unwrap(), inputs(&[passages]));
        assert_eq!(query_files(&[folder.path()]).unwrap(), inputs(&[queries]));
        // Another folder next to them is not part of either.
        write("qrels/test.tsv");
        assert_eq!(collection_files(&[folder.path()]).unwrap(), inputs(&[passages]));
        write("corpus.jsonl");
        assert_eq!(collection_files(&[folder.path()]).unwrap(), inputs(&["corpus.jsonl"]));
    }
}
