//! Collections and queries as arguments: files, tables and rows.
//!
//! A table that another library holds in memory is read where it is. What can be read only once (a stream, an
//! iterator) is written to a temporary file in the thread of the caller: work takes more than one pass, and
//! memory does not grow with the texts.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};
use serde::Serializer as _;
use toller_corpus::{
    BadRecord, Cells, CollectionFormat, ColumnNames, CorpusError, Names, Place, QueryFormat, ReadOptions,
    SkipReport, Table,
};
use toller_engine::{Engine, EngineError, TextSource, TextsOptions};
use toller_files::{FileError, Input, Spool, SpoolGuard, expand};
use toller_ir::Position;
use toller_texts::Texts;

use crate::arrow::Stream;
use crate::error::Failed;
use crate::mappings::integer;
use crate::paths::Paths;
use crate::work::Session;

/// What texts are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Passages,
    Queries,
}

impl Kind {
    /// What messages call an argument that is not a file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passages => "corpus",
            Self::Queries => "queries",
        }
    }

    /// The names of columns to look for.
    pub(crate) fn names(self, columns: &ColumnNames) -> Names {
        match self {
            Self::Passages => columns.in_passages(),
            Self::Queries => columns.in_queries(),
        }
    }
}

/// How texts are read.
#[derive(Clone, Default)]
pub(crate) struct Reading {
    /// The names of columns, where they are not usual ones.
    pub(crate) columns: ColumnNames,
    /// Whether bad records are counted and skipped.
    pub(crate) skip_bad_lines: bool,
}

/// A collection.
pub(crate) enum Collection {
    Files(Files),
    Table(Arc<dyn Table>, Reading),
}

impl Collection {
    /// Reads an argument. What has to be written first is written to the folder of `output`, which has to
    /// hold the result anyway.
    pub(crate) fn read(given: &Bound<'_, PyAny>, reading: Reading, output: &Path) -> PyResult<Self> {
        let given = &prepared(given, Kind::Passages, &reading)?;
        // What has a length is in memory already.
        if given.hasattr("__arrow_c_stream__")? && given.hasattr("__len__")? {
            let table = Stream::open(given, Kind::Passages, &reading.columns)?.hold(given.py())?;
            return Ok(Self::Table(Arc::new(table), reading));
        }
        Ok(Self::Files(Files::of_prepared(given, Kind::Passages, reading, parent(output))?))
    }

    /// Surveys the collection that `output` is made from.
    pub(crate) fn source(&self, engine: &Engine, output: &Path) -> Result<TextSource, Failed> {
        let source = match self {
            Self::Files(files) => {
                engine.collection(&files.of_collection(engine)?, output, &files.collection())?
            }
            Self::Table(table, reading) => {
                let Reading { columns, skip_bad_lines } = reading.clone();
                let columns = ColumnNames { context: columns.context, ..ColumnNames::default() };
                let options = ReadOptions { columns, skip_bad_lines, ..ReadOptions::default() };
                engine.table(Arc::clone(table), &options)?
            }
        };
        Ok(source)
    }
}

/// Files as they are, an object with an Arrow stream, or rows of an identifier, a title, a text and a
/// context.
fn prepared<'py>(given: &Bound<'py, PyAny>, kind: Kind, reading: &Reading) -> PyResult<Bound<'py, PyAny>> {
    let Names { id, title, text, context, .. } = kind.names(&reading.columns);
    let prepared = given.py().import("toller._tables")?.getattr("prepared")?;
    let ColumnNames { id: named_id, title: named_title, text: named_text, .. } = &reading.columns;
    let named = [named_id.is_some(), named_title.is_some(), named_text.is_some()];
    prepared.call1((given, kind.name(), id, title, text, context, named))
}

/// The folder of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name of a file without its folder.
pub(crate) fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Files of a collection or of queries.
pub(crate) struct Files {
    origin: Origin,
    reading: Reading,
}

enum Origin {
    Paths(Vec<PathBuf>),
    /// Rows of another kind, as JSON lines.
    Spooled {
        input: Input,
        _guard: SpoolGuard,
    },
}

impl Files {
    /// Reads an argument. What is not a file is written to `folder`.
    pub(crate) fn read(
        given: &Bound<'_, PyAny>,
        kind: Kind,
        reading: Reading,
        folder: &Path,
    ) -> PyResult<Self> {
        Self::of_prepared(&prepared(given, kind, &reading)?, kind, reading, folder)
    }

    fn of_prepared(given: &Bound<'_, PyAny>, kind: Kind, reading: Reading, folder: &Path) -> PyResult<Self> {
        // Before paths: a table may be a sequence of the names of its columns.
        let is_table = given.hasattr("__arrow_c_stream__")?;
        if !is_table && let Ok(paths) = given.extract::<Paths>() {
            return Ok(Self { origin: Origin::Paths(paths.all()), reading });
        }
        let mut lines = Lines::create(kind, &reading, folder)?;
        if is_table {
            lines.take_stream(given.py(), Stream::open(given, kind, &reading.columns)?)?;
        } else {
            lines.take_rows(given)?;
        }
        let (input, guard) = lines.finish().map_err(Failed::from)?;
        Ok(Self { origin: Origin::Spooled { input, _guard: guard }, reading })
    }

    /// The files of a collection.
    pub(crate) fn of_collection(&self, engine: &Engine) -> Result<Vec<Input>, EngineError> {
        self.inputs(|paths| engine.collection_files(paths))
    }

    /// How a collection is read.
    pub(crate) fn collection(&self) -> ReadOptions<CollectionFormat> {
        self.options(CollectionFormat::Jsonl)
    }

    /// The files of queries.
    pub(crate) fn of_queries(&self, engine: &Engine) -> Result<Vec<Input>, EngineError> {
        self.inputs(|paths| engine.query_files(paths))
    }

    /// How queries are read.
    pub(crate) fn queries(&self) -> ReadOptions<QueryFormat> {
        self.options(QueryFormat::Jsonl)
    }

    /// Warns of what was skipped, and of queries that were numbered because a file has no identifiers.
    pub(crate) fn warn(&self, session: &Session, skipped: &SkipReport) {
        session.skipped(skipped);
        if let Origin::Paths(_) = self.origin {
            session.numbered(skipped);
        }
    }

    /// The texts of a collection by identifier.
    pub(crate) fn texts(&self, engine: &Engine) -> Result<Texts, EngineError> {
        let options = TextsOptions { reading: self.collection(), ..TextsOptions::default() };
        engine.texts(&self.of_collection(engine)?, &options)
    }

    /// Whether one of the files, or of the data files of a folder, is `path`.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let (Origin::Paths(paths), Ok(path)) = (&self.origin, path.canonicalize()) else { return false };
        let is_path =
            |input: &Input| input.path().and_then(|own| own.canonicalize().ok()).as_ref() == Some(&path);
        expand(paths).is_ok_and(|inputs| inputs.iter().any(is_path))
    }

    /// The names of the files, as they were given.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.origin {
            Origin::Paths(paths) => paths.iter().filter_map(|path| file_name(path)).collect(),
            Origin::Spooled { input, .. } => vec![input.to_string()],
        }
    }

    fn inputs(
        &self,
        files: impl FnOnce(&[PathBuf]) -> Result<Vec<Input>, EngineError>,
    ) -> Result<Vec<Input>, EngineError> {
        match &self.origin {
            Origin::Paths(paths) => files(paths),
            Origin::Spooled { input, .. } => Ok(vec![input.clone()]),
        }
    }

    fn options<F>(&self, lines: F) -> ReadOptions<F> {
        let Reading { columns, skip_bad_lines } = self.reading.clone();
        match self.origin {
            Origin::Paths(_) => ReadOptions { columns, skip_bad_lines, ..ReadOptions::default() },
            Origin::Spooled { .. } => {
                let columns = ColumnNames { context: columns.context, ..ColumnNames::default() };
                ReadOptions { format: Some(lines), columns, skip_bad_lines, ..ReadOptions::default() }
            }
        }
    }
}

/// Rows as JSON lines.
struct Lines {
    kind: Kind,
    has_ids: bool,
    /// The name of the field of contexts.
    context: Option<String>,
    skip_bad_lines: bool,
    spool: Spool,
    rows: u64,
    line: Vec<u8>,
}

impl Lines {
    fn create(kind: Kind, reading: &Reading, folder: &Path) -> Result<Self, Failed> {
        std::fs::create_dir_all(folder).map_err(FileError::on("create", folder))?;
        let spool = Spool::create(folder)?;
        Ok(Self {
            kind,
            has_ids: true,
            context: reading.columns.context.clone(),
            skip_bad_lines: reading.skip_bad_lines,
            spool,
            rows: 0,
            line: Vec::new(),
        })
    }

    fn take_stream(&mut self, py: Python<'_>, mut stream: Stream) -> PyResult<()> {
        self.has_ids = stream.has_ids();
        while let Some(batch) = stream.next(py)? {
            for row in 0..batch.rows() {
                self.push(batch.cells(row))?;
            }
        }
        Ok(())
    }

    /// Takes rows of an identifier, a title, a text and a context.
    fn take_rows(&mut self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        for row in rows.try_iter()? {
            let [id, title, text, context]: [Bound<'_, PyAny>; 4] = row?.extract()?;
            let number = self.rows + 1;
            if number == 1 && self.kind == Kind::Queries {
                self.has_ids = !id.is_none();
            }
            let cell = |value, what, may_be_number| {
                cell(value, may_be_number).map_err(|of| {
                    let message = format!("{}, row {number}: the {what} is {of}", self.kind.name());
                    Failed::invalid(message).hint(format!("give the {what} as a string"))
                })
            };
            let cells = Cells {
                id: cell(&id, "identifier", true)?,
                title: cell(&title, "title", false)?,
                text: cell(&text, "text", false)?,
                context: cell(&context, "context", false)?,
            };
            self.push(cells)?;
        }
        Ok(())
    }

    fn push(&mut self, cells: Cells<'_>) -> Result<(), Failed> {
        self.rows += 1;
        let needed = [("identifier", self.has_ids && cells.id.is_none()), ("text", cells.text.is_none())];
        let null = needed.into_iter().find(|(_, is_missing)| *is_missing);
        if let (Some((what, _)), false) = (null, self.skip_bad_lines) {
            let place = Place { file: self.kind.name().to_owned(), position: Position::Row(self.rows) };
            return Err(CorpusError::Bad(Box::new(BadRecord::null(place, what))).into());
        }
        if !self.has_ids && cells.id.is_some() {
            let message =
                format!("{}, row {}: an identifier, and row 1 has none", self.kind.name(), self.rows);
            return Err(Failed::invalid(message).hint("give all rows identifiers, or none"));
        }
        let Cells { id, title, text, context } = cells;
        // The reader skips an empty identifier. Without any, the first line would say that no line has one.
        let id = id.or_else(|| self.has_ids.then_some(Cow::Borrowed("")));
        // A context is read under its own name, and before what usually has that name.
        let own = self.context.as_deref().unwrap_or_default();
        let usual =
            [("id", id), ("title", title), ("text", text)].into_iter().filter(|(name, _)| *name != own);
        let fields: Vec<(&str, Cow<'_, str>)> =
            usual.chain([(own, context)]).filter_map(|(name, value)| Some((name, value?))).collect();
        self.line.clear();
        serde_json::Serializer::new(&mut self.line)
            .collect_map(fields.iter().map(|(name, value)| (name, value)))
            .map_err(|error| Failed::internal(error.to_string()))?;
        self.line.push(b'\n');
        Ok(self.spool.write(&self.line)?)
    }

    fn finish(self) -> Result<(Input, SpoolGuard), FileError> {
        self.spool.finish(self.kind.name())
    }
}

/// A value of a row; `None` for None, and for NaN and NA, with which pandas marks missing values. The error
/// is what the value is instead.
pub(crate) fn cell<'a>(
    value: &'a Bound<'_, PyAny>,
    may_be_number: bool,
) -> Result<Option<Cow<'a, str>>, String> {
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Some(Cow::Borrowed(text))),
            Err(_) => Err("a string with lone surrogates".to_owned()),
        };
    }
    if value.is_none() || value.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan()) {
        return Ok(None);
    }
    if may_be_number && let Some(number) = integer(value) {
        return Ok(Some(Cow::Owned(number)));
    }
    let of = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    if of == "NAType" { Ok(None) } else { Err(format!("of type {of}")) }
}
