//! JSON files of the datasets: one object a line, each error with its line. Rows of Parquet files.

use std::io::{BufRead, Read};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use serde::de::DeserializeOwned;
pub(crate) use toller_corpus::JsonId as Id;
use toller_corpus::check_text;
use toller_corpus::parquet::{ParquetSource, guard};
use toller_files::{Input, InputReader};
use toller_ir::Position;

use crate::error::DatasetError;

/// The longest line: an original record of Natural Questions has a whole page of Wikipedia.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Why a record was not taken: what is wrong with it, or an error of another file.
#[derive(Debug)]
pub(crate) enum NotTaken {
    Problem(&'static str),
    Other(DatasetError),
}

impl From<&'static str> for NotTaken {
    fn from(problem: &'static str) -> Self {
        Self::Problem(problem)
    }
}

impl From<DatasetError> for NotTaken {
    fn from(error: DatasetError) -> Self {
        Self::Other(error)
    }
}

/// Opens a text, whose byte order mark is skipped. Refuses what is not text.
pub(crate) fn open_text(input: &Input) -> Result<InputReader, DatasetError> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut reader = InputReader::open(input)?;
    check_text(&mut reader)?;
    if reader.peek(MARK.len()) == MARK {
        reader.consume(MARK.len());
    }
    Ok(reader)
}

/// What is wrong in a line, whose number the error has elsewhere.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&place).unwrap_or(&text);
    let object = what.strip_prefix("invalid type: ").and_then(|what| what.split_once(", expected struct "));
    let what = match object {
        Some((found, _)) => format!("{found} where an object is expected"),
        None if error.is_eof() => "the JSON ends too early".to_owned(),
        None => what.to_owned(),
    };
    if error.column() > 0 { format!("{what} at column {}", error.column()) } else { what }
}

/// Calls `take` with each record. Blank lines are ignored.
///
/// # Errors
/// If the file cannot be read or has no record, a line is too long or not such an object, and what `take`
/// returns: a problem is reported with the line.
pub(crate) fn for_each_record<T: DeserializeOwned>(
    input: &Input,
    expected: &'static str,
    take: impl FnMut(T) -> Result<(), NotTaken>,
) -> Result<(), DatasetError> {
    for_each_record_of(open_text(input)?, expected, take)
}

/// As [`for_each_record`], of a text that is open already.
pub(crate) fn for_each_record_of<T: DeserializeOwned>(
    mut reader: InputReader,
    expected: &'static str,
    mut take: impl FnMut(T) -> Result<(), NotTaken>,
) -> Result<(), DatasetError> {
    let input = reader.input().clone();
    let (mut line, mut number, mut is_empty) = (Vec::new(), 0, true);
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|error| reader.error(error))? == 0 {
            break;
        }
        number += 1;
        let bad = |problem: String| DatasetError::Record {
            file: input.to_string(),
            line: number,
            problem,
            expected,
        };
        if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            return Err(bad("the line is too long".to_owned()));
        }
        if !line.trim_ascii().is_empty() {
            is_empty = false;
            let record =
                serde_json::from_slice(line.trim_ascii_end()).map_err(|error| bad(problem(&error)))?;
            take(record).map_err(|error| match error {
                NotTaken::Problem(problem) => bad(problem.to_owned()),
                NotTaken::Other(error) => error.at(&input, Some(Position::Line(number))),
            })?;
        }
    }
    if is_empty { Err(DatasetError::NoRecord { file: input.to_string(), expected }) } else { Ok(()) }
}

/// Reads one JSON value that is the whole file.
pub(crate) fn read_json<T: DeserializeOwned>(
    input: &Input,
    expected: &'static str,
) -> Result<T, DatasetError> {
    read_json_of(open_text(input)?, expected)
}

/// As [`read_json`], of a text that is open already.
pub(crate) fn read_json_of<T: DeserializeOwned>(
    mut reader: InputReader,
    expected: &'static str,
) -> Result<T, DatasetError> {
    let input = reader.input().clone();
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(|error| reader.error(error))?;
    if text.trim_ascii().is_empty() {
        return Err(DatasetError::NoRecord { file: input.to_string(), expected });
    }
    serde_json::from_slice(&text).map_err(|error| DatasetError::Record {
        file: input.to_string(),
        line: error.line() as u64,
        problem: problem(&error),
        expected,
    })
}

/// Reads the rows of a Parquet file that is open.
pub(crate) fn read_parquet(reader: &InputReader, expected: &'static str) -> Result<Vec<Row>, DatasetError> {
    let broken = |problem: String| DatasetError::Record {
        file: reader.input().to_string(),
        line: 0,
        problem,
        expected,
    };
    let source = ParquetSource::open(reader)?;
    let source = source.ok_or_else(|| broken("it cannot be read from a stream".to_owned()))?;
    let rows = guard(|| {
        let reader = SerializedFileReader::new(source)?;
        reader.get_row_iter(None)?.collect::<Result<Vec<Row>, _>>()
    });
    rows.map_err(|error| broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;
    use toller_files::Input;
    use toller_ir::Explain;

    use super::{for_each_record, read_json};

    #[derive(Deserialize)]
    struct Named {
        name: String,
    }

    #[test]
    fn errors_have_their_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"a\": 1}\n\n{\"a\": 2}\n{\"a\": \n").unwrap();
        let input = Input::parse(file.path());
        let mut seen = Vec::new();
        let error = for_each_record(&input, "objects", |record: Value| {
            seen.push(record["a"].as_i64());
            Ok(())
        });
        assert_eq!(seen, [Some(1), Some(2)]);
        let message = error.unwrap_err().to_string();
        assert!(message.ends_with(", line 4: the JSON ends too early at column 5"), "{message}");
        std::fs::write(file.path(), "1\n").unwrap();
        let other = for_each_record(&input, "objects", |record: Named| {
            seen.push(record.name.parse().ok());
            Ok(())
        });
        let other = other.unwrap_err().to_string();
        assert!(other.ends_with(", line 1: integer `1` where an object is expected at column 1"), "{other}");
        let refused = for_each_record(&input, "objects", |_: Value| Err("no".into()));
        assert!(refused.unwrap_err().to_string().ends_with(", line 1: no"));
    }

    #[test]
    fn what_is_no_text_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let input = Input::parse(file.path());
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let little: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, says, hint) in [
            (tar, "a tar archive", "unpack it first"),
            (little, "UTF-16 text, not UTF-8", "iconv -f UTF-16LE"),
            (big, "UTF-16 text, not UTF-8", "iconv -f UTF-16BE"),
        ] {
            std::fs::write(file.path(), bytes).unwrap();
            let error = read_json::<Value>(&input, "objects").unwrap_err();
            assert!(error.to_string().ends_with(says), "{error}");
            assert!(error.remedy().is_some_and(|remedy| remedy.to_string().contains(hint)), "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let input = Input::parse(file.path());
        let count = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            let mut count = 0;
            let read = for_each_record(&input, "objects", |_: Value| {
                count += 1;
                Ok(())
            });
            read.map(|()| count).map_err(|error| error.to_string())
        };
        assert_eq!(count("\u{feff}{}\n\n"), Ok(1));
        for empty in ["", "\n", "\u{feff}\n"] {
            assert!(count(empty).unwrap_err().ends_with(": there is no record"), "{empty:?}");
        }
    }
}
