//! Queries: no bytes make a reader panic, and no query comes without identifier and text.
//! The first byte chooses the format (or detection) and whether bad lines are skipped; the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toller_corpus::{QueryFormat, ReadOptions, read_queries_from};
use toller_files::{Input, InputReader};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, content)) = bytes.split_first() else { return };
    let options = ReadOptions {
        format: QueryFormat::ALL.get(usize::from(choice >> 1)).copied(),
        skip_bad_lines: choice & 1 == 1,
        max_line_bytes: 4096,
        ..ReadOptions::default()
    };
    let content = std::io::Cursor::new(content.to_vec());
    let Ok(reader) = InputReader::from_reader(Input::Stdin, content) else { return };
    if let Ok((queries, _)) = read_queries_from(reader, &options) {
        assert!(queries.iter().all(|query| !query.id.trim().is_empty() && !query.text.trim().is_empty()));
    }
});
