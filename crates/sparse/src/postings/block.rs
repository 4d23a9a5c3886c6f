//! The postings of a block, unpacked.

use super::ones::ROOM;
use super::{BLOCK, Posting, Tail, documents, frequencies};

/// Up to [`BLOCK`] postings in order.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    docs: [u32; ROOM],
    tfs: [u32; ROOM],
    len: usize,
    /// For what is read on the way.
    scratch: [u32; ROOM],
}

/// How a full block is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// The documents up to its last, and behind the block before, that are not in it.
    pub(crate) spread: u32,
    /// The bytes of the high parts of the gaps between its documents.
    pub(crate) high_bytes: u8,
    /// How its frequencies are written; 0 if all are 1.
    pub(crate) kind: u8,
}

impl Packing {
    /// The bytes of the block; `None` if nothing is packed so.
    #[inline]
    pub(crate) fn bytes(self) -> Option<usize> {
        Some(self.doc_bytes() + frequencies::bytes(self.kind)?)
    }

    fn doc_bytes(self) -> usize {
        documents::low_bytes(self.spread) + usize::from(self.high_bytes)
    }
}

impl Block {
    /// No postings.
    pub(crate) fn new() -> Self {
        Self { docs: [0; ROOM], tfs: [0; ROOM], len: 0, scratch: [0; ROOM] }
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

    /// Adds a posting to a block that is not full.
    pub(crate) fn push(&mut self, posting: Posting) {
        self.docs[self.len] = posting.doc;
        self.tfs[self.len] = posting.tf;
        self.len += 1;
    }

    /// Appends a full block that follows the document `before`.
    pub(crate) fn pack(&self, before: Option<u32>, out: &mut Vec<u8>) -> Packing {
        let base = documents::next_after(before);
        let spread = self.docs().last().map_or(0, |&last| last - base + 1 - BLOCK as u32);
        let high_bytes = documents::write(before, self.docs(), spread, out) as u8;
        let once = self.tfs().iter().all(|&tf| tf == 1);
        Packing { spread, high_bytes, kind: if once { 0 } else { frequencies::write(self.tfs(), out) } }
    }

    /// Unpacks a full block from the front of `packed`; `None` if it is damaged.
    #[inline]
    pub(crate) fn unpack(&mut self, before: Option<u32>, packing: Packing, packed: &[u8]) -> Option<()> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: this CPU has both.
            return unsafe { self.unpack_avx2(before, packing, packed) };
        }
        self.unpack_portable(before, packing, packed)
    }

    /// Unpacks the tail behind full blocks, the last document of which is `before`; `None` if it is damaged.
    #[inline]
    pub(crate) fn unpack_tail(&mut self, before: Option<u32>, tail: &Tail, packed: &[u8]) -> Option<()> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: this CPU has both.
            return unsafe { self.unpack_tail_avx2(before, tail, packed) };
        }
        self.unpack_tail_portable(before, tail, packed)
    }

    /// [`Block::unpack_portable`] in vectors of eight, and with shifts by any number of bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi2")]
    fn unpack_avx2(&mut self, before: Option<u32>, packing: Packing, packed: &[u8]) -> Option<()> {
        self.unpack_portable(before, packing, packed)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi2")]
    fn unpack_tail_avx2(&mut self, before: Option<u32>, tail: &Tail, packed: &[u8]) -> Option<()> {
        self.unpack_tail_portable(before, tail, packed)
    }

    #[inline(always)]
    fn unpack_portable(&mut self, before: Option<u32>, packing: Packing, packed: &[u8]) -> Option<()> {
        let Self { docs, tfs, scratch, .. } = self;
        documents::read(before, packing.spread, packed, docs)?;
        frequencies::read(packing.kind, packed.get(packing.doc_bytes()..)?, tfs, scratch)?;
        self.len = BLOCK;
        Some(())
    }

    #[inline(always)]
    fn unpack_tail_portable(&mut self, before: Option<u32>, tail: &Tail, packed: &[u8]) -> Option<()> {
        let Self { docs, tfs, scratch, .. } = self;
        tail.read(before, packed, docs, tfs, scratch)?;
        self.len = tail.len();
        Some(())
    }
}
