//! A cursor over the posting list of a term.

use toller_simd::Token;

use super::WINDOW;
use super::score_parts::{Norms, ScoreParts, Window};
use super::scratch::Scratch;
use super::sums::Sums;
use crate::coding::SLACK;
use crate::postings::{Block, List, Packing, Record, SATURATED};

/// A list is damaged. The index knows the file.
#[derive(Debug)]
pub(super) struct Damaged;

/// A full block of the list.
#[derive(Clone, Copy)]
struct Place {
    /// Its last document.
    last: u32,
    packing: Packing,
    /// Where it begins among the packed blocks.
    start: usize,
    /// The parts of its postings are at most this.
    bound: u32,
}

/// A forward-only cursor over a posting list. Blocks are unpacked when they are needed, so skipped blocks
/// cost nothing.
pub(super) struct Cursor<'a> {
    pub(super) parts: ScoreParts,
    record: Record<'a>,
    docs: u32,
    token: Token,
    /// The full blocks.
    places: Vec<Place>,
    /// The packed blocks and the tail behind them; the whole record if there are no full blocks.
    packed: &'a [u8],
    tail_start: usize,
    /// The number of the current block. Behind the full blocks come the tail and the end.
    number: usize,
    /// The last document of the block before.
    before: Option<u32>,
    block: Box<Block>,
    unpacked: bool,
    /// The first posting of the block that is still to come.
    at: usize,
    /// The parts of the tail's postings are at most this; known once the tail is unpacked.
    tail_bound: Option<u32>,
}

impl<'a> Cursor<'a> {
    /// Before the first posting of `record`, in an index of `docs` documents. The content of `block` does not
    /// matter.
    pub(super) fn new(
        record: Record<'a>,
        parts: ScoreParts,
        norms: &Norms,
        docs: u32,
        block: Box<Block>,
        token: Token,
    ) -> Result<Self, Damaged> {
        let mut places = Vec::new();
        let (mut packed, mut start) = (&[][..], 0_usize);
        if let List::Blocks { mut directory, blocks, .. } = record.list {
            packed = blocks;
            places.reserve_exact(directory.len());
            let most = record.statistics.max_freq;
            while directory.len() > 0 {
                let mut bound = 0;
                let entry = directory.next(|point| {
                    let tf = if point.tf == SATURATED { most } else { most.min(point.tf.into()) };
                    bound = bound.max(parts.scorer.bound(tf, norms.of_code(point.code)));
                });
                let entry = entry.ok_or(Damaged)?;
                places.push(Place { last: entry.last, packing: entry.packing, start, bound });
                start = start.checked_add(entry.packing.bytes()).ok_or(Damaged)?;
            }
        }
        Ok(Self {
            parts,
            record,
            docs,
            token,
            places,
            packed,
            tail_start: start,
            number: 0,
            before: None,
            block,
            unpacked: false,
            at: 0,
            tail_bound: None,
        })
    }

    /// Gives its buffers back, for the next query.
    pub(super) fn recycle(self, scratch: &mut Scratch) {
        self.parts.recycle(&mut scratch.tables);
        scratch.keep(self.block);
    }

    /// The number of postings of the list.
    pub(super) fn doc_freq(&self) -> u32 {
        self.record.statistics.doc_freq
    }

    /// The number of postings behind the full blocks.
    fn tail(&self) -> usize {
        match self.record.list {
            List::One(_) => 1,
            List::Blocks { tail, .. } => tail.len(),
        }
    }

    /// Whether the cursor is behind the last posting.
    pub(super) fn is_at_end(&self) -> bool {
        self.number > self.places.len() || (self.number == self.places.len() && self.tail() == 0)
    }

    /// The next posting's document is at least this.
    pub(super) fn next_is_from(&self) -> u32 {
        if self.unpacked {
            self.block.docs().get(self.at).copied().unwrap_or(u32::MAX)
        } else {
            self.before.map_or(0, |before| before.wrapping_add(1))
        }
    }

    /// Goes to the next block.
    fn next_block(&mut self) {
        if let Some(place) = self.places.get(self.number) {
            self.before = Some(place.last);
        }
        self.number += 1;
        self.unpacked = false;
        self.at = 0;
    }

    /// Skips the blocks that end before `doc`.
    pub(super) fn skip_blocks(&mut self, doc: u32) -> Result<(), Damaged> {
        while let Some(place) = self.places.get(self.number) {
            if place.last >= doc {
                return Ok(());
            }
            self.next_block();
        }
        // The tail has to be unpacked to know where it ends.
        if !self.is_at_end() {
            self.unpack()?;
            self.pass(doc);
            if self.at == self.block.docs().len() {
                self.next_block();
            }
        }
        Ok(())
    }

    /// Skips the postings of the unpacked block that are before `doc`.
    #[inline]
    fn pass(&mut self, doc: u32) {
        let docs = self.block.docs().get(self.at..).unwrap_or_default();
        if docs.first().is_some_and(|&first| first < doc) {
            self.at += docs.partition_point(|&other| other < doc);
        }
    }

    /// Unpacks the current block, unless it is unpacked. The cursor is not at the end.
    fn unpack(&mut self) -> Result<(), Damaged> {
        if self.unpacked {
            return Ok(());
        }
        match self.places.get(self.number) {
            Some(place) => {
                let next = self.places.get(self.number + 1).map_or(self.tail_start, |next| next.start);
                let end = (next + SLACK).min(self.packed.len());
                let packed = self.packed.get(place.start..end).ok_or(Damaged)?;
                self.block.unpack(self.token, self.before, place.packing, packed).ok_or(Damaged)?;
                if self.block.docs().last() != Some(&place.last) {
                    return Err(Damaged);
                }
            }
            None => match self.record.list {
                List::One(posting) => {
                    self.block.clear();
                    self.block.push(posting);
                }
                List::Blocks { tail, .. } => {
                    let packed = self.packed.get(self.tail_start..).ok_or(Damaged)?;
                    self.block.unpack_tail(self.token, self.before, &tail, packed).ok_or(Damaged)?;
                }
            },
        }
        self.unpacked = true;
        self.at = 0;
        // The others need no check: places are masked to the window, so damage can at worst change scores.
        if self.block.docs().last().is_none_or(|&last| last >= self.docs) {
            return Err(Damaged);
        }
        Ok(())
    }

    /// The most that a posting of the tail can add.
    fn tail_bound(&mut self, window: &Window<'_>) -> u32 {
        // The tail has no points. It is unpacked when the cursor comes to it.
        if self.number != self.places.len() || !self.unpacked {
            return self.parts.scorer.most();
        }
        let bound = || {
            let codes = window.index.codes();
            let code = |doc: u32| codes.get(doc as usize).copied().unwrap_or_default();
            let postings = self.block.docs().iter().zip(self.block.tfs());
            let norm = |doc| window.norms.of_code(code(doc));
            postings.map(|(&doc, &tf)| self.parts.scorer.bound(tf, norm(doc))).max().unwrap_or_default()
        };
        let bound = self.tail_bound.unwrap_or_else(bound);
        self.tail_bound = Some(bound);
        bound
    }

    /// The most that a posting up to the end of the window can add; 0 if there is none.
    pub(super) fn window_bound(&mut self, window: &Window<'_>) -> u32 {
        let end = window.first.saturating_add(WINDOW as u32);
        if self.is_at_end() || self.next_is_from() >= end {
            return 0;
        }
        let mut bound = 0;
        for place in self.places.get(self.number..).unwrap_or_default() {
            bound = bound.max(place.bound);
            if place.last >= end - 1 {
                return bound;
            }
        }
        if self.tail() > 0 { bound.max(self.tail_bound(window)) } else { bound }
    }

    /// Adds the parts of the remaining postings of the window and advances past them. Blocks whose bound is
    /// below `least` may be left out.
    pub(super) fn add(&mut self, window: &Window<'_>, least: u32, sums: &mut Sums) -> Result<(), Damaged> {
        let end = u64::from(window.first) + WINDOW as u64;
        self.skip_blocks(window.first)?;
        while !self.is_at_end() && u64::from(self.next_is_from()) < end {
            let place = self.places.get(self.number).copied();
            let ends_here = place.is_some_and(|place| u64::from(place.last) < end);
            if ends_here && !self.unpacked && place.is_some_and(|place| place.bound < least) {
                self.next_block();
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
            let once = place.is_some_and(|place| place.packing.kind == 0);
            let tfs = &self.block.tfs()[self.at..stop];
            self.parts.add(window, &docs[self.at..stop], tfs, once, sums);
            self.at = stop;
            if stop < docs.len() {
                break;
            }
            self.next_block();
        }
        Ok(())
    }

    /// Adds the part of `doc` if the list has it. `doc` lies in the window, and not before the document of an
    /// earlier call.
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
            let sum = &mut sums.touch(window.first, &[doc])[local];
            *sum = sum.wrapping_add(self.parts.of(window, local, self.block.tfs()[self.at]));
        }
        Ok(())
    }
}
