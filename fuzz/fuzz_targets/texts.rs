//! Indexes of texts: a change costs the index, and never a wrong text.
#![no_main]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use toller_files::Input;
use toller_fuzz::Whole;
use toller_texts::{Texts, TextsOptions};

const NAME: &str = "corpus.tsv.gz";

/// The collection, which no change touches: an index has a folder of its own.
fn corpus() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let write = || {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join(NAME)).expect("a file");
        let mut gzip = GzEncoder::new(file, Compression::fast());
        for row in 0..200 {
            writeln!(gzip, "{row}\ttext {row}").expect("a line");
        }
        gzip.finish().expect("a file");
        folder
    };
    FOLDER.get_or_init(write).path()
}

fn open(directory: &Path) -> Option<Texts> {
    let inputs = [Input::File(corpus().join(NAME))];
    let options = TextsOptions { directory: Some(directory.to_owned()), ..TextsOptions::default() };
    Texts::open(&inputs, &options, |_| ()).ok()
}

fuzz_target!(|bytes: &[u8]| {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    let make = |directory: &Path| drop(open(directory).expect("an index"));
    WHOLE.get_or_init(|| Whole::new(make)).changed(bytes, |path| {
        let Some(texts) = open(path) else { return };
        for row in [0, 7, 199] {
            if let Ok(Some(passage)) = texts.get(&row.to_string()) {
                assert_eq!(passage.id, row.to_string());
            }
        }
    });
});
