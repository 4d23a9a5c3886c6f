//! Sorted runs, which are inverted chunks: in memory while there is room, then in a temporary file.
//!
//! ```text
//! run     := (term, bytes of its list (varint), list) * terms, ascending       a term as in `coding::strings`
//! list    := (2 * gap + (frequency = 1), [frequency - 2]) * documents          varints
//! ```
//!
//! The first gap is from the run's first document, each other gap from the document before.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::SparseError;
use crate::coding::{next_string, read_varint, write_string, write_varint};
use crate::postings::Posting;
use crate::temporary::TemporaryFile;

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

/// Collects runs in any order.
pub(super) struct Runs {
    directory: PathBuf,
    memory_bytes: usize,
    in_memory: usize,
    pending: Vec<(usize, Run)>,
    spilled: Vec<(usize, u32, Range<usize>)>,
    file: Option<TemporaryFile>,
}

impl Runs {
    /// Keeps at most `memory_bytes` in memory, the rest in an unnamed file on the disk of `directory`.
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            memory_bytes,
            in_memory: 0,
            pending: Vec::new(),
            spilled: Vec::new(),
            file: None,
        }
    }

    /// Adds the run of the chunk `sequence`.
    pub(super) fn push(&mut self, sequence: usize, run: Run) -> Result<(), SparseError> {
        self.in_memory += run.bytes.capacity();
        self.pending.push((sequence, run));
        if self.in_memory > self.memory_bytes {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), SparseError> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => TemporaryFile::new(&self.directory)?,
        };
        for (sequence, run) in self.pending.drain(..) {
            let start = file.bytes();
            file.write(&run.bytes)?;
            self.spilled.push((sequence, run.first, start..file.bytes()));
        }
        self.file = Some(file);
        self.in_memory = 0;
        Ok(())
    }

    /// All runs in the order of their documents.
    pub(super) fn finish(mut self) -> Result<SortedRuns, SparseError> {
        if self.file.is_some() {
            self.spill()?;
        }
        let spilled_bytes = self.file.take().map(TemporaryFile::finish).transpose()?;
        self.pending.sort_by_key(|(sequence, _)| *sequence);
        self.spilled.sort_by_key(|(sequence, ..)| *sequence);
        Ok(SortedRuns {
            in_memory: self.pending.into_iter().map(|(_, run)| run).collect(),
            spilled: self.spilled.into_iter().map(|(_, first, range)| (first, range)).collect(),
            spilled_bytes,
        })
    }
}

/// Runs in the order of their documents.
pub(super) struct SortedRuns {
    in_memory: Vec<Run>,
    spilled: Vec<(u32, Range<usize>)>,
    spilled_bytes: Option<Mmap>,
}

impl SortedRuns {
    /// Readers of all runs.
    pub(super) fn readers(&self) -> Vec<RunReader<'_>> {
        let spilled = self.spilled.iter().map(|(first, range)| {
            let bytes = self.spilled_bytes.as_deref().unwrap_or_default();
            RunReader::new(*first, bytes.get(range.clone()).unwrap_or_default())
        });
        let in_memory = self.in_memory.iter().map(|run| RunReader::new(run.first, &run.bytes));
        spilled.chain(in_memory).collect()
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

    /// Goes to the next term; `None` behind the last. (Runs are of this process, so they are not damaged.)
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
