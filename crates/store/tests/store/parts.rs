//! Stores written in parts, by processes of their own.

use std::fs;

use crate::common::{
    Change, TestResult, check_content, error, finish, open, overwrite, part_of, push_until, spec, write,
};
use toller_ir::Explain;
use toller_store::{DType, OpenOptions, Store, StoreError, StoreWriter, status};

#[test]
fn parts_open_as_one_in_their_order() -> TestResult {
    for (passages, of) in [(11, 3), (8, 8), (2, 5), (0, 2), (9, 1)] {
        let directory = tempfile::tempdir()?;
        for index in (1..=of).rev() {
            write(directory.path(), part_of(spec(passages), index, of)?)?;
        }
        let store = open(directory.path())?;
        assert_eq!(store.count() as u64, passages);
        assert_eq!(store.manifests().len(), of as usize);
        check_content(&store);
    }
    Ok(())
}

#[test]
fn a_missing_or_unfinished_part_is_named() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, part_of(spec(11), 1, 3)?)?;
    write(store, part_of(spec(11), 3, 3)?)?;
    let found = error(open(store))?;
    assert!(found.to_string().contains("part-00002-of-00003"), "{found}");
    assert!(found.remedy().is_some_and(|remedy| remedy.to_string().contains("shard 2/3")));

    let mut writer = StoreWriter::create_or_resume(store, part_of(spec(11), 2, 3)?)?;
    assert_eq!(writer.directory(), store.join("part-00002-of-00003"));
    push_until(&mut writer, 3)?;
    let found = error(open(store))?;
    assert!(matches!(found, StoreError::Incomplete { rows_done: 3, rows_expected: 4, .. }), "{found}");
    assert!(found.to_string().contains("part-00002-of-00003"), "{found}");
    finish(writer)?;
    check_content(&open(store)?);
    Ok(())
}

#[test]
fn the_status_says_what_is_there_and_what_is_missing() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    assert!(matches!(status(store), Err(StoreError::NotAStore { .. })), "nothing was begun");
    write(store, part_of(spec(22), 4, 5)?)?;
    push_until(&mut StoreWriter::create_or_resume(store, part_of(spec(22), 2, 5)?)?, 4)?;
    let found = status(store)?;
    assert_eq!((found.of, &found.missing[..], found.to_do()), (5, &[1, 3, 5][..], vec![1, 2, 3, 5]));
    assert_eq!(
        found.unfinished().map(|(index, part)| (index, part.manifest.count)).collect::<Vec<_>>(),
        [(2, 3)]
    );
    assert_eq!((found.rows(), found.rows_expected()), (3 + 4, 22));
    for index in 1..=5 {
        write(store, part_of(spec(22), index, 5)?)?;
    }
    let found = status(store)?;
    assert_eq!((found.to_do(), found.rows(), found.rows_expected()), (vec![], 22, 22));
    // A part alone is a store of its own.
    let found = status(&store.join("part-00002-of-00005"))?;
    assert_eq!((found.of, found.to_do(), found.rows(), found.rows_expected()), (1, vec![], 4, 4));
    Ok(())
}

#[test]
fn the_files_of_some_rows_are_verified_alone() -> TestResult {
    let directory = tempfile::tempdir()?;
    for index in 1..=2 {
        write(directory.path(), part_of(spec(12), index, 2)?)?;
    }
    let whole = open(directory.path())?;
    let fingerprint = whole.fingerprint();
    drop(whole);
    // In the identifier of row 11, so that the file can still be opened. It holds rows 9 to 11.
    let shard = directory.path().join("part-00002-of-00002/shard-00001.safetensors");
    let mut bytes = fs::read(&shard)?;
    let place = bytes.windows(4).position(|text| text == b" 11\n").ok_or("the identifier is there")?;
    bytes[place + 1] ^= 1;
    fs::write(&shard, bytes)?;
    let store = Store::open(&[directory.path()], &OpenOptions { verify: false, progress: None })?;
    for (rows, is_sound) in [(0..9, true), (0..0, true), (9..10, false), (0..12, false), (11..12, false)] {
        assert_eq!(store.verify_rows(&rows, &|_| {}).is_ok(), is_sound, "{rows:?}");
    }
    assert_eq!(store.fingerprint(), fingerprint, "that of the manifests");
    Ok(())
}

#[test]
fn parts_must_agree() -> TestResult {
    let changes: [Change; 4] = [
        ("model.fingerprint", |spec| spec.model.fingerprint.push('x')),
        ("dtype", |spec| spec.content = DType::BF16.into()),
        ("source.fingerprint", |spec| spec.source.fingerprint.push('x')),
        ("encoding.max_length", |spec| spec.encoding.max_length = 128),
    ];
    for (field, change) in changes {
        let directory = tempfile::tempdir()?;
        write(directory.path(), part_of(spec(6), 1, 2)?)?;
        let mut other = spec(6);
        change(&mut other);
        // Before it is encoded...
        let found = error(write(directory.path(), part_of(other.clone(), 2, 2)?))?;
        let StoreError::SpecMismatch { differences, .. } = &found else { return Err(found.into()) };
        assert_eq!(differences.iter().map(|difference| difference.field).collect::<Vec<_>>(), [field]);
        // ... and when they are opened, for parts that were replaced one by one.
        let remedy = |found: &StoreError| found.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
        assert!(remedy(&found).contains("make all parts of this store again"), "{}", remedy(&found));
        overwrite(directory.path(), part_of(other, 2, 2)?)?;
        let found = error(open(directory.path()))?;
        assert!(remedy(&found).contains("make each part that is not so again"), "{}", remedy(&found));
        let StoreError::Disagreement { differences, .. } = &found else { return Err(found.into()) };
        assert_eq!(differences.iter().map(|difference| difference.field).collect::<Vec<_>>(), [field]);
    }
    Ok(())
}

#[test]
fn the_status_names_the_parts_that_are_not_as_most_are() -> TestResult {
    let directory = tempfile::tempdir()?;
    let mut changed = spec(10);
    changed.source.fingerprint.push('x');
    for (index, spec) in [(1, &changed), (2, &spec(10)), (4, &spec(10)), (5, &changed)] {
        overwrite(directory.path(), part_of(spec.clone(), index, 5)?)?;
    }
    let indices = |expected: &[u32]| -> TestResult {
        let found: Vec<u32> =
            status(directory.path())?.disagreeing().iter().map(|(index, _)| *index).collect();
        assert_eq!(found, expected);
        Ok(())
    };
    // Of as many, those that are not as the first.
    indices(&[2, 4])?;
    overwrite(directory.path(), part_of(spec(10), 3, 5)?)?;
    indices(&[1, 5])?;
    for index in [1, 5] {
        overwrite(directory.path(), part_of(spec(10), index, 5)?)?;
    }
    indices(&[])?;
    check_content(&open(directory.path())?);
    Ok(())
}

#[test]
fn divisions_and_wholes_do_not_mix() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (parts, whole) = (directory.path().join("parts"), directory.path().join("whole"));
    write(&parts, part_of(spec(6), 1, 2)?)?;
    let found = error(write(&parts, part_of(spec(6), 1, 3)?))?;
    assert!(matches!(found, StoreError::MixedParts { first: 2, second: 3, .. }), "{found}");
    let found = error(write(&parts, spec(6)))?;
    assert!(matches!(found, StoreError::DirectoryInUse { .. }), "{found}");
    write(&whole, spec(6))?;
    let found = error(write(&whole, part_of(spec(6), 1, 2)?))?;
    assert!(found.to_string().contains("it holds manifest.json"), "{found}");

    write(&parts, part_of(spec(6), 2, 2)?)?;
    fs::rename(parts.join("part-00001-of-00002"), parts.join("part-00001-of-00003"))?;
    assert!(matches!(open(&parts), Err(StoreError::MixedParts { .. })));
    fs::rename(parts.join("part-00002-of-00002"), parts.join("part-00002-of-00003"))?;
    assert!(matches!(open(&parts), Err(StoreError::MisplacedPart { .. })));
    Ok(())
}
