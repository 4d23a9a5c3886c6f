//! Damaged and missing shards of a store are rewritten, and nothing else is.

use std::fs;
use std::ops::Range;
use std::path::Path;

use toller_store::{OpenOptions, StoreError, StorePart, StoreWriter, find_damage, inspect};

use crate::common::{TestResult, files, finish, flip, interrupt, open, push_until, spec, write};

/// Ways in which a shard can be wrong.
const WAYS: [fn(&Path) -> std::io::Result<()>; 4] = [
    |shard| fs::remove_file(shard),
    |shard| fs::write(shard, &fs::read(shard)?[1..]),
    |shard| fs::write(shard, b""),
    flip,
];

fn shard(store: &Path, index: usize) -> std::path::PathBuf {
    store.join(format!("shard-{index:05}.safetensors"))
}

fn ranges(ends: &[(u64, u64)]) -> Vec<Range<u64>> {
    ends.iter().map(|&(start, end)| start..end).collect()
}

#[test]
fn damaged_shards_are_written_again_with_the_same_bytes() -> TestResult {
    // Of eleven rows in shards of three: which shards are damaged, which rows are then missing.
    let cases: [(&[usize], Vec<Range<u64>>); 6] = [
        (&[0], ranges(&[(0, 3)])),
        (&[1], ranges(&[(3, 6)])),
        (&[3], ranges(&[(9, 11)])),
        (&[0, 1], ranges(&[(0, 6)])),
        (&[0, 2], ranges(&[(0, 3), (6, 9)])),
        (&[0, 1, 2, 3], ranges(&[(0, 11)])),
    ];
    for (number, way) in WAYS.iter().enumerate() {
        for (damaged, missing) in &cases {
            let directory = tempfile::tempdir()?;
            let store = directory.path();
            write(store, spec(11))?;
            let whole = files(store)?;
            for &index in *damaged {
                way(&shard(store, index))?;
            }
            assert!(open(store).is_err_and(|error| error.is_damage()));

            let writer = StoreWriter::create_or_resume(store, spec(11))?;
            assert!(!writer.is_complete());
            assert_eq!(writer.missing_rows(), *missing, "way {number}");
            assert_eq!(writer.damaged().map(|damage| damage.shard).collect::<Vec<_>>(), *damaged);
            let gone: u64 = missing.iter().map(|rows| rows.end - rows.start).sum();
            assert_eq!(writer.rows_done(), 11 - gone);
            finish(writer)?;
            assert_eq!(files(store)?, whole, "way {number}, shards {damaged:?}");
            assert_eq!(open(store)?.count(), 11);
        }
    }
    Ok(())
}

#[test]
fn an_unfinished_store_is_repaired_before_it_is_continued() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (store, other) = (directory.path().join("store"), directory.path().join("other"));
    write(&other, spec(11))?;
    interrupt(&store, spec(11), 8)?;
    fs::remove_file(shard(&store, 0))?;

    // Interrupted during the repair, once before and once after the shard is whole.
    let mut writer = StoreWriter::create_or_resume(&store, spec(11))?;
    assert_eq!(writer.missing_rows(), ranges(&[(0, 3), (6, 11)]));
    push_until(&mut writer, 2)?;
    assert_eq!((writer.rows_done(), writer.rows_buffered(), writer.rows_of_shard()), (3, 2, 3));
    drop(writer);
    interrupt(&store, spec(11), 3)?;
    let writer = StoreWriter::create_or_resume(&store, spec(11))?;
    assert_eq!(writer.missing_rows(), ranges(&[(6, 11)]));
    finish(writer)?;
    assert_eq!(files(&store)?, files(&other)?);
    Ok(())
}

#[test]
fn rows_that_turn_out_to_be_wrong_are_withdrawn() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (store, other) = (directory.path().join("store"), directory.path().join("other"));
    write(&other, spec(11))?;
    interrupt(&store, spec(11), 7)?;
    fs::remove_file(shard(&store, 0))?;

    let mut writer = StoreWriter::create_or_resume(&store, spec(11))?;
    assert_eq!(writer.missing_rows(), ranges(&[(0, 3), (6, 11)]));
    for row in 0..6 {
        writer.push(&format!("wrong {row}"), &[0.25; 4])?;
    }
    assert_eq!(writer.rows_done(), 9);
    writer.withdraw()?;

    let writer = StoreWriter::create_or_resume(&store, spec(11))?;
    assert_eq!(writer.missing_rows(), ranges(&[(0, 3), (6, 11)]));
    finish(writer)?;
    assert_eq!(files(&store)?, files(&other)?);
    Ok(())
}

#[test]
fn rows_that_are_not_pushed_leave_the_store_damaged() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(7))?;
    fs::remove_file(shard(store, 1))?;
    let mut writer = StoreWriter::create_or_resume(store, spec(7))?;
    writer.push("a", &[0.0; 4])?;
    assert!(matches!(writer.finish(), Err(StoreError::RowCount { expected: 7, found: 5, .. })));
    assert!(open(store).is_err());
    Ok(())
}

#[test]
fn rows_that_come_out_differently_are_listed_as_they_are() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(7))?;
    fs::remove_file(shard(store, 1))?;
    let mut writer = StoreWriter::create_or_resume(store, spec(7))?;
    for row in 3..6 {
        writer.push(&format!("d{row}"), &[0.25; 4])?;
    }
    writer.finish()?;
    let store = open(store)?;
    assert_eq!((store.shards()[1].id(0), store.count()), ("d3", 7));
    Ok(())
}

#[test]
fn all_damage_is_found_at_once() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(11))?;
    let parts = inspect(store)?;
    assert!(find_damage(&parts, &OpenOptions::default())?.is_empty());
    WAYS[3](&shard(store, 1))?;
    WAYS[0](&shard(store, 3))?;
    let found = |parts: &[StorePart], verify| -> Result<Vec<(usize, Range<u64>)>, StoreError> {
        let options = OpenOptions { verify, progress: None };
        Ok(find_damage(parts, &options)?.into_iter().map(|damage| (damage.shard, damage.rows)).collect())
    };
    assert_eq!(found(&parts, true)?, [(1, 3..6), (3, 9..11)]);
    // What is missing is noticed without reading the others.
    assert!(found(&parts, false)?.contains(&(3, 9..11)));
    Ok(())
}
