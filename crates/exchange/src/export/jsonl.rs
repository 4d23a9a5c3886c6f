//! JSON lines of impacts, as Pyserini's `JsonVectorCollection` has them.

use std::io::{self, Write};
use std::path::Path;

use serde::{Serialize, Serializer};
use toller_files::{CompressedWriter, FileError};
use toller_ir::impacts;
use toller_store::ImpactStore;

use super::{ExportOptions, Exported};
use crate::ExchangeError;
use crate::progress::{Progress, report, report_sometimes};

/// A text.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    /// Empty: a store does not have the words of a text.
    contents: &'static str,
    vector: Vector<'a>,
}

/// A text with impacts, as an object of terms.
struct Vector<'a>(&'a str);

impl Serialize for Vector<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(impacts(self.0))
    }
}

/// Writes the ids and impacts of `store` to `output`, one text a line, compressed as the end of the name says
/// (.gz, .zst, .xz). `progress` gets the number of texts written, and may stop the export. The file appears
/// when it is whole.
///
/// # Errors
/// When the file exists and is not to be replaced, or cannot be written; [`ExchangeError::Stopped`].
pub fn export_impacts(
    store: &ImpactStore,
    output: &Path,
    options: &ExportOptions,
    progress: &mut Progress<'_>,
) -> Result<Exported, ExchangeError> {
    if output.is_file() && !options.overwrite {
        return Err(ExchangeError::Exists(output.to_owned()));
    }
    let mut file = CompressedWriter::create(output)?;
    let (mut line, mut done) = (Vec::new(), 0);
    for (id, text) in store.rows() {
        line.clear();
        let written = serde_json::to_writer(&mut line, &Line { id, contents: "", vector: Vector(text) });
        line.push(b'\n');
        let written = written.map_err(io::Error::from).and_then(|()| file.write_all(&line));
        written.map_err(FileError::on("write", output))?;
        done += 1;
        report_sometimes(progress, done)?;
    }
    report(progress, done)?;
    file.finish().map_err(FileError::on("write", output))?.commit()?;
    let bytes = output.metadata().map_or(0, |file| file.len());
    Ok(Exported { files: vec![output.to_owned()], bytes })
}
