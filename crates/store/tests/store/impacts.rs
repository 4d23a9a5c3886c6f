//! Stores of impacts, the weights of terms, in place of vectors.

use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use toller_ir::Explain;
use toller_store::{
    Codes, Content, DType, ImpactStore, OpenOptions, Store, StoreError, StoreSpec, StoreWriter, content_of,
    find_damage, inspect, quantize,
};

use crate::common::{
    TestResult, error, files, finish, flip, id, impacts, interrupt, open, part_of, spec, write,
};

const TERMS: usize = 30_522;

/// A spec for the impacts of `passages` passages, three to a shard.
fn sparse(passages: u64) -> StoreSpec {
    StoreSpec { content: Content::Impacts, dim: TERMS, ..spec(passages) }
}

fn open_impacts(store: &Path) -> Result<ImpactStore, StoreError> {
    ImpactStore::open(store, &OpenOptions::default())
}

/// Reads everything that a store gives, and checks it against [`id`] and [`impacts`].
fn check_rows(store: &ImpactStore, passages: u64) {
    let expected: Vec<(String, String)> = (0..passages).map(|row| (id(row), impacts(row))).collect();
    let expected: Vec<(&str, &str)> = expected.iter().map(|(id, text)| (&**id, &**text)).collect();
    assert_eq!(store.count(), expected.len());
    assert_eq!(store.rows().collect::<Vec<_>>(), expected);
    assert_eq!((0..store.count()).map(|row| store.row(row)).collect::<Vec<_>>(), expected);
}

fn remedy(error: &StoreError) -> String {
    error.remedy().map(|remedy| remedy.to_string()).unwrap_or_default()
}

#[test]
fn impacts_are_read_as_they_were_written() -> TestResult {
    // The only text of one is empty, and there are three to a shard.
    for passages in [0, 1, 3, 11] {
        let directory = tempfile::tempdir()?;
        write(directory.path(), sparse(passages))?;
        let store = open_impacts(directory.path())?;
        check_rows(&store, passages);
        assert_eq!((store.dim(), &store.manifest().spec), (TERMS, &sparse(passages)));
        let manifest = fs::read_to_string(directory.path().join("manifest.json"))?;
        assert!(manifest.contains("\"dim\": 30522,\n  \"dtype\": \"impacts\",\n"), "{manifest}");
        assert_eq!(content_of(directory.path())?, Content::Impacts);
    }
    Ok(())
}

#[test]
fn other_programs_read_the_files() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), sparse(3))?;
    let bytes = fs::read(directory.path().join("shard-00000.safetensors"))?;
    let tensors = SafeTensors::deserialize(&bytes)?;
    assert_eq!(tensors.names().len(), 4);
    let texts = [impacts(0), impacts(1), impacts(2)];
    let ids = [id(0), id(1), id(2)];
    for (name, offsets, strings) in [("impacts", "impact_offsets", texts), ("ids", "id_offsets", ids)] {
        let (text, places) = (tensors.tensor(name)?, tensors.tensor(offsets)?);
        let whole = strings.concat();
        assert_eq!(
            (text.dtype(), text.shape(), text.data()),
            (Dtype::U8, &[whole.len()][..], whole.as_bytes())
        );
        let ends = (0..=3_usize).flat_map(|row| (strings[..row].concat().len() as u64).to_le_bytes());
        let ends: Vec<u8> = ends.collect();
        assert_eq!((places.dtype(), places.shape(), places.data()), (Dtype::U64, &[4][..], &ends[..]));
    }
    Ok(())
}

#[test]
fn parts_open_as_one_in_their_order() -> TestResult {
    for (passages, of) in [(11, 3), (2, 5), (0, 2)] {
        let directory = tempfile::tempdir()?;
        for index in (1..=of).rev() {
            write(directory.path(), part_of(sparse(passages), index, of)?)?;
        }
        let store = open_impacts(directory.path())?;
        check_rows(&store, passages);
        assert_eq!(store.manifests().len(), of as usize);
        assert_eq!(content_of(directory.path())?, Content::Impacts);
    }
    Ok(())
}

#[test]
fn interrupted_anywhere_it_ends_in_the_same_bytes() -> TestResult {
    let directory = tempfile::tempdir()?;
    let straight = directory.path().join("straight");
    write(&straight, sparse(8))?;
    for rows in 0..8 {
        let stopped = directory.path().join(format!("stopped-{rows}"));
        interrupt(&stopped, sparse(8), rows)?;
        let found = error(open_impacts(&stopped))?;
        let expected = rows / 3 * 3;
        assert!(
            matches!(found, StoreError::Incomplete { rows_done, rows_expected: 8, .. } if rows_done == expected),
            "{rows}: {found}"
        );
        write(&stopped, sparse(8))?;
        assert_eq!(files(&stopped)?, files(&straight)?, "{rows}");
        assert_eq!(open_impacts(&stopped)?.fingerprint(), open_impacts(&straight)?.fingerprint());
    }
    Ok(())
}

#[test]
fn damaged_shards_are_found_and_written_again() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, sparse(11))?;
    let whole = files(store)?;
    assert!(find_damage(&inspect(store)?, &OpenOptions::default())?.is_empty());
    flip(&store.join("shard-00001.safetensors"))?;
    fs::remove_file(store.join("shard-00003.safetensors"))?;
    assert!(open_impacts(store).is_err_and(|error| error.is_damage()));
    let damaged = find_damage(&inspect(store)?, &OpenOptions::default())?;
    assert_eq!(damaged.iter().map(|damage| damage.shard).collect::<Vec<_>>(), [1, 3]);

    let writer = StoreWriter::create_or_resume(store, sparse(11))?;
    assert_eq!(writer.missing_rows(), [3..6, 9..11]);
    finish(writer)?;
    assert_eq!(files(store)?, whole);
    check_rows(&open_impacts(store)?, 11);
    Ok(())
}

#[test]
fn an_id_that_occurs_twice_is_named() -> TestResult {
    let directory = tempfile::tempdir()?;
    let mut writer = StoreWriter::create_or_resume(directory.path(), sparse(5))?;
    for id in ["a", "b", "c", "d", "b"] {
        writer.push_impacts(id, "term")?;
    }
    writer.finish()?;
    let found = error(open_impacts(directory.path())?.check_unique_ids())?;
    let StoreError::DuplicateId { id, first, second } = &found else { return Err(found.into()) };
    assert_eq!(id, "b");
    assert!(first.ends_with("shard-00000.safetensors") && second.ends_with("shard-00001.safetensors"));

    let unique = directory.path().join("unique");
    write(&unique, sparse(5))?;
    open_impacts(&unique)?.check_unique_ids()?;
    Ok(())
}

#[test]
fn a_store_of_the_other_content_is_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (impacts, vectors) = (directory.path().join("impacts"), directory.path().join("vectors"));
    write(&vectors, spec(4))?;
    assert_eq!(content_of(&vectors)?, Content::Vectors(DType::F32));
    // Nobody is to finish a store that is then refused.
    interrupt(&impacts, sparse(4), 3)?;
    let unfinished = error(open(&impacts))?;
    write(&impacts, sparse(4))?;
    let before = files(&impacts)?;
    for found in [
        unfinished,
        error(open(&impacts))?,
        error(Store::open(&[&vectors, &impacts], &OpenOptions::default()))?,
        error(quantize(&impacts, Codes::Int8, false, None))?,
        error(quantize(&impacts, Codes::None, false, None))?,
    ] {
        assert!(matches!(&found, StoreError::HoldsImpacts(path) if *path == impacts), "{found}");
        assert!(found.to_string().contains("holds impacts of terms, not vectors"), "{found}");
        assert!(remedy(&found).contains("`index vectors`"), "{}", remedy(&found));
    }
    assert_eq!(files(&impacts)?, before);

    let found = error(open_impacts(&vectors))?;
    assert!(matches!(&found, StoreError::HoldsVectors(path) if *path == vectors), "{found}");
    assert!(remedy(&found).contains("without an index"), "{}", remedy(&found));
    assert!(matches!(content_of(directory.path()), Err(StoreError::NotAStore { .. })));
    Ok(())
}

#[test]
fn rows_of_the_other_content_are_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let mut writer = StoreWriter::create_or_resume(&directory.path().join("impacts"), sparse(2))?;
    let found = error(writer.push("a", &[0.0; 4]))?;
    assert!(matches!(found, StoreError::OtherContent { held: Content::Impacts }), "{found}");
    assert_eq!(found.to_string(), "the store holds impacts of terms, not vectors");
    writer.push_impacts("a", "")?;
    assert_eq!(writer.rows_buffered(), 1);
    writer.push_impacts("b", "term")?;
    assert!(matches!(writer.push_impacts("c", ""), Err(StoreError::RowCount { expected: 2, found: 3, .. })));
    writer.finish()?;

    let mut writer = StoreWriter::create_or_resume(&directory.path().join("vectors"), spec(2))?;
    let found = error(writer.push_impacts("a", ""))?;
    assert_eq!(found.to_string(), "the store holds vectors in f32, not impacts of terms");
    assert_eq!(writer.rows_buffered(), 0);
    Ok(())
}

#[test]
fn a_store_does_not_change_its_content() -> TestResult {
    let vectors = |passages| StoreSpec { dim: TERMS, ..spec(passages) };
    for (begun, other, text) in [
        (sparse(6), vectors(6), "dtype is impacts in the store, f32 asked for"),
        (vectors(6), sparse(6), "dtype is f32 in the store, impacts asked for"),
    ] {
        let directory = tempfile::tempdir()?;
        let (whole, parts) = (directory.path().join("whole"), directory.path().join("parts"));
        interrupt(&whole, begun.clone(), 4)?;
        write(&parts, part_of(begun, 1, 2)?)?;
        let before = files(&whole)?;
        for found in [
            error(StoreWriter::create_or_resume(&whole, other.clone()))?,
            error(StoreWriter::create_or_resume(&parts, part_of(other, 2, 2)?))?,
        ] {
            let StoreError::SpecMismatch { differences, .. } = &found else { return Err(found.into()) };
            assert_eq!(differences.iter().map(|difference| difference.field).collect::<Vec<_>>(), ["dtype"]);
            assert!(found.to_string().contains(text), "{found}");
        }
        assert_eq!(files(&whole)?, before);
    }
    Ok(())
}
