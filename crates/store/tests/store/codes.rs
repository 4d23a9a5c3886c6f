//! Codes next to the vectors: made for finished stores, verified and removed. A store can do without them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use safetensors::{Dtype, SafeTensors};
use toller_ir::Explain;
use toller_store::{
    Codes, DType, OpenOptions, Store, StoreError, StoreSpec, StoreWriter, find_damage, find_damaged_codes,
    inspect, quantize,
};

use crate::common::{
    TestResult, check_content, error, files, finish, flip, open, part_of, push_until, spec, write,
};

const CODES: &str = "codes-00001.safetensors";

/// Does something to a file.
type Harm = fn(&Path) -> std::io::Result<()>;

fn int8(store: &Path) -> Result<u64, StoreError> {
    quantize(store, Codes::Int8, false, None)
}

/// The files of codes, by their path.
fn codes_in(store: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = files(store)?;
    found.retain(|name, _| name.contains("codes"));
    Ok(found)
}

/// Checks every code of an opened store against its vectors: by the documented rule, and to the bit.
fn check_codes(store: &Store) -> TestResult {
    for shard in store.shards() {
        let (rows, dim) = (shard.rows(), shard.dim());
        let codes = shard.codes().ok_or("a shard has no codes")?;
        assert_eq!((codes.values.len(), codes.scales.len()), (rows * dim, rows));
        assert_eq!(codes.residual_norms.len(), rows);
        let mut wide = vec![0.0; rows * dim];
        shard.embeddings().widen(0..rows * dim, &mut wide);
        for row in 0..rows {
            let (scale, bound) = (codes.scales[row], f64::from(codes.residual_norms[row]));
            let numbers = row * dim..(row + 1) * dim;
            let residuals =
                wide[numbers.clone()].iter().zip(&codes.values[numbers]).map(|(&number, &code)| {
                    let residual = f64::from(number) - f64::from(scale) * f64::from(code);
                    assert!(residual.abs() <= f64::from(scale) * 0.5001, "{number} is not {code} of {scale}");
                    residual * residual
                });
            assert!(residuals.sum::<f64>().sqrt() <= bound, "the residual of row {row} is above {bound}");
        }
    }
    Ok(())
}

#[test]
fn stores_of_every_dtype_dimension_and_division_have_codes() -> TestResult {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for dim in [1, 3, 4, 7, 37] {
            let directory = tempfile::tempdir()?;
            let (whole, parts) = (directory.path().join("whole"), directory.path().join("parts"));
            let spec = StoreSpec { content: dtype.into(), dim, ..spec(11) };
            write(&whole, spec.clone())?;
            for index in 1..=3 {
                write(&parts, part_of(spec.clone(), index, 3)?)?;
            }
            for store in [&whole, &parts] {
                let bytes = int8(store)?;
                assert_eq!(bytes, codes_in(store)?.values().map(|file| file.len() as u64).sum::<u64>());
                let opened = open(store)?;
                assert_eq!(opened.count(), 11);
                check_content(&opened);
                check_codes(&opened)?;
            }
        }
    }
    Ok(())
}

#[test]
fn quantizing_again_changes_nothing_and_removing_leaves_the_store_as_it_was() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(7))?;
    let before = files(store)?;
    let rows = AtomicU64::new(0);
    let progress = |progress: toller_store::QuantizeProgress| {
        assert!(progress.rows_done <= progress.rows_total && progress.rows_total == 7);
        rows.fetch_max(progress.rows_done, Ordering::Relaxed);
    };
    let bytes = quantize(store, Codes::Int8, false, Some(&progress))?;
    assert_eq!(rows.into_inner(), 7);
    let with_codes = files(store)?;
    assert_eq!(with_codes.len(), before.len() + 3);
    for again in [false, true] {
        assert_eq!(quantize(store, Codes::Int8, again, None)?, bytes);
        assert_eq!(files(store)?, with_codes, "again: {again}");
    }
    assert_eq!(quantize(store, Codes::None, false, None)?, 0);
    assert_eq!(files(store)?, before);
    Ok(())
}

#[test]
fn other_programs_read_the_files() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(5))?;
    int8(directory.path())?;
    for (name, rows) in [("codes-00000.safetensors", 3), (CODES, 2)] {
        let bytes = fs::read(directory.path().join(name))?;
        let tensors = SafeTensors::deserialize(&bytes)?;
        let mut found: Vec<_> =
            tensors.iter().map(|(name, view)| (name, view.dtype(), view.shape().to_vec())).collect();
        found.sort_by_key(|(name, ..)| *name);
        let expected = [
            ("codes", Dtype::I8, vec![rows, 4]),
            ("residual_norms", Dtype::F32, vec![rows]),
            ("scales", Dtype::F32, vec![rows]),
        ];
        assert_eq!(found, expected);
        // The codes are the last, and aligned.
        assert_eq!((bytes.len() - rows * 4) % 64, 0);
    }
    Ok(())
}

#[test]
fn damaged_codes_are_named_and_the_vectors_are_kept() -> TestResult {
    let ways: [(Harm, &str); 5] = [
        (|file| fs::remove_file(file), "it is missing"),
        (|file| fs::write(file, &fs::read(file)?[1..]), "bytes, but the manifest says"),
        (|file| fs::write(file, b""), "0 bytes, but the manifest says"),
        (|file| fs::copy(file.with_file_name("codes-00000.safetensors"), file).map(drop), "checksum"),
        (flip, "checksum"),
    ];
    for (number, (way, reason)) in ways.iter().enumerate() {
        let directory = tempfile::tempdir()?;
        let store = directory.path();
        write(store, spec(9))?;
        int8(store)?;
        let whole = files(store)?;
        way(&store.join(CODES))?;
        let found = error(open(store))?;
        assert!(matches!(&found, StoreError::CodesDamaged { path, .. } if path.ends_with(CODES)), "{found}");
        assert!(found.to_string().contains(reason) && !found.is_damage(), "way {number}: {found}");
        let remedy = found.remedy().ok_or("no remedy")?.to_string();
        for command in ["`quantize overwrite`", "`quantize codes none`"] {
            assert!(remedy.contains(command), "{remedy}");
        }

        // No vectors are damaged, so nothing is encoded again.
        let parts = inspect(store)?;
        assert!(find_damage(&parts, &OpenOptions::default())?.is_empty());
        let damaged = find_damaged_codes(&parts, &OpenOptions::default())?;
        assert_eq!(damaged.iter().map(|one| (one.shard, one.rows.clone())).collect::<Vec<_>>(), [(1, 3..6)]);
        let writer = StoreWriter::create_or_resume(store, spec(9))?;
        assert!(writer.is_complete() && writer.missing_rows().is_empty());
        writer.finish()?;

        if number < 3 {
            // Noticed without reading, so they are made again without a request.
            int8(store)?;
        } else {
            quantize(store, Codes::Int8, true, None)?;
        }
        assert_eq!(files(store)?, whole, "way {number}");
        way(&store.join(CODES))?;
        quantize(store, Codes::None, false, None)?;
        let opened = open(store)?;
        check_content(&opened);
        assert!(opened.shards().iter().all(|shard| shard.codes().is_none()));
    }
    Ok(())
}

#[test]
fn every_flipped_bit_of_codes_is_found() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(2))?;
    int8(store)?;
    for (name, bytes) in codes_in(store)? {
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << (place % 8);
            fs::write(store.join(&name), flipped)?;
            let found = error(open(store)).map_err(|_| format!("byte {place} of {name} went unnoticed"))?;
            assert!(matches!(found, StoreError::CodesDamaged { .. }), "byte {place}: {found}");
            // Unverified, it may go unnoticed, but not end in a panic.
            let unverified = OpenOptions { verify: false, progress: None };
            if let Ok(opened) = Store::open(&[store.to_owned()], &unverified) {
                assert!(opened.shards().iter().all(|shard| shard.codes().is_some()));
            }
        }
        fs::write(store.join(&name), bytes)?;
    }
    open(store)?;
    Ok(())
}

#[test]
fn an_interrupted_quantization_leaves_a_whole_store_and_no_traces_later() -> TestResult {
    let directory = tempfile::tempdir()?;
    let (store, other) = (directory.path().join("store"), directory.path().join("other"));
    for store in [&store, &other] {
        write(store, spec(9))?;
    }
    let before = files(&store)?;
    int8(&other)?;
    let whole = files(&other)?;
    // Two files of three, and a part of the third, that no manifest lists.
    let interrupt = || -> std::io::Result<()> {
        for index in 0..2 {
            let name = format!("codes-{index:05}.safetensors");
            fs::copy(other.join(&name), store.join(&name))?;
        }
        fs::write(store.join(".codes-00002.safetensors.9bTw1C.tmp"), "half")?;
        fs::write(store.join(".manifest.json.Zk30xQ.tmp"), "half")
    };

    interrupt()?;
    let opened = open(&store)?;
    check_content(&opened);
    assert!(opened.shards().iter().all(|shard| shard.codes().is_none()));
    drop(opened);
    int8(&store)?;
    assert_eq!(files(&store)?, whole);

    quantize(&store, Codes::None, false, None)?;
    interrupt()?;
    quantize(&store, Codes::None, false, None)?;
    assert_eq!(files(&store)?, before);

    interrupt()?;
    StoreWriter::create_or_resume(&store, spec(9))?.finish()?;
    assert_eq!(files(&store)?, before);
    Ok(())
}

#[test]
fn a_failed_quantization_takes_its_files_back() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(9))?;
    let before = files(store)?;
    int8(store)?;
    // The codes of the last shard cannot be written, nor those listed be used.
    let obstacle = store.join("codes-00002.safetensors");
    fs::remove_file(&obstacle)?;
    fs::create_dir(&obstacle)?;
    assert!(int8(store).is_err());
    fs::remove_dir(&obstacle)?;
    assert_eq!(files(store)?, before);
    check_content(&open(store)?);

    // A damaged shard is not quantized.
    let shard = store.join("shard-00001.safetensors");
    flip(&shard)?;
    let found = error(int8(store))?;
    assert!(matches!(&found, StoreError::ShardDamaged { path, .. } if *path == shard), "{found}");
    assert!(codes_in(store)?.is_empty());
    Ok(())
}

#[test]
fn unfinished_and_locked_stores_are_not_quantized() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    let mut writer = StoreWriter::create_or_resume(store, spec(9))?;
    push_until(&mut writer, 5)?;
    assert!(matches!(int8(store), Err(StoreError::Incomplete { rows_done: 3, .. })));
    finish(writer)?;
    let _writer = StoreWriter::create_or_resume(store, spec(9))?;
    assert!(matches!(int8(store), Err(StoreError::Locked { .. })));
    assert!(codes_in(store)?.is_empty());
    assert!(int8(&store.join("nothing")).is_err());
    Ok(())
}

#[test]
fn codes_of_a_shard_that_is_written_again_are_kept_if_it_is_the_same() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(9))?;
    let without = files(store)?;
    int8(store)?;
    let whole = files(store)?;
    fs::remove_file(store.join("shard-00001.safetensors"))?;
    write(store, spec(9))?;
    assert_eq!(files(store)?, whole);

    fs::remove_file(store.join("shard-00001.safetensors"))?;
    let mut writer = StoreWriter::create_or_resume(store, spec(9))?;
    for row in 3..6 {
        writer.push(&format!("d{row}"), &[0.25; 4])?;
    }
    writer.finish()?;
    assert!(codes_in(store)?.is_empty());
    assert_eq!(files(store)?.len(), without.len());
    let opened = open(store)?;
    assert!(opened.shards().iter().all(|shard| shard.codes().is_none()));
    int8(store)?;
    check_codes(&open(store)?)?;
    Ok(())
}

#[test]
fn a_store_that_replaces_one_with_codes_has_none() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(9))?;
    let before = files(store)?;
    int8(store)?;
    let writer = StoreWriter::overwrite(store, spec(9))?;
    assert!(codes_in(store)?.is_empty());
    finish(writer)?;
    assert_eq!(files(store)?, before);
    Ok(())
}

#[test]
fn an_empty_store_has_empty_codes() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(0))?;
    assert_eq!(int8(directory.path())?, 0);
    assert_eq!(open(directory.path())?.count(), 0);
    Ok(())
}
