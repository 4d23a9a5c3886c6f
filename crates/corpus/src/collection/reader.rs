//! The reader of a collection: several files, checked records, what to do with bad ones.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use toller_files::{Compression, Input, InputReader, Stamp, WatchedFile, has_changed};
use toller_ir::{Passage, Position, Setting};

use crate::collection::CollectionFormat;
use crate::collection::detect::detect;
use crate::collection::json::JsonPassages;
use crate::collection::parquet::ParquetPassages;
use crate::collection::source::{PassageSource, RecordPlace};
use crate::collection::table::{Table, TablePassages};
use crate::collection::trec::TrecPassages;
use crate::collection::tsv::{QuotedPassages, TsvPassages};
use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::format::Sniff;
use crate::locations::Locations;
use crate::options::{ReadOptions, SkipReport};
use crate::run::check_writable;

/// Which record a passage is: the index of its input, and the number of the record in it. No two passages
/// have the same location, even on one line, and locations ascend as passages are read. Show users
/// [`CollectionReader::place`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The index of the input in the list that was opened.
    pub input: u32,
    /// How many records of the input there are up to this one, good and bad.
    pub number: u64,
}

/// Reads a collection passage by passage, in the order of the inputs. Memory does not grow with it: one
/// file is open and one record in memory at a time.
///
/// Yields each passage, or the error that ends the reading; after an error it yields nothing more.
/// A run can hold each identifier, if need be between tabs. Whether they are unique,
/// [`survey`](crate::survey) or [`DuplicateIds`](crate::DuplicateIds) finds out.
pub struct CollectionReader {
    inputs: Vec<Input>,
    /// What messages call them, or the table that is read instead.
    names: Vec<String>,
    /// How many of the inputs have been opened.
    opened: usize,
    /// The size and age of each opened input, for regular files.
    stamps: Vec<Option<Stamp>>,
    /// The same of all inputs when they were read before; empty if they were not.
    expected: Vec<Option<Stamp>>,
    current: Option<Box<dyn PassageSource + Send>>,
    options: ReadOptions<CollectionFormat>,
    skipped: SkipReport,
    /// Passages to leave out.
    left_out: Locations,
    /// The records of the open input so far, good and bad.
    records: u64,
    location: Location,
    position: Position,
    first_row: u64,
    /// Whether the open input's bytes are the file's, at the same places at any time.
    is_in_place: bool,
    yielded: u64,
    /// The names that a user gave and that no passage of an input had; unknown before the end of the first.
    unseen: Option<Vec<(Setting, String)>>,
    /// Whether a passage of an input that was read to its end had a vector that was not read.
    has_vectors: bool,
    finished: bool,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
}

/// Opens a collection of one or several inputs. If `options` name no format, the format of each file is
/// detected from its content and name.
///
/// # Errors
/// When there are no inputs, when one of the files does not exist, and when the first one cannot be opened or
/// its format cannot be detected. (The others are opened when their turn comes.)
pub fn open_collection(
    inputs: &[Input],
    options: &ReadOptions<CollectionFormat>,
) -> Result<CollectionReader, CorpusError> {
    reopen_collection(inputs, options, &[])
}

/// As [`open_collection`], for another pass over the same bytes: `stamps` come from the
/// [survey](crate::Survey::stamps), and a file that is not what it was then is an error when its turn comes.
///
/// # Errors
/// As [`open_collection`]; when the first file has changed.
pub fn reopen_collection(
    inputs: &[Input],
    options: &ReadOptions<CollectionFormat>,
    stamps: &[Option<Stamp>],
) -> Result<CollectionReader, CorpusError> {
    for input in inputs {
        input.stamp()?;
    }
    let mut reader = CollectionReader::new(inputs.to_vec(), options);
    reader.expected = stamps.to_vec();
    reader.open_next()?;
    Ok(reader)
}

/// Reads a collection of one input that is open already.
///
/// # Errors
/// When its format cannot be detected, or cannot be read from a stream (Parquet).
pub fn read_collection_from(
    reader: InputReader,
    options: &ReadOptions<CollectionFormat>,
) -> Result<CollectionReader, CorpusError> {
    let mut collection = CollectionReader::new(vec![reader.input().clone()], options);
    collection.total_bytes = reader.total_bytes();
    collection.opened = 1;
    collection.start(reader)?;
    Ok(collection)
}

/// Reads a collection that is a table in memory. Of the options, only `skip_bad_lines` and the name of the
/// contexts, which makes them necessary, have a meaning.
#[must_use]
pub fn open_table(table: Arc<dyn Table>, options: &ReadOptions<CollectionFormat>) -> CollectionReader {
    let mut reader = CollectionReader::new(Vec::new(), options);
    reader.names = vec![table.name().to_owned()];
    reader.current = Some(Box::new(TablePassages { table, row: 0 }));
    reader
}

impl CollectionReader {
    fn new(inputs: Vec<Input>, options: &ReadOptions<CollectionFormat>) -> Self {
        let total_bytes = inputs.iter().map(Input::size_bytes).sum();
        Self {
            names: inputs.iter().map(Input::to_string).collect(),
            inputs,
            opened: 0,
            stamps: Vec::new(),
            expected: Vec::new(),
            current: None,
            options: options.clone(),
            skipped: SkipReport::default(),
            left_out: Locations::default(),
            records: 0,
            location: Location { input: 0, number: 0 },
            position: Position::Line(0),
            first_row: 0,
            is_in_place: false,
            yielded: 0,
            unseen: None,
            has_vectors: false,
            finished: false,
            bytes_read: Arc::default(),
            total_bytes,
        }
    }

    /// Leaves out the passages at these locations, the later ones of duplicates; see
    /// [`Survey::duplicates`](crate::Survey::duplicates).
    #[must_use]
    pub fn without(mut self, locations: Locations) -> Self {
        self.left_out = locations;
        self
    }

    /// The bad records that were skipped so far.
    #[must_use]
    pub fn skipped(&self) -> &SkipReport {
        &self.skipped
    }

    /// Whether passages had vectors of terms and weights ([`ColumnNames::vector`]) that were not read, in the
    /// inputs that have been read to their ends.
    ///
    /// [`ColumnNames::vector`]: crate::ColumnNames::vector
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        self.has_vectors
    }

    /// The size and age of each input that was opened so far; `None` for what is not a regular file.
    #[must_use]
    pub fn stamps(&self) -> &[Option<Stamp>] {
        &self.stamps
    }

    /// Where the passage that was yielded last is.
    #[must_use]
    pub fn location(&self) -> Location {
        self.location
    }

    /// The same for messages: the file, and the line or row where the passage begins.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { file: self.name(self.location.input), position: self.position }
    }

    /// What messages call an input.
    pub(crate) fn name(&self, input: u32) -> String {
        self.names.get(input as usize).cloned().unwrap_or_default()
    }

    /// Where the record of the passage that was yielded last is in its stored input, so that it can be read
    /// again by itself. `None` if it cannot be: compressed files, pipes, Parquet, TREC documents, rows
    /// without identifiers.
    #[must_use]
    pub fn record(&self) -> Option<RecordPlace> {
        if self.is_in_place { self.current.as_ref()?.record() } else { None }
    }

    /// The bytes read so far, as stored (compressed), over all inputs. Clone it to show progress from
    /// another thread.
    #[must_use]
    pub fn bytes_read(&self) -> &Arc<AtomicU64> {
        &self.bytes_read
    }

    /// The size of all inputs as stored, unless one of them is not a regular file.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Opens the next input, if there is one.
    fn open_next(&mut self) -> Result<bool, CorpusError> {
        self.current = None;
        let Some(input) = self.inputs.get(self.opened) else { return Ok(false) };
        let reader = InputReader::open_counted(input, Arc::clone(&self.bytes_read))?;
        let stamp = reader.file().map(WatchedFile::stamp);
        if self.expected.get(self.opened).is_some_and(|expected| *expected != stamp) {
            return Err(input.error("read", has_changed()).into());
        }
        self.records = 0;
        self.opened += 1;
        self.stamps.push(stamp);
        self.start(reader)?;
        Ok(true)
    }

    fn start(&mut self, mut reader: InputReader) -> Result<(), CorpusError> {
        let sniff = Sniff::new(&mut reader)?;
        let format = self.options.format.map_or_else(|| detect(&sniff, &self.options.columns), Ok)?;
        let (max_line_bytes, columns) = (self.options.max_line_bytes, &self.options.columns);
        let input = reader.input();
        if columns.vector.is_some() && !matches!(format, CollectionFormat::Jsonl | CollectionFormat::Json) {
            return Err(CorpusError::Unsupported {
                file: input.to_string(),
                reason: "vectors of terms and weights are read only from JSON",
                remedy: "write each passage as an object, {\"id\": ..., \"vector\": {\"term\": 12, ...}}"
                    .into(),
            });
        }
        self.is_in_place = matches!(input, Input::File(_))
            && !input.reads_once()
            && reader.compression() == Compression::Plain;
        self.current = Some(match format {
            CollectionFormat::Jsonl => Box::new(JsonPassages::lines(reader, max_line_bytes, columns)),
            CollectionFormat::Json => Box::new(JsonPassages::objects(reader, max_line_bytes, columns)),
            CollectionFormat::Tsv => Box::new(TsvPassages::plain(reader, max_line_bytes, columns)),
            CollectionFormat::Dpr => {
                Box::new(QuotedPassages::dpr(reader, max_line_bytes, columns, self.options.format.is_none()))
            }
            CollectionFormat::Csv => Box::new(QuotedPassages::csv(reader, max_line_bytes, columns)),
            CollectionFormat::RocketQa => {
                Box::new(TsvPassages::rocketqa(reader, max_line_bytes, self.first_row))
            }
            CollectionFormat::Trec => Box::new(TrecPassages::new(reader, max_line_bytes, columns)),
            CollectionFormat::Parquet => {
                let bytes_read = Arc::clone(&self.bytes_read);
                Box::new(ParquetPassages::open(&reader, max_line_bytes, columns, bytes_read)?)
            }
        });
        Ok(())
    }

    /// The next passage of the open inputs, bad records included as errors.
    fn next_record(&mut self) -> Result<Option<Passage>, CorpusError> {
        loop {
            let Some(source) = self.current.as_mut() else { return Ok(None) };
            let next = source.next();
            if matches!(next, Ok(None)) {
                self.first_row += source.rows();
                self.has_vectors |= source.has_vectors();
                let unseen = source.unseen().into_iter().map(|(of, name)| (of, name.to_owned()));
                let unseen: Vec<(Setting, String)> = unseen.collect();
                match &mut self.unseen {
                    Some(so_far) => so_far.retain(|name| unseen.contains(name)),
                    none => *none = Some(unseen),
                }
                if !self.open_next()? {
                    return Ok(None);
                }
                continue;
            }
            self.records += 1;
            self.location = Location { input: self.opened.saturating_sub(1) as u32, number: self.records };
            self.position = source.position();
            return next?.map(|passage| self.checked(passage)).transpose();
        }
    }

    /// The passage at the current location. An error when it is to be left out, when no run can hold its
    /// identifier, or when the context that is to be read is missing.
    fn checked(&mut self, passage: Passage) -> Result<Passage, CorpusError> {
        let id = || excerpt(passage.id.as_bytes());
        if self.left_out.contains(self.location) {
            let found = format!("{} again", id());
            return Err(self.bad(BadKind::DuplicateId, found, "each identifier once"));
        }
        if passage.id.trim().is_empty() {
            let found = format!("{} before {}", id(), excerpt(passage.text.as_bytes()));
            return Err(self.bad(BadKind::EmptyId, found, "an identifier"));
        }
        check_writable("document", &passage.id).map_err(|wrong| wrong.at(self.place()))?;
        if let (Some(field), None) = (&self.options.columns.context, &passage.context) {
            let (found, expected) = (format!("no context for {}", id()), format!("a field {field:?}"));
            return Err(self.bad(BadKind::MissingColumn, found, &expected));
        }
        Ok(passage)
    }

    /// What only the end of the last input shows: there is no passage, or none has what a user named.
    fn check_end(&self) -> Result<(), CorpusError> {
        if self.yielded == 0 {
            return Err(self.empty());
        }
        match self.unseen.iter().flatten().next() {
            None => Ok(()),
            Some((setting, name)) => Err(CorpusError::NoSuchName {
                files: self.files(),
                setting: *setting,
                name: name.clone(),
                found: String::new(),
            }),
        }
    }

    fn bad(&self, kind: BadKind, found: String, expected: &str) -> CorpusError {
        Wrong::new(kind, found, expected).at(self.place())
    }

    fn empty(&self) -> CorpusError {
        CorpusError::Empty { files: self.files(), what: "passages", after: self.skipped.after() }
    }

    /// What messages about all inputs call them.
    fn files(&self) -> String {
        let files: Vec<_> = self.names.iter().take(3).cloned().collect();
        let more = if self.names.len() > 3 { ", ..." } else { "" };
        if files.is_empty() { "no input".to_owned() } else { files.join(", ") + more }
    }
}

impl Iterator for CollectionReader {
    type Item = Result<Passage, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        loop {
            match self.next_record() {
                Ok(Some(passage)) => {
                    self.yielded += 1;
                    return Some(Ok(passage));
                }
                Ok(None) => {
                    self.finished = true;
                    return self.check_end().err().map(Err);
                }
                Err(error) => {
                    if let Err(error) = self.skipped.take(error, self.options.skip_bad_lines) {
                        self.finished = true;
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}
