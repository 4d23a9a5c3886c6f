//! Writing TREC runs.

use std::io::{self, Write};
use std::path::PathBuf;

use rayon::prelude::*;
use toller_files::FileError;
use toller_ir::{
    Command, ErrorPlace, Explain, Query, Ranking, Remedy, Run, RunEntry, Searcher, Setting, remedy,
};

use super::lines::{Appended, Lines, RunLayout};
use super::{MaxPassage, Score};

/// Why a run cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RunWriteError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// An identifier that a run cannot hold.
    #[error("the {what} id {id:?} cannot be written to a run: it {why}")]
    Id {
        /// "query" or "document".
        what: &'static str,
        /// The identifier.
        id: String,
        /// What is wrong with it.
        why: &'static str,
        /// Whether a run whose columns are separated by tabs can hold it.
        tabs_help: bool,
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
            Self::Id { tabs_help: false, .. } => Some("give it another identifier".into()),
            Self::Id { .. } => Some(remedy!(
                "the columns of a TREC run are separated by spaces, and some readers split at all \
                 white space; {} writes a run that {} reads",
                Setting::TabSeparated,
                Command::Eval
            )),
            Self::Tag(_) => Some("choose a tag without spaces".into()),
            Self::Score { .. } => Some(
                "a score has at most the largest f32; of a search of vectors, scale the vectors down".into(),
            ),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        if let Self::File(error) = self { error.place() } else { None }
    }
}

/// The hits of a round of lines: they stay in the caches.
const HITS_PER_ROUND: usize = 1 << 16;

/// Writes a TREC run: `query Q0 document rank score tag`, a line a hit, separated by single spaces; or a run
/// of another [`RunLayout`].
///
/// Identifiers that are empty or hold white space are an error, since no reader of TREC runs could take the
/// line apart; [`TrecRunWriter::tab_separated`] allows spaces.
#[derive(Debug)]
pub struct TrecRunWriter<W: Write> {
    writer: W,
    name: PathBuf,
    lines: Lines,
    /// The lines of the last query, kept for its memory.
    buffer: String,
    appended: Appended,
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
        let (layout, tag) = (RunLayout::Trec, tag.to_owned());
        let lines = Lines { layout, tag, separator: ' ', max_passage: None };
        Ok(Self { writer, name: name.into(), lines, buffer: String::new(), appended: Appended::default() })
    }

    /// Separates the columns by tabs, so that identifiers may hold spaces inside (not tabs or line breaks).
    /// Such a run reads back with [`read_run`](crate::read_run); trec_eval reads it rightly only where no
    /// identifier holds a space.
    #[must_use]
    pub fn tab_separated(mut self) -> Self {
        self.lines.separator = '\t';
        self
    }

    /// Writes lines of this format.
    #[must_use]
    pub fn layout(mut self, layout: RunLayout) -> Self {
        self.lines.layout = layout;
        if layout == RunLayout::Trec { self } else { self.tab_separated() }
    }

    /// Writes the documents of the passages that are given.
    #[must_use]
    pub fn max_passage(mut self, max_passage: MaxPassage) -> Self {
        self.lines.max_passage = Some(max_passage);
        self
    }

    /// The hits that were written.
    pub fn hits(&self) -> u64 {
        self.appended.hits
    }

    /// Whether any hit was a passage in place of which its document was written.
    pub fn has_passages(&self) -> bool {
        self.appended.passages > 0
    }

    /// Checks that the identifiers of a query and its hits can be written, before there are scores.
    ///
    /// # Errors
    /// The first identifier that cannot be written.
    pub fn check_ids<'a>(
        &self,
        query: &str,
        documents: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RunWriteError> {
        self.lines.check_ids(query, documents)
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
        self.buffer.clear();
        self.appended += self.lines.append(&mut self.buffer, query, hits)?;
        self.writer.write_all(self.buffer.as_bytes()).map_err(|error| self.failed(error))
    }

    /// Writes what `searcher` found for `queries`, one ranking a query. The threads of rayon's current pool
    /// make the lines, because that can take as long as the search.
    ///
    /// # Errors
    /// As [`TrecRunWriter::write_query`]; the queries before the one at fault are written.
    pub fn write_rankings(
        &mut self,
        queries: &[Query],
        rankings: &[Ranking],
        searcher: &dyn Searcher,
    ) -> Result<(), RunWriteError> {
        let found: Vec<(&Query, &Ranking)> = queries.iter().zip(rankings).collect();
        self.write_all(
            &found,
            |(_, ranking)| ranking.hits.len(),
            |format, lines, (query, ranking)| {
                let hits = ranking.hits.iter().map(|hit| (searcher.doc_id(hit.doc), hit.score));
                format.append(lines, &query.id, hits)
            },
        )
    }

    /// Writes a whole run in its own order, with this writer's tag. Threads make the lines, as above.
    ///
    /// # Errors
    /// As [`TrecRunWriter::write_rankings`].
    pub fn write_run(&mut self, run: &Run) -> Result<(), RunWriteError> {
        let found: Vec<(&String, &Vec<RunEntry>)> = run.queries.iter().collect();
        self.write_all(
            &found,
            |(_, entries)| entries.len(),
            |format, lines, (query, entries)| {
                format.append(lines, query, entries.iter().map(|entry| (entry.doc_id.as_str(), entry.score)))
            },
        )
    }

    /// Writes the hits of queries, each with its identifier and best first. Threads make the lines, as above.
    ///
    /// # Errors
    /// As [`TrecRunWriter::write_rankings`].
    pub fn write_queries<D: AsRef<str> + Sync, S: Into<Score> + Copy + Sync>(
        &mut self,
        queries: &[(&str, &[(D, S)])],
    ) -> Result<(), RunWriteError> {
        self.write_all(
            queries,
            |(_, hits)| hits.len(),
            |format, lines, (query, hits)| {
                format.append(lines, query, hits.iter().map(|(document, score)| (document.as_ref(), *score)))
            },
        )
    }

    /// Writes the lines of all queries, in rounds of about [`HITS_PER_ROUND`].
    fn write_all<T: Sync>(
        &mut self,
        queries: &[T],
        hits: impl Fn(&T) -> usize,
        append: impl Fn(&Lines, &mut String, &T) -> Result<Appended, RunWriteError> + Sync,
    ) -> Result<(), RunWriteError> {
        let format = &self.lines;
        let most = queries.iter().map(hits).max().unwrap_or_default();
        for round in queries.chunks((HITS_PER_ROUND / most.max(1)).max(1)) {
            let lines = |query: &T| {
                let mut lines = String::new();
                append(format, &mut lines, query).map(|appended| (lines, appended))
            };
            let made: Vec<Result<(String, Appended), RunWriteError>> = round.par_iter().map(lines).collect();
            for made in made {
                let (lines, appended) = made?;
                self.writer.write_all(lines.as_bytes()).map_err(|error| self.failed(error))?;
                self.appended += appended;
            }
        }
        Ok(())
    }

    /// Flushes, and gives the writer back (an [`AtomicFile`](toller_files::AtomicFile) is then to be
    /// committed).
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
