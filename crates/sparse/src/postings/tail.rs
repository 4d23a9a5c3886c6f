//! The last block of a list, which is not full: bit after bit, since rare terms are many and short lists would be mostly padding.
//!
//! ```text
//! tail        := clustered (1 bit), documents, frequencies
//! documents   := unary(gap / 2^l) * n, the l low bits of the gap * n   2^l: the largest up to the gap of n documents at random places behind the blocks
//!              | delta(gap) * n                                      if clustered
//! frequencies :=                                                     where all n are 1, so that there are e = 0 occurrences beyond the first of each
//!              | extras or sums, see `frequencies`                   if these seem not to be longer than what follows
//!              | (frequency - 1 in w bits) * n                        w: the bits of the largest frequency of the list, less 1
//! ```
//!
//! Collections of passages have the passages of a text one after another: a rare term has few large gaps there and many small ones.

use super::documents::{low_bits, next_after};
use super::ones::{self, ROOM};
use super::{Block, frequencies};
use crate::coding::packed::unpack;
use crate::coding::{BitReader, BitWriter};

/// What has to be known of a tail to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Postings, fewer than a full block has.
    pub(super) len: usize,
    /// Where it begins, in bits behind the blocks.
    pub(super) start: usize,
    /// Occurrences beyond the first of each document, if it is known before the tail is read.
    pub(super) extras: Option<u64>,
    /// The largest frequency of the list.
    pub(super) max_tf: u32,
    /// The documents of the collection.
    pub(super) docs: u32,
}

/// How the frequencies are written.
enum Frequencies {
    Once,
    Extras { low: u8 },
    Summed,
    Packed { width: u8 },
}

impl Tail {
    /// The postings.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The low bits of gaps at random places behind the document `before`.
    fn gap_bits(&self, before: Option<u32>) -> u8 {
        low_bits(self.len, self.docs.saturating_sub(next_after(before)).saturating_sub(self.len as u32))
    }

    fn frequencies(&self, extras: u64) -> Frequencies {
        let width = self.max_tf.saturating_sub(1).checked_ilog2().map_or(0, |bits| bits as u8 + 1);
        let packed = self.len as u64 * u64::from(width);
        match frequencies::extras_bits(extras, self.len.saturating_sub(1) as u32) {
            _ if extras == 0 => Frequencies::Once,
            Some((low, bits)) if bits as u64 <= packed => Frequencies::Extras { low },
            None if extras.saturating_add(self.len as u64) <= packed => Frequencies::Summed,
            _ => Frequencies::Packed { width },
        }
    }

    /// Writes the block, which has so many extras and follows the document `before`.
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
        match self.frequencies(extras) {
            Frequencies::Once => {}
            Frequencies::Extras { low } => frequencies::write_extras(block.tfs(), low, bits),
            Frequencies::Summed => frequencies::write_summed(block.tfs(), bits),
            Frequencies::Packed { width } => {
                block.tfs().iter().for_each(|&tf| bits.bits((tf - 1).into(), width.into()));
            }
        }
    }

    /// Reads it from the bytes behind the blocks, the last document of which is `before`; `None` if it is damaged.
    #[inline(always)]
    pub(super) fn read(
        &self,
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
        let at = bits.position()?;
        let at = if clustered {
            self.read_deltas(before, bits, docs)?
        } else {
            self.read_gaps(before, packed, at, docs, scratch)?
        };
        let tfs = tfs.get_mut(..self.len)?;
        match self.frequencies(extras) {
            Frequencies::Once => tfs.fill(1),
            Frequencies::Extras { low } => {
                frequencies::read_extras(packed, at, extras as usize, low, tfs, scratch)?
            }
            Frequencies::Summed => frequencies::read_summed(packed, at, tfs, scratch)?,
            Frequencies::Packed { width } => {
                unpack(packed, at, width, tfs);
                tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
            }
        }
        Some(())
    }

    /// Reads documents from behind the first `at` bits; returns the bits up to their end.
    #[inline(always)]
    fn read_gaps(
        &self,
        before: Option<u32>,
        packed: &[u8],
        at: usize,
        docs: &mut [u32; ROOM],
        lows: &mut [u32; ROOM],
    ) -> Option<usize> {
        let low = self.gap_bits(before);
        ones::find(packed, at, self.len, docs)?;
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

    /// The same for documents close to each other.
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

    use super::{BitWriter, Block, Tail, delta_bits};
    use crate::postings::{BLOCK, Posting};

    proptest! {
        #[test]
        fn round_trip(
            gaps in prop::collection::vec((prop_oneof![0..3_u32, 0..5000_u32, 0..1_000_000_u32], 0..20_u32), 1..BLOCK),
            tfs in prop::collection::vec(prop_oneof![9 => Just(1_u32), 2 => 1..4_u32, 1 => 1..=u32::MAX], 1..BLOCK),
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
            let extras = block.tfs().iter().map(|&tf| u64::from(tf - 1)).sum();
            let max_tf = block.tfs().iter().copied().max().unwrap_or_default();
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
            let mut found = Block::new();
            prop_assert!(found.unpack_tail(before, &tail, &bytes).is_some());
            prop_assert_eq!((found.docs(), found.tfs()), (block.docs(), block.tfs()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..400),
            (len, start, docs) in (0..=BLOCK, 0..90_usize, any::<u32>()),
            extras in prop::option::of(prop_oneof![0..100_u64, any::<u64>()]),
            max_tf in prop_oneof![0..5_u32, any::<u32>()],
        ) {
            let tail = Tail { len, start, extras, max_tf, docs };
            let _ = Block::new().unpack_tail(Some(7), &tail, &bytes);
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
