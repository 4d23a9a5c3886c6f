//! Interruptions, claims and refusals of the writer.

use std::fs;
use std::path::Path;

use crate::common::{
    Change, TestResult, check_content, error, files, finish, interrupt, open, overwrite, part_of, push_until,
    spec, write,
};
use proptest::prelude::*;
use toller_ir::Explain;
use toller_store::{DType, Role, StoreError, StoreSpec, StoreWriter};

/// What a killed process may leave next to finished files.
fn litter(directory: &Path, seed: usize) -> std::io::Result<()> {
    let names = [
        ".manifest.json.Zk30xQ.tmp", ".shard-00000.safetensors.aaaaaa.tmp",
        ".shard-00003.safetensors.9bTw1C.tmp", "shard-99999.safetensors",
        ".shard-100000.safetensors.k3Xw0b.tmp",
    ];
    names
        .iter()
        .enumerate()
        .filter(|(bit, _)| seed >> bit & 1 == 1)
        .try_for_each(|(_, name)| fs::write(directory.join(name), "half a fi"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn interrupted_anywhere_it_ends_in_the_same_bytes(
        passages in 0_u64..24,
        rows_per_shard in 1_usize..9,
        stops in proptest::collection::vec((0_u64..24, 0_usize..32), 0..6),
        dtype in prop_oneof![Just(DType::F32), Just(DType::BF16)],
    ) {
        let directory = tempfile::tempdir()?;
        let (straight, stopped) = (directory.path().join("straight"), directory.path().join("stopped"));
        let spec = StoreSpec { rows_per_shard, content: dtype.into(), ..spec(passages) };
        write(&straight, spec.clone())?;

        let mut done = 0;
        for (rows, seed) in stops {
            let mut writer = StoreWriter::create_or_resume(&stopped, spec.clone())?;
            prop_assert_eq!(writer.rows_done(), done);
            push_until(&mut writer, (done + rows).min(passages))?;
            done = writer.rows_done();
            prop_assert_eq!(done % rows_per_shard as u64, 0);
            drop(writer);
            let found = open(&stopped);
            let incomplete = matches!(found, Err(StoreError::Incomplete { rows_done, .. }) if rows_done == done);
            prop_assert!(incomplete, "{found:?}");
            litter(&stopped, seed)?;
        }
        write(&stopped, spec.clone())?;
        prop_assert_eq!(files(&stopped)?, files(&straight)?);

        // Complete: nothing to do, nothing changed.
        let writer = StoreWriter::create_or_resume(&stopped, spec)?;
        prop_assert!(writer.is_complete());
        writer.finish()?;
        prop_assert_eq!(files(&stopped)?, files(&straight)?);
    }
}

/// Every state of the directory between two steps of the writer, as a kill would leave it.
#[test]
fn every_state_on_disk_is_resumed() -> TestResult {
    let directory = tempfile::tempdir()?;
    let straight = directory.path().join("straight");
    write(&straight, spec(7))?;
    let finished = files(&straight)?;

    // The manifests in the order in which they are written: after 0, 1, 2 shards, and the last.
    let mut manifests = Vec::new();
    for rows in [0, 3, 6] {
        let store = directory.path().join(format!("manifest-{rows}"));
        interrupt(&store, spec(7), rows)?;
        manifests.push(fs::read(store.join("manifest.json"))?);
    }
    let shard = |index: usize| format!("shard-{index:05}.safetensors");
    let mut states: Vec<Vec<(String, Vec<u8>)>> = vec![
        vec![],
        vec![(".lock".to_owned(), vec![])],
        vec![(".lock".to_owned(), vec![]), (".manifest.json.Zk30xQ.tmp".to_owned(), b"{".to_vec())],
    ];
    for (done, manifest) in manifests.iter().enumerate() {
        let mut before: Vec<(String, Vec<u8>)> = vec![(".lock".to_owned(), vec![])];
        before.extend((0..done).map(|index| (shard(index), finished[&shard(index)].clone())));
        before.push(("manifest.json".to_owned(), manifest.clone()));
        let next = &finished[&shard(done)];
        let half_shard = (format!(".{}.9bTw1C.tmp", shard(done)), next[..next.len() / 2].to_vec());
        let whole_shard = (shard(done), next.clone());
        let half_manifest = (".manifest.json.Zk30xQ.tmp".to_owned(), manifest[..40].to_vec());
        states.push(before.clone());
        states.push([before.clone(), vec![half_shard]].concat());
        states.push([before.clone(), vec![whole_shard.clone()]].concat());
        states.push([before, vec![whole_shard, half_manifest]].concat());
    }
    for (number, state) in states.iter().enumerate() {
        let store = directory.path().join(format!("state-{number}"));
        fs::create_dir(&store)?;
        for (name, bytes) in state {
            fs::write(store.join(name), bytes)?;
        }
        write(&store, spec(7))?;
        assert_eq!(files(&store)?, finished, "state {number}");
    }
    Ok(())
}

#[test]
fn a_different_spec_is_refused_field_by_field() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    interrupt(store, spec(7), 4)?;
    let before = files(store)?;

    let changes: [Change; 14] = [
        ("model.fingerprint", |spec| spec.model.fingerprint.push('x')),
        ("encoding.role", |spec| spec.encoding.role = Role::Query),
        ("encoding.prompt", |spec| spec.encoding.prompt.push('x')),
        ("encoding.normalized", |spec| spec.encoding.normalized = false),
        ("encoding.pooling", |spec| spec.encoding.pooling = "cls".to_owned()),
        ("dtype", |spec| spec.content = DType::BF16.into()),
        ("encoding.max_length", |spec| spec.encoding.max_length = 512),
        ("encoding.context_field", |spec| spec.encoding.context_field = Some("context".to_owned())),
        ("encoding.title_mode", |spec| spec.encoding.title_mode = "pair".to_owned()),
        ("encoding.title_separator", |spec| spec.encoding.title_separator = "\n".to_owned()),
        ("encoding.compute_dtype", |spec| spec.encoding.compute_dtype = "f16".to_owned()),
        ("source.fingerprint", |spec| spec.source.fingerprint.push('x')),
        ("source.passages", |spec| spec.source.passages = 8),
        ("rows_per_shard", |spec| spec.rows_per_shard = 4),
    ];
    let mut all = spec(7);
    for (field, change) in changes {
        let mut other = spec(7);
        change(&mut other);
        change(&mut all);
        let found = error(StoreWriter::create_or_resume(store, other))?;
        let StoreError::SpecMismatch { differences, .. } = &found else { return Err(found.into()) };
        assert_eq!(differences.iter().map(|difference| difference.field).collect::<Vec<_>>(), [field]);
    }
    let found = error(StoreWriter::create_or_resume(store, all))?;
    let StoreError::SpecMismatch { differences, .. } = &found else { return Err(found.into()) };
    assert_eq!(differences.len(), changes.len());
    for text in [
        "encoding.max_length is 256 in the store, 512 asked for",
        "dtype is f32 in the store, bf16 asked for",
    ] {
        assert!(found.to_string().contains(text), "{found}");
    }
    assert!(found.remedy().is_some_and(|remedy| remedy.to_string().contains("output, or replace the store")));
    assert_eq!(files(store)?, before);

    // The model's name is not its identity.
    let mut renamed = spec(7);
    renamed.model.name = "./tiny".to_owned();
    assert_eq!(StoreWriter::create_or_resume(store, renamed)?.rows_done(), 3);
    Ok(())
}

#[test]
fn what_is_not_a_store_is_left_alone() -> TestResult {
    let foreign: [(&str, &str, bool); 5] = [
        ("notes.txt", "mine", true),
        ("manifest.json", "{\"name\": \"a web page\", \"icons\": []}", true),
        ("shard-00000.safetensors", "weights", true),
        (".lock", "", false),
        (".nfs0000000000a1b2c3", "", false),
    ];
    for (name, content, refused) in foreign {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join(name), content)?;
        let before = files(directory.path())?;
        assert_eq!(StoreWriter::create_or_resume(directory.path(), spec(1)).is_err(), refused, "{name}");
        assert_eq!(StoreWriter::overwrite(directory.path(), spec(1)).is_err(), refused, "{name}");
        assert_eq!(files(directory.path())? == before, refused, "{name}");
    }
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("file");
    fs::write(&file, "a file")?;
    let found = error(StoreWriter::create_or_resume(&file, spec(1)))?;
    assert!(found.to_string().contains("file"), "{found}");
    Ok(())
}

#[test]
fn overwriting_leaves_nothing_of_the_old_store() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (old, fresh) = (directory.path().join("old"), directory.path().join("fresh"));
    write(&old, spec(20))?;
    // A damaged store can be replaced too.
    fs::write(old.join("manifest.json"), "{ \"format\": \"toller-store\", half")?;
    assert!(matches!(StoreWriter::create_or_resume(&old, spec(20)), Err(StoreError::ManifestDamaged { .. })));
    let new = StoreSpec { dim: 2, ..spec(4) };
    write(&fresh, new.clone())?;
    overwrite(&old, new)?;
    assert_eq!(files(&old)?, files(&fresh)?);
    Ok(())
}

#[test]
fn a_manifest_cut_short_is_replaced_where_nothing_else_is_foreign() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(7))?;
    let whole = files(store)?;
    fs::write(store.join(".shard-00001.safetensors.9bTw1C.tmp"), "left")?;
    for cut in ["", "{", "{\n  \"format\": \"toll"] {
        fs::write(store.join("manifest.json"), cut)?;
        for found in [error(open(store))?, error(StoreWriter::create_or_resume(store, spec(7)))?] {
            assert!(matches!(found, StoreError::ManifestDamaged { .. }), "{cut:?}: {found}");
        }
        fs::write(store.join("notes.txt"), "mine")?;
        let found = error(StoreWriter::overwrite(store, spec(7)))?;
        assert!(found.to_string().contains("notes.txt"), "{cut:?}: {found}");
        fs::remove_file(store.join("notes.txt"))?;
        overwrite(store, spec(7))?;
        assert_eq!(files(store)?, whole, "{cut:?}");
    }
    Ok(())
}

#[test]
fn a_second_writer_of_a_store_is_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let first = StoreWriter::create_or_resume(directory.path(), spec(7))?;
    for second in [
        StoreWriter::create_or_resume(directory.path(), spec(7)),
        StoreWriter::overwrite(directory.path(), spec(7)),
    ] {
        let found = error(second)?;
        assert!(matches!(found, StoreError::Locked { .. }), "{found}");
        assert!(found.remedy().is_some());
    }
    drop(first);
    write(directory.path(), spec(7))?;
    Ok(())
}

#[test]
fn rows_that_are_missing_are_noticed() -> TestResult {
    let directory = tempfile::tempdir()?;
    let mut writer = StoreWriter::create_or_resume(directory.path(), spec(7))?;
    push_until(&mut writer, 5)?;
    assert!(matches!(writer.finish(), Err(StoreError::RowCount { expected: 7, found: 5, .. })));
    // The finished shard is kept.
    assert_eq!(StoreWriter::create_or_resume(directory.path(), spec(7))?.rows_done(), 3);
    Ok(())
}

#[test]
fn an_invalid_spec_is_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path().join("store");
    let mut misplaced = part_of(spec(7), 2, 3)?;
    if let Some(part) = &mut misplaced.part {
        part.first_row += 1;
    }
    let specs = [
        StoreSpec { dim: 0, ..spec(7) },
        StoreSpec { rows_per_shard: 0, ..spec(7) },
        StoreSpec { rows_per_shard: usize::MAX, ..spec(7) },
        spec(1 << 32),
        misplaced,
    ];
    for spec in specs {
        let found = error(StoreWriter::create_or_resume(&store, spec))?;
        assert!(matches!(found, StoreError::InvalidSpec { .. }), "{found}");
        assert!(!store.exists());
    }
    Ok(())
}

#[test]
fn a_failed_write_can_be_tried_again() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    let mut writer = StoreWriter::create_or_resume(store, spec(4))?;
    push_until(&mut writer, 2)?;
    // A directory in the place of the file simulates a full disk.
    let obstacle = store.join("shard-00000.safetensors");
    fs::create_dir(&obstacle)?;
    for attempt in 0..2 {
        let row = 2 + attempt;
        let found = error(writer.push(&crate::common::id(row), &crate::common::embedding(row, 4)))?;
        assert!(found.to_string().contains("shard-00000.safetensors"), "{found}");
        assert_eq!((writer.rows_done(), writer.rows_buffered()), (0, 3));
    }
    fs::remove_dir(&obstacle)?;
    finish(writer)?;
    check_content(&open(store)?);
    Ok(())
}
