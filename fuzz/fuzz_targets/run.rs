//! Runs: no bytes make a reader panic, and every score is finite.
//! The first byte chooses the format (or detection) and whether bad lines are skipped; the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toller_corpus::{ReadOptions, RunFormat, read_run_from};
use toller_files::{Input, InputReader};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, content)) = bytes.split_first() else { return };
    let options = ReadOptions {
        format: RunFormat::ALL.get(usize::from(choice >> 1)).copied(),
        skip_bad_lines: choice & 1 == 1,
        max_line_bytes: 4096,
        ..ReadOptions::default()
    };
    let content = std::io::Cursor::new(content.to_vec());
    let Ok(reader) = InputReader::from_reader(Input::Stdin, content) else { return };
    if let Ok((run, _)) = read_run_from(reader, &options) {
        assert!(run.queries.values().flatten().all(|hit| hit.score.is_finite()));
    }
});
