//! Writing the record of a term.

use super::block::Block;
use super::skyline::skyline;
use super::{Posting, write_varint};

/// Collects the postings of one term after another, and appends their records.
///
/// The list of one term is in memory as a whole, packed: at most a few bits a document of the collection.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    directory: Vec<u8>,
    blocks: Vec<u8>,
    block: Block,
    /// The last document of the last full block.
    before: Option<u32>,
    doc_freq: u64,
    collection_freq: u64,
    max_tf: u32,
}

impl ListEncoder {
    pub(crate) fn new() -> Self {
        Self {
            directory: Vec::new(),
            blocks: Vec::new(),
            block: Block::new(),
            before: None,
            doc_freq: 0,
            collection_freq: 0,
            max_tf: 0,
        }
    }

    /// Adds the next posting of the term, whose documents ascend. `codes` are those of the documents' lengths.
    #[inline]
    pub(crate) fn push(&mut self, posting: Posting, codes: &[u8]) {
        if self.block.is_full() {
            self.finish_block(codes);
        }
        self.block.push(posting);
        self.doc_freq += 1;
        self.collection_freq += u64::from(posting.tf);
        self.max_tf = self.max_tf.max(posting.tf);
    }

    fn finish_block(&mut self, codes: &[u8]) {
        let (gap_bits, tf_bits) = self.block.pack_full(self.before, &mut self.blocks);
        let last = self.block.docs().last().copied().unwrap_or_default();
        self.directory.extend(last.to_le_bytes());
        self.directory.extend([gap_bits, tf_bits]);
        let code = |doc: u32| codes.get(doc as usize).copied().unwrap_or_default();
        let postings = self.block.docs().iter().zip(self.block.tfs());
        for point in skyline(postings.map(|(&doc, &tf)| (tf, code(doc)))) {
            self.directory.extend([point.tf, point.code]);
        }
        self.before = Some(last);
        self.block.clear();
    }

    /// Appends the record of the term to `out`, and begins the next.
    pub(crate) fn finish(&mut self, codes: &[u8], out: &mut Vec<u8>) {
        if self.block.is_full() {
            self.finish_block(codes);
        }
        write_varint(self.doc_freq, out);
        write_varint(self.collection_freq - self.doc_freq, out);
        match (self.doc_freq, self.block.docs()) {
            (1, &[doc]) => write_varint(u64::from(doc), out),
            _ => {
                write_varint(u64::from(self.max_tf.saturating_sub(1)), out);
                out.append(&mut self.directory);
                out.append(&mut self.blocks);
                if !self.block.is_empty() {
                    self.block.pack_tail(self.before, out);
                }
            }
        }
        self.block.clear();
        self.before = None;
        (self.doc_freq, self.collection_freq, self.max_tf) = (0, 0, 0);
    }
}
