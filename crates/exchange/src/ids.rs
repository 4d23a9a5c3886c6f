//! Ids in files next to the vectors.

use std::fmt;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use toller_files::{FileError, Input, InputReader};

use crate::ExchangeError;

/// Where ids come from, for files that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdsFrom {
    /// From the file next to the vectors, if there is one: `X.ids.txt` or `X.ids.json` for `X.npy`,
    /// `docid` for Pyserini's `index`.
    #[default]
    NextTo,
    /// From these files, one for each file of vectors: a JSON list if the name ends in `.json`, else lines.
    Files(Vec<PathBuf>),
    /// Row numbers from 0, on through all files.
    Rows,
}

/// The file of ids next to the vectors `path`, if there is one.
pub(crate) fn next_to(path: &Path) -> Option<PathBuf> {
    let named = ["ids.txt", "ids.json"].map(|extension| path.with_extension(extension));
    let pyserini = (path.file_name()? == "index").then(|| path.with_file_name("docid"));
    pyserini.into_iter().chain(named).find(|path| path.is_file())
}

/// Calls `visit` for each id of a file, in order.
pub(crate) fn for_each(
    path: &Path,
    visit: &mut dyn FnMut(u64, &str) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    let reader = InputReader::open(&Input::File(path.to_owned()))?;
    let plain_name = reader.input().plain_name().unwrap_or_default().to_owned();
    if plain_name.ends_with(".json") { json(path, reader, visit) } else { lines(path, reader, visit) }
}

fn lines(
    path: &Path,
    mut reader: InputReader,
    visit: &mut dyn FnMut(u64, &str) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    let mut line = Vec::new();
    for row in 0.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(FileError::on("read", path))? == 0 {
            break;
        }
        let content = line.strip_suffix(b"\n").unwrap_or(&line);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let content =
            if row == 0 { content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content) } else { content };
        let bad = |reason| ExchangeError::BadId { path: path.to_owned(), row: row + 1, reason };
        let id = std::str::from_utf8(content).map_err(|_| bad("the line is not UTF-8".to_owned()))?;
        visit(row, id)?;
    }
    Ok(())
}

fn json(
    path: &Path,
    reader: InputReader,
    visit: &mut dyn FnMut(u64, &str) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    let mut failed = None;
    let mut row = 0;
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let each = Each { visit, row: &mut row, failed: &mut failed };
    let outcome = each.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (failed, outcome) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.is_io() => Err(FileError::new("read", path, error.into()).into()),
        (None, Err(error)) => {
            Err(ExchangeError::BadId { path: path.to_owned(), row: row + 1, reason: error.to_string() })
        }
    }
}

/// Visits a JSON list item by item; none is kept.
struct Each<'v> {
    visit: &'v mut dyn FnMut(u64, &str) -> Result<(), ExchangeError>,
    row: &'v mut u64,
    failed: &'v mut Option<ExchangeError>,
}

/// An identifier in JSON.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or an integer")]
pub(crate) enum Id {
    Text(String),
    Unsigned(u64),
    Signed(i64),
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        match id {
            Id::Text(id) => id,
            Id::Unsigned(id) => id.to_string(),
            Id::Signed(id) => id.to_string(),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Each<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Each<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON list of identifiers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(id) = list.next_element::<Id>()? {
            let id = String::from(id);
            if let Err(error) = (self.visit)(*self.row, &id) {
                *self.failed = Some(error);
                return Err(A::Error::custom("stopped"));
            }
            *self.row += 1;
        }
        Ok(())
    }
}
