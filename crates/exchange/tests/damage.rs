//! Cut and damaged files of every format: an error, never a panic and never a huge allocation.

mod common;

use std::fs;

use common::{TestResult, fixture, read};
use proptest::prelude::*;
use toller_exchange::{ExchangeError, IdsFrom, Source, SourceOptions};
use toller_ir::Explain;

/// Files of every format, and whether they bring their ids.
const FILES: [(&str, bool); 10] = [
    ("flat-ip.faiss", false),
    ("id-map.faiss", true),
    ("f4.npy", false),
    ("version-3.npy", false),
    ("list-f4.parquet", true),
    ("list-f2.parquet", true),
    ("fixed.parquet", true),
    ("tevatron-0.pkl", true),
    ("tevatron-4.pkl", true),
    ("dpr.pkl", true),
];

/// Reads all of `bytes` as a file of the fixture's name.
fn read_all(name: &str, has_ids: bool, bytes: &[u8]) -> Result<usize, ExchangeError> {
    let Ok(directory) = tempfile::tempdir() else { return Ok(0) };
    let path = directory.path().join(name);
    if fs::write(&path, bytes).is_err() {
        return Ok(0);
    }
    let ids = if has_ids { IdsFrom::NextTo } else { IdsFrom::Rows };
    let options = SourceOptions { ids, narrow_f64: true, any_metric: true, ..SourceOptions::default() };
    let source = Source::open(&[path], &options)?;
    Ok(read(&source)?.0.len())
}

#[test]
fn every_cut_is_an_error() -> TestResult {
    for (name, has_ids) in FILES {
        let bytes = fs::read(fixture(name))?;
        assert_eq!(read_all(name, has_ids, &bytes)?, 7, "{name}");
        for length in 0..bytes.len() {
            assert!(read_all(name, has_ids, &bytes[..length]).is_err(), "{name} cut to {length} bytes");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_again_is_refused_with_a_remedy() -> TestResult {
    let refused = |vectors: &str, ids| {
        let options = SourceOptions { ids, ..SourceOptions::default() };
        let error = Source::open(&[vectors.into()], &options).err().ok_or("it was opened")?;
        let remedy = error.remedy().ok_or("no remedy")?.to_string();
        Ok::<_, Box<dyn std::error::Error>>((error.to_string(), remedy))
    };
    for (vectors, ids, object) in [
        ("s3://bucket/a.npy", IdsFrom::Rows, "s3://bucket/a.npy"),
        ("a.npy", IdsFrom::Files(vec!["gs://bucket/ids.txt".into()]), "gs://bucket/ids.txt"),
    ] {
        let (reason, remedy) = refused(vectors, ids)?;
        assert_eq!(reason, format!("{object}: it is in an object store"));
        assert_eq!(remedy, "copy the object to a file first");
    }
    #[cfg(unix)]
    for (vectors, ids, once) in [
        ("-", IdsFrom::Rows, "-"),
        ("/dev/null", IdsFrom::Rows, "/dev/null"),
        ("a.npy", IdsFrom::Files(vec!["/dev/null".into()]), "/dev/null"),
    ] {
        let (reason, remedy) = refused(vectors, ids)?;
        assert!(reason.starts_with(&format!("{once}: it can be read only once")), "{reason}");
        assert_eq!(remedy, "save it as a file first");
    }
    Ok(())
}

/// What can be made readable in a step.
#[test]
fn other_formats_are_called_by_their_names() -> TestResult {
    let directory = tempfile::tempdir()?;
    fs::create_dir(directory.path().join("pickles"))?;
    let refused = |name: &str| {
        let options = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
        let error = Source::open(&[directory.path().join(name)], &options).err().ok_or("it was opened")?;
        let remedy = error.remedy().ok_or("no remedy")?.to_string();
        Ok::<_, Box<dyn std::error::Error>>((error.to_string(), remedy))
    };
    for (name, bytes, what, step) in [
        ("v.h5", &b"\x89HDF\r\n\x1a\n\0\0"[..], "an HDF5 file", "numpy.save"),
        ("v.feather", b"ARROW1\0\0\0\0", "an Arrow file", "write_table"),
        ("v.npz", b"PK\x03\x04\0\0\0\0\0", "a zip archive", "numpy.save"),
    ] {
        fs::write(directory.path().join(name), bytes)?;
        let (error, remedy) = refused(name)?;
        assert!(error.contains(name) && error.contains(what), "{error}");
        assert!(remedy.contains(step), "{remedy}");
    }
    let (error, remedy) = refused("pickles")?;
    assert!(error.contains("a directory without Pyserini's files"), "{error}");
    assert!(remedy.contains("name the files"), "{remedy}");
    Ok(())
}

#[test]
fn what_follows_is_an_error_where_nothing_may_follow() -> TestResult {
    for (name, has_ids) in FILES.iter().filter(|(name, _)| name.ends_with("npy") || name.ends_with("faiss")) {
        let mut bytes = fs::read(fixture(name))?;
        bytes.push(0);
        assert!(matches!(read_all(name, *has_ids, &bytes), Err(ExchangeError::Length { .. })), "{name}");
    }
    Ok(())
}

#[test]
fn headers_of_impossible_sizes_are_refused() -> TestResult {
    let mut faiss = fs::read(fixture("flat-ip.faiss"))?;
    for (place, bytes) in [(4, [0xff; 4]), (8, [0xff; 4]), (12, [0x7f; 4]), (37, [0xff; 4]), (4, [0; 4])] {
        let kept = faiss.clone();
        faiss[place..place + 4].copy_from_slice(&bytes);
        assert!(read_all("flat-ip.faiss", false, &faiss).is_err(), "{place}");
        faiss = kept;
    }
    for shape in [
        "(9223372036854775807, 4)", "(4611686018427387904, 4)", "(7, 0)", "(8, 5)",
        "(99999999999999999999, 5)",
    ] {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        let bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &[0; 140]].concat();
        assert!(read_all("f4.npy", false, &bytes).is_err(), "{shape}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_bytes_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        for (name, has_ids) in FILES {
            let mut bytes = fs::read(fixture(name)).map_err(|error| TestCaseError::fail(error.to_string()))?;
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if let Err(error) = read_all(name, has_ids, &bytes) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn ids_that_no_run_can_hold_are_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (vectors, ids) = (directory.path().join("x.npy"), directory.path().join("x.ids.json"));
    fs::copy(fixture("f4.npy"), &vectors)?;
    let by_rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    let rows = Source::open(std::slice::from_ref(&vectors), &by_rows)?.rows();
    for (id, says) in [(" a", "begins or ends with white space"), ("b\tc", "holds a tab"), ("", "is empty")] {
        let mut all: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
        all[1] = id.to_owned();
        fs::write(&ids, serde_json::to_string(&all)?)?;
        let source = Source::open(std::slice::from_ref(&vectors), &SourceOptions::default())?;
        let error = source.for_each(&mut |_| Ok(())).err().ok_or("it was read")?;
        assert!(
            error.to_string().contains(&format!("x.ids.json, row 2: the identifier {id:?} {says}")),
            "{error}"
        );
    }
    Ok(())
}
