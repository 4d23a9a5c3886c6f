//! Damage of any kind is an error when the store is opened, and never a panic.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::common::{TestResult, error, files, open, spec, write};
use toller_store::{Checksum, OpenOptions, Store, StoreError};

const UNVERIFIED: OpenOptions<'static> = OpenOptions { verify: false, progress: None };
const SHARD: &str = "shard-00000.safetensors";

fn read_everything(store: &Store) -> usize {
    let ids = store.shards().iter().flat_map(|shard| (0..shard.rows()).map(move |row| shard.id(row).len()));
    ids.sum::<usize>()
        + store.shards().iter().filter(|shard| shard.embeddings() == shard.embeddings()).count()
}

#[test]
fn every_flipped_bit_is_found() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(4))?;
    for (name, bytes) in files(store)? {
        // In place, byte by byte: replacing the file each time would take most of the test's time.
        let mut file = fs::File::options().write(true).open(store.join(&name))?;
        let mut put = |place: usize, byte: u8| {
            file.seek(SeekFrom::Start(place as u64))?;
            file.write_all(&[byte])
        };
        for (place, &byte) in bytes.iter().enumerate() {
            for bit in 0..8 {
                put(place, byte ^ 1 << bit)?;
                let found = error(open(store))
                    .map_err(|_| format!("bit {bit} of byte {place} of {name} went unnoticed"))?;
                let named =
                    found.to_string().contains(&name) || matches!(found, StoreError::NotAStore { .. });
                assert!(named, "bit {bit} of byte {place} of {name}: {found}");
                // Unverified, it may go unnoticed, but not end in a panic.
                if let Ok(store) = Store::open(&[store.to_owned()], &UNVERIFIED) {
                    read_everything(&store);
                }
            }
            put(place, byte)?;
        }
    }
    open(store)?;
    Ok(())
}

#[test]
fn every_truncation_is_found() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path();
    write(store, spec(4))?;
    for (name, bytes) in files(store)? {
        for length in 0..bytes.len() {
            fs::write(store.join(&name), &bytes[..length])?;
            assert!(open(store).is_err(), "{name} cut to {length} bytes went unnoticed");
        }
        let longer = [bytes.as_slice(), b"\n"].concat();
        fs::write(store.join(&name), longer)?;
        assert!(open(store).is_err() || name == ".lock", "a byte after {name} went unnoticed");
        fs::write(store.join(&name), bytes)?;
    }
    Ok(())
}

#[test]
fn what_is_missing_is_named() -> TestResult {
    let directory = tempfile::tempdir()?;
    let store = directory.path().join("store");
    let found = error(open(&store))?;
    assert!(found.to_string().contains("cannot open"), "{found}");
    assert!(matches!(Store::open::<&str>(&[], &OpenOptions::default()), Err(StoreError::NoStore)));

    write(&store, spec(7))?;
    fs::remove_file(store.join("shard-00001.safetensors"))?;
    let found = error(open(&store))?;
    assert!(
        matches!(&found, StoreError::ShardDamaged { path, reason } if path.ends_with("shard-00001.safetensors") && reason == "it is missing"),
        "{found}"
    );
    fs::remove_file(store.join("manifest.json"))?;
    assert!(matches!(open(&store), Err(StoreError::NotAStore { .. })));
    let file = directory.path().join("file");
    fs::write(&file, "x")?;
    assert!(matches!(open(&file), Err(StoreError::NotAStore { .. })));
    Ok(())
}

/// Changes the manifest as a forger would, by the documented rule of its checksum.
fn forge_manifest(store: &Path, change: impl FnOnce(String) -> String) -> TestResult {
    let path = store.join("manifest.json");
    let text = fs::read_to_string(&path)?;
    let (body, _) = text.rsplit_once("  \"checksum\"").ok_or("no checksum")?;
    let body = change(body.to_owned());
    fs::write(path, format!("{body}  \"checksum\": \"{}\"\n}}\n", Checksum::of(body.as_bytes())))?;
    Ok(())
}

/// Replaces the first shard by `bytes`, with a manifest to match.
fn forge_shard(store: &Path, bytes: &[u8]) -> TestResult {
    let old = fs::read(store.join(SHARD))?;
    fs::write(store.join(SHARD), bytes)?;
    forge_manifest(store, |body| {
        body.replacen(&Checksum::of(&old).to_string(), &Checksum::of(bytes).to_string(), 1).replacen(
            &format!("\"bytes\": {}", old.len()),
            &format!("\"bytes\": {}", bytes.len()),
            1,
        )
    })
}

#[test]
fn a_newer_format_is_not_damage() -> TestResult {
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(4))?;
    let path = directory.path().join("manifest.json");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, text.replace("\"format_version\": 1", "\"format_version\": 2"))?;
    let found = error(open(directory.path()))?;
    assert!(matches!(found, StoreError::FormatVersion { found: 2, .. }), "{found}");
    Ok(())
}

#[test]
fn a_manifest_with_a_right_checksum_is_still_checked() -> TestResult {
    let changes = [
        ("\"dim\": 4", "\"dim\": 0"),
        ("\"dim\": 4", "\"dim\": -4"),
        ("\"rows_per_shard\": 3", "\"rows_per_shard\": 2"),
        ("\"count\": 4", "\"count\": 5"),
        ("\"passages\": 4", "\"passages\": 5"),
        ("\"file\": \"shard-00000", "\"file\": \"../shard-00000"),
        ("\"dtype\": \"f32\"", "\"dtype\": \"f64\""),
        ("\"part\": null", "\"part\": { \"index\": 3, \"of\": 2, \"first_row\": 0 }"),
        ("\"checksum\": \"xxh3-128:", "\"checksum\": \"md5:"),
        ("\"model\"", "\"modell\""),
    ];
    for (from, to) in changes {
        let directory = tempfile::tempdir()?;
        write(directory.path(), spec(4))?;
        forge_manifest(directory.path(), |body| {
            assert!(body.contains(from), "{from}");
            body.replacen(from, to, 1)
        })?;
        let found = error(open(directory.path()))?;
        assert!(matches!(found, StoreError::ManifestDamaged { .. }), "{to}: {found}");
        assert!(found.to_string().contains("manifest.json"), "{found}");
    }
    // What a later version may add is not an error.
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(4))?;
    forge_manifest(directory.path(), |body| body.replacen("{\n", "{\n  \"comment\": \"hello\",\n", 1))?;
    open(directory.path())?;
    Ok(())
}

#[test]
fn a_shard_with_a_right_checksum_is_still_checked() -> TestResult {
    let original = {
        let directory = tempfile::tempdir()?;
        write(directory.path(), spec(4))?;
        fs::read(directory.path().join(SHARD))?
    };
    let header_bytes = usize::try_from(u64::from_le_bytes(original[..8].try_into()?))?;
    let (header, data) = original[8..].split_at(header_bytes);
    let header = str::from_utf8(header)?.trim_end().to_owned();
    // Three rows of four f32, then four offsets.
    let (offsets_at, ids_at) = (3 * 4 * 4, 3 * 4 * 4 + 4 * 8);
    let shard = |header: &str, padding: usize, data: &[u8]| {
        let header = format!("{header}{}", " ".repeat(padding));
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    };
    let aligned = |header: &str, data: &[u8]| {
        shard(header, (8 + header.len()).next_multiple_of(64) - 8 - header.len(), data)
    };
    let patched = |place: usize, bytes: &[u8]| {
        let mut data = data.to_vec();
        data[place..place + bytes.len()].copy_from_slice(bytes);
        aligned(&header, &data)
    };
    assert_eq!(aligned(&header, data), original);

    let forged: [(&str, Vec<u8>, &str); 11] = [
        ("no header", b"x".to_vec(), ""),
        ("a header beyond the end", u64::MAX.to_le_bytes().to_vec(), ""),
        (
            "unaligned",
            shard(&header, (8 + header.len()).next_multiple_of(64) - 8 - header.len() + 8, data),
            "multiple of 64",
        ),
        ("another shape", aligned(&header.replace("[3,4]", "[4,3]"), data), "[4, 3]"),
        ("another dtype", aligned(&header.replace("\"F32\"", "\"I32\""), data), "I32"),
        ("no ids", aligned(&header.replace("\"ids\"", "\"names\""), data), "no tensor ids"),
        ("first offset not 0", patched(offsets_at, &[1]), "id_offsets[0]"),
        ("falling offsets", patched(offsets_at + 8, &[200]), "id_offsets[1]"),
        ("offset beyond usize", patched(offsets_at + 16, &[0xff; 8]), "id_offsets[2]"),
        ("last offset short", patched(offsets_at + 24, &[data[offsets_at + 24] - 1]), "the last of ids ends"),
        ("no UTF-8", patched(ids_at, &[0xff]), "utf-8"),
    ];
    for (what, bytes, reason) in forged {
        let directory = tempfile::tempdir()?;
        write(directory.path(), spec(4))?;
        forge_shard(directory.path(), &bytes)?;
        let found = error(open(directory.path())).map_err(|_| what)?;
        assert!(found.is_damage() && found.to_string().contains(reason), "{what}: {found}");
        assert!(!found.to_string().contains("checksum"), "{what}: {found}");
    }
    // Offsets inside of a character: the second id is "文書1".
    let directory = tempfile::tempdir()?;
    write(directory.path(), spec(4))?;
    forge_shard(directory.path(), &patched(offsets_at + 8, &[data[offsets_at + 8] + 1]))?;
    let found = error(open(directory.path()))?;
    assert!(found.is_damage() && found.to_string().contains("id_offsets[1]"), "{found}");
    Ok(())
}
