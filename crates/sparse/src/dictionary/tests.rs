//! What is written is found, in order and by number, and nothing else is.

use std::collections::BTreeMap;

use memmap2::MmapMut;
use proptest::prelude::*;

use super::{Dictionary, DictionaryWriter, Entries, Entry, NewEntry};
use crate::SparseError;
use crate::postings::Posting;

/// Writes terms to a dictionary's bytes; returns what is to be found.
fn written(terms: &BTreeMap<Vec<u8>, NewEntry>, docs: u32) -> Result<(Vec<u8>, Vec<Entry>), SparseError> {
    let directory = std::env::temp_dir();
    let mut writer = DictionaryWriter::new(&directory)?;
    let (mut expected, mut place) = (Vec::new(), 0);
    for (term, &entry) in terms {
        writer.push(term, entry)?;
        expected.push(match entry {
            NewEntry::One(posting) => Entry::One(posting),
            NewEntry::Record(bytes) => {
                place += bytes;
                Entry::Record { start: place - bytes, end: place }
            }
        });
    }
    assert_eq!(writer.terms(), terms.len() as u64);
    let mut bytes = Vec::new();
    let failed = |error| toller_files::FileError::new("write", &directory, error).into();
    writer.finish(docs, &mut bytes, failed, || Ok(()))?;
    Ok((bytes, expected))
}

fn opened(bytes: &[u8], terms: u64, docs: u32) -> Option<Dictionary> {
    let mut map = MmapMut::map_anon(bytes.len()).ok()?;
    map.copy_from_slice(bytes);
    Dictionary::new(map.make_read_only().ok()?, terms, docs).ok()
}

fn entry() -> impl Strategy<Value = NewEntry> {
    let one = (0..1000_u32, prop_oneof![Just(1_u32), 1..9_u32, 1..=u32::MAX]);
    prop_oneof![
        one.prop_map(|(doc, tf)| NewEntry::One(Posting { doc, tf })),
        prop_oneof![1..300_u64, 1..1_u64 << 40].prop_map(NewEntry::Record),
    ]
}

/// Words of few letters, so that they share much; long ones share more than is told; some have zeros.
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
        words in prop::collection::btree_map(word(), entry(), 0..200),
        others in prop::collection::vec(word(), 20),
    ) {
        let terms: BTreeMap<Vec<u8>, NewEntry> =
            words.iter().map(|(word, &entry)| (word.clone().into_bytes(), entry)).collect();
        let failed = |error: SparseError| TestCaseError::fail(error.to_string());
        let (bytes, expected) = written(&terms, 1000).map_err(failed)?;
        let dictionary = opened(&bytes, terms.len() as u64, 1000);
        let dictionary = dictionary.ok_or_else(|| TestCaseError::fail("damaged"))?;
        let mut entries = Entries::new(&dictionary);
        for ((number, term), &entry) in (0..).zip(terms.keys()).zip(&expected) {
            prop_assert_eq!(dictionary.find(term).ok().flatten(), Some(entry));
            prop_assert_eq!(entries.advance().ok().flatten(), Some(entry));
            prop_assert_eq!(entries.term(), term);
            let mut by_number = Entries::from_number(&dictionary, number).map_err(|_| TestCaseError::fail("number"))?;
            prop_assert_eq!(by_number.advance().ok().flatten(), Some(entry));
            prop_assert_eq!(by_number.term(), term);
        }
        prop_assert!(matches!(entries.advance(), Ok(None)));
        for other in others.iter().map(String::as_bytes).filter(|&other| !terms.contains_key(other)) {
            prop_assert!(matches!(dictionary.find(other), Ok(None)));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        words in prop::collection::btree_map(word(), entry(), 1..100),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        (more, docs) in (0..40_u64, any::<u32>()),
    ) {
        let terms = words.iter().map(|(word, &entry)| (word.clone().into_bytes(), entry)).collect();
        let (mut bytes, _) = written(&terms, 1000).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(dictionary) = opened(&bytes, terms.len() as u64 + more, docs) {
            terms.keys().for_each(|term| drop(dictionary.find(term)));
            let mut entries = Entries::new(&dictionary);
            while let Ok(Some(_)) = entries.advance() {}
            let _ = Entries::from_number(&dictionary, more);
        }
    }
}

#[test]
fn a_dictionary_is_small() -> Result<(), SparseError> {
    let terms = (0..10_000)
        .map(|number| (format!("term{number:05}").into_bytes(), NewEntry::One(Posting { doc: 1, tf: 1 })));
    let (bytes, _) = written(&terms.collect(), 2)?;
    // A bit for the document, two for the share, four for most last digits and two for their end; a sixteenth spelled whole, and the codes.
    assert!(bytes.len() < 10_000 * 14 / 8 + 400, "{} bytes", bytes.len());
    Ok(())
}

#[test]
fn what_is_no_dictionary_is_refused() {
    for length in [0, 7, 8, 392, 400] {
        assert!(opened(&vec![0; length], 5, 5).is_none(), "{length} zeros");
    }
}
