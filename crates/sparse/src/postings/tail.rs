//! The tail: the last block of a list, which is not full. It is written bit by bit, since most lists are
//! short and would be mostly padding.
//!
//! ```text
//! tail      := clustered (1 bit), documents, frequencies (see `frequencies`)
//! documents := unary(gap / 2^l) * n, the l low bits of the gap * n
//!            | delta(gap) * n                                          if clustered
//! ```
//!
//! 2^l is the largest power of two up to the mean gap if the n documents were spread evenly after the blocks.
//! Collections of passages have the passages of a text next to each other, so that a rare term has a few
//! large gaps and many small ones: it is clustered.

use toller_simd::Simd;

use super::Block;
use super::documents::{low_bits, next_after};
use super::frequencies::Encoding;
use super::set_bits::{self, ROOM};
use crate::coding::packed::unpack;
use crate::coding::{BitReader, BitWriter};

/// What a reader of a tail must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Postings, fewer than a full block has.
    pub(super) len: usize,
    /// Where it begins, in bits after the blocks.
    pub(super) start: usize,
    /// Occurrences beyond the first of each document, if they are known before the tail is read.
    pub(super) extras: Option<u64>,
    /// The largest frequency of the list.
    pub(super) max_tf: u32,
    /// The documents of the collection.
    pub(super) docs: u32,
}

impl Tail {
    /// The number of postings.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The low bits of gaps, if the documents are at random places after the document `before`.
    fn gap_bits(&self, before: Option<u32>) -> u8 {
        low_bits(self.len, self.docs.saturating_sub(next_after(before)).saturating_sub(self.len as u32))
    }

    /// Writes the block, which has `extras` extras and follows the document `before`.
    pub(super) fn write(&self, before: Option<u32>, block: &Block, extras: u64, bits: &mut BitWriter<'_>) {
        let low = self.gap_bits(before);
        let mut next = next_after(before);
        let gaps: Vec<u32> = block
            .docs()
            .iter()
            .map(|&doc| {
                let gap = doc - next;
                next = doc + 1;
                gap
            })
            .collect();
        let of_rice: u64 = gaps.iter().map(|gap| u64::from(gap >> low) + u64::from(low) + 1).sum();
        let of_delta: u64 = gaps.iter().map(|&gap| delta_bits(gap)).sum();
        let clustered = of_delta < of_rice;
        bits.bits(clustered.into(), 1);
        if clustered {
            gaps.iter().for_each(|&gap| bits.delta(gap.into()));
        } else {
            gaps.iter().for_each(|&gap| bits.unary(u64::from(gap >> low)));
            gaps.iter().for_each(|&gap| bits.bits(gap.into(), low.into()));
        }
        Encoding::of(extras, self.max_tf).write(block.tfs(), bits);
    }

    /// Reads the tail from the bytes after the blocks, which end with `before`; `None` if it is damaged.
    #[inline(always)]
    pub(super) fn read<S: Simd>(
        &self,
        simd: S,
        before: Option<u32>,
        packed: &[u8],
        docs: &mut [u32; ROOM],
        tfs: &mut [u32; ROOM],
        scratch: &mut [u32; ROOM],
    ) -> Option<()> {
        let mut bits = BitReader::from_bit(packed, self.start);
        let extras = match self.extras {
            Some(extras) => extras,
            None => bits.gamma()?,
        };
        let clustered = bits.bits(1)? == 1;
        let at = if clustered {
            self.read_deltas(before, bits, docs)?
        } else {
            self.read_gaps(simd, before, packed, bits.position()?, docs, scratch)?
        };
        Encoding::of(extras, self.max_tf).read(simd, packed, at, tfs.get_mut(..self.len)?, scratch)
    }

    /// Reads documents after the first `at` bits; returns the bits up to their end.
    #[inline(always)]
    fn read_gaps<S: Simd>(
        &self,
        simd: S,
        before: Option<u32>,
        packed: &[u8],
        at: usize,
        docs: &mut [u32; ROOM],
        lows: &mut [u32; ROOM],
    ) -> Option<usize> {
        let low = self.gap_bits(before);
        set_bits::find::<S, false>(simd, packed, at, self.len, docs)?;
        let docs = docs.get_mut(..self.len)?;
        let lows_at = at + docs.last().map_or(0, |&last| last as usize + 1);
        unpack(packed, lows_at, low, lows.get_mut(..self.len)?);
        let mut base = next_after(before);
        for (place, (doc, low_part)) in (0..).zip(docs.iter_mut().zip(lows.iter())) {
            base = base.wrapping_add(*low_part);
            *doc = doc.wrapping_sub(place).wrapping_shl(low.into()).wrapping_add(base);
            base = base.wrapping_add(1);
        }
        Some(lows_at + self.len * usize::from(low))
    }

    /// [`Tail::read_gaps`] of clustered documents.
    fn read_deltas(
        &self,
        before: Option<u32>,
        mut bits: BitReader<'_>,
        docs: &mut [u32; ROOM],
    ) -> Option<usize> {
        let mut next = u64::from(next_after(before));
        for doc in docs.get_mut(..self.len)? {
            *doc = u32::try_from(next.checked_add(bits.delta()?)?).ok()?;
            next = u64::from(*doc) + 1;
        }
        bits.position()
    }
}

/// The bits of `delta(value)`.
fn delta_bits(value: u32) -> u64 {
    let bits = (u64::from(value) + 1).ilog2();
    u64::from(bits + 2 * (bits + 1).ilog2() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_simd::Token;

    use super::{BitWriter, Block, Tail, delta_bits};
    use crate::postings::{BLOCK, Posting};

    fn gap() -> impl Strategy<Value = u32> {
        prop_oneof![0..3_u32, 0..5000_u32, 0..1_000_000_u32]
    }

    fn tf() -> impl Strategy<Value = u32> {
        prop_oneof![9 => Just(1_u32), 2 => 1..4_u32, 1 => 1..=u32::MAX]
    }

    proptest! {
        #[test]
        fn round_trip(
            gaps in prop::collection::vec((gap(), 0..20_u32), 1..BLOCK),
            tfs in prop::collection::vec(tf(), 1..BLOCK),
            most in prop_oneof![Just(1_u32), Just(3), Just(300), Just(u32::MAX)],
            before in prop::option::of(0..1000_u32),
            (behind, start, known) in (0..100_u32, 0..20_usize, any::<bool>()),
        ) {
            let mut block = Block::new();
            let mut next = before.map_or(0, |before| before + 1);
            for (&(gap, shift), &tf) in gaps.iter().zip(tfs.iter().cycle()) {
                block.push(Posting { doc: next + (gap >> shift), tf: (tf - 1) % most + 1 });
                next += (gap >> shift) + 1;
            }
            let (extras, max_tf) = block.extras();
            let extras_known = known.then_some(extras);
            let tail = Tail { len: gaps.len(), start, extras: extras_known, max_tf, docs: next + behind };
            let mut bytes = Vec::new();
            let mut bits = BitWriter::new(&mut bytes);
            bits.bits(0, start as u32);
            if !known {
                bits.gamma(extras);
            }
            tail.write(before, &block, extras, &mut bits);
            bits.finish();
            for token in Token::available() {
                let mut found = Block::new();
                prop_assert!(found.unpack_tail(token, before, &tail, &bytes).is_some(), "{:?}", token);
                prop_assert_eq!((found.docs(), found.tfs()), (block.docs(), block.tfs()), "{:?}", token);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..400),
            (len, start, docs) in (0..=BLOCK, 0..90_usize, any::<u32>()),
            extras in prop::option::of(prop_oneof![0..100_u64, any::<u64>()]),
            max_tf in prop_oneof![0..5_u32, any::<u32>()],
        ) {
            let tail = Tail { len, start, extras, max_tf, docs };
            for token in Token::available() {
                let _ = Block::new().unpack_tail(token, Some(7), &tail, &bytes);
            }
        }

        #[test]
        fn bits_of_deltas(value in any::<u32>(), shift in 0..32_u32) {
            let (value, mut bytes) = (value >> shift, Vec::new());
            let mut bits = BitWriter::new(&mut bytes);
            bits.delta(value.into());
            bits.finish();
            prop_assert_eq!(bytes.len() as u64, delta_bits(value).div_ceil(8));
        }
    }

    #[test]
    fn neighbours_take_few_bits() {
        let mut block = Block::new();
        (0..20).for_each(|place| block.push(Posting { doc: 30_000_000 + place * 2, tf: 1 }));
        let tail = Tail { len: 20, start: 0, extras: Some(0), max_tf: 1, docs: 33_000_000 };
        let mut bytes = Vec::new();
        let mut bits = BitWriter::new(&mut bytes);
        tail.write(None, &block, 0, &mut bits);
        bits.finish();
        assert_eq!(bytes.len(), (1 + 33_usize + 19 * 4).div_ceil(8));
    }
}
