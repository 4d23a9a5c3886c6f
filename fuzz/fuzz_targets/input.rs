//! Decompression: no bytes make the reader panic, and peeking changes nothing of what is read.
#![no_main]

use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use toller_files::{Input, InputReader};

/// A small file may decompress to a huge one.
const MOST_BYTES: u64 = 1 << 20;

fn read(bytes: &[u8], peek: usize) -> Option<Vec<u8>> {
    let mut reader = InputReader::from_reader(Input::Stdin, Cursor::new(bytes.to_vec())).ok()?;
    reader.peek(peek);
    let mut content = Vec::new();
    reader.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    Some(content)
}

fuzz_target!(|bytes: &[u8]| {
    assert_eq!(read(bytes, 0), read(bytes, 1000));
});
