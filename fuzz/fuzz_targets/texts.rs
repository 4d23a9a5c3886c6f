//! Indexes of texts: a change costs the index, and never a wrong text.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use toller_files::Input;
use toller_fuzz::Whole;
use toller_texts::{Texts, TextsOptions};

fn open(directory: &Path) -> Option<Texts> {
    let inputs = [Input::File(directory.join("corpus.tsv.gz"))];
    let options = TextsOptions { directory: Some(directory.to_owned()), ..TextsOptions::default() };
    Texts::open(&inputs, &options, |_| ()).ok()
}

fn make(directory: &Path) {
    use std::io::Write;
    let file = std::fs::File::create(directory.join("corpus.tsv.gz")).expect("a file");
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    for row in 0..200 {
        writeln!(gzip, "{row}\ttext {row}").expect("a line");
    }
    gzip.finish().expect("a file");
}

fuzz_target!(|bytes: &[u8]| {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    let make = |directory: &Path| {
        make(directory);
        open(directory).expect("an index");
    };
    WHOLE.get_or_init(|| Whole::new(make)).changed(bytes, |path| {
        let Some(texts) = open(path) else { return };
        for row in [0, 7, 199] {
            if let Ok(Some(passage)) = texts.get(&row.to_string()) {
                assert_eq!(passage.id, row.to_string());
            }
        }
    });
});
