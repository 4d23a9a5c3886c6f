//! One term after another.

use super::{BLOCK_TERMS, Damaged, Dictionary, END, Entry};
use crate::coding::BitReader;

/// Goes through the terms of a dictionary.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    dictionary: &'a Dictionary,
    /// The block that comes next.
    block: usize,
    /// Terms of the current block that are left.
    left: u64,
    bits: BitReader<'a>,
    records: u64,
    term: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// All terms.
    pub(crate) fn new(dictionary: &'a Dictionary) -> Self {
        Self::of_block(dictionary, 0)
    }

    /// The terms from the first of a block.
    pub(super) fn of_block(dictionary: &'a Dictionary, block: usize) -> Self {
        Self { dictionary, block, left: 0, bits: BitReader::new(&[]), records: 0, term: Vec::new() }
    }

    /// The terms from the one of this number.
    pub(crate) fn from_number(dictionary: &'a Dictionary, number: u64) -> Result<Self, Damaged> {
        let block = usize::try_from(number / BLOCK_TERMS).map_err(|_| Damaged)?;
        let mut entries = Self::of_block(dictionary, block);
        for _ in 0..number % BLOCK_TERMS {
            entries.advance()?;
        }
        Ok(entries)
    }

    /// Goes to the next term; `None` behind the last.
    pub(crate) fn advance(&mut self) -> Result<Option<Entry>, Damaged> {
        if self.left == 0 {
            let Some((bits, records)) = self.dictionary.block(self.block) else { return Ok(None) };
            (self.bits, self.records) = (bits, records);
            self.left = self.dictionary.terms_of(self.block);
            self.term.clear();
            self.block += 1;
        }
        self.left = self.left.saturating_sub(1);
        self.next_of_block().map(Some).ok_or(Damaged)
    }

    fn next_of_block(&mut self) -> Option<Entry> {
        let Self { dictionary, bits, term, .. } = self;
        let share = usize::from(dictionary.shares.next(bits)?);
        if share > term.len() {
            return None;
        }
        term.truncate(share);
        loop {
            match dictionary.letters.next(bits)? {
                END => break,
                letter => term.push(letter),
            }
        }
        let entry = dictionary.entry(bits, &mut self.records)?;
        bits.position()?;
        Some(entry)
    }

    /// The term that it is at.
    pub(crate) fn term(&self) -> &[u8] {
        &self.term
    }
}
