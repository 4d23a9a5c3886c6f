//! The first pass: counts, fingerprints, duplicates.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{HashMap, HashSet};
use std::error::Error;

use common::{assert_error, skipping};
use proptest::prelude::*;
use toller_corpus::{
    BadKind, CollectionFormat, DuplicateIds, Fingerprinter, Location, Locations, ReadOptions,
    open_collection, reopen_collection, survey,
};
use toller_files::Input;
use toller_ir::{Explain, Position};

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
fn a_file_that_was_replaced_after_the_survey_is_not_read() -> Outcome {
    let (_directory, inputs) = files(&[("a.tsv", "1\tx\n"), ("b.tsv", "2\ty\n")]);
    let options = ReadOptions::default();
    let stamps = survey(&inputs, &options, |_| {})?.stamps;
    assert_eq!(reopen_collection(&inputs, &options, &stamps)?.collect::<Result<Vec<_>, _>>()?.len(), 2);
    std::fs::write(inputs[1].path().unwrap(), "2\tanother\n")?;
    let mut passages = reopen_collection(&inputs, &options, &stamps)?;
    assert_eq!(passages.next().unwrap()?.id, "1");
    let error = assert_error(passages.collect::<Result<Vec<_>, _>>(), &["b.tsv: it has changed"]);
    assert!(error.remedy().unwrap().to_string().contains("run the same command again"));
    Ok(())
}

#[test]
fn a_duplicate_names_both_places_and_the_id() -> Outcome {
    let (_directory, inputs) = files(&[("a.tsv", "1\tx\n2\ty\n"), ("b.tsv", "3\tx\n2\tz\n1\tw\n")]);
    let error = assert_error(
        survey(&inputs, &ReadOptions::default(), |_| {}),
        &["b.tsv, line 2", "duplicate id", "\"2\"", "first in ", "a.tsv, line 2"],
    );
    assert!(error.remedy().unwrap().to_string().contains("skip_bad_lines"));
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
        [(BadKind::MissingColumn, 1), (BadKind::DuplicateId, 3)]
    );
    let mut reader = open_collection(&inputs, &options)?.without(found.duplicates);
    let kept: Vec<String> =
        reader.by_ref().map(|passage| passage.map(|p| p.text)).collect::<Result<_, _>>()?;
    assert_eq!(kept, ["x", "y", "x", "v"]);
    assert_eq!(reader.skipped().total(), 4);
    Ok(())
}

#[test]
fn two_documents_on_one_line_are_two_places() -> Outcome {
    let document = |id: &str, text: &str| format!("<DOC><DOCNO>{id}</DOCNO><TEXT>{text}</TEXT></DOC>");
    let content = format!("{}\n{}{}\n", document("a", "x"), document("b", "y"), document("a", "z"));
    let (_directory, inputs) = files(&[("docs.trec", &content)]);
    assert_error(
        survey(&inputs, &ReadOptions::default(), |_| {}),
        &["docs.trec, line 2: duplicate id: found \"a\"", "first in ", "docs.trec, line 1"],
    );
    let options = skipping::<CollectionFormat>();
    let found = survey(&inputs, &options, |_| {})?;
    let again = Locations::from_iter([Location { input: 0, number: 3 }]);
    assert_eq!((found.passages, &found.duplicates), (2, &again));
    let mut reader = open_collection(&inputs, &options)?.without(found.duplicates);
    let kept: Vec<_> =
        reader.by_ref().map(|passage| passage.map(|p| (p.id, p.text))).collect::<Result<_, _>>()?;
    assert_eq!(kept, [("a".into(), "x".into()), ("b".into(), "y".into())]);
    let [skipped] = reader.skipped().examples() else { return Err("one is left out".into()) };
    assert!(skipped.place.to_string().ends_with("docs.trec, line 2"), "{skipped}");
    Ok(())
}

#[test]
fn duplicates_of_rows_on_several_lines_have_the_lines_of_their_beginnings() {
    let rows = "id\ttext\ttitle\n1\t\"a\nb\nc\"\tT\n2\tx\tT\n2\t\"d\ne\"\tT\n";
    let (_directory, inputs) = files(&[("psgs.tsv", rows)]);
    assert_error(
        survey(&inputs, &ReadOptions::default(), |_| {}),
        &["psgs.tsv, line 6: duplicate id", "psgs.tsv, line 5"],
    );
}

#[test]
fn identifiers_with_spaces_are_counted() -> Outcome {
    let (_directory, inputs) = files(&[("a.tsv", "1\tx\n2\ty\n"), ("b.tsv", "3\tx\nd 4\tz\n5\u{a0}6\tw\n")]);
    let options = ReadOptions { format: Some(CollectionFormat::Tsv), ..ReadOptions::default() };
    let found = survey(&inputs, &options, |_| {})?;
    assert_eq!(found.spaced_ids, 2);
    let first = found.first_spaced_id.ok_or("there is a first")?;
    assert_eq!((first.id.as_str(), first.place.position), ("d 4", Position::Line(2)));
    assert_eq!(first.to_string(), format!("\"d 4\" in {}, line 2", inputs[1]));

    let found = survey(&inputs[..1], &options, |_| {})?;
    assert_eq!((found.spaced_ids, found.first_spaced_id), (0, None));
    Ok(())
}

#[test]
fn what_reads_once_cannot_be_surveyed() {
    assert_error(survey(&[Input::Stdin], &ReadOptions::default(), |_| {}), &["standard input", "only once"]);
    if cfg!(unix) {
        let device = Input::File("/dev/null".into());
        assert_error(survey(&[device], &ReadOptions::default(), |_| {}), &["/dev/null", "only once"]);
    }
}

#[test]
fn a_spooled_copy_is_surveyed_under_the_name_of_the_original() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("copy");
    std::fs::write(&path, "1\tx\n2\ty\n2\tz\n")?;
    let pipe = Input::Spooled { path: path.clone(), name: "pipe/c.tsv".to_owned() };
    assert_error(
        survey(&[pipe], &ReadOptions::default(), |_| {}),
        &["pipe/c.tsv, line 3: duplicate id", "first in pipe/c.tsv, line 2"],
    );
    // Only the extension shows that one column is bad TSV.
    std::fs::write(&path, "one\ntwo\n")?;
    let named = |name: &str| Input::Spooled { path: path.clone(), name: name.to_owned() };
    assert_error(open_collection(&[named("c")], &ReadOptions::default()), &["plain text files"]);
    let lines =
        open_collection(&[named("c.tsv.gz")], &ReadOptions::default())?.collect::<Result<Vec<_>, _>>();
    assert_error(lines, &["c.tsv.gz, line 1", "1 column"]);
    Ok(())
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

/// A collection of passages with these identifiers and their indexes as texts, in a format and with the
/// line ends that `breaks` chooses where the format leaves the choice.
fn render(format: CollectionFormat, ids: &[u8], breaks: &[bool]) -> String {
    let mut content = String::new();
    for (at, (id, more)) in ids.iter().zip(breaks.iter().cycle()).enumerate() {
        content += &match format {
            CollectionFormat::Jsonl => format!("{{\"id\": {id}, \"text\": \"{at}\"}}\n"),
            CollectionFormat::Json => {
                let end = if *more { "\n" } else { "" };
                format!("{{{end}\"id\": {id}, \"text\":{end} \"{at}\"}}{end}")
            }
            // Short rows are bad records in between.
            CollectionFormat::Tsv if *more => format!("bad\n{id}\t{at}\n"),
            CollectionFormat::Tsv => format!("{id}\t{at}\n"),
            CollectionFormat::Dpr if *more => format!("{id}\t\"{at}\"\t\"a\nb\"\n"),
            CollectionFormat::Dpr => format!("{id}\t{at}\tt\n"),
            CollectionFormat::Csv if at == 0 => format!("id,text,note\n{id},{at},\n"),
            CollectionFormat::Csv if *more => format!("{id},{at},\"a\n,b\"\n"),
            CollectionFormat::Csv => format!("{id},{at},\n"),
            CollectionFormat::Trec => {
                let end = if *more { "\n" } else { "" };
                format!("<doc>{end}<docno>{id}</docno><text>{at}</text></doc>{end}")
            }
            // Without identifiers, and not a text format.
            CollectionFormat::RocketQa | CollectionFormat::Parquet => String::new(),
        };
    }
    content
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_first_of_each_identifier_is_what_is_left(
        ids in prop::collection::vec(0_u8..12, 2..40),
        breaks in prop::collection::vec(any::<bool>(), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = 1 + cut.index(ids.len() - 1);
        use CollectionFormat::{Csv, Dpr, Json, Jsonl, Trec, Tsv};
        for format in [Jsonl, Json, Tsv, Csv, Dpr, Trec] {
            let whole = render(format, &ids, &breaks);
            let second = render(format, &ids[cut..], &breaks);
            let (_directory, inputs) = files(&[("a", &whole), ("b", &second)]);
            let options = ReadOptions { format: Some(format), ..skipping() };
            let found = survey(&inputs, &options, |_| {}).unwrap();
            let kept: Vec<_> = open_collection(&inputs, &options)
                .unwrap()
                .without(found.duplicates)
                .map(|passage| passage.map(|passage| (passage.id, passage.text)).unwrap())
                .collect();
            let mut seen = HashSet::new();
            let firsts = ids.iter().enumerate().filter(|(_, id)| seen.insert(**id));
            let firsts: Vec<_> = firsts.map(|(at, id)| (id.to_string(), at.to_string())).collect();
            prop_assert_eq!(found.passages, firsts.len() as u64);
            prop_assert_eq!(kept, firsts, "{}", format);
        }
    }

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
        prop_assert_eq!(found.again.len(), again.len() as u64);
        let listed = |at: usize| found.again.contains(Location { input: (at / 10) as u32, number: (at % 10) as u64 + 1 });
        prop_assert!((0..ids.len() + 70).filter(|at| listed(*at)).count() == again.len());
        prop_assert_eq!(found.again, again.into_iter().collect::<Locations>());
    }
}
