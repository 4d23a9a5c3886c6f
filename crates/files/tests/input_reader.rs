//! Reading plain and compressed input: whole, in several members, truncated and corrupt.
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toller_files::{Compression, Input, InputReader};
use toller_ir::Explain;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    // As the zstd program does; without it a flipped literal goes unnoticed.
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Compress = fn(&[u8]) -> Vec<u8>;
const KINDS: [(Compression, Compress); 3] =
    [(Compression::Gzip, gzip), (Compression::Zstd, zstd_frame), (Compression::Xz, xz)];

/// Some text that does not compress to nothing.
fn text(lines: u32) -> Vec<u8> {
    (0..lines)
        .flat_map(|i| format!("{i}\t{:x}\n", u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes())
        .collect()
}

fn reader(bytes: &[u8]) -> InputReader {
    InputReader::from_reader(Input::File("some/file".into()), std::io::Cursor::new(bytes.to_vec())).unwrap()
}

#[test]
fn several_members_are_one_stream() -> Result<(), Box<dyn Error>> {
    let (first, second) = (text(30_000), text(5));
    for (kind, compress) in KINDS {
        let stored = [compress(&first), compress(&second)].concat();
        let mut reader = reader(&stored);
        assert_eq!(reader.compression(), kind);
        let mut read = Vec::new();
        reader.read_to_end(&mut read)?;
        assert!(read == [first.clone(), second.clone()].concat(), "{kind}");
        assert_eq!(reader.bytes_read(), stored.len() as u64, "{kind}");
    }
    Ok(())
}

#[test]
fn zeros_behind_gzip_are_padding_and_other_bytes_are_not() -> Result<(), Box<dyn Error>> {
    let padding = vec![0; 200_000];
    for stored in [
        [gzip(b"one\n"), gzip(b"two\n"), padding.clone()].concat(),
        [gzip(b"one\n"), padding, gzip(b"two\n")].concat(),
    ] {
        let mut read = String::new();
        reader(&stored).read_to_string(&mut read)?;
        assert_eq!(read, "one\ntwo\n");
    }
    for behind in [&b"x"[..], b"\0\0two\n", b"\x1e\x8b"] {
        let error = reader(&[&gzip(b"one\n"), behind].concat()).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the gzip data are corrupt: other bytes follow them");
    }
    Ok(())
}

#[test]
fn every_truncation_is_an_error() {
    let plain = text(40);
    for (kind, compress) in KINDS {
        let stored = compress(&plain);
        for length in 8..stored.len() {
            let mut read = Vec::new();
            let error =
                InputReader::from_reader(Input::Stdin, std::io::Cursor::new(stored[..length].to_vec()))
                    .map_err(|error| error.source)
                    .and_then(|mut reader| reader.read_to_end(&mut read))
                    .expect_err("truncated");
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{kind} at {length}: {error}");
            assert!(error.to_string().contains("incomplete"), "{error}");
            assert!(plain.starts_with(&read), "{kind} at {length}");
        }
    }
}

#[test]
fn a_corrupt_stream_is_an_error() {
    for (kind, compress) in KINDS {
        let mut stored = compress(&text(4_000));
        let middle = stored.len() / 2;
        for byte in &mut stored[middle..middle + 64] {
            *byte ^= 0xff;
        }
        let error = reader(&stored).read_to_end(&mut Vec::new()).expect_err("corrupt");
        assert!(error.to_string().contains("corrupt"), "{kind}: {error}");
    }
}

#[test]
fn a_compressed_name_with_nothing_in_it_is_truncated() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    for (name, bytes) in [("a.gz", &b""[..]), ("b.xz", b"\xfd7z"), ("c.zst", b"\x28")] {
        let path = directory.path().join(name);
        fs::write(&path, bytes)?;
        let error = InputReader::open(&Input::File(path)).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains("incomplete"), "{error}");
    }
    // A plain file with such a name is plain.
    let path = directory.path().join("plain.gz");
    fs::write(&path, "1\ttext\n")?;
    assert_eq!(InputReader::open(&Input::File(path))?.compression(), Compression::Plain);
    Ok(())
}

#[test]
fn archives_are_named() {
    let refused: [(&[u8], &str); 4] = [
        (b"PK\x03\x04rest of it", "unzip"),
        (b"BZh91AY&SY and more", "bunzip2"),
        (b"\x04\x22\x4d\x18 and more", "lz4 -d"),
        (b"\x1f\x9d\x90\x61\xc4", "compressed by compress: decompress it (uncompress, or gzip -d)"),
    ];
    for (bytes, word) in refused {
        let error = InputReader::from_reader(Input::Stdin, bytes).err().unwrap().to_string();
        assert!(error.contains(word) && error.contains("standard input"), "{error}");
    }
}

#[test]
fn peeking_consumes_nothing_and_defers_errors() -> Result<(), Box<dyn Error>> {
    let plain = text(50_000);
    let mut whole = reader(&gzip(&plain));
    assert_eq!(whole.peek(10), &plain[..10]);
    assert_eq!(whole.peek(200_000), &plain[..200_000]);
    assert_eq!(whole.peek(usize::MAX / 2), &plain[..]);
    let mut read = Vec::new();
    whole.read_to_end(&mut read)?;
    assert!(read == plain);

    let stored = gzip(&plain);
    let mut truncated = reader(&stored[..stored.len() / 2]);
    let seen = truncated.peek(plain.len()).to_vec();
    assert!(!seen.is_empty() && plain.starts_with(&seen));
    let mut read = Vec::new();
    let error = truncated.read_to_end(&mut read).expect_err("truncated");
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(read == seen, "what was good comes first");
    Ok(())
}

#[test]
fn one_counter_counts_several_inputs() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let count = Arc::new(AtomicU64::new(0));
    let mut stored = 0;
    for (name, bytes) in [("a.tsv", text(1_000)), ("b.tsv.gz", gzip(&text(1_000)))] {
        let path = directory.path().join(name);
        fs::write(&path, &bytes)?;
        let mut reader = InputReader::open_counted(&Input::File(path), Arc::clone(&count))?;
        assert_eq!(reader.total_bytes(), Some(bytes.len() as u64));
        assert_eq!(reader.by_ref().lines().count(), 1_000);
        stored += bytes.len() as u64;
    }
    assert_eq!(count.load(Ordering::Relaxed), stored);
    Ok(())
}

#[test]
fn opening_a_directory_or_nothing_names_it() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let error = InputReader::open(&Input::File(directory.path().into())).err().unwrap().to_string();
    assert!(error.contains(directory.path().to_str().unwrap_or_default()), "{error}");
    let error = InputReader::open(&Input::parse("no/such.tsv")).err().unwrap();
    assert!(error.to_string().contains("no/such.tsv") && error.remedy().is_some());
    Ok(())
}

#[test]
fn a_long_window_of_zstd_is_read() -> Result<(), Box<dyn Error>> {
    // A frame with a window of 256 MiB, and its only block, which is not compressed.
    let frame = [&b"\x28\xb5\x2f\xfd\x00\x90\x39\x00\x00"[..], b"1\ttext\n"].concat();
    let mut read = String::new();
    reader(&frame).read_to_string(&mut read)?;
    assert_eq!(read, "1\ttext\n");
    Ok(())
}

#[test]
fn a_file_is_read_in_one_version_or_not_to_its_end() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let content = text(30_000);
    let plain: Compress = <[u8]>::to_vec;
    for (kind, compress) in KINDS.into_iter().chain([(Compression::Plain, plain)]) {
        let path = directory.path().join(kind.to_string());
        fs::write(&path, compress(&content))?;
        let open = || {
            let mut reader = InputReader::open(&Input::File(path.clone())).unwrap();
            reader.read_exact(&mut [0; 100]).unwrap();
            reader
        };
        // Another file of this name leaves the open one as it is.
        let mut reader = open();
        let other = directory.path().join("other");
        fs::write(&other, compress(&content))?;
        fs::rename(&other, &path)?;
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest)?;
        assert!(content[100..] == rest, "{kind}");

        let mut reader = open();
        fs::OpenOptions::new().append(true).open(&path)?.write_all(b"\n")?;
        let error = reader.read_to_end(&mut rest).err().ok_or("the file was written")?;
        let error = reader.error(error);
        assert!(error.to_string().ends_with(": it has changed since this command first read it"), "{error}");
        assert!(error.remedy().is_some());
    }
    Ok(())
}
