//! Reading the record of a term where it lies.

use super::block::full_bytes;
use super::skyline::POINTS;
use super::{BLOCK, Block, Point, Posting, read_varint};
use crate::score::TermStatistics;

/// Bytes of an entry of the directory.
const ENTRY_BYTES: usize = 6 + 2 * POINTS;

/// A term's statistics and its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) statistics: TermStatistics,
    pub(crate) list: List<'a>,
}

/// The postings of a term, packed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List<'a> {
    /// A single one.
    One(Posting),
    /// Full blocks, and what is left.
    Blocks {
        directory: &'a [[u8; ENTRY_BYTES]],
        /// The packed blocks one after another, and behind them the tail and other records.
        blocks: &'a [u8],
        /// Postings behind the full blocks.
        tail: usize,
    },
}

/// What the directory says of a full block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its last document.
    pub(crate) last: u32,
    pub(crate) gap_bits: u8,
    pub(crate) tf_bits: u8,
    /// What dominates its postings.
    pub(crate) points: [Point; POINTS],
}

impl Entry {
    #[inline]
    pub(crate) fn read(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let &[a, b, c, d, gap_bits, tf_bits, ..] = bytes;
        let points =
            std::array::from_fn(|point| Point { tf: bytes[6 + 2 * point], code: bytes[7 + 2 * point] });
        Self { last: u32::from_le_bytes([a, b, c, d]), gap_bits, tf_bits, points }
    }

    /// The bytes of the block; `None` if there is no such block.
    #[inline]
    pub(crate) fn block_bytes(&self) -> Option<usize> {
        (self.gap_bits <= 32 && self.tf_bits <= 32).then(|| full_bytes(self.gap_bits, self.tf_bits))
    }
}

impl<'a> Record<'a> {
    /// The record that begins with `bytes`; `None` if it is damaged.
    pub(crate) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let doc_freq = u32::try_from(read_varint(&mut bytes)?).ok()?;
        let collection_freq = read_varint(&mut bytes)?.checked_add(u64::from(doc_freq))?;
        if doc_freq == 0 {
            return None;
        }
        if doc_freq == 1 {
            let doc = u32::try_from(read_varint(&mut bytes)?).ok()?;
            let tf = u32::try_from(collection_freq).ok()?;
            let statistics = TermStatistics { doc_freq, collection_freq, max_freq: tf };
            return Some(Self { statistics, list: List::One(Posting { doc, tf }) });
        }
        let max_freq = u32::try_from(read_varint(&mut bytes)?.checked_add(1)?).ok()?;
        let full = doc_freq as usize / BLOCK;
        let (directory, blocks) = bytes.split_at_checked(full.checked_mul(ENTRY_BYTES)?)?;
        let (directory, _) = directory.as_chunks();
        let list = List::Blocks { directory, blocks, tail: doc_freq as usize % BLOCK };
        Some(Self { statistics: TermStatistics { doc_freq, collection_freq, max_freq }, list })
    }

    /// Calls `each` with every block in order; `None` when the list is damaged. Documents are below `docs` and ascend.
    pub(crate) fn for_each_block(&self, docs: u32, mut each: impl FnMut(&Block)) -> Option<()> {
        let mut block = Block::new();
        match self.list {
            List::One(posting) => {
                block.push(posting);
                is_sound(&block, None, docs).then(|| each(&block))
            }
            List::Blocks { directory, mut blocks, tail } => {
                let mut before = None;
                for entry in directory {
                    let entry = Entry::read(entry);
                    let packed = blocks.split_off(..entry.block_bytes()?)?;
                    block.unpack_full(before, entry.gap_bits, entry.tf_bits, packed)?;
                    if !is_sound(&block, before, docs) {
                        return None;
                    }
                    each(&block);
                    before = Some(entry.last);
                }
                if tail > 0 {
                    block.unpack_tail(before, tail, blocks)?;
                    if !is_sound(&block, before, docs) {
                        return None;
                    }
                    each(&block);
                }
                Some(())
            }
        }
    }
}

/// Whether the documents ascend from behind `before`, and are below `docs`.
fn is_sound(block: &Block, before: Option<u32>, docs: u32) -> bool {
    let found = block.docs();
    let first = found.first().is_none_or(|&first| before.is_none_or(|before| before < first));
    first && found.is_sorted_by(|a, b| a < b) && found.last().is_none_or(|&last| last < docs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Record;
    use crate::postings::{ListEncoder, Posting};

    proptest! {
        #[test]
        fn round_trip(gaps in prop::collection::vec((1..50_u32, 1..400_u32), 1..700), wide in 0..20_u32) {
            let mut doc = 0_u32;
            let postings: Vec<Posting> = gaps.iter().map(|&(gap, tf)| {
                doc += gap << (wide / 4);
                Posting { doc, tf }
            }).collect();
            let codes = vec![7; doc as usize + 1];
            let (mut encoder, mut bytes) = (ListEncoder::new(), Vec::new());
            for _ in 0..2 {
                bytes.clear();
                postings.iter().for_each(|&posting| encoder.push(posting, &codes));
                encoder.finish(&codes, &mut bytes);
            }
            let record = Record::read(&bytes).ok_or_else(|| TestCaseError::fail("damaged"))?;
            prop_assert_eq!(record.statistics.doc_freq as usize, postings.len());
            prop_assert_eq!(record.statistics.collection_freq, gaps.iter().map(|&(_, tf)| u64::from(tf)).sum::<u64>());
            prop_assert_eq!(Some(record.statistics.max_freq), gaps.iter().map(|&(_, tf)| tf).max());
            let mut found = Vec::new();
            let read = record.for_each_block(doc + 1, |block| {
                found.extend(block.docs().iter().zip(block.tfs()).map(|(&doc, &tf)| Posting { doc, tf }));
            });
            prop_assert!(read.is_some());
            prop_assert_eq!(found, postings);
            prop_assert!(record.for_each_block(doc, |_| ()).is_none(), "a document beyond the collection");
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            if let Some(record) = Record::read(&bytes) {
                let _ = record.for_each_block(1000, |_| ());
            }
        }
    }
}
