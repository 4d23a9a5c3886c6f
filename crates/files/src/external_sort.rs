//! Sorting any number of small entries in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::xxh3_128;

use crate::FileError;

/// What is sorted: three words, compared in order.
pub type SortEntry = [u64; 3];

const ENTRY_BYTES: usize = size_of::<SortEntry>();

/// The hash of an identifier, as the first two words of an entry.
#[must_use]
pub fn hash_of_id(id: &str) -> [u64; 2] {
    let hash = xxh3_128(id.as_bytes());
    [(hash >> 64) as u64, hash as u64]
}

/// Sorts entries of 24 bytes. Whenever its memory is full, the entries are sorted and written to an anonymous
/// temporary file (in `TMPDIR`); [`ExternalSort::finish`] merges these runs. 60 million entries take 50 MB of
/// memory and 1.4 GB of disk.
#[derive(Debug)]
pub struct ExternalSort {
    buffer: Vec<SortEntry>,
    capacity: usize,
    spill: Option<Spill>,
}

impl ExternalSort {
    /// The default capacity: two million entries, 48 MB.
    pub const CAPACITY: usize = 2_000_000;

    /// A sorter that keeps at most `capacity` entries in memory (at least one).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { buffer: Vec::new(), capacity: capacity.max(1), spill: None }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When the temporary file cannot be made or written.
    pub fn push(&mut self, entry: SortEntry) -> Result<(), FileError> {
        if self.buffer.len() >= self.capacity {
            self.spill_buffer()?;
        }
        self.buffer.push(entry);
        Ok(())
    }

    /// Calls `take` with all entries in order, until it fails.
    ///
    /// # Errors
    /// When the temporary file cannot be read, and what `take` returns.
    pub fn finish<E: From<FileError>>(
        mut self,
        mut take: impl FnMut(SortEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        self.buffer.sort_unstable();
        match self.spill.take() {
            None => self.buffer.into_iter().try_for_each(take),
            Some(mut spill) => {
                spill.append(&self.buffer).map_err(temporary("write a file in"))?;
                self.buffer = Vec::new();
                spill.merge(&mut take)
            }
        }
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

impl Default for ExternalSort {
    fn default() -> Self {
        Self::with_capacity(Self::CAPACITY)
    }
}

fn temporary(action: &'static str) -> impl FnOnce(io::Error) -> FileError {
    move |error| FileError::new(action, std::env::temp_dir(), error)
}

/// Sorted runs in a temporary file that has no name, so that nothing is left of it after a crash.
#[derive(Debug)]
struct Spill {
    file: File,
    /// The number of entries of each run.
    runs: Vec<usize>,
}

impl Spill {
    fn append(&mut self, entries: &[SortEntry]) -> io::Result<()> {
        let mut writer = BufWriter::with_capacity(1 << 20, &self.file);
        for word in entries.as_flattened() {
            writer.write_all(&word.to_le_bytes())?;
        }
        writer.flush()?;
        self.runs.push(entries.len());
        Ok(())
    }

    /// Calls `take` with all entries in order.
    fn merge<E: From<FileError>>(self, take: &mut impl FnMut(SortEntry) -> Result<(), E>) -> Result<(), E> {
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
            take(entry)?;
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
    /// The offset in the file after the block.
    next: u64,
    end: u64,
    block: Vec<u8>,
    used: usize,
}

/// The size of a block: with a hundred runs, 6 MB in all.
const BLOCK_BYTES: usize = 2_730 * ENTRY_BYTES;

impl Run<'_> {
    fn next(&mut self) -> io::Result<Option<SortEntry>> {
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
        Ok(Some(std::array::from_fn(|_| words.next().unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::{ExternalSort, SortEntry};
    use crate::FileError;

    #[test]
    fn entries_come_in_order_whatever_fits_in_memory() -> Result<(), FileError> {
        let entries: Vec<SortEntry> = (0..20_000_u64)
            .map(|i| {
                let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                [mixed >> 60, mixed % 100, i]
            })
            .collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        for capacity in [1_000_000, 3_001, 700] {
            let mut sort = ExternalSort::with_capacity(capacity);
            entries.iter().try_for_each(|entry| sort.push(*entry))?;
            let mut found = Vec::new();
            sort.finish(|entry| {
                found.push(entry);
                Ok::<_, FileError>(())
            })?;
            assert!(found == expected, "capacity {capacity}");
        }
        Ok(())
    }
}
