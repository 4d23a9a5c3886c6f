//! Writing TREC runs.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{Command, Explain, Remedy, Run, Setting, remedy};

/// A score to be written. It is printed with the fewest digits that read back as the same number of the same
/// type, so that distinct scores stay distinct and equal ones equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// A score of a search.
    F32(f32),
    /// A score of a run that was read.
    F64(f64),
}

impl Score {
    /// The number that a reader of the run gets. The digits that tell an f32 from its neighbours are, read as f64, mostly
    /// another number than the f32 is.
    #[must_use]
    pub fn as_read(self) -> f64 {
        match self {
            Self::F32(score) => self.to_string().parse().unwrap_or(f64::from(score)),
            Self::F64(score) => score,
        }
    }

    fn is_finite(self) -> bool {
        match self {
            Self::F32(score) => score.is_finite(),
            Self::F64(score) => score.is_finite(),
        }
    }
}

impl From<f32> for Score {
    fn from(score: f32) -> Self {
        Self::F32(score)
    }
}

impl From<f64> for Score {
    fn from(score: f64) -> Self {
        Self::F64(score)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of floats is the shortest form that reads back, with an exponent where that is shorter.
        match self {
            Self::F32(score) => write!(f, "{score:?}"),
            Self::F64(score) => write!(f, "{score:?}"),
        }
    }
}

/// Why a run cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RunWriteError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// An identifier that a TREC run cannot hold.
    #[error("the {what} id {id:?} cannot be written to a TREC run: it {why}")]
    Id {
        /// "query" or "document".
        what: &'static str,
        /// The identifier.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A tag that a TREC run cannot hold.
    #[error("the run tag {0:?} must be one word")]
    Tag(String),
    /// A score that is not a finite number.
    #[error("the score {score} of document {document} for query {query} is not a finite number")]
    Score {
        /// The query's identifier.
        query: String,
        /// The document's identifier.
        document: String,
        /// The score.
        score: Score,
    },
}

impl Explain for RunWriteError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Id { .. } => Some(remedy!(
                "the columns of a TREC run are separated by spaces, so trec_eval could not read it; {} \
                 writes a run that {} reads",
                Setting::TabSeparated,
                Command::Eval
            )),
            Self::Tag(_) => Some("choose a tag without spaces".into()),
            Self::Score { .. } => None,
        }
    }
}

/// Whether an identifier would fall apart between the spaces of a TREC run.
pub(crate) fn holds_white_space(id: &str) -> bool {
    id.contains(char::is_whitespace)
}

/// How the lines of a run are written: several threads can make them at the same time.
#[derive(Clone, Debug)]
pub struct RunLines {
    tag: String,
    separator: char,
}

impl RunLines {
    /// The lines of the hits of a query, best first; ranks count from one.
    ///
    /// # Errors
    /// An identifier or a score that cannot be written.
    pub fn lines<D: AsRef<str>, S: Into<Score>>(
        &self,
        query: &str,
        hits: impl IntoIterator<Item = (D, S)>,
    ) -> Result<String, RunWriteError> {
        self.check_id("query", query)?;
        let mut lines = String::new();
        for (rank, (document, score)) in (1_u64..).zip(hits) {
            let document = document.as_ref();
            self.check_id("document", document)?;
            let score = score.into();
            if !score.is_finite() {
                let (query, document) = (query.to_owned(), document.to_owned());
                return Err(RunWriteError::Score { query, document, score });
            }
            let (tab, tag) = (self.separator, &self.tag);
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{query}{tab}Q0{tab}{document}{tab}{rank}{tab}{score}{tab}{tag}");
        }
        Ok(lines)
    }

    fn check_id(&self, what: &'static str, id: &str) -> Result<(), RunWriteError> {
        let bad = |why| Err(RunWriteError::Id { what, id: id.to_owned(), why });
        if id.trim().is_empty() {
            return bad("is empty");
        }
        let spaces = self.separator == '\t' && id.trim() == id && !id.contains(['\t', '\n', '\r']);
        if !spaces && holds_white_space(id) {
            return bad("holds white space");
        }
        if id.starts_with('#') && what == "query" {
            return bad("begins with #, which makes the line a comment");
        }
        Ok(())
    }
}

/// Writes a TREC run: `query Q0 document rank score tag`, a line a hit, separated by single spaces.
///
/// Identifiers that are empty or hold white space are an error, since no reader of TREC runs could take the
/// line apart; [`TrecRunWriter::tab_separated`] allows spaces.
#[derive(Debug)]
pub struct TrecRunWriter<W: Write> {
    writer: W,
    name: PathBuf,
    format: RunLines,
}

impl<W: Write> TrecRunWriter<W> {
    /// A writer of runs with the tag `tag`. `name` is the file's name for errors. (Buffer `writer`.)
    ///
    /// # Errors
    /// When the tag is empty or holds white space.
    pub fn new(writer: W, name: impl Into<PathBuf>, tag: &str) -> Result<Self, RunWriteError> {
        if tag.is_empty() || tag.contains(char::is_whitespace) {
            return Err(RunWriteError::Tag(tag.to_owned()));
        }
        let format = RunLines { tag: tag.to_owned(), separator: ' ' };
        Ok(Self { writer, name: name.into(), format })
    }

    /// Separates the columns by tabs, so that identifiers may hold spaces inside (not tabs or line breaks). Such
    /// a run reads back with [`read_run`](crate::read_run); trec_eval reads it rightly only where no identifier
    /// holds a space.
    #[must_use]
    pub fn tab_separated(mut self) -> Self {
        self.format.separator = '\t';
        self
    }

    /// Writes the hits of a query, best first; ranks count from one.
    ///
    /// # Errors
    /// An identifier or a score that cannot be written, or a failure of the writer.
    pub fn write_query<D: AsRef<str>, S: Into<Score>>(
        &mut self,
        query: &str,
        hits: impl IntoIterator<Item = (D, S)>,
    ) -> Result<(), RunWriteError> {
        let lines = self.format.lines(query, hits)?;
        self.write_lines(&lines)
    }

    /// How this writer writes, for lines that are made elsewhere.
    #[must_use]
    pub fn format(&self) -> &RunLines {
        &self.format
    }

    /// Writes lines that [`RunLines::lines`] has made by this writer's format.
    ///
    /// # Errors
    /// A failure of the writer.
    pub fn write_lines(&mut self, lines: &str) -> Result<(), RunWriteError> {
        self.writer.write_all(lines.as_bytes()).map_err(|error| self.failed(error))
    }

    /// Writes a whole run in its own order, with this writer's tag.
    ///
    /// # Errors
    /// As [`TrecRunWriter::write_query`].
    pub fn write_run(&mut self, run: &Run) -> Result<(), RunWriteError> {
        for (query, entries) in &run.queries {
            self.write_query(query, entries.iter().map(|entry| (entry.doc_id.as_str(), entry.score)))?;
        }
        Ok(())
    }

    /// Flushes, and gives the writer back (an [`AtomicFile`](toller_files::AtomicFile) is then to be committed).
    ///
    /// # Errors
    /// When flushing fails.
    pub fn finish(mut self) -> Result<W, RunWriteError> {
        self.writer.flush().map_err(|error| self.failed(error))?;
        Ok(self.writer)
    }

    fn failed(&self, error: io::Error) -> RunWriteError {
        FileError::new("write", &self.name, error).into()
    }
}
