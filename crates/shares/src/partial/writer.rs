//! Writing partial runs.

use std::io::{self, Write};
use std::path::PathBuf;

use toller_corpus::PARTIAL_RUN;
use toller_files::{Checksum, ChecksumHasher, FileError};
use toller_ir::{Query, Ranking, Searcher};

use super::{Header, Line, VERSION};
use crate::PartialRunError;

/// Writes a partial run, query by query. (Buffer the writer.)
pub struct PartialRunWriter<W: Write> {
    writer: W,
    name: PathBuf,
    hasher: ChecksumHasher,
    /// A record, kept for its memory.
    record: Vec<u8>,
}

impl<W: Write> PartialRunWriter<W> {
    /// A writer that has written the header. `name` is the file's name for errors.
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn new(writer: W, name: impl Into<PathBuf>, header: &Header) -> Result<Self, PartialRunError> {
        let line = Line { format: PARTIAL_RUN.to_owned(), format_version: VERSION, header };
        let mut run =
            Self { writer, name: name.into(), hasher: ChecksumHasher::default(), record: Vec::new() };
        let mut text = serde_json::to_vec(&line).map_err(|error| run.failed(error.into()))?;
        text.push(b'\n');
        run.put(&text)?;
        Ok(run)
    }

    /// Writes what `searcher` found for `queries`, one ranking and one identity a query.
    ///
    /// # Errors
    /// When it cannot be written, or an identifier has more bytes than the format can count.
    pub fn write_rankings(
        &mut self,
        queries: &[Query],
        identities: &[Checksum],
        rankings: &[Ranking],
        searcher: &dyn Searcher,
    ) -> Result<(), PartialRunError> {
        for ((query, identity), ranking) in queries.iter().zip(identities).zip(rankings) {
            self.write(&query.id, *identity, ranking, searcher)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        query: &str,
        identity: Checksum,
        ranking: &Ranking,
        searcher: &dyn Searcher,
    ) -> Result<(), PartialRunError> {
        let too_long = |_| {
            FileError::new("write", &self.name, io::Error::other("an identifier is too long for the format"))
        };
        let hits = &ranking.hits;
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        let mut count = |number: usize| -> Result<(), FileError> {
            record.extend_from_slice(&u32::try_from(number).map_err(too_long)?.to_le_bytes());
            Ok(())
        };
        count(query.len())?;
        count(hits.len())?;
        let ids: Vec<_> = hits.iter().map(|hit| searcher.doc_id(hit.doc)).collect();
        ids.iter().try_for_each(|id| count(id.len()))?;
        record.extend_from_slice(&identity.to_bytes());
        hits.iter().for_each(|hit| record.extend_from_slice(&hit.doc.0.to_le_bytes()));
        hits.iter().for_each(|hit| record.extend_from_slice(&hit.score.to_le_bytes()));
        record.extend_from_slice(query.as_bytes());
        ids.iter().for_each(|id| record.extend_from_slice(id.as_bytes()));
        self.put(&record)?;
        self.record = record;
        Ok(())
    }

    /// Writes the checksum and flushes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<W, PartialRunError> {
        let checksum = self.hasher.finish();
        self.put(&checksum.to_bytes())?;
        self.writer.flush().map_err(|error| self.failed(error))?;
        Ok(self.writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), PartialRunError> {
        self.hasher.update(bytes);
        self.writer.write_all(bytes).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> PartialRunError {
        FileError::new("write", &self.name, error).into()
    }
}
