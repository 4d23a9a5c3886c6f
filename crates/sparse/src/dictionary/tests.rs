//! What is written is found, in order and by number, and nothing else is.

use std::collections::BTreeMap;

use memmap2::MmapMut;
use proptest::prelude::*;

use super::{Dictionary, DictionaryEncoder, Entries, Entry, NewEntry};
use crate::postings::Posting;

/// The bytes of a dictionary of these terms, and what is to be found.
fn encoded(terms: &BTreeMap<String, NewEntry>) -> (Vec<u8>, Vec<Entry>) {
    let mut encoder = DictionaryEncoder::default();
    let (mut bytes, mut expected, mut place) = (Vec::new(), Vec::new(), 0);
    for (term, &entry) in terms {
        bytes.extend_from_slice(encoder.push(term.as_bytes(), entry));
        expected.push(match entry {
            NewEntry::One(posting) => Entry::One(posting),
            NewEntry::Record(bytes) => {
                place += bytes;
                Entry::Record { start: place - bytes, end: place }
            }
        });
    }
    assert_eq!(encoder.terms(), terms.len() as u64);
    bytes.extend(encoder.finish());
    (bytes, expected)
}

fn opened(bytes: &[u8], terms: u64) -> Option<Dictionary> {
    let mut map = MmapMut::map_anon(bytes.len()).ok()?;
    map.copy_from_slice(bytes);
    Dictionary::new(map.make_read_only().ok()?, terms).ok()
}

fn entry() -> impl Strategy<Value = NewEntry> {
    let one = (any::<u32>(), prop_oneof![Just(1_u32), 1..9_u32, 1..=u32::MAX]);
    prop_oneof![
        one.prop_map(|(doc, tf)| NewEntry::One(Posting { doc, tf })),
        prop_oneof![1..300_u64, 1..1_u64 << 40].prop_map(NewEntry::Record),
    ]
}

/// Words of few letters, which share much; some have zeros.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{0,9}",
        2 => "[a-zäß日本\u{0}]{0,6}",
        1 => "b{250,258}[ab]{0,3}",
        1 => "commonbeginning[a-e]{0,3}",
    ]
}

proptest! {
    #[test]
    fn round_trip(
        terms in prop::collection::btree_map(word(), entry(), 0..200),
        others in prop::collection::vec(word(), 20),
    ) {
        let (bytes, expected) = encoded(&terms);
        let dictionary = opened(&bytes, terms.len() as u64).ok_or_else(|| TestCaseError::fail("damaged"))?;
        let mut entries = Entries::new(&dictionary);
        for ((number, term), &entry) in (0..).zip(terms.keys()).zip(&expected) {
            prop_assert_eq!(dictionary.find(term.as_bytes()).ok().flatten(), Some(entry));
            prop_assert_eq!(entries.advance().ok().flatten(), Some(entry));
            prop_assert_eq!(entries.term(), term.as_bytes());
            let by_number = Entries::at(&dictionary, number);
            let mut by_number = by_number.map_err(|_| TestCaseError::fail("number"))?;
            prop_assert_eq!(by_number.advance().ok().flatten(), Some(entry));
            prop_assert_eq!(by_number.term(), term.as_bytes());
        }
        prop_assert!(matches!(entries.advance(), Ok(None)));
        for other in others.iter().filter(|&other| !terms.contains_key(other)) {
            prop_assert!(matches!(dictionary.find(other.as_bytes()), Ok(None)));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        terms in prop::collection::btree_map(word(), entry(), 1..100),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        more in 0..40_u64,
    ) {
        let (mut bytes, _) = encoded(&terms);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(dictionary) = opened(&bytes, terms.len() as u64 + more) {
            terms.keys().for_each(|term| drop(dictionary.find(term.as_bytes())));
            let mut entries = Entries::new(&dictionary);
            while let Ok(Some(_)) = entries.advance() {}
            let _ = Entries::at(&dictionary, more);
        }
    }
}

#[test]
fn what_is_no_dictionary_is_refused() {
    for length in [0, 1, 5] {
        assert!(opened(&vec![0; length], 100).is_none(), "{length} zeros");
    }
    assert!(opened(&[57], 100).is_none(), "wider than numbers are");
}
