//! A folder of files that appear together, when all are complete.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toller_corpus::{TrecRunWriter, id_flaw, qrels_separator};
use toller_files::{AtomicFile, CompleteFile, FileError, Input, commit_together};
use toller_ir::{Qrels, Query, Run};

use crate::error::{CREATE_DIRECTORY, DatasetError};

/// A folder that is being filled. Its files appear when it is committed.
#[derive(Debug)]
pub(crate) struct Folder {
    directory: PathBuf,
    names: Vec<String>,
    /// The file that is being written.
    open: Option<AtomicFile>,
    complete: Vec<CompleteFile>,
}

/// A file of a [`Folder`], until the next one is begun.
#[derive(Debug)]
pub(crate) struct FolderFile<'a> {
    path: PathBuf,
    file: &'a mut AtomicFile,
}

/// A file of a [`Folder`] that is written at the same time as others.
#[derive(Debug)]
pub(crate) struct ParallelFile {
    path: PathBuf,
    file: AtomicFile,
}

impl ParallelFile {
    /// The file, to write to it.
    pub(crate) fn writer(&mut self) -> FolderFile<'_> {
        FolderFile { path: self.path.clone(), file: &mut self.file }
    }
}

impl Folder {
    /// Makes the folder, if it does not exist.
    pub(crate) fn create(directory: &Path) -> Result<Self, DatasetError> {
        fs::create_dir_all(directory).map_err(FileError::on(CREATE_DIRECTORY, directory))?;
        Ok(Self { directory: directory.to_owned(), names: Vec::new(), open: None, complete: Vec::new() })
    }

    /// The names of the files so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Begins a file; the one before is complete.
    pub(crate) fn file(&mut self, name: &str) -> Result<FolderFile<'_>, DatasetError> {
        self.close()?;
        let path = self.directory.join(name);
        self.names.push(name.to_owned());
        let file = self.open.insert(AtomicFile::create(&path)?);
        Ok(FolderFile { path, file })
    }

    /// Begins a file that is written at the same time as others.
    pub(crate) fn parallel_file(&mut self, name: &str) -> Result<ParallelFile, DatasetError> {
        let path = self.directory.join(name);
        self.names.push(name.to_owned());
        Ok(ParallelFile { file: AtomicFile::create(&path)?, path })
    }

    /// Takes such a file, which is complete.
    pub(crate) fn add(&mut self, file: ParallelFile) -> Result<(), DatasetError> {
        self.complete.push(file.file.complete()?);
        Ok(())
    }

    /// Writes judgments, in TREC's format. Tabs separate the columns if a document's identifier has spaces:
    /// Toller reads these, and trec_eval does not.
    pub(crate) fn qrels(&mut self, name: &str, qrels: &Qrels) -> Result<(), DatasetError> {
        let between =
            qrels_separator(qrels).map_err(|id| bad_id(id, id_flaw("document", id).unwrap_or(UNJUDGED)))?;
        let mut file = self.file(name)?;
        for (query, judged) in qrels.iter() {
            for (document, grade) in judged {
                file.line(format_args!("{query}{between}0{between}{document}{between}{grade}"))?;
            }
        }
        Ok(())
    }

    /// Writes queries as TSV. Returns how many had tabs or line breaks, which become spaces in the file.
    pub(crate) fn queries(&mut self, name: &str, queries: &[Query]) -> Result<usize, DatasetError> {
        check_queries(queries)?;
        let is_separator = |c: char| matches!(c, '\t' | '\n' | '\r');
        let mut file = self.file(name)?;
        let mut changed = 0;
        for Query { id, text, .. } in queries {
            changed += usize::from(text.contains(is_separator));
            file.line(format_args!("{id}\t{}", text.replace(is_separator, " ")))?;
        }
        Ok(changed)
    }

    /// Writes a TREC run with the documents in their order. Tabs separate the columns as in
    /// [`Folder::qrels`].
    pub(crate) fn run(&mut self, name: &str, run: &Run) -> Result<(), DatasetError> {
        let has_spaces = run.queries.iter().any(|(query, entries)| {
            query.contains(' ') || entries.iter().any(|entry| entry.doc_id.contains(' '))
        });
        let file = self.file(name)?;
        let mut writer = TrecRunWriter::new(file.file, &file.path, "toller")?;
        if has_spaces {
            writer = writer.tab_separated();
        }
        writer.write_run(run)?;
        writer.finish()?;
        Ok(())
    }

    fn close(&mut self) -> Result<(), FileError> {
        self.open.take().map_or(Ok(()), |file| {
            self.complete.push(file.complete()?);
            Ok(())
        })
    }

    /// Lets all files appear, and returns their names. Those that they replace are gone before that.
    pub(crate) fn commit(mut self) -> Result<Vec<String>, DatasetError> {
        self.close()?;
        commit_together(self.complete)?;
        Ok(self.names)
    }
}

/// What is wrong with an identifier that [`qrels_separator`] refuses, where [`id_flaw`] has nothing to say.
const UNJUDGED: &str =
    "is empty, begins with #, or has other white space than single spaces between its words";

/// Whether judgments whose columns are separated by blanks can hold an identifier.
pub(crate) fn is_id(id: &str) -> bool {
    !id.is_empty() && !id.contains(char::is_whitespace)
}

fn bad_id(id: &str, flaw: &'static str) -> DatasetError {
    DatasetError::BadId { place: None, id: id.to_owned(), flaw }
}

/// Checks the identifier of a "query" or "document". It may have spaces: then tabs separate the columns of
/// judgments and runs.
pub(crate) fn check_id(what: &'static str, id: &str) -> Result<(), DatasetError> {
    id_flaw(what, id).map_or(Ok(()), |flaw| Err(bad_id(id, flaw)))
}

/// Checks that each query has a text, and an identifier that no other has.
pub(crate) fn check_queries(queries: &[Query]) -> Result<(), DatasetError> {
    let mut ids = UniqueIds::of_queries();
    queries.iter().try_for_each(|query| ids.add_query(query))
}

/// Checks that each judged query is among the queries, which may be of a file.
pub(crate) fn check_judged(
    queries: &[Query],
    qrels: &Qrels,
    file: Option<&Input>,
) -> Result<(), DatasetError> {
    let given: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    let missing: Vec<&str> = qrels.iter().map(|(id, _)| id).filter(|id| !given.contains(id)).collect();
    match missing.first() {
        None => Ok(()),
        Some(example) => Err(DatasetError::MissingQueries {
            file: file.map(ToString::to_string),
            missing: missing.len(),
            example: (*example).to_owned(),
        }),
    }
}

/// The identifiers of a file, in which each is there once.
#[derive(Debug)]
pub(crate) struct UniqueIds {
    /// What one of them identifies: "query".
    one: &'static str,
    many: &'static str,
    ids: HashSet<Box<str>>,
}

impl UniqueIds {
    /// No identifiers of queries yet.
    pub(crate) fn of_queries() -> Self {
        Self { one: "query", many: "queries", ids: HashSet::new() }
    }

    /// No identifiers of passages yet.
    pub(crate) fn of_passages() -> Self {
        Self { one: "document", many: "passages", ids: HashSet::new() }
    }

    /// Adds one.
    pub(crate) fn add(&mut self, id: &str) -> Result<(), DatasetError> {
        check_id(self.one, id)?;
        match self.ids.insert(id.into()) {
            true => Ok(()),
            false => Err(DatasetError::RepeatedId { place: None, what: self.many, id: id.to_owned() }),
        }
    }

    /// Adds that of a query, which has a text.
    pub(crate) fn add_query(&mut self, query: &Query) -> Result<(), DatasetError> {
        self.add(&query.id)?;
        if query.text.trim().is_empty() {
            return Err(DatasetError::EmptyQuery { place: None, id: query.id.clone() });
        }
        Ok(())
    }

    /// Whether an identifier was added.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

impl FolderFile<'_> {
    /// Writes a line.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) -> Result<(), DatasetError> {
        Ok(writeln!(self.file, "{line}").map_err(FileError::on("write", &self.path))?)
    }

    /// Writes an array, an element a line.
    pub(crate) fn array<T: Serialize>(
        &mut self,
        elements: impl Iterator<Item = T>,
    ) -> Result<(), DatasetError> {
        let mut before = "[";
        for element in elements {
            let text = self.text(&element)?;
            self.line(format_args!("{before}{text}"))?;
            before = ",";
        }
        self.line(format_args!("{}", if before == "[" { "[]" } else { "]" }))
    }

    /// Writes an object as a line.
    pub(crate) fn json<T: Serialize>(&mut self, object: &T) -> Result<(), DatasetError> {
        let text = self.text(object)?;
        self.line(format_args!("{text}"))
    }

    fn text<T: Serialize>(&self, object: &T) -> Result<String, DatasetError> {
        let text = serde_json::to_string(object);
        Ok(text.map_err(|error| FileError::new("write", &self.path, error.into()))?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toller_ir::{Qrels, Query};

    use super::Folder;

    fn write(folder: &mut Folder, text: &str) {
        let query = Query { id: "q 1".to_owned(), text: text.to_owned(), ..Query::default() };
        let mut qrels = Qrels::new();
        qrels.insert("q 1", "Geneva Durben", 1);
        folder.queries("queries.tsv", &[query]).unwrap();
        folder.qrels("qrels.txt", &qrels).unwrap();
    }

    #[test]
    fn identifiers_may_have_spaces() {
        let directory = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(directory.path()).unwrap();
        write(&mut folder, "who");
        assert_eq!(folder.commit().unwrap(), ["queries.tsv", "qrels.txt"]);
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("queries.tsv"), "q 1\twho\n");
        assert_eq!(read("qrels.txt"), "q 1\t0\tGeneva Durben\t1\n");
    }

    #[test]
    fn no_old_file_stays_among_new_ones() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["old", "newer"] {
            let mut folder = Folder::create(directory.path()).unwrap();
            write(&mut folder, text);
            folder.commit().unwrap();
        }
        let [queries, qrels] = ["queries.tsv", "qrels.txt"].map(|name| directory.path().join(name));
        assert_eq!(fs::read_to_string(&queries).unwrap(), "q 1\tnewer\n");
        let mut folder = Folder::create(directory.path()).unwrap();
        write(&mut folder, "newest");
        // The judgments cannot be renamed.
        fs::remove_file(&qrels).unwrap();
        fs::create_dir(&qrels).unwrap();
        assert!(folder.commit().is_err());
        assert!(!queries.exists(), "there are queries of other judgments");
    }
}
