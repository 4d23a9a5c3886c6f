//! Writing a dictionary.
//!
//! How long the codes are is known when all terms are, so that these wait in a temporary file.
//!
//! ```text
//! waiting := share (u8), letters (varint), letter *, kind (u8), detail (varint, or two of them)
//! ```

use std::io::{self, Write};
use std::path::Path;

use super::{BLOCK_TERMS, END, ONCE, ONE, RECORD, doc_bits};
use crate::SparseError;
use crate::coding::{BitWriter, PrefixCode, read_varint, write_varint};
use crate::postings::Posting;
use crate::temporary::TemporaryFile;

/// What the dictionary says of a new term.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewEntry {
    /// Its only posting.
    One(Posting),
    /// The bytes of its record, which follows that of the term before.
    Record(u64),
}

/// Blocks between two looks whether the work is to go on.
const BLOCKS_AT_ONCE: u64 = 1 << 12;

/// Counts of the symbols of a code.
type Counts = [u64; 256];

/// Takes terms in the order of their bytes, each once.
#[derive(Debug)]
pub(crate) struct DictionaryWriter {
    waiting: TemporaryFile,
    terms: u64,
    before: Vec<u8>,
    line: Vec<u8>,
    shares: Counts,
    letters: Counts,
    kinds: Counts,
}

impl DictionaryWriter {
    /// Terms wait in a file without a name in `directory`.
    pub(crate) fn new(directory: &Path) -> Result<Self, SparseError> {
        let waiting = TemporaryFile::new(directory)?;
        let (before, line) = (Vec::new(), Vec::new());
        Ok(Self { waiting, terms: 0, before, line, shares: [0; 256], letters: [0; 256], kinds: [0; 256] })
    }

    /// The number of terms.
    pub(crate) fn terms(&self) -> u64 {
        self.terms
    }

    /// Adds a term of UTF-8 bytes.
    pub(crate) fn push(&mut self, term: &[u8], entry: NewEntry) -> Result<(), SparseError> {
        if self.terms.is_multiple_of(BLOCK_TERMS) {
            self.before.clear();
        }
        let share = self.before.iter().zip(term).take_while(|(a, b)| a == b).count().min(u8::MAX.into());
        let letters = &term[share..];
        let line = &mut self.line;
        line.clear();
        line.push(share as u8);
        write_varint(letters.len() as u64, line);
        line.extend_from_slice(letters);
        let kind = match entry {
            NewEntry::One(Posting { tf: 1, .. }) => ONCE,
            NewEntry::One(_) => ONE,
            NewEntry::Record(bytes) => RECORD + bytes.max(1).ilog2() as u8,
        };
        line.push(kind);
        match entry {
            NewEntry::One(Posting { doc, tf }) => {
                write_varint(doc.into(), line);
                write_varint(tf.into(), line);
            }
            NewEntry::Record(bytes) => write_varint(bytes, line),
        }
        self.shares[share] += 1;
        letters.iter().chain(&[END]).for_each(|&letter| self.letters[usize::from(letter)] += 1);
        self.kinds[usize::from(kind)] += 1;
        self.waiting.write(line)?;
        self.before.truncate(share);
        self.before.extend_from_slice(letters);
        self.terms += 1;
        Ok(())
    }

    /// Writes the dictionary of an index of `docs` documents to `out`; errors of writing it become what `failed` makes of them, and those of `go_on`, which is
    /// asked now and then, stop the work.
    pub(crate) fn finish(
        self,
        docs: u32,
        mut out: impl Write,
        failed: impl Fn(io::Error) -> SparseError,
        go_on: impl Fn() -> Result<(), SparseError>,
    ) -> Result<(), SparseError> {
        let codes = [&self.shares, &self.letters, &self.kinds].map(PrefixCode::of_counts);
        let waiting = self.waiting.finish()?;
        let mut rest = &waiting[..];
        let (mut block, mut sizes, mut block_bytes) = (Vec::new(), Vec::new(), 0_u64);
        let mut left = self.terms;
        while left > 0 {
            if (left / BLOCK_TERMS).is_multiple_of(BLOCKS_AT_ONCE) {
                go_on()?;
            }
            let terms = left.min(BLOCK_TERMS);
            left -= terms;
            block.clear();
            let mut bits = BitWriter::new(&mut block);
            let mut records = 0;
            for _ in 0..terms {
                // What this process has just written can be read.
                let bytes = write_entry(&mut rest, &codes, doc_bits(docs), &mut bits).unwrap_or_default();
                records += bytes;
            }
            bits.finish();
            out.write_all(&block).map_err(&failed)?;
            write_varint(block.len() as u64, &mut sizes);
            write_varint(records, &mut sizes);
            block_bytes += block.len() as u64;
        }
        for code in &codes {
            out.write_all(&code.describe()).map_err(&failed)?;
        }
        out.write_all(&sizes).map_err(&failed)?;
        out.write_all(&block_bytes.to_le_bytes()).map_err(&failed)
    }
}

/// Takes a term off the front of the waiting ones and writes it; returns the bytes of its record.
fn write_entry(
    rest: &mut &[u8],
    [shares, letters, kinds]: &[PrefixCode; 3],
    doc_bits: u32,
    bits: &mut BitWriter<'_>,
) -> Option<u64> {
    shares.write(*rest.split_off_first()?, bits);
    let length = usize::try_from(read_varint(rest)?).ok()?;
    rest.split_off(..length)?.iter().for_each(|&letter| letters.write(letter, bits));
    letters.write(END, bits);
    let kind = *rest.split_off_first()?;
    kinds.write(kind, bits);
    let number = read_varint(rest)?;
    if kind >= RECORD {
        bits.bits(number, (kind - RECORD).into());
        return Some(number);
    }
    bits.bits(number, doc_bits);
    let tf = read_varint(rest)?;
    if kind == ONE {
        bits.gamma(tf - 2);
    }
    Some(0)
}
