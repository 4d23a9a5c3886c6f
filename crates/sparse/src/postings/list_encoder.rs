//! Encoding posting lists.

use super::block::Block;
use super::skyline::skyline;
use super::{BLOCK, Posting, Tail, directory};
use crate::coding::BitWriter;

/// Collects the postings of one term after another and appends their records. A term has fewer than 2^56
/// occurrences.
///
/// The whole list of one term is in memory, packed: at most a few bits for each document of the collection.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    directory: Vec<u8>,
    blocks: Vec<u8>,
    block: Block,
    /// The last document of the last full block.
    before: Option<u32>,
    /// The occurrences beyond the first of each document in the full blocks.
    extras: u64,
    full: u64,
    max_tf: u32,
}

impl ListEncoder {
    pub(crate) fn new() -> Self {
        Self {
            directory: Vec::new(),
            blocks: Vec::new(),
            block: Block::new(),
            before: None,
            extras: 0,
            full: 0,
            max_tf: 0,
        }
    }

    /// Adds the next posting of the term, in the order of the documents. `codes` are the codes of their
    /// lengths.
    #[inline]
    pub(crate) fn push(&mut self, posting: Posting, codes: &[u8]) {
        if self.block.is_full() {
            self.finish_block(codes);
        }
        self.block.push(posting);
        self.max_tf = self.max_tf.max(posting.tf);
    }

    fn finish_block(&mut self, codes: &[u8]) {
        let packing = self.block.pack(self.before, &mut self.blocks);
        let last = self.block.docs().last().copied().unwrap_or_default();
        let code = |doc: u32| codes.get(doc as usize).copied().unwrap_or_default();
        let postings = self.block.docs().iter().zip(self.block.tfs());
        let points = skyline(postings.map(|(&doc, &tf)| (tf, code(doc))));
        directory::write(packing, &points, &mut self.directory);
        self.before = Some(last);
        self.extras += self.block.extras().0;
        self.full += 1;
        self.block.clear();
    }

    /// Ends the term. A single posting is returned; several become a record, which is appended to `out`.
    pub(crate) fn finish(&mut self, codes: &[u8], out: &mut Vec<u8>) -> Option<Posting> {
        if self.block.is_full() {
            self.finish_block(codes);
        }
        let only = match (self.full, self.block.docs(), self.block.tfs()) {
            (0, &[doc], &[tf]) => Some(Posting { doc, tf }),
            _ => {
                self.write_record(codes.len() as u32, out);
                None
            }
        };
        self.block.clear();
        self.before = None;
        (self.extras, self.full, self.max_tf) = (0, 0, 0);
        only
    }

    fn write_record(&mut self, docs: u32, out: &mut Vec<u8>) {
        let (tail_extras, _) = self.block.extras();
        let extras = self.extras + tail_extras;
        let len = self.block.docs().len();
        let mut bits = BitWriter::new(out);
        bits.gamma(self.full * BLOCK as u64 + len as u64 - 2);
        bits.gamma(extras);
        if extras > 1 {
            bits.gamma(u64::from(self.max_tf - 2));
        }
        if self.full > 0 {
            bits.gamma(self.directory.len() as u64);
            bits.finish();
            out.append(&mut self.directory);
            out.append(&mut self.blocks);
            bits = BitWriter::new(out);
            if len > 0 && extras > 0 {
                bits.gamma(tail_extras);
            }
        }
        if len > 0 {
            let tail = Tail { len, start: 0, extras: None, max_tf: self.max_tf, docs };
            tail.write(self.before, &self.block, tail_extras, &mut bits);
        }
        bits.finish();
    }
}
