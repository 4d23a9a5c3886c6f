//! Reading the record of a term where it lies.

use super::block::Packing;
use super::{BLOCK, Block, Point, Posting, entry, read_varint};
use crate::score::TermStatistics;

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
        /// What is known of the full blocks.
        directory: Directory<'a>,
        /// The packed blocks one after another, and behind them the tail and other records.
        blocks: &'a [u8],
        /// Postings behind the full blocks.
        tail: usize,
    },
}

/// What is known of full blocks, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory<'a> {
    left: usize,
    entries: &'a [u8],
    before: Option<u32>,
}

/// A full block of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its last document.
    pub(crate) last: u32,
    pub(crate) packing: Packing,
}

impl Directory<'_> {
    /// The blocks that are left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    /// Goes on to the next block and calls `each` with its points; `None` behind the last, or if it is damaged.
    #[inline]
    pub(crate) fn next(&mut self, each: impl FnMut(Point)) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        let packing = entry::read(&mut self.entries, each)?;
        let behind = self.before.map_or(0, |before| u64::from(before) + 1);
        let last = u32::try_from(behind + u64::from(packing.spread) + BLOCK as u64 - 1).ok()?;
        self.before = Some(last);
        Some(Entry { last, packing })
    }
}

impl<'a> Record<'a> {
    /// The record that begins with `bytes`; `None` if it is damaged.
    pub(crate) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let head = read_varint(&mut bytes)?;
        let doc_freq = u32::try_from((head >> 1) + 1).ok()?;
        let once = head & 1 == 0;
        let others = if once { 0 } else { read_varint(&mut bytes)?.checked_add(1)? };
        let collection_freq = others.checked_add(u64::from(doc_freq))?;
        if doc_freq == 1 {
            let doc = u32::try_from(read_varint(&mut bytes)?).ok()?;
            let tf = u32::try_from(collection_freq).ok()?;
            let statistics = TermStatistics { doc_freq, collection_freq, max_freq: tf };
            return Some(Self { statistics, list: List::One(Posting { doc, tf }) });
        }
        let max_freq = if once { 1 } else { u32::try_from(read_varint(&mut bytes)?.checked_add(2)?).ok()? };
        let full = doc_freq as usize / BLOCK;
        let length = if full == 0 { 0 } else { usize::try_from(read_varint(&mut bytes)?).ok()? };
        let (entries, blocks) = bytes.split_at_checked(length)?;
        let directory = Directory { left: full, entries, before: None };
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
            List::Blocks { mut directory, mut blocks, tail } => {
                let mut before = None;
                while directory.len() > 0 {
                    let entry = directory.next(|_| ())?;
                    let packed = blocks.split_off(..entry.packing.bytes()?)?;
                    block.unpack_full(before, entry.packing, packed)?;
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
