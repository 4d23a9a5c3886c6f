//! Texts by identifier are what reading the collection gives, in every format, and never those of another
//! collection.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use toller_corpus::{CollectionFormat, ReadOptions, open_collection};
use toller_files::Input;
use toller_ir::{Explain, Passage};
use toller_texts::{Texts, TextsError, TextsEvent, TextsOptions};

/// The reasons for which an index was made, `None` for one that was not there.
type Made = Vec<Option<String>>;

fn open(paths: &[PathBuf], options: &TextsOptions) -> (Result<Texts, TextsError>, Made) {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::File).collect();
    let mut made = Vec::new();
    let texts = Texts::open(&inputs, options, |event| {
        if let TextsEvent::Building { instead_of, .. } = event {
            made.push(instead_of.map(str::to_owned));
        }
    });
    (texts, made)
}

fn of_format(format: CollectionFormat) -> TextsOptions {
    let reading = ReadOptions { format: Some(format), ..ReadOptions::default() };
    TextsOptions { reading, ..TextsOptions::default() }
}

/// Checks that texts by identifier equal the collection's, one by one and together, and that there are no
/// others.
fn check(paths: &[PathBuf], options: &TextsOptions) {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::File).collect();
    let expected: Vec<Passage> =
        open_collection(&inputs, &options.reading).unwrap().collect::<Result<_, _>>().unwrap();
    for round in 0..2 {
        let (texts, made) = open(paths, options);
        let texts = texts.unwrap();
        assert_eq!(made, if round == 0 { vec![None] } else { Vec::new() }, "made once");
        assert_eq!(texts.len(), expected.len() as u64);
        for passage in &expected {
            assert_eq!(texts.get(&passage.id).unwrap().as_ref(), Some(passage));
            assert!(texts.get(&format!("{} ", passage.id)).unwrap().is_none());
        }
        let mut ids: Vec<&str> = expected.iter().map(|passage| passage.id.as_str()).rev().collect();
        ids.insert(1, "no such document");
        let mut together: Vec<Option<Passage>> = expected.iter().cloned().map(Some).rev().collect();
        together.insert(1, None);
        assert_eq!(texts.get_many(&ids).unwrap(), together);
        texts.sort_by_place(&mut ids);
        assert!(ids[1..].iter().eq(expected.iter().map(|passage| &passage.id)), "as they are read");
    }
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

const JSONL: &str = "\u{feff}{\"_id\":\"a\",\"title\":\"T\",\"text\":\"one\\nline\"}\r\n{\"_id\":\"ü\",\"text\":\"维基\"}\n{\"_id\":3,\"text\":\"\"}";
const DPR: &str =
    "id\ttext\ttitle\n1\t\"a \"\"quoted\"\" text\nover\r\nlines\"\tOne\n2\tplain\tTwo\r\n3\t\"\"\t\"\"\n";

#[test]
fn every_format_is_read_by_identifier() {
    use CollectionFormat::{Dpr, Json, Jsonl, RocketQa, Trec, Tsv};
    for (name, content, format) in [
        ("c.jsonl", JSONL, Jsonl),
        ("a.json", "\u{feff}[{\n \"id\": 1, \"text\": \"one\"\n},\n {\"id\": \"ü\", \"text\": \"}\"}]", Json),
        ("p.json", "{\n \"id\": 1, \"text\": \"one\"\n}\n{\n \"id\": 2, \"text\": \"\"\n}", Json),
        ("c.tsv", "1\tone\r\n2\ttwo\n\n", Tsv),
        ("h.tsv", "pid\ttitle\ttext\nx\tT\tone\ny\t\ttwo\n", Tsv),
        ("d.tsv", DPR, Dpr),
        ("r.tsv", "-\tTitle\tone\t0\n-\t-\ttwo\t0\n", RocketQa),
        (
            "t.trec",
            "<doc><docno>t1</docno><text>one\ntwo</text></doc>\n<DOC><DOCNO>t2</DOCNO><TEXT>x</TEXT></DOC>",
            Trec,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        check(&[write(folder.path(), name, content)], &of_format(format));
        check(&[write(folder.path(), &format!("{name}.gz"), gzip(content.as_bytes()))], &of_format(format));
    }
}

#[test]
fn a_collection_of_several_files_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [
        write(folder.path(), "1.tsv", "1\tone\n2\ttwo\n"),
        write(folder.path(), "2.jsonl.gz", gzip(b"{\"id\":\"3\",\"text\":\"three\"}\n")),
        write(folder.path(), "3.jsonl", "{\"id\":\"4\",\"text\":\"four\"}\n"),
    ];
    check(&paths, &TextsOptions::default());
    let (other, made) = open(&paths[..2], &TextsOptions::default());
    assert_eq!((other.unwrap().len(), made), (3, vec![None]), "another collection, another index");
}

#[test]
fn a_file_that_changed_is_indexed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.tsv", "1\tone\n2\ttwo\n");
    let options = TextsOptions::default();
    let texts = open(std::slice::from_ref(&path), &options).0.unwrap();
    let fingerprint = texts.fingerprint().to_owned();
    write(folder.path(), "c.tsv", "9\tone\n2\ttwo\n");
    // What is open notices it at the record that is another.
    let error = texts.get("1").unwrap_err();
    assert!(error.to_string().contains("c.tsv changed") && error.remedy().is_some(), "{error}");
    write(folder.path(), "c.tsv", "1\to");
    assert!(matches!(texts.get("2"), Err(TextsError::Changed { .. })), "it was cut");
    write(folder.path(), "c.tsv", "9\tone\n2\ttwo\n3\tthree\n");
    let (texts, made) = open(std::slice::from_ref(&path), &options);
    let texts = texts.unwrap();
    assert_eq!(made, [Some("c.tsv has changed".to_owned())]);
    assert!(texts.fingerprint() != fingerprint && texts.get("9").unwrap().is_some());
    let skipping = ReadOptions { skip_bad_lines: true, ..ReadOptions::default() };
    let (_, made) = open(&[path], &TextsOptions { reading: skipping, ..options });
    assert_eq!(made, [Some("the files were read with other options".to_owned())]);
}

#[test]
fn a_damaged_index_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.jsonl.gz", gzip(JSONL.as_bytes()));
    let options = TextsOptions { directory: Some(folder.path().join("index")), ..TextsOptions::default() };
    let expected = open(std::slice::from_ref(&path), &options).0.unwrap().get("ü").unwrap();
    assert!(expected.is_some());
    for file in ["ids.bin", "frames.bin", "manifest.json"] {
        let damaged = folder.path().join("index").join(file);
        for change in ["a byte", "the end", "all"] {
            let mut bytes = fs::read(&damaged).unwrap();
            match change {
                "a byte" => bytes[10] ^= 1,
                "the end" => bytes.truncate(bytes.len() - 1),
                _ => bytes.clear(),
            }
            if change == "all" && file != "manifest.json" {
                fs::remove_file(&damaged).unwrap();
            } else if !bytes.is_empty() {
                fs::write(&damaged, bytes).unwrap();
            } else {
                continue;
            }
            let (texts, made) = open(std::slice::from_ref(&path), &options);
            assert_eq!(texts.unwrap().get("ü").unwrap(), expected, "{change} of {file}");
            assert!(made.len() == 1 && made[0].is_some(), "{change} of {file}: {made:?}");
        }
    }
    // Frames have checksums of their own, which are verified when they are read.
    let frames = folder.path().join("index/texts.zst");
    let whole = fs::read(&frames).unwrap();
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        fs::write(&frames, bytes).unwrap();
        let texts = open(std::slice::from_ref(&path), &options).0.unwrap();
        match texts.get("ü") {
            Ok(found) => assert_eq!(found, expected, "byte {place}"),
            Err(error) => assert!(matches!(error, TextsError::Damaged { .. }), "{error}"),
        }
    }
}

#[test]
fn duplicates_are_reported_with_both_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.tsv", "1\tone\n2\ttwo\n1\ta longer text\n");
    let (texts, _) = open(std::slice::from_ref(&path), &TextsOptions::default());
    let error = texts.unwrap_err().to_string();
    assert!(
        error.contains("c.tsv, line 3: duplicate id: found \"1\"") && error.contains("line 1"),
        "{error}"
    );
    let reading = ReadOptions { skip_bad_lines: true, ..ReadOptions::default() };
    let texts = open(&[path], &TextsOptions { reading, ..TextsOptions::default() }).0.unwrap();
    assert_eq!((texts.len(), texts.skipped()), (2, 1));
    assert_eq!(texts.get("1").unwrap().unwrap().text, "one", "the first of them");
}

#[test]
fn foreign_directories_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.tsv", "1\tone\n");
    let options = TextsOptions { directory: Some(folder.path().to_owned()), ..TextsOptions::default() };
    let error = open(&[path], &options).0.unwrap_err();
    assert!(matches!(error, TextsError::DirectoryInUse { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_index_that_several_need_at_once_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..20_000).map(|id| format!("{id}\ttext {id}\n")).collect();
    let paths = [write(folder.path(), "c.tsv", lines)];
    let options = TextsOptions { directory: Some(folder.path().join("index")), ..TextsOptions::default() };
    let one = || {
        let (texts, made) = open(&paths, &options);
        assert_eq!(texts.unwrap().get("7").unwrap().unwrap().text, "text 7");
        made
    };
    let made: Vec<Made> = thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(one));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(made.concat(), [None]);
}

#[test]
fn what_a_killed_build_leaves_is_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.tsv", "1\tone\n");
    let index = folder.path().join("index");
    fs::create_dir(&index).unwrap();
    write(&index, ".texts.zst.9bTw1C.tmp", "half");
    write(&index, ".ids.bin.Zk30xQ.tmp", "half");
    let options = TextsOptions { directory: Some(index.clone()), ..TextsOptions::default() };
    assert_eq!(open(&[path], &options).0.unwrap().len(), 1);
    let left = toller_files::names_in(&index).unwrap();
    assert_eq!(left, [".lock", "frames.bin", "ids.bin", "manifest.json", "texts.zst"]);
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_made_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.tsv", "1\tone\n");
    let nowhere = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("missing"), &nowhere).unwrap();
    for cache in [path.join("cache"), path.clone(), nowhere] {
        let options = TextsOptions { cache: Some(cache), ..TextsOptions::default() };
        assert_eq!(open(std::slice::from_ref(&path), &options).0.unwrap().len(), 1);
        let index = folder.path().join(".c.tsv.toller-texts");
        assert!(index.join("manifest.json").exists(), "next to the collection");
        fs::remove_dir_all(index).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn where_nothing_can_be_written_an_index_is_temporary() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (data, cache) = (folder.path().join("data"), folder.path().join("cache"));
    let path = {
        fs::create_dir(&data).unwrap();
        fs::create_dir(&cache).unwrap();
        write(&data, "c.tsv", "1\tone\n")
    };
    let allow = |mode: u32| {
        for folder in [&data, &cache] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    allow(0o555);
    // Root may write anywhere.
    if fs::write(data.join("probe"), "").is_err() {
        let options = TextsOptions { cache: Some(cache.clone()), ..TextsOptions::default() };
        let mut elsewhere = 0;
        let texts = Texts::open(&[Input::File(path)], &options, |event| {
            elsewhere += usize::from(matches!(event, TextsEvent::Elsewhere { .. }));
        });
        assert_eq!(texts.unwrap().get("1").unwrap().unwrap().text, "one");
        assert_eq!(elsewhere, 2, "neither in the cache nor next to the collection");
    }
    allow(0o755);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_texts_come_back(passages in prop::collection::btree_map("[^\\s\\x00-\\x1f]{1,12}", (".{0,8}", ".{0,300}"), 1..60)) {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = passages
            .iter()
            .map(|(id, (title, text))| {
                let quoted = |text: &str| {
                    let escaped: String = text.chars().map(|c| match c {
                        '"' | '\\' => format!("\\{c}"),
                        c if (c as u32) < 32 => format!("\\u{:04x}", c as u32),
                        c => c.to_string(),
                    }).collect();
                    format!("\"{escaped}\"")
                };
                format!("{{\"id\":{},\"title\":{},\"text\":{}}}\n", quoted(id), quoted(title), quoted(text))
            })
            .collect();
        check(&[write(folder.path(), "c.jsonl", &lines)], &TextsOptions::default());
        check(&[write(folder.path(), "c.jsonl.gz", gzip(lines.as_bytes()))], &TextsOptions::default());
    }
}

#[test]
fn an_index_of_another_version_is_made_again_unless_its_directory_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let collection = write(folder.path(), "c.tsv", "a\tone\nb\ttwo\n");
    let named = folder.path().join("named");
    for (directory, options) in [
        (folder.path().join(".c.tsv.toller-texts"), TextsOptions::default()),
        (named.clone(), TextsOptions { directory: Some(named), ..TextsOptions::default() }),
    ] {
        open(std::slice::from_ref(&collection), &options).0.unwrap();
        let manifest = directory.join("manifest.json");
        let mut text = fs::read_to_string(&manifest).unwrap();
        let field = text.find("format_version").unwrap();
        let version = field + text[field..].find(|c: char| c.is_ascii_digit()).unwrap();
        text.replace_range(version..=version, "999");
        fs::write(&manifest, text).unwrap();
        let (texts, made) = open(std::slice::from_ref(&collection), &options);
        match options.directory {
            None => {
                assert_eq!(made, [Some("it has format version 999".to_owned())]);
                assert_eq!(texts.unwrap().get("b").unwrap().unwrap().text, "two");
            }
            Some(_) => assert!(matches!(texts, Err(TextsError::FormatVersion { found: 999, .. }))),
        }
    }
}
