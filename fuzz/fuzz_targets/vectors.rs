//! Vectors of other programs: no bytes make a reader of FAISS, npy, Parquet or pickles panic.
//! The first byte chooses the format; the rest is the file.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use toller_exchange::{IdsFrom, Source, SourceOptions, VectorFormat};

fuzz_target!(|bytes: &[u8]| {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let Some((choice, content)) = bytes.split_first() else { return };
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a temporary directory"));
    let path: PathBuf = folder.path().join("vectors");
    fs::write(&path, content).expect("a file");
    let formats = VectorFormat::ALL;
    let options = SourceOptions {
        format: formats.get(usize::from(choice >> 1) % (formats.len() + 1)).copied(),
        ids: if choice & 1 == 0 { IdsFrom::NextTo } else { IdsFrom::Rows },
        ..SourceOptions::default()
    };
    if let Ok(source) = Source::open(&[path], &options) {
        let mut rows = 0;
        let read = source.for_each(&mut |row| {
            assert_eq!(row.vector.len(), source.dim());
            rows += 1;
            Ok(())
        });
        assert!(read.is_err() || rows == source.rows());
    }
});
