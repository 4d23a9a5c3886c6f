//! Sorted runs, which are inverted chunks, in a temporary file until they are merged.
//!
//! ```text
//! run     := (term, bytes of its list (varint), list) * terms, ascending      a term as in `coding::strings`
//! list    := (2 * gap + (frequency = 1), [frequency - 2]) * documents          varints
//! ```
//!
//! The first gap is from the run's first document, each other gap from the document before.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::{FileError, map};

use crate::coding::{next_string, read_varint, write_string, write_varint};
use crate::postings::Posting;

/// The bytes of an inverted chunk.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The ordinal of its first document.
    pub(super) first: u32,
    pub(super) bytes: Vec<u8>,
}

/// Appends a term and its list.
pub(super) fn write_term(before: &[u8], term: &[u8], list: &[u8], out: &mut Vec<u8>) {
    write_string(before, term, out);
    write_varint(list.len() as u64, out);
    out.extend_from_slice(list);
}

/// Appends a posting to a list.
#[inline]
pub(super) fn write_posting(gap: u32, tf: u32, out: &mut Vec<u8>) {
    let once = tf == 1;
    write_varint(u64::from(gap) << 1 | u64::from(once), out);
    if !once {
        write_varint(u64::from(tf - 2), out);
    }
}

/// Collects runs in any order, in an unnamed file that vanishes with the process.
pub(super) struct Runs {
    directory: PathBuf,
    file: BufWriter<File>,
    bytes: usize,
    /// The number of each chunk, its first document, and the place of its run.
    places: Vec<(usize, u32, Range<usize>)>,
}

impl Runs {
    /// Keeps runs on the disk of `directory`.
    pub(super) fn new(directory: &Path) -> Result<Self, FileError> {
        let file = tempfile::tempfile_in(directory)
            .map_err(FileError::on("create a temporary file in", directory))?;
        let directory = directory.to_owned();
        Ok(Self { directory, file: BufWriter::new(file), bytes: 0, places: Vec::new() })
    }

    /// Adds the run of the chunk `sequence`.
    pub(super) fn push(&mut self, sequence: usize, run: &Run) -> Result<(), FileError> {
        let start = self.bytes;
        self.file
            .write_all(&run.bytes)
            .map_err(FileError::on("write a temporary file in", &self.directory))?;
        self.bytes += run.bytes.len();
        self.places.push((sequence, run.first, start..self.bytes));
        Ok(())
    }

    /// All runs in the order of their documents.
    pub(super) fn finish(mut self) -> Result<SortedRuns, FileError> {
        self.places.sort_unstable_by_key(|(sequence, ..)| *sequence);
        let file = self.file.into_inner().map_err(|error| {
            FileError::new("write a temporary file in", &self.directory, error.into_error())
        })?;
        Ok(SortedRuns { bytes: map(&file, &self.directory)?, places: self.places })
    }
}

/// Runs in the order of their documents.
pub(super) struct SortedRuns {
    bytes: Mmap,
    places: Vec<(usize, u32, Range<usize>)>,
}

impl SortedRuns {
    /// Readers of all runs.
    pub(super) fn readers(&self) -> Vec<RunReader<'_>> {
        let reader = |(_, first, place): &(usize, u32, Range<usize>)| {
            RunReader::new(*first, self.bytes.get(place.clone()).unwrap_or_default())
        };
        self.places.iter().map(reader).collect()
    }
}

/// A cursor over the terms of a run.
#[derive(Debug)]
pub(super) struct RunReader<'a> {
    first: u32,
    rest: &'a [u8],
    term: Vec<u8>,
    list: &'a [u8],
}

impl<'a> RunReader<'a> {
    fn new(first: u32, bytes: &'a [u8]) -> Self {
        Self { first, rest: bytes, term: Vec::new(), list: &[] }
    }

    /// Goes to the next term; `None` after the last. (This process wrote the runs, so they are not damaged.)
    pub(super) fn advance(&mut self) -> Option<()> {
        next_string(&mut self.rest, &mut self.term)?;
        let bytes = read_varint(&mut self.rest)? as usize;
        self.list = self.rest.split_off(..bytes)?;
        Some(())
    }

    /// The current term.
    pub(super) fn term(&self) -> &[u8] {
        &self.term
    }

    /// Calls `each` with the postings of the current term.
    pub(super) fn for_each(&self, mut each: impl FnMut(Posting)) {
        let (mut list, mut doc) = (self.list, self.first);
        while let Some(head) = read_varint(&mut list) {
            doc += (head >> 1) as u32;
            let tf = if head & 1 == 1 { 1 } else { read_varint(&mut list).unwrap_or_default() as u32 + 2 };
            each(Posting { doc, tf });
        }
    }
}
