//! Files of examples: JSON lines, a JSON array as DPR has it, tab-separated columns, or Parquet.

use std::path::Path;

use rayon::prelude::*;
use toller_files::Checksum;

use super::records::{Form, Records};
use super::{
    Example, record,
    tsv::{self, Last},
};
use crate::TrainError;

/// The examples of a file.
pub struct ExampleFile {
    records: Records,
    /// What the last column of lines is; `None` for JSON.
    last: Option<Last>,
}

impl ExampleFile {
    /// Maps a file, and checks every record. Of a compressed file and of Parquet, a temporary copy is mapped.
    ///
    /// # Errors
    /// When the file cannot be read, or has a bad record.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let mut records = Records::open(path)?;
        let mut last = None;
        if records.form() == Form::Lines {
            let header = tsv::header(records.get(0)).map_err(|problem| records.error(0, problem))?;
            if header.is_some() {
                records.skip_first();
            }
            last = Some(header.unwrap_or(Last::Any));
        }
        let opened = Self { records, last };
        (0..opened.len()).into_par_iter().try_for_each(|index| opened.get(index).map(drop))?;
        Ok(opened)
    }

    /// The error that an example has this problem.
    pub(crate) fn error(&self, index: usize, problem: String) -> TrainError {
        self.records.error(index, problem)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.records.path()
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The checksum of the file.
    #[must_use]
    pub fn checksum(&self) -> &Checksum {
        self.records.checksum()
    }

    /// An example.
    ///
    /// # Errors
    /// When the record is bad.
    pub fn get(&self, index: usize) -> Result<Example, TrainError> {
        let bytes = self.records.get(index);
        let parsed = match self.last {
            None => record::parse(bytes),
            Some(last) => tsv::parse(bytes, last),
        };
        parsed.map_err(|problem| self.records.error(index, problem))
    }
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
    use toller_ir::Explain;

    use super::ExampleFile;

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
    fn an_object_is_refused_with_a_remedy() {
        let error = ExampleFile::open("s3://bucket/data.jsonl".as_ref()).err().unwrap();
        assert_eq!(error.to_string(), "s3://bucket/data.jsonl is not on disk");
        assert_eq!(error.remedy().unwrap().to_string(), "copy the object to a file first");
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
