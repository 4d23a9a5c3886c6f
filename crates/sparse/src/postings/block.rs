//! The postings of a block, unpacked.

use bitpacking::{BitPacker, BitPacker4x};

use super::{BLOCK, Posting, bits};

/// Up to [`BLOCK`] postings in order.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    docs: [u32; BLOCK],
    tfs: [u32; BLOCK],
    len: usize,
}

impl Block {
    /// No postings.
    pub(crate) fn new() -> Self {
        Self { docs: [0; BLOCK], tfs: [0; BLOCK], len: 0 }
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

    /// Appends a full block that follows the document `before`; returns the bits of a gap and of a frequency.
    pub(crate) fn pack_full(&self, before: Option<u32>, out: &mut Vec<u8>) -> (u8, u8) {
        let packer = BitPacker4x::new();
        let rest = self.tfs.map(|tf| tf - 1);
        let (gap_bits, tf_bits) =
            (packer.num_bits_strictly_sorted(before, &self.docs), packer.num_bits(&rest));
        let start = out.len();
        out.resize(start + full_bytes(gap_bits, tf_bits), 0);
        let (gaps, tfs) = out[start..].split_at_mut(BitPacker4x::compressed_block_size(gap_bits));
        packer.compress_strictly_sorted(before, &self.docs, gaps, gap_bits);
        packer.compress(&rest, tfs, tf_bits);
        (gap_bits, tf_bits)
    }

    /// Unpacks a full block from the front of `packed`; `None` if it is damaged.
    #[inline]
    pub(crate) fn unpack_full(
        &mut self,
        before: Option<u32>,
        gap_bits: u8,
        tf_bits: u8,
        packed: &[u8],
    ) -> Option<()> {
        if gap_bits > 32 || tf_bits > 32 {
            return None;
        }
        let packer = BitPacker4x::new();
        let (gaps, rest) = packed.split_at_checked(BitPacker4x::compressed_block_size(gap_bits))?;
        let tfs = rest.get(..BitPacker4x::compressed_block_size(tf_bits))?;
        packer.decompress_strictly_sorted(before, gaps, &mut self.docs, gap_bits);
        if tf_bits == 0 {
            self.tfs = [1; BLOCK];
        } else {
            packer.decompress(tfs, &mut self.tfs, tf_bits);
            self.tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
        }
        self.len = BLOCK;
        Some(())
    }

    /// Appends a block that is not full and follows the document `before`.
    pub(crate) fn pack_tail(&self, before: Option<u32>, out: &mut Vec<u8>) {
        let mut next = next_after(before);
        let gaps: Vec<u32> = self
            .docs()
            .iter()
            .map(|&doc| {
                let gap = doc.wrapping_sub(next);
                next = doc.wrapping_add(1);
                gap
            })
            .collect();
        let rest: Vec<u32> = self.tfs().iter().map(|tf| tf - 1).collect();
        let (gap_bits, tf_bits) = (bits::bits_of(&gaps), bits::bits_of(&rest));
        out.extend([gap_bits, tf_bits]);
        bits::pack(&gaps, gap_bits, out);
        bits::pack(&rest, tf_bits, out);
    }

    /// Unpacks a block of `len` (below [`BLOCK`]) postings; `None` if it is damaged.
    pub(crate) fn unpack_tail(&mut self, before: Option<u32>, len: usize, mut packed: &[u8]) -> Option<()> {
        let &[gap_bits, tf_bits] = packed.split_off(..2)? else { return None };
        if gap_bits > 32 || tf_bits > 32 {
            return None;
        }
        let (docs, tfs) = (self.docs.get_mut(..len)?, self.tfs.get_mut(..len)?);
        bits::unpack(&mut packed, gap_bits, docs)?;
        bits::unpack(&mut packed, tf_bits, tfs)?;
        let mut next = next_after(before);
        for doc in docs {
            *doc = doc.wrapping_add(next);
            next = doc.wrapping_add(1);
        }
        tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
        self.len = len;
        Some(())
    }
}

/// The bytes of a full block.
pub(crate) fn full_bytes(gap_bits: u8, tf_bits: u8) -> usize {
    BitPacker4x::compressed_block_size(gap_bits) + BitPacker4x::compressed_block_size(tf_bits)
}

fn next_after(before: Option<u32>) -> u32 {
    before.map_or(0, |before| before.wrapping_add(1))
}
