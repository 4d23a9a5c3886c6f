//! Looking for a term.

use std::cmp::Ordering;

use super::{Damaged, Dictionary, END, Entries, Entry, key};
use crate::coding::BitReader;

/// How the letters of a term compare with those of another.
enum Compared {
    /// They come before, and so many of the first are the same.
    Before(usize),
    Same,
    Behind,
}

impl Dictionary {
    /// Where the postings of `term` are, if the dictionary has it.
    pub(crate) fn find(&self, term: &[u8]) -> Result<Option<Entry>, Damaged> {
        match self.block_of(term)? {
            Some(block) => self.find_in_block(block, term).ok_or(Damaged),
            None => Ok(None),
        }
    }

    /// The last block whose first term is not behind `term`.
    fn block_of(&self, term: &[u8]) -> Result<Option<usize>, Damaged> {
        let of = key(term);
        let mut end = self.keys.partition_point(|&key| key <= of);
        if self.keys[..end].last() != Some(&of) {
            return Ok(end.checked_sub(1));
        }
        // Of blocks with the same key more than eight bytes decide.
        let mut first = self.keys[..end].partition_point(|&key| key < of);
        while first < end {
            let middle = first.midpoint(end);
            let mut entries = Entries::of_block(self, middle);
            entries.advance()?;
            if entries.term() <= term { first = middle + 1 } else { end = middle }
        }
        Ok(end.checked_sub(1))
    }

    /// Looks through a block, without putting its terms together. `None`: it is damaged.
    fn find_in_block(&self, block: usize, term: &[u8]) -> Option<Option<Entry>> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") {
            // SAFETY: this CPU has both.
            return unsafe { self.find_in_block_bmi(block, term) };
        }
        self.find_in_block_portable(block, term)
    }

    /// The same with shifts by any number of bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2")]
    fn find_in_block_bmi(&self, block: usize, term: &[u8]) -> Option<Option<Entry>> {
        self.find_in_block_portable(block, term)
    }

    #[inline(always)]
    fn find_in_block_portable(&self, block: usize, term: &[u8]) -> Option<Option<Entry>> {
        let (mut bits, mut records) = self.block(block)?;
        // The first bytes that the entry before has in common with `term`, which comes behind it.
        let mut common = 0;
        for _ in 0..self.terms_of(block) {
            let share = usize::from(self.shares.next(&mut bits)?);
            // What is beyond 255 bytes is not told of shares.
            let told = common.min(usize::from(u8::MAX));
            let same = match share.cmp(&told) {
                // It differs from the one before where that is still like `term`: it is behind `term`, and so are all others.
                Ordering::Less => return Some(None),
                // It begins with what made the one before come before `term`.
                Ordering::Greater => {
                    self.rest.pass(&mut bits)?;
                    false
                }
                Ordering::Equal => match self.compare(&mut bits, term, share)? {
                    Compared::Same => true,
                    Compared::Before(same) => {
                        common = same;
                        false
                    }
                    Compared::Behind => return Some(None),
                },
            };
            let entry = self.entry(&mut bits, &mut records)?;
            bits.position()?;
            if same {
                return Some(Some(entry));
            }
        }
        Some(None)
    }

    /// Compares a term whose first `same` bytes are those of `term` with it.
    #[inline(always)]
    fn compare(&self, bits: &mut BitReader<'_>, term: &[u8], mut same: usize) -> Option<Compared> {
        loop {
            let letter = self.letters.next(bits)?;
            match term.get(same) {
                _ if letter == END => {
                    return Some(if same == term.len() { Compared::Same } else { Compared::Before(same) });
                }
                Some(&other) if letter == other => same += 1,
                Some(&other) if letter < other => {
                    self.rest.pass(bits)?;
                    return Some(Compared::Before(same));
                }
                _ => return Some(Compared::Behind),
            }
        }
    }
}
