//! The postings of a block, unpacked.

use toller_simd::product::Floats;
use toller_simd::{Kernel, Simd, Token};

use super::frequencies::Encoding;
use super::set_bits::ROOM;
use super::{BLOCK, Posting, Tail, documents};
use crate::coding::BitWriter;

/// Up to [`BLOCK`] postings in order.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    docs: [u32; ROOM],
    tfs: [u32; ROOM],
    len: usize,
    /// For intermediate results.
    scratch: [u32; ROOM],
}

/// How a full block is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// The sum of the gaps: the number of documents after the block before, up to its last one, that are not
    /// in it.
    pub(crate) spread: u32,
    /// The bytes of the high parts of the gaps.
    pub(crate) high_bytes: u8,
    /// How its frequencies are written, see `Encoding::of_kind`; 0 if all are 1.
    pub(crate) kind: u8,
}

impl Packing {
    /// The bytes of the block.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        self.doc_bytes() + Encoding::of_kind(self.kind).bits(BLOCK).div_ceil(8)
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

    /// The occurrences beyond the first of each document, and the largest frequency.
    pub(super) fn extras(&self) -> (u64, u32) {
        let extras = self.tfs().iter().map(|&tf| u64::from(tf - 1)).sum();
        (extras, self.tfs().iter().copied().max().unwrap_or_default())
    }

    /// Appends a full block that follows the document `before`.
    pub(crate) fn pack(&self, before: Option<u32>, out: &mut Vec<u8>) -> Packing {
        let docs: [u32; BLOCK] = std::array::from_fn(|place| self.docs[place]);
        let spread = docs[BLOCK - 1] + 1 - BLOCK as u32 - documents::next_after(before);
        let high_bytes = documents::write(before, &docs, spread, out) as u8;
        let (extras, max_tf) = self.extras();
        let encoding = Encoding::of(extras, max_tf);
        let mut bits = BitWriter::new(out);
        encoding.write(self.tfs(), &mut bits);
        bits.finish();
        Packing { spread, high_bytes, kind: encoding.kind() }
    }

    /// Unpacks a full block from the front of `packed`; `None` if it is damaged.
    pub(crate) fn unpack(
        &mut self,
        token: Token,
        before: Option<u32>,
        packing: Packing,
        packed: &[u8],
    ) -> Option<()> {
        token.run(Unpack { block: self, before, packing, packed })
    }

    /// Unpacks the tail after full blocks, which end with the document `before`; `None` if it is damaged.
    pub(crate) fn unpack_tail(
        &mut self,
        token: Token,
        before: Option<u32>,
        tail: &Tail,
        packed: &[u8],
    ) -> Option<()> {
        token.run(UnpackTail { block: self, before, tail, packed })
    }
}

struct Unpack<'a> {
    block: &'a mut Block,
    before: Option<u32>,
    packing: Packing,
    packed: &'a [u8],
}

impl Kernel for Unpack<'_> {
    type Output = Option<()>;
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<()> {
        let Self { block: Block { docs, tfs, len, scratch }, before, packing, packed } = self;
        documents::read(simd, before, packing.spread, packed, docs)?;
        let frequencies = packed.get(packing.doc_bytes()..)?;
        Encoding::of_kind(packing.kind).read(simd, frequencies, 0, &mut tfs[..BLOCK], scratch)?;
        *len = BLOCK;
        Some(())
    }
}

struct UnpackTail<'a> {
    block: &'a mut Block,
    before: Option<u32>,
    tail: &'a Tail,
    packed: &'a [u8],
}

impl Kernel for UnpackTail<'_> {
    type Output = Option<()>;
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<()> {
        let Self { block: Block { docs, tfs, len, scratch }, before, tail, packed } = self;
        tail.read(simd, before, packed, docs, tfs, scratch)?;
        *len = tail.len();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_simd::Token;

    use super::{BLOCK, Block, Packing, Posting, documents};

    fn tf() -> impl Strategy<Value = u32> {
        prop_oneof![9 => Just(1_u32), 1 => 1..4_u32, 1 => 1..=u32::MAX]
    }

    proptest! {
        #[test]
        fn round_trip(
            gaps in prop::collection::vec(0..5000_u32, BLOCK),
            tfs in prop::collection::vec(tf(), BLOCK),
            most in prop_oneof![Just(1_u32), Just(2), Just(5), Just(30), Just(300), Just(u32::MAX)],
            (shift, before) in (0..14_u32, prop::option::of(0..1000_u32)),
        ) {
            let mut block = Block::new();
            let mut next = documents::next_after(before);
            for (gap, tf) in gaps.iter().zip(tfs) {
                block.push(Posting { doc: next + (gap >> shift), tf: (tf - 1) % most + 1 });
                next += (gap >> shift) + 1;
            }
            let mut packed = Vec::new();
            let packing = block.pack(before, &mut packed);
            prop_assert_eq!(packing.bytes(), packed.len());
            let most_less = documents::most_high_bytes(packing.spread) - usize::from(packing.high_bytes);
            prop_assert!(most_less <= documents::MOST_LESS);
            for token in Token::available() {
                let mut found = Block::new();
                prop_assert!(found.unpack(token, before, packing, &packed).is_some(), "{:?}", token);
                prop_assert_eq!((found.docs(), found.tfs()), (block.docs(), block.tfs()), "{:?}", token);
            }
            // No other number of low bits is much better.
            for low in (0..20_u8).filter(|_| packing.spread > 0) {
                let highs: u32 = gaps.iter().map(|gap| 1 + (gap >> shift >> low)).sum();
                let bits = BLOCK * usize::from(low) + highs as usize;
                prop_assert!(packing.doc_bytes() * 8 <= bits + BLOCK / 2 + 7, "{}", low);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            packed in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..600),
            (spread, shift, high_bytes, kind) in (any::<u32>(), 0..32_u32, any::<u8>(), any::<u8>()),
        ) {
            let packing = Packing { spread: spread >> shift, high_bytes, kind };
            for token in Token::available() {
                let _ = Block::new().unpack(token, Some(7), packing, &packed);
            }
        }
    }
}
