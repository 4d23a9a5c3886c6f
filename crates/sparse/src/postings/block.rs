//! The postings of a block, unpacked.

use super::ones::ROOM;
use super::{BLOCK, Posting, documents, frequencies};

/// Up to [`BLOCK`] postings in order.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    docs: [u32; ROOM],
    tfs: [u32; ROOM],
    len: usize,
}

/// How a full block is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// The documents up to its last, and behind the block before, that are not in it.
    pub(crate) spread: u32,
    /// How its frequencies are written; 0 if all are 1.
    pub(crate) kind: u8,
}

impl Packing {
    /// The bytes of the block; `None` if nothing is packed so.
    #[inline]
    pub(crate) fn bytes(self) -> Option<usize> {
        Some(documents::full_bytes(self.spread) + frequencies::bytes(self.kind, BLOCK)?)
    }
}

/// In the first byte of a block that is not full: whether there are frequencies above 1. The other bits are the low bits of
/// the documents.
const FREQUENCIES: u8 = 128;

impl Block {
    /// No postings.
    pub(crate) fn new() -> Self {
        Self { docs: [0; ROOM], tfs: [0; ROOM], len: 0 }
    }

    /// The documents, ascending.
    pub(crate) fn docs(&self) -> &[u32] {
        &self.docs[..self.len]
    }

    /// The frequency of each.
    pub(crate) fn tfs(&self) -> &[u32] {
        &self.tfs[..self.len]
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == BLOCK
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a posting to a block that is not full.
    pub(crate) fn push(&mut self, posting: Posting) {
        self.docs[self.len] = posting.doc;
        self.tfs[self.len] = posting.tf;
        self.len += 1;
    }

    /// The documents from `base` to the last that are not in the block.
    fn spread(&self, base: u32) -> u32 {
        self.docs().last().map_or(0, |&last| last - base + 1 - self.len as u32)
    }

    fn write_frequencies(&self, out: &mut Vec<u8>) -> u8 {
        if self.tfs().iter().all(|&tf| tf == 1) { 0 } else { frequencies::write(self.tfs(), out) }
    }

    /// Appends a full block that follows the document `before`.
    pub(crate) fn pack_full(&self, before: Option<u32>, out: &mut Vec<u8>) -> Packing {
        let base = next_after(before);
        let spread = self.spread(base);
        documents::write_full(base, self.docs(), spread, out);
        Packing { spread, kind: self.write_frequencies(out) }
    }

    /// Unpacks a full block from the front of `packed`; `None` if it is damaged.
    #[inline]
    pub(crate) fn unpack_full(&mut self, before: Option<u32>, packing: Packing, packed: &[u8]) -> Option<()> {
        let (docs, tfs) =
            packed.get(..packing.bytes()?)?.split_at_checked(documents::full_bytes(packing.spread))?;
        documents::read_full(next_after(before), packing.spread, docs, &mut self.docs)?;
        frequencies::read(packing.kind, tfs, BLOCK, &mut self.tfs)?;
        self.len = BLOCK;
        Some(())
    }

    /// Appends a block that is not full and follows the document `before`.
    pub(crate) fn pack_tail(&self, before: Option<u32>, out: &mut Vec<u8>) {
        let base = next_after(before);
        let low = documents::low_bits(self.len, self.spread(base));
        let mut tfs = Vec::new();
        match self.write_frequencies(&mut tfs) {
            0 => out.push(low),
            kind => out.extend([low | FREQUENCIES, kind]),
        }
        documents::write(base, self.docs(), low, out);
        out.append(&mut tfs);
    }

    /// Unpacks a block of `len` (below [`BLOCK`]) postings; `None` if it is damaged.
    pub(crate) fn unpack_tail(&mut self, before: Option<u32>, len: usize, mut packed: &[u8]) -> Option<()> {
        let first = *packed.split_off_first()?;
        let kind = if first < FREQUENCIES { 0 } else { *packed.split_off_first()? };
        let low = first % FREQUENCIES;
        if low > 31 {
            return None;
        }
        documents::read(next_after(before), low, len, &mut packed, &mut self.docs)?;
        frequencies::read(kind, packed.get(..frequencies::bytes(kind, len)?)?, len, &mut self.tfs)?;
        self.len = len;
        Some(())
    }
}

/// The first document that can follow `before`.
#[inline]
fn next_after(before: Option<u32>) -> u32 {
    before.map_or(0, |before| before.wrapping_add(1))
}
