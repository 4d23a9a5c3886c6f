//! The first pass: counts, fingerprints, duplicates.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::error::Error;

use common::{assert_error, skipping};
use proptest::prelude::*;
use toller_corpus::{
    BadKind, CollectionFormat, DuplicateIds, Fingerprinter, Location, ReadOptions, open_collection, survey,
};
use toller_files::Input;

type Outcome = Result<(), Box<dyn Error>>;

fn files(contents: &[(&str, &str)]) -> (tempfile::TempDir, Vec<Input>) {
    let directory = tempfile::tempdir().unwrap();
    let input = |(name, content): &(&str, &str)| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        Input::File(path)
    };
    let inputs = contents.iter().map(input).collect();
    (directory, inputs)
}

#[test]
fn a_sound_collection_is_counted_and_fingerprinted() -> Outcome {
    let (_directory, inputs) = files(&[
        ("a.tsv", "1\tx\n2\ty\n"),
        ("b.jsonl", "{\"id\": \"3\", \"title\": \"t\", \"text\": \"z\"}\n"),
    ]);
    let mut last = None;
    let found = survey(&inputs, &ReadOptions::default(), |progress| last = Some(progress))?;
    assert_eq!((found.passages, found.skipped.total(), found.duplicates.len()), (3, 0, 0));
    let progress = last.unwrap();
    assert_eq!((progress.passages, Some(progress.bytes)), (3, progress.total_bytes));
    // The streaming pass comes to the same fingerprint.
    let mut fingerprinter = Fingerprinter::new();
    for passage in open_collection(&inputs, &ReadOptions::default())? {
        fingerprinter.push(&passage?);
    }
    assert_eq!(fingerprinter.finish(), found.fingerprint);
    Ok(())
}

#[test]
fn a_duplicate_names_both_places_and_the_id() -> Outcome {
    let (_directory, inputs) = files(&[("a.tsv", "1\tx\n2\ty\n"), ("b.tsv", "3\tx\n2\tz\n1\tw\n")]);
    let error = assert_error(
        survey(&inputs, &ReadOptions::default(), |_| {}),
        &["b.tsv, line 2", "duplicate id", "\"2\"", "first in ", "a.tsv, line 2"],
    );
    assert!(error.hint().unwrap().contains("--skip-bad-lines"));
    Ok(())
}

#[test]
fn duplicates_can_be_left_out() -> Outcome {
    let (_directory, inputs) =
        files(&[("a.tsv", "1\tx\n2\ty\n2\tagain\n4\n"), ("b.tsv", "3\tx\n2\tz\n1\tw\n5\tv\n")]);
    let options = skipping::<CollectionFormat>();
    let found = survey(&inputs, &options, |_| {})?;
    assert_eq!(found.passages, 4);
    assert_eq!(
        found.skipped.counts().collect::<Vec<_>>(),
        [(BadKind::MissingField, 1), (BadKind::DuplicateId, 3)]
    );
    let mut reader = open_collection(&inputs, &options)?.without(found.duplicates);
    let kept: Vec<String> =
        reader.by_ref().map(|passage| passage.map(|p| p.text)).collect::<Result<_, _>>()?;
    assert_eq!(kept, ["x", "y", "x", "v"]);
    assert_eq!(reader.skipped().total(), 4);
    Ok(())
}

#[test]
fn standard_input_cannot_be_surveyed() {
    assert_error(survey(&[Input::Stdin], &ReadOptions::default(), |_| {}), &["standard input", "only once"]);
}

#[test]
fn missing_files_are_found_before_the_work() {
    let (_directory, mut inputs) = files(&[("a.tsv", "1\tx\n")]);
    inputs.push(Input::File("no/such/part-01".into()));
    assert_error(open_collection(&inputs, &ReadOptions::default()), &["no/such/part-01"]);
}

/// The duplicates among `ids`, found with a set.
fn naive(ids: &[u8]) -> (Option<(Location, Location)>, Vec<Location>) {
    let location = |at: usize| Location { input: (at / 10) as u32, number: (at % 10) as u64 + 1 };
    let (mut first, mut earliest, mut again) = (HashMap::new(), None, Vec::new());
    for (at, id) in ids.iter().enumerate() {
        let seen = *first.entry(id).or_insert(at);
        if seen != at {
            earliest = earliest.or(Some((location(seen), location(at))));
            again.push(location(at));
        }
    }
    (earliest, again)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spilled_duplicates_equal_a_sets(ids in prop::collection::vec(any::<u8>(), 0..200), capacity in 1_usize..40) {
        let mut checker = DuplicateIds::with_capacity(capacity);
        for (at, id) in ids.iter().enumerate() {
            let location = Location { input: (at / 10) as u32, number: (at % 10) as u64 + 1 };
            checker.push(&format!("id {id}"), location).unwrap();
        }
        let found = checker.finish().unwrap();
        let (earliest, again) = naive(&ids);
        prop_assert_eq!(found.earliest.map(|duplicate| (duplicate.first, duplicate.again)), earliest);
        prop_assert_eq!(found.count, again.len() as u64);
        let listed = if again.len() <= capacity { again } else { Vec::new() };
        prop_assert_eq!(found.again, listed);
    }
}
