//! Every text of the shared data.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::models;

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// A file's text, decompressed.
fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = Vec::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
    } else {
        text = bytes;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The strings of a JSON value.
fn strings(value: Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.into_iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| strings(value, found)),
        _ => {}
    }
}

/// The texts of a file: its JSON strings, or its lines.
fn texts(path: &Path) -> Vec<String> {
    let text = read(path);
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(&text) {
        strings(value, &mut found);
        return found;
    }
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => strings(value, &mut found),
            _ => found.push(line.to_owned()),
        }
    }
    found
}

/// Compares the ids of one in `every` texts of all data.
fn compare(every: usize) {
    let Some(data) = toller_testing::shared("data") else { return };
    let mut paths = Vec::new();
    files(&data, &mut paths);
    let texts: Vec<String> = paths.iter().flat_map(|path| texts(path).into_iter().step_by(every)).collect();
    assert!(texts.len() > 100_000 / every, "{} texts", texts.len());
    for pair in models() {
        let left = texts.iter().filter(|text| !pair.check(text)).count();
        assert!(left <= texts.len() / 1000, "{left} of {} texts are left to the reference", texts.len());
    }
}

#[test]
fn some_real_texts() {
    compare(50);
}

#[test]
#[ignore = "minutes"]
fn all_real_texts() {
    compare(1);
}
