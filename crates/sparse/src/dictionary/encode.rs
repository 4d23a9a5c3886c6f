//! Encoding a dictionary.

use crate::coding::{StringsEncoder, write_varint};
use crate::postings::Posting;

/// What the dictionary holds of a new term.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewEntry {
    /// Its only posting.
    One(Posting),
    /// The bytes of its record, which follows that of the term before.
    Record(u64),
}

/// Encodes terms, which come in the order of their bytes, each once.
#[derive(Debug, Default)]
pub(crate) struct DictionaryEncoder {
    strings: StringsEncoder,
    records: u64,
    payload: Vec<u8>,
}

impl DictionaryEncoder {
    /// The number of terms so far.
    pub(crate) fn terms(&self) -> u64 {
        self.strings.count()
    }

    /// The bytes of the next term.
    pub(crate) fn push(&mut self, term: &[u8], entry: NewEntry) -> &[u8] {
        let Self { strings, records, payload } = self;
        payload.clear();
        if strings.begins_block() {
            write_varint(*records, payload);
        }
        match entry {
            NewEntry::One(Posting { doc, tf: 1 }) => write_varint(u64::from(doc) << 1, payload),
            NewEntry::One(Posting { doc, tf }) => {
                write_varint(u64::from(doc) << 2 | 3, payload);
                write_varint(u64::from(tf) - 2, payload);
            }
            NewEntry::Record(bytes) => {
                write_varint(bytes << 2 | 1, payload);
                *records += bytes;
            }
        }
        strings.push(term, payload)
    }

    /// The bytes after the last term.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.strings.finish()
    }
}
