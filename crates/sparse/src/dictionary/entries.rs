//! The terms of a dictionary in order.

use super::{Damaged, Dictionary, Entry, read_entry};
use crate::coding::{BLOCK_STRINGS, next_string};

/// A cursor over the terms of a dictionary.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    dictionary: &'a Dictionary,
    /// The number of the term that comes next.
    next: usize,
    /// What is left of the current block.
    rest: &'a [u8],
    /// Where the record of the next term begins.
    records: u64,
    term: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// Before the first term.
    pub(crate) fn new(dictionary: &'a Dictionary) -> Self {
        Self { dictionary, next: 0, rest: &[], records: 0, term: Vec::new() }
    }

    /// Before the term `number`.
    pub(crate) fn at(dictionary: &'a Dictionary, number: u64) -> Result<Self, Damaged> {
        let number = usize::try_from(number).map_err(|_| Damaged)?;
        let in_block = number % BLOCK_STRINGS;
        let mut entries = Self { next: number - in_block, ..Self::new(dictionary) };
        for _ in 0..in_block {
            entries.advance()?;
        }
        Ok(entries)
    }

    /// Goes to the next term; `None` after the last.
    pub(crate) fn advance(&mut self) -> Result<Option<Entry>, Damaged> {
        if self.next >= self.dictionary.terms {
            return Ok(None);
        }
        self.read().map(Some).ok_or(Damaged)
    }

    fn read(&mut self) -> Option<Entry> {
        let begins_block = self.next.is_multiple_of(BLOCK_STRINGS);
        if begins_block {
            self.rest = self.dictionary.strings()?.block(self.next / BLOCK_STRINGS)?;
        }
        next_string(&mut self.rest, &mut self.term)?;
        self.next += 1;
        read_entry(&mut self.rest, &mut self.records, begins_block)
    }

    /// The current term.
    pub(crate) fn term(&self) -> &[u8] {
        &self.term
    }
}
