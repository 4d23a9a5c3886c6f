//! Reading the record of a term in the memory map.

use toller_simd::Token;

use super::directory::Directory;
use super::{BLOCK, Block, Posting, Tail};
use crate::coding::BitReader;
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
    /// A single posting.
    One(Posting),
    /// Full blocks, and the tail.
    Blocks {
        /// The full blocks.
        directory: Directory<'a>,
        /// The packed blocks, and all bytes after them; the whole record if there are no full blocks.
        blocks: &'a [u8],
        /// The postings after the full blocks.
        tail: Tail,
    },
}

impl<'a> Record<'a> {
    /// That of a term with a single posting, which has no record in the file.
    pub(crate) fn of_one(posting: Posting) -> Self {
        let Posting { tf, .. } = posting;
        let statistics = TermStatistics { doc_freq: 1, collection_freq: tf.into(), max_freq: tf };
        Self { statistics, list: List::One(posting) }
    }

    /// The record at the front of `bytes`, in an index of `docs` documents; `None` if it is damaged.
    pub(crate) fn read(bytes: &'a [u8], docs: u32) -> Option<Self> {
        let mut bits = BitReader::new(bytes);
        let doc_freq =
            u32::try_from(bits.gamma()?.checked_add(2)?).ok().filter(|&doc_freq| doc_freq <= docs)?;
        let extras = bits.gamma()?;
        let max_freq = match extras {
            0 | 1 => 1 + extras as u32,
            _ => u32::try_from(bits.gamma()?.checked_add(2)?).ok()?,
        };
        let collection_freq = extras.checked_add(u64::from(doc_freq))?;
        let statistics = TermStatistics { doc_freq, collection_freq, max_freq };
        let (full, len) = (doc_freq as usize / BLOCK, doc_freq as usize % BLOCK);
        let directory_bytes = if full > 0 { usize::try_from(bits.gamma()?).ok()? } else { 0 };
        let head = bits.position()?;
        let (entries, blocks, tail) = if full > 0 {
            let (entries, blocks) = bytes.get(head.div_ceil(8)..)?.split_at_checked(directory_bytes)?;
            let extras = (extras == 0).then_some(0);
            (entries, blocks, Tail { len, start: 0, extras, max_tf: max_freq, docs })
        } else {
            (&[][..], bytes, Tail { len, start: head, extras: Some(extras), max_tf: max_freq, docs })
        };
        let directory = Directory::new(full, entries)?;
        Some(Self { statistics, list: List::Blocks { directory, blocks, tail } })
    }

    /// Calls `each` with every block in order; `None` if the list is damaged or has documents from `docs` on.
    pub(crate) fn for_each_block(&self, docs: u32, mut each: impl FnMut(&Block)) -> Option<()> {
        let (token, mut block) = (Token::active(), Block::new());
        match self.list {
            List::One(posting) => {
                block.push(posting);
                is_sound(&block, None, docs).then(|| each(&block))
            }
            List::Blocks { mut directory, mut blocks, tail } => {
                let mut before = None;
                while directory.len() > 0 {
                    let entry = directory.next(|_| ())?;
                    let packed = blocks.split_off(..entry.packing.bytes())?;
                    block.unpack(token, before, entry.packing, packed)?;
                    if block.docs().last() != Some(&entry.last) || !is_sound(&block, before, docs) {
                        return None;
                    }
                    each(&block);
                    before = Some(entry.last);
                }
                if tail.len() > 0 {
                    block.unpack_tail(token, before, &tail, blocks)?;
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

/// Whether the documents ascend, are above `before` and below `docs`.
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
        fn round_trip(
            gaps in prop::collection::vec((1..50_u32, 1..400_u32), 1..700),
            (wide, most) in (0..20_u32, 1..400_u32),
        ) {
            let mut doc = 0_u32;
            let postings: Vec<Posting> = gaps.iter().map(|&(gap, tf)| {
                doc += gap << (wide / 4);
                Posting { doc, tf: (tf - 1) % most + 1 }
            }).collect();
            let codes = vec![7; doc as usize + 1];
            let (mut encoder, mut bytes) = (ListEncoder::new(), Vec::new());
            let mut only = None;
            for _ in 0..2 {
                bytes.clear();
                postings.iter().for_each(|&posting| encoder.push(posting, &codes));
                only = encoder.finish(&codes, &mut bytes);
            }
            let written = bytes.len();
            // Of other terms.
            bytes.extend([0xff; 9]);
            let record = match only {
                Some(posting) => Some(Record::of_one(posting)),
                None => Record::read(&bytes, doc + 1),
            };
            let record = record.ok_or_else(|| TestCaseError::fail("damaged"))?;
            prop_assert_eq!((only.is_some(), written == 0), (postings.len() == 1, postings.len() == 1));
            prop_assert_eq!(record.statistics.doc_freq as usize, postings.len());
            let occurrences = postings.iter().map(|posting| u64::from(posting.tf)).sum::<u64>();
            prop_assert_eq!(record.statistics.collection_freq, occurrences);
            let most = postings.iter().map(|posting| posting.tf).max();
            prop_assert_eq!(Some(record.statistics.max_freq), most);
            let mut found = Vec::new();
            let read = record.for_each_block(doc + 1, |block| {
                found.extend(block.docs().iter().zip(block.tfs()).map(|(&doc, &tf)| Posting { doc, tf }));
            });
            prop_assert!(read.is_some());
            prop_assert_eq!(found, postings);
            prop_assert!(record.for_each_block(doc, |_| ()).is_none(), "a document beyond the collection");
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..3000),
            docs in any::<u32>(),
        ) {
            if let Some(record) = Record::read(&bytes, docs) {
                let _ = record.for_each_block(1000, |_| ());
            }
        }
    }
}
