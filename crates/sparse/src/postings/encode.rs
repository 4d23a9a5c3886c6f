//! Writing the record of a term.

use super::block::Block;
use super::skyline::skyline;
use super::{BLOCK, Posting, entry, write_varint};

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
        let packing = self.block.pack_full(self.before, &mut self.blocks);
        let last = self.block.docs().last().copied().unwrap_or_default();
        let code = |doc: u32| codes.get(doc as usize).copied().unwrap_or_default();
        let postings = self.block.docs().iter().zip(self.block.tfs());
        let points = skyline(postings.map(|(&doc, &tf)| (tf, code(doc))));
        entry::write(packing, &points, &mut self.directory);
        self.before = Some(last);
        self.block.clear();
    }

    /// Appends the record of the term to `out`, and begins the next.
    pub(crate) fn finish(&mut self, codes: &[u8], out: &mut Vec<u8>) {
        if self.block.is_full() {
            self.finish_block(codes);
        }
        let others = self.collection_freq - self.doc_freq;
        write_varint((self.doc_freq - 1) << 1 | u64::from(others > 0), out);
        if others > 0 {
            write_varint(others - 1, out);
        }
        match (self.doc_freq, self.block.docs()) {
            (1, &[doc]) => write_varint(u64::from(doc), out),
            (df, _) => {
                if others > 0 {
                    write_varint(u64::from(self.max_tf - 2), out);
                }
                if df >= BLOCK as u64 {
                    write_varint(self.directory.len() as u64, out);
                }
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
