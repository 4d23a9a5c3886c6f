//! Files of examples: JSON lines, a JSON array as DPR has it, tab-separated columns, or Parquet. The content
//! is mapped, and an example is parsed when it is needed.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use toller_files::Checksum;

use super::{
    Example, content, record,
    tsv::{self, Last},
};
use crate::TrainError;

/// The examples of a file.
pub struct ExampleFile {
    path: PathBuf,
    map: Mmap,
    records: Vec<Range<usize>>,
    form: Form,
    checksum: Checksum,
}

/// How a record is read.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Tsv(Last),
}

/// Some programs write it at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl ExampleFile {
    /// Maps a file, and checks every record. Of a compressed file and of Parquet, a temporary copy is mapped.
    ///
    /// # Errors
    /// When the file cannot be read, or has a bad record.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let map = content::map(path)?;
        let start = if map.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut begin = map[start..].iter().filter(|byte| !byte.is_ascii_whitespace());
        let (records, form) = match [begin.next(), begin.next()] {
            [Some(b'['), Some(b'{' | b']')] => (elements(&map), Form::Json),
            [Some(b'{') | None, _] => (lines(&map, start), Form::Json),
            _ => {
                let mut lines = lines(&map, start);
                let first = lines.first().map_or(0..0, Range::clone);
                let header = tsv::header(&map[first.clone()]).map_err(|problem| {
                    let line = line_number(&map, first.start);
                    TrainError::Record { path: path.to_owned(), line, problem }
                })?;
                lines.drain(..usize::from(header.is_some()));
                (lines, Form::Tsv(header.unwrap_or(Last::Any)))
            }
        };
        let opened = Self { path: path.to_owned(), checksum: Checksum::of(&map), map, records, form };
        (0..opened.records.len()).into_par_iter().try_for_each(|index| opened.get(index).map(drop))?;
        Ok(opened)
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The checksum of the file.
    #[must_use]
    pub fn checksum(&self) -> &Checksum {
        &self.checksum
    }

    /// An example.
    ///
    /// # Errors
    /// When the record is bad.
    pub fn get(&self, index: usize) -> Result<Example, TrainError> {
        let record = self.records[index].clone();
        let bytes = &self.map[record.clone()];
        let parsed = match self.form {
            Form::Json => record::parse(bytes),
            Form::Tsv(last) => tsv::parse(bytes, last),
        };
        parsed.map_err(|problem| TrainError::Record {
            path: self.path.clone(),
            line: line_number(&self.map, record.start),
            problem,
        })
    }
}

/// The number of the line, from 1, in which a byte is.
fn line_number(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The lines from `start` on that are not blank.
fn lines(bytes: &[u8], mut start: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for line in bytes[start..].split_inclusive(|&byte| byte == b'\n') {
        if !line.trim_ascii().is_empty() {
            found.push(start..start + line.len());
        }
        start += line.len();
    }
    found
}

/// The elements of an array. What is between or after them is not checked: a truncated last element is a
/// record that does not parse.
fn elements(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, None);
    let (mut in_string, mut escaped) = (false, false);
    for (index, &byte) in bytes.iter().enumerate() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                if depth == 1 {
                    start = Some(index);
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 1
                    && let Some(start) = start.take()
                {
                    found.push(start..index + 1);
                }
            }
            _ => {}
        }
    }
    found.extend(start.map(|start| start..bytes.len()));
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::io::Write;
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use toller_files::{CompressedWriter, Compression};

    use super::{ExampleFile, elements, lines};

    #[test]
    fn records_are_found() {
        let text = "[{\"a\": \"]\\\"}\"}, {\"b\": [1, {}]}\n]";
        let found: Vec<&str> = elements(text.as_bytes()).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["{\"a\": \"]\\\"}\"}", "{\"b\": [1, {}]}"]);
        assert_eq!(elements(b"[{\"a\": 1}, {\"b\"").len(), 2, "a truncated element is a record");
        assert_eq!(lines(b"one\n\n  \ntwo", 0), [0..4, 8..11]);
        assert_eq!(lines(b"...one\ntwo", 3), [3..7, 7..10]);
    }

    #[test]
    fn a_bad_record_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.jsonl");
        std::fs::write(&path, "{\"q\": \"a\", \"p\": \"b\"}\n\n{\"q\": \"a\"}\n").unwrap();
        let error = ExampleFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 3: expected DPR's"), "{error}");
        std::fs::write(&path, "[{\"question\": \"a\", \"positive_ctxs\": [{\"text\": \"b\"}]}]").unwrap();
        let file = ExampleFile::open(&path).unwrap();
        assert_eq!((file.len(), file.get(0).unwrap().query), (1, "a".to_owned()));
        std::fs::write(&path, "query\tpassage\na\tb\nc\n").unwrap();
        let error = ExampleFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 3: expected a query, a positive"), "{error}");
    }

    #[test]
    fn the_first_bytes_decide_the_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for (content, queries) in [
            ("[a] b\tp\n[{c]\tp\n", &["[a] b", "[{c]"][..]),
            ("\u{feff}query\tpositive\nq\tp\n", &["q"]),
            ("\u{feff}q\tp\n", &["q"]),
            ("\u{feff}{\"a\": \"q\", \"b\": \"p\"}\n", &["q"]),
            ("\u{feff} [ {\"a\": \"q\", \"b\": \"p\"}]", &["q"]),
            (" [ ]", &[]),
            ("\n", &[]),
        ] {
            std::fs::write(&path, content).unwrap();
            let file = ExampleFile::open(&path).unwrap();
            let found: Vec<String> = (0..file.len()).map(|index| file.get(index).unwrap().query).collect();
            assert_eq!(found, queries, "{content:?}");
        }
        std::fs::write(&path, "\nnegative\tpositive\tquery\nn\tp\tq\n").unwrap();
        let error = ExampleFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data, line 2: the header's columns are not in the order"), "{error}");
    }

    #[test]
    fn a_compressed_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.tsv.gz");
        let mut file = CompressedWriter::new(File::create(&path).unwrap(), Compression::Gzip);
        file.write_all("a\tb\nc\td\n".as_bytes()).unwrap();
        file.finish().unwrap();
        let opened = ExampleFile::open(&path).unwrap();
        assert_eq!((opened.len(), opened.get(1).unwrap().query), (2, "c".to_owned()));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        assert!(ExampleFile::open(&path).err().unwrap().to_string().contains("data.tsv.gz"));
    }

    #[test]
    fn parquet_is_read_by_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.parquet");
        let schema = "message m { REQUIRED BYTE_ARRAY query (STRING); REQUIRED BYTE_ARRAY positive (STRING);
            REQUIRED DOUBLE label; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for texts in [["a", "c"], ["b", "d"]] {
            let mut column = group.next_column().unwrap().unwrap();
            let values = texts.map(ByteArray::from);
            column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.0, 0.25], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let opened = ExampleFile::open(&path).unwrap();
        let second = opened.get(1).unwrap();
        assert_eq!((opened.len(), second.query.as_str(), second.positives[0].label), (2, "c", Some(0.25)));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(ExampleFile::open(&path).err().unwrap().to_string().contains("data.parquet, line 1"));
    }
}
