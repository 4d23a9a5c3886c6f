//! Reading partial runs, record by record.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use toller_corpus::PARTIAL_RUN;
use toller_files::{ChecksumHasher, FileError, Input, InputReader};
use toller_ir::{DocOrd, Hit};
use toller_store::Part;

use super::{Header, LONGEST_HEADER, Line, Record, VERSION};
use crate::PartialRunError;

/// Reads a partial run, compressed or not. The checksum is verified after the last record: nothing that was
/// read is certain before [`PartialRunReader::next_record`] has returned `None`.
pub struct PartialRunReader {
    path: PathBuf,
    reader: InputReader,
    hasher: ChecksumHasher,
    header: Header,
    /// The ordinals of this share.
    ordinals: Range<u64>,
    records_read: u64,
}

impl PartialRunReader {
    /// Opens a partial run and reads its header.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a partial run of this version.
    pub fn open(path: &Path) -> Result<Self, PartialRunError> {
        let mut reader = InputReader::open(&Input::File(path.to_owned()))?;
        let mut line = Vec::new();
        let read = reader.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line);
        read.map_err(|error| FileError::new("read", path, error))?;
        match serde_json::from_slice::<Line<IgnoredAny>>(&line) {
            Ok(head) if head.format == PARTIAL_RUN && head.format_version == VERSION => {}
            Ok(head) if head.format == PARTIAL_RUN => {
                return Err(PartialRunError::Version { path: path.to_owned(), found: head.format_version });
            }
            _ => return Err(PartialRunError::Foreign(path.to_owned())),
        }
        let damaged = |reason: String| PartialRunError::Damaged { path: path.to_owned(), reason };
        let Line { header, .. } =
            serde_json::from_slice::<Line<Header>>(&line).map_err(|error| damaged(error.to_string()))?;
        let part = Part::new(header.index, header.of, header.documents);
        let ordinals = part.map_err(|error| damaged(error.to_string()))?.rows(header.documents);
        let mut hasher = ChecksumHasher::default();
        hasher.update(&line);
        Ok(Self { path: path.to_owned(), reader, hasher, header, ordinals, records_read: 0 })
    }

    /// Which share of which search this is.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The hits of the next query; `None` after the last, once the checksum is verified.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn next_record(&mut self) -> Result<Option<Record>, PartialRunError> {
        if self.records_read == self.header.queries {
            self.verify()?;
            return Ok(None);
        }
        self.records_read += 1;
        let [query_bytes, hits] = self.numbers::<2>()?;
        if u64::from(hits) > self.header.k || u64::from(hits) > self.ordinals.end - self.ordinals.start {
            return Err(self.damaged("it has more hits than were asked for"));
        }
        let hits = hits as usize;
        let lengths = self.words(hits)?;
        let mut identity = [0; 16];
        identity.copy_from_slice(&self.bytes(16)?);
        let (ordinals, scores) = (self.words(hits)?, self.words(hits)?);
        let hits: Vec<Hit> = ordinals
            .into_iter()
            .zip(scores)
            .map(|(ordinal, score)| Hit::new(DocOrd(ordinal), f32::from_bits(score)))
            .collect();
        let ascend = hits.iter().zip(hits.iter().skip(1)).all(|(hit, next)| hit < next);
        if !ascend || !hits.iter().all(|hit| self.ordinals.contains(&u64::from(hit.doc.0))) {
            return Err(self.damaged("its hits are not in order, or not of its shard"));
        }
        let query = self.text(u64::from(query_bytes))?;
        let mut end = 0_u64;
        let ends = lengths.into_iter().map(|length| {
            end += u64::from(length);
            end as usize
        });
        let ends: Vec<usize> = ends.collect();
        let ids = self.text(end)?;
        if !ends.iter().all(|&end| ids.is_char_boundary(end)) {
            return Err(self.damaged("an identifier is not text"));
        }
        Ok(Some(Record { query, identity, hits, ids, ends }))
    }

    /// Checks that the checksum comes next and nothing after it.
    fn verify(&mut self) -> Result<(), PartialRunError> {
        let expected = self.hasher.finish().to_bytes();
        if self.bytes(expected.len() as u64)? != expected {
            return Err(self.damaged("its checksum does not match its content"));
        }
        match self.reader.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(self.damaged("something follows its end")),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn text(&mut self, length: u64) -> Result<String, PartialRunError> {
        let bytes = self.bytes(length)?;
        String::from_utf8(bytes).map_err(|_| self.damaged("an identifier is not text"))
    }

    fn words(&mut self, count: usize) -> Result<Vec<u32>, PartialRunError> {
        let bytes = self.bytes(4 * count as u64)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u32; N], PartialRunError> {
        let words = self.words(N)?;
        words.try_into().map_err(|_| self.damaged("it ends early"))
    }

    /// The next `length` bytes. Memory grows with what is there, whatever a damaged length says.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, PartialRunError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        if bytes.len() as u64 != length {
            return Err(self.damaged("it ends early"));
        }
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    fn damaged(&self, reason: &str) -> PartialRunError {
        PartialRunError::Damaged { path: self.path.clone(), reason: reason.to_owned() }
    }

    fn failed(&self, error: io::Error) -> PartialRunError {
        FileError::new("read", &self.path, error).into()
    }
}
