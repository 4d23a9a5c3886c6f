//! An opened dictionary.

use memmap2::Mmap;
use rayon::prelude::*;

use super::{BLOCK_TERMS, Damaged, END, Entries, Entry, MOST_RECORD_BITS, ONE, RECORD, doc_bits, key};
use crate::coding::{BitReader, PrefixDecoder, PrefixPasser, SLACK, read_varint};
use crate::postings::Posting;

/// Where a block is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first byte.
    start: usize,
    /// Where its first record is.
    records: u64,
}

/// The terms of an index in a memory map.
#[derive(Debug)]
pub(crate) struct Dictionary {
    file: Mmap,
    /// All blocks, and where another would be.
    places: Vec<Place>,
    /// The key of each block's first term.
    pub(super) keys: Vec<u64>,
    terms: u64,
    doc_bits: u32,
    pub(super) shares: PrefixDecoder,
    pub(super) letters: PrefixDecoder,
    /// Passes the letters of a term that are left.
    pub(super) rest: PrefixPasser,
    kinds: PrefixDecoder,
}

impl Dictionary {
    /// The dictionary in `file`: so many terms of an index of `docs` documents.
    pub(crate) fn new(file: Mmap, terms: u64, docs: u32) -> Result<Self, Damaged> {
        Self::read(file, terms, docs).ok_or(Damaged)
    }

    fn read(file: Mmap, terms: u64, docs: u32) -> Option<Self> {
        let (rest, block_bytes) = file.split_last_chunk::<8>()?;
        let block_bytes = usize::try_from(u64::from_le_bytes(*block_bytes)).ok()?;
        let mut rest = rest.get(block_bytes..)?;
        let mut code = || PrefixDecoder::read(&mut rest);
        let (shares, letters, kinds) = (code()?, code()?, code()?);
        // A size has two bytes at least: damage does not make many blocks of few bytes.
        let count =
            usize::try_from(terms.div_ceil(BLOCK_TERMS)).ok().filter(|&count| count <= rest.len() / 2)?;
        let mut places = Vec::with_capacity(count + 1);
        let (mut start, mut records) = (0_usize, 0_u64);
        places.push(Place { start, records });
        for _ in 0..count {
            start = start.checked_add(usize::try_from(read_varint(&mut rest)?).ok()?)?;
            records = records.checked_add(read_varint(&mut rest)?)?;
            places.push(Place { start, records });
        }
        if start != block_bytes || !rest.is_empty() {
            return None;
        }
        let dictionary = Self {
            rest: letters.passer(END),
            file,
            places,
            keys: Vec::new(),
            terms,
            doc_bits: doc_bits(docs),
            shares,
            letters,
            kinds,
        };
        let first_key = |block| {
            let mut entries = Entries::of_block(&dictionary, block);
            entries.advance().ok()?.map(|_| key(entries.term()))
        };
        let keys = (0..count).into_par_iter().map(first_key).collect::<Option<_>>()?;
        Some(Self { keys, ..dictionary })
    }

    /// The bits of a block, and where its first record is; `None` if there is no such block.
    #[inline]
    pub(super) fn block(&self, number: usize) -> Option<(BitReader<'_>, u64)> {
        let [place, next] = self.places.get(number..)?.first_chunk()?;
        let end = (next.start + SLACK).min(self.file.len());
        Some((BitReader::new(self.file.get(place.start..end)?), place.records))
    }

    /// The terms of a block; 0 if there is no such block.
    pub(super) fn terms_of(&self, block: usize) -> u64 {
        self.terms.saturating_sub(block as u64 * BLOCK_TERMS).min(BLOCK_TERMS)
    }

    /// Reads the kind and the detail of an entry, behind its term; `records` is where its record is, or that of the next.
    #[inline(always)]
    pub(super) fn entry(&self, bits: &mut BitReader<'_>, records: &mut u64) -> Option<Entry> {
        let kind = self.kinds.next(bits)?;
        if kind >= RECORD {
            let low_bits = u32::from(kind - RECORD);
            if low_bits > MOST_RECORD_BITS {
                return None;
            }
            let start = *records;
            *records = start.checked_add(1 << low_bits | bits.bits(low_bits)?)?;
            return Some(Entry::Record { start, end: *records });
        }
        let doc = bits.bits(self.doc_bits)? as u32;
        let tf = match kind {
            ONE => u32::try_from(bits.gamma()?.checked_add(2)?).ok()?,
            _ => 1,
        };
        Some(Entry::One(Posting { doc, tf }))
    }
}
