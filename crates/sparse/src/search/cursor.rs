//! A place in the list of a term.

use super::WINDOW;
use super::parts::{Parts, Sums, Window};
use crate::postings::{Block, Entry, List, Record, SATURATED};

/// A list is damaged; the index says which file that is.
#[derive(Debug)]
pub(super) struct Damaged;

/// Goes through a list, forwards only. It stands before or in a block: unpacked or not, since one that is passed over need not
/// be.
pub(super) struct Cursor<'a> {
    pub(super) parts: Parts,
    record: Record<'a>,
    docs: u32,
    /// The number of the block; one more than the full ones is the tail, another one more the end.
    number: usize,
    full: usize,
    /// The bytes of this block and those behind it.
    rest: &'a [u8],
    /// The last document of the block before.
    before: Option<u32>,
    block: Block,
    unpacked: bool,
    /// The first posting of the block that is not passed.
    at: usize,
    /// The bound of a block, and its number.
    known_bound: (usize, u32),
}

impl<'a> Cursor<'a> {
    /// Before the first posting of `record`, in an index of `docs` documents.
    pub(super) fn new(record: Record<'a>, parts: Parts, docs: u32) -> Self {
        let (full, rest) = match record.list {
            List::One(_) => (0, &[][..]),
            List::Blocks { directory, blocks, .. } => (directory.len(), blocks),
        };
        Self {
            parts,
            record,
            docs,
            number: 0,
            full,
            rest,
            before: None,
            block: Block::new(),
            unpacked: false,
            at: 0,
            known_bound: (usize::MAX, 0),
        }
    }

    /// The postings of the list.
    pub(super) fn doc_freq(&self) -> u32 {
        self.record.statistics.doc_freq
    }

    fn entry(&self, number: usize) -> Option<Entry> {
        match self.record.list {
            List::Blocks { directory, .. } => directory.get(number).map(Entry::read),
            List::One(_) => None,
        }
    }

    /// The postings behind the full blocks.
    fn tail(&self) -> usize {
        match self.record.list {
            List::One(_) => 1,
            List::Blocks { tail, .. } => tail,
        }
    }

    /// Whether all postings are passed.
    pub(super) fn is_at_end(&self) -> bool {
        self.number > self.full || (self.number == self.full && self.tail() == 0)
    }

    /// An ordinal that the next posting is not below.
    pub(super) fn next_is_from(&self) -> u32 {
        if self.unpacked {
            self.block.docs().get(self.at).copied().unwrap_or(u32::MAX)
        } else {
            self.before.map_or(0, |before| before.wrapping_add(1))
        }
    }

    /// Goes to the next block.
    fn next_block(&mut self) -> Result<(), Damaged> {
        if let Some(entry) = self.entry(self.number) {
            let bytes = entry.block_bytes().ok_or(Damaged)?;
            self.rest.split_off(..bytes).ok_or(Damaged)?;
            self.before = Some(entry.last);
        }
        self.number += 1;
        self.unpacked = false;
        self.at = 0;
        Ok(())
    }

    /// Passes the blocks that end before `doc`.
    pub(super) fn skip_blocks(&mut self, doc: u32) -> Result<(), Damaged> {
        while let Some(entry) = self.entry(self.number) {
            if entry.last >= doc {
                return Ok(());
            }
            self.next_block()?;
        }
        // Where the tail begins and ends is seen when it is unpacked.
        if !self.is_at_end() {
            self.unpack()?;
            self.pass(doc);
            if self.at == self.block.docs().len() {
                self.next_block()?;
            }
        }
        Ok(())
    }

    /// Passes the postings of the unpacked block that are before `doc`.
    #[inline]
    fn pass(&mut self, doc: u32) {
        let docs = self.block.docs().get(self.at..).unwrap_or_default();
        if docs.first().is_some_and(|&first| first < doc) {
            self.at += docs.partition_point(|&other| other < doc);
        }
    }

    /// Unpacks the block, if it is not. There is one.
    fn unpack(&mut self) -> Result<(), Damaged> {
        if self.unpacked {
            return Ok(());
        }
        match self.entry(self.number) {
            Some(entry) => {
                self.block
                    .unpack_full(self.before, entry.gap_bits, entry.tf_bits, self.rest)
                    .ok_or(Damaged)?;
            }
            None => match self.record.list {
                List::One(posting) => {
                    self.block.clear();
                    self.block.push(posting);
                }
                List::Blocks { tail, .. } => {
                    self.block.unpack_tail(self.before, tail, self.rest).ok_or(Damaged)?;
                }
            },
        }
        self.unpacked = true;
        self.at = 0;
        // The others are between: what lies outside of a window is masked, so damage can at worst change scores.
        if self.block.docs().last().is_none_or(|&last| last >= self.docs) {
            return Err(Damaged);
        }
        Ok(())
    }

    /// At least every part of block `number`, which is this one or behind it.
    fn block_bound(&mut self, number: usize, window: &Window<'_>) -> u32 {
        if self.known_bound.0 == number {
            return self.known_bound.1;
        }
        let norms = window.norms;
        let scorer = &self.parts.scorer;
        let most = self.record.statistics.max_freq;
        let bound = match self.entry(number) {
            Some(entry) => {
                let bound = |tf, code| scorer.bound(tf, norms.of_code(code));
                let tf = |tf: u8| if tf == SATURATED { most } else { u32::from(tf) };
                entry.points.iter().map(|point| bound(tf(point.tf), point.code)).max().unwrap_or_default()
            }
            // The tail has no points. It is unpacked as soon as it is this block.
            None if number == self.number && self.unpacked => {
                let codes = window.index.codes();
                let code = |doc: u32| codes.get(doc as usize).copied().unwrap_or_default();
                let postings = self.block.docs().iter().zip(self.block.tfs());
                let bounds = postings.map(|(&doc, &tf)| scorer.bound(tf, norms.of_code(code(doc))));
                bounds.max().unwrap_or_default()
            }
            None => return scorer.most(),
        };
        self.known_bound = (number, bound);
        bound
    }

    /// At least every part of a posting up to the end of the window; 0 if there is none.
    pub(super) fn window_bound(&mut self, window: &Window<'_>) -> u32 {
        let end = window.first.saturating_add(WINDOW as u32);
        if self.is_at_end() || self.next_is_from() >= end {
            return 0;
        }
        let mut bound = 0;
        for number in self.number.. {
            let entry = self.entry(number);
            if entry.is_some() || self.tail() > 0 && number == self.full {
                bound = bound.max(self.block_bound(number, window));
            }
            if entry.is_none_or(|entry| entry.last >= end - 1) {
                break;
            }
        }
        bound
    }

    /// Adds the parts of all postings of the window, which are not passed yet, and passes them. Blocks whose bound does not
    /// reach `least` may be left out.
    pub(super) fn add(&mut self, window: &Window<'_>, least: u32, sums: &mut Sums) -> Result<(), Damaged> {
        self.each_piece(window, least, |parts, docs, tfs, once| parts.add(window, docs, tfs, once, sums))
    }

    /// The same, noting each document that had no sum.
    pub(super) fn add_noting(
        &mut self,
        window: &Window<'_>,
        least: u32,
        sums: &mut Sums,
        noted: &mut Vec<u16>,
    ) -> Result<(), Damaged> {
        self.each_piece(window, least, |parts, docs, tfs, _| {
            for (&doc, &tf) in docs.iter().zip(tfs) {
                let local = doc.wrapping_sub(window.first) as usize % WINDOW;
                if sums[local] == 0 {
                    noted.push(local as u16);
                }
                sums[local] = sums[local].wrapping_add(parts.of(window, local, tf));
            }
        })
    }

    /// Calls `each` with the documents and frequencies of every block's piece in the window, and whether all are one.
    #[inline]
    fn each_piece(
        &mut self,
        window: &Window<'_>,
        least: u32,
        mut each: impl FnMut(&Parts, &[u32], &[u32], bool),
    ) -> Result<(), Damaged> {
        let end = u64::from(window.first) + WINDOW as u64;
        self.skip_blocks(window.first)?;
        while !self.is_at_end() && u64::from(self.next_is_from()) < end {
            let entry = self.entry(self.number);
            let ends_here = entry.is_some_and(|entry| u64::from(entry.last) < end);
            if least > 0 && !self.unpacked && ends_here && self.block_bound(self.number, window) < least {
                self.next_block()?;
                continue;
            }
            self.unpack()?;
            self.pass(window.first);
            let docs = self.block.docs();
            let stop = if ends_here {
                docs.len()
            } else {
                self.at + docs[self.at..].partition_point(|&doc| u64::from(doc) < end)
            };
            let once = entry.is_some_and(|entry| entry.tf_bits == 0);
            each(&self.parts, &docs[self.at..stop], &self.block.tfs()[self.at..stop], once);
            self.at = stop;
            if stop < docs.len() {
                break;
            }
            self.next_block()?;
        }
        Ok(())
    }

    /// Adds the part of `doc`, which lies in the window and not before a document that was asked for earlier, if the list
    /// has it.
    #[inline]
    pub(super) fn look_up(&mut self, window: &Window<'_>, doc: u32, sums: &mut Sums) -> Result<(), Damaged> {
        self.skip_blocks(doc)?;
        if self.is_at_end() || self.before.is_some_and(|before| before >= doc) {
            return Ok(());
        }
        self.unpack()?;
        self.pass(doc);
        if self.block.docs().get(self.at) == Some(&doc) {
            let local = doc.wrapping_sub(window.first) as usize % WINDOW;
            let tf = self.block.tfs()[self.at];
            sums[local] = sums[local].wrapping_add(self.parts.of(window, local, tf));
        }
        Ok(())
    }
}
