//! Duplicate identifiers, found in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use toller_files::FileError;
use xxhash_rust::xxh3::xxh3_128;

use crate::Location;

/// Finds identifiers that occur more than once among any number of them.
///
/// It keeps a 128-bit hash and the location of each (24 bytes). When as many as its capacity are in memory
/// they are sorted and written to an anonymous temporary file (in `TMPDIR`), and [`DuplicateIds::finish`] merges
/// these runs: 60 million identifiers take 50 MB of memory and 1.4 GB of that directory. Two different
/// identifiers with one hash would be taken for duplicates; among 60 million the odds are below 1 to 10^22.
#[derive(Debug)]
pub struct DuplicateIds {
    buffer: Vec<Entry>,
    capacity: usize,
    spill: Option<Spill>,
}

/// Where an identifier was first, and where it came again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Its first occurrence.
    pub first: Location,
    /// A later one.
    pub again: Location,
}

/// What [`DuplicateIds::finish`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundDuplicates {
    /// The duplicate that comes first in the order of the collection.
    pub earliest: Option<Duplicate>,
    /// How many identifiers are there that an earlier one equals.
    pub count: u64,
    /// Where these are, in order: what has to go to keep the first of each. Empty if they are more than
    /// the checker's capacity.
    pub again: Vec<Location>,
}

/// An identifier's hash and location, ordered by both. (The hash is in two halves so that there is no
/// padding.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    high: u64,
    low: u64,
    /// The input in the upper 20 bits, the number in the others.
    location: u64,
}

const ENTRY_BYTES: usize = 24;
const NUMBER_BITS: u32 = 44;

impl DuplicateIds {
    /// The default capacity: two million identifiers, 48 MB.
    pub const CAPACITY: usize = 2_000_000;

    /// A checker with the default capacity.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::CAPACITY)
    }

    /// A checker that keeps at most `capacity` identifiers in memory (at least one).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { buffer: Vec::new(), capacity: capacity.max(1), spill: None }
    }

    /// Adds the identifier at `location`.
    ///
    /// # Errors
    /// When the temporary file cannot be made or written.
    pub fn push(&mut self, id: &str, location: Location) -> Result<(), FileError> {
        if self.buffer.len() >= self.capacity {
            self.spill_buffer()?;
        }
        let hash = xxh3_128(id.as_bytes());
        self.buffer.push(Entry { high: (hash >> 64) as u64, low: hash as u64, location: pack(location) });
        Ok(())
    }

    /// The duplicates among all identifiers.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn finish(mut self) -> Result<FoundDuplicates, FileError> {
        let mut found =
            Finder { max_listed: self.capacity, first: None, earliest: None, count: 0, again: Vec::new() };
        match self.spill.take() {
            None => {
                self.buffer.sort_unstable();
                self.buffer.iter().for_each(|entry| found.push(*entry));
            }
            Some(mut spill) => {
                self.buffer.sort_unstable();
                spill.append(&self.buffer).map_err(temporary("write a file in"))?;
                self.buffer = Vec::new();
                spill.merge(|entry| found.push(entry))?;
            }
        }
        Ok(found.finish())
    }

    /// Sorts the buffer and appends it to the temporary file as one run.
    fn spill_buffer(&mut self) -> Result<(), FileError> {
        self.buffer.sort_unstable();
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => {
                Spill { file: tempfile::tempfile().map_err(temporary("create a file in"))?, runs: Vec::new() }
            }
        };
        spill.append(&self.buffer).map_err(temporary("write a file in"))?;
        self.spill = Some(spill);
        self.buffer.clear();
        Ok(())
    }
}

impl Default for DuplicateIds {
    fn default() -> Self {
        Self::new()
    }
}

fn temporary(action: &'static str) -> impl FnOnce(io::Error) -> FileError {
    move |error| FileError::new(action, std::env::temp_dir(), error)
}

fn pack(location: Location) -> u64 {
    // Wider inputs and numbers do not occur: a million files, 17 trillion lines in one.
    u64::from(location.input) << NUMBER_BITS | location.number & ((1 << NUMBER_BITS) - 1)
}

fn unpack(packed: u64) -> Location {
    Location { input: (packed >> NUMBER_BITS) as u32, number: packed & ((1 << NUMBER_BITS) - 1) }
}

/// Takes entries in order and notes the equal ones.
struct Finder {
    max_listed: usize,
    /// The first entry of the current hash.
    first: Option<Entry>,
    /// The smallest pair of a later location and the first one.
    earliest: Option<(u64, u64)>,
    count: u64,
    again: Vec<u64>,
}

impl Finder {
    fn push(&mut self, entry: Entry) {
        match self.first {
            Some(first) if (first.high, first.low) == (entry.high, entry.low) => {
                let duplicate = (entry.location, first.location);
                self.earliest = Some(self.earliest.map_or(duplicate, |earliest| earliest.min(duplicate)));
                self.count += 1;
                if self.again.len() < self.max_listed {
                    self.again.push(entry.location);
                }
            }
            _ => self.first = Some(entry),
        }
    }

    fn finish(mut self) -> FoundDuplicates {
        if self.count > self.max_listed as u64 {
            self.again = Vec::new();
        }
        self.again.sort_unstable();
        FoundDuplicates {
            count: self.count,
            earliest: self
                .earliest
                .map(|(again, first)| Duplicate { first: unpack(first), again: unpack(again) }),
            again: self.again.into_iter().map(unpack).collect(),
        }
    }
}

/// Sorted runs in a temporary file that has no name, so that nothing is left of it after a crash.
#[derive(Debug)]
struct Spill {
    file: File,
    /// The number of entries of each run.
    runs: Vec<usize>,
}

impl Spill {
    fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut writer = BufWriter::with_capacity(1 << 20, &self.file);
        for entry in entries {
            for word in [entry.high, entry.low, entry.location] {
                writer.write_all(&word.to_le_bytes())?;
            }
        }
        writer.flush()?;
        self.runs.push(entries.len());
        Ok(())
    }

    /// Calls `take` with all entries in order.
    fn merge(self, mut take: impl FnMut(Entry)) -> Result<(), FileError> {
        let mut start = 0;
        let mut runs = Vec::with_capacity(self.runs.len());
        for length in &self.runs {
            let bytes = (length * ENTRY_BYTES) as u64;
            runs.push(Run { file: &self.file, next: start, end: start + bytes, block: Vec::new(), used: 0 });
            start += bytes;
        }
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            if let Some(entry) = run.next().map_err(temporary("read a file in"))? {
                heap.push(Reverse((entry, index)));
            }
        }
        while let Some(Reverse((entry, index))) = heap.pop() {
            take(entry);
            if let Some(run) = runs.get_mut(index)
                && let Some(entry) = run.next().map_err(temporary("read a file in"))?
            {
                heap.push(Reverse((entry, index)));
            }
        }
        Ok(())
    }
}

/// One sorted run, read a block at a time.
struct Run<'a> {
    file: &'a File,
    /// The offset in the file behind the block.
    next: u64,
    end: u64,
    block: Vec<u8>,
    used: usize,
}

/// The size of a block: with a hundred runs, 6 MB in all.
const BLOCK_BYTES: usize = 2_730 * ENTRY_BYTES;

impl Run<'_> {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.used >= self.block.len() {
            if self.next >= self.end {
                return Ok(None);
            }
            let length =
                usize::try_from(self.end - self.next).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
            self.block.resize(length, 0);
            self.file.seek(SeekFrom::Start(self.next))?;
            self.file.read_exact(&mut self.block)?;
            self.next += length as u64;
            self.used = 0;
        }
        let entry = self.block.get(self.used..self.used + ENTRY_BYTES).unwrap_or_default();
        self.used += ENTRY_BYTES;
        let mut words = entry.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut word = || words.next().unwrap_or_default();
        Ok(Some(Entry { high: word(), low: word(), location: word() }))
    }
}
