//! Files of examples: JSON lines, a JSON array as DPR has it, tab-separated columns, CSV, or Parquet.

use std::path::Path;

use rayon::prelude::*;
use toller_files::Checksum;
use toller_ir::Position;

use super::records::{Form, Records};
use super::{
    Example, record,
    tsv::{self, Header, Last},
};
use crate::TrainError;

/// The examples of a file.
pub struct ExampleFile {
    records: Records,
    /// What the last column of lines is; `None` for JSON.
    last: Option<Last>,
    /// The records that are examples, if others were skipped.
    kept: Option<Vec<u32>>,
}

/// The bad records of a file that were skipped.
#[derive(Debug)]
pub struct BadRecords {
    /// How many.
    pub count: usize,
    /// What is wrong with the first.
    pub first: TrainError,
}

/// Lines that show whether a file has texts: if all of them hold only numbers, that is not by accident.
const SHOWING: usize = 200;

/// Lines that do not show it, if a header says otherwise.
const FEW: usize = 10;

impl ExampleFile {
    /// Maps a file, and checks every record. For a compressed file, CSV and Parquet, a temporary copy is
    /// mapped.
    ///
    /// # Errors
    /// When the file cannot be read, or has a bad record.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let opened = Self::map(path)?;
        (0..opened.len()).into_par_iter().try_for_each(|index| opened.get(index).map(drop))?;
        Ok(opened)
    }

    /// The same, but skips bad records.
    ///
    /// # Errors
    /// When the file cannot be read, has identifiers for texts, or all its records are bad.
    pub fn open_skipping(path: &Path) -> Result<(Self, Option<BadRecords>), TrainError> {
        let mut opened = Self::map(path)?;
        // An error has the line of its record, for which all lines before it are counted: one is enough.
        let is_good: Vec<bool> =
            (0..opened.len()).into_par_iter().map(|index| opened.parse(index).is_ok()).collect();
        let first = is_good.iter().position(|is_good| !is_good);
        let Some(first) = first.and_then(|first| opened.get(first).err()) else { return Ok((opened, None)) };
        let kept: Vec<u32> =
            (0..).zip(&is_good).filter(|(_, is_good)| **is_good).map(|(index, _)| index).collect();
        if kept.is_empty() {
            return Err(first);
        }
        let count = is_good.len() - kept.len();
        opened.kept = Some(kept);
        Ok((opened, Some(BadRecords { count, first })))
    }

    /// Maps a file whose records are not checked yet.
    fn map(path: &Path) -> Result<Self, TrainError> {
        let mut records = Records::open(path)?;
        if records.form() != Form::Lines {
            return Ok(Self { records, last: None, kept: None });
        }
        let mut last = None;
        let header = tsv::header(records.get(0)).map_err(|problem| records.error(0, problem))?;
        let showing: Vec<&[u8]> = (0..records.len().min(SHOWING)).map(|index| records.get(index)).collect();
        // A header says that there are texts, and a few may be numbers.
        if (header.is_none() || showing.len() > FEW) && tsv::are_identifiers(&showing) {
            return Err(records.without_texts(0));
        }
        match header {
            Some(Header(said)) => {
                records.skip_first();
                last = said;
            }
            None if tsv::are_scored(&showing) => last = Some(Last::Scored),
            None => {
                if let Some(columns) = tsv::numbered(&showing) {
                    return Err(records.not_texts(0, columns));
                }
            }
        }
        if last.is_none() && records.len() > 0 {
            last = Some(Last::of(records.get(0)));
        }
        Ok(Self { records, last: last.or(Some(Last::Text)), kept: None })
    }

    /// The record of an example.
    fn record(&self, index: usize) -> usize {
        self.kept.as_ref().map_or(index, |kept| kept[index] as usize)
    }

    /// Where an example is.
    pub(crate) fn position(&self, index: usize) -> Position {
        self.records.position(self.record(index))
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.records.path()
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.as_ref().map_or_else(|| self.records.len(), Vec::len)
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
        let record = self.record(index);
        self.parse(record).map_err(|problem| match self.last {
            None if record::has_only_identifiers(self.records.get(record)) => {
                self.records.without_texts(record)
            }
            _ => self.records.error(record, problem),
        })
    }

    /// The example of a record. An error says what is wrong with it.
    fn parse(&self, record: usize) -> Result<Example, String> {
        let bytes = self.records.get(record);
        match self.last {
            None => record::parse(bytes),
            Some(last) => tsv::parse(bytes, last),
        }
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
    use toller_ir::{Explain, Position};

    use super::{ExampleFile, FEW};
    use crate::TrainError;

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
    fn bad_records_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.json");
        let (good, bad) = (
            r#"{"question": "q", "positive_ctxs": [{"text": "p"}]}"#,
            r#"{"question": "q", "positive_ctxs": []}"#,
        );
        std::fs::write(&path, format!("[{good}, {bad}, {good}, {bad}]")).unwrap();
        let error = ExampleFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.json, record ") && error.contains(": no positive passage"), "{error}");
        let (file, skipped) = ExampleFile::open_skipping(&path).unwrap();
        let skipped = skipped.unwrap();
        assert_eq!((file.len(), skipped.count), (2, 2));
        assert!(skipped.first.to_string().ends_with("data.json, record 2: no positive passage"));
        assert_eq!(file.get(1).unwrap().query, "q");
        assert_eq!(file.position(1), Position::Record(3));
        std::fs::write(&path, format!("{good}\n{good}\n")).unwrap();
        assert!(ExampleFile::open_skipping(&path).unwrap().1.is_none());
        std::fs::write(&path, format!("{bad}\n")).unwrap();
        assert!(ExampleFile::open_skipping(&path).is_err(), "there is nothing else");
    }

    /// Were the lines before each bad record counted, this would take minutes.
    #[test]
    fn many_bad_records_are_skipped_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.jsonl");
        let bad = "{\"query\": \"where is it from\", \"pos\": []}\n".repeat(1 << 17);
        std::fs::write(&path, format!("{{\"query\": \"q\", \"pos\": [\"p\"]}}\n{bad}")).unwrap();
        let (file, skipped) = ExampleFile::open_skipping(&path).unwrap();
        let skipped = skipped.unwrap();
        assert_eq!((file.len(), skipped.count), (1, 1 << 17));
        assert!(skipped.first.to_string().ends_with("data.jsonl, line 2: no positive passage"));
    }

    #[test]
    fn what_has_no_texts_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for content in [
            "1\t23\n1\t24\n",
            "1\t0\t23\t1\n",
            "q Q0\t0\td\t1\n",
            &"56be4db0\ts12\n".repeat(12),
            &"MED-10\tMED-2427\t1\n".repeat(12),
            "{\"query_id\": \"1\", \"positives\": [{\"id\": \"a\"}], \"negatives\": [{\"id\": \"b\"}]}\n",
        ] {
            std::fs::write(&path, content).unwrap();
            for error in [ExampleFile::open(&path).err(), ExampleFile::open_skipping(&path).err()] {
                let error = error.unwrap();
                assert!(error.to_string().ends_with("data, line 1: identifiers, where texts are expected"));
                let hint = "give the texts as queries and corpus, and the identifiers as qrels or negatives";
                assert_eq!(error.remedy().unwrap().to_string(), hint);
            }
        }
        let many = format!("query\tpositive\n{}", "1\t2\n".repeat(FEW));
        std::fs::write(&path, many).unwrap();
        assert!(matches!(ExampleFile::open(&path), Err(TrainError::NoTexts { .. })));
        for (content, columns) in [
            ("1048585\twhat is paula deen's brother\n2\tandrogen receptor define\n", "number, text"),
            ("1\t7\tq\tp\n1\t8\tq\to\n", "number, number, text, text"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = ExampleFile::open(&path).err().unwrap();
            let message = format!("data, line 1: the columns {columns}, where texts are expected");
            assert!(error.to_string().ends_with(&message), "{error}");
            assert!(error.remedy().unwrap().to_string().starts_with("give the texts as queries and corpus"));
        }
        let words = "cat\tanimal\t1\n".repeat(12);
        let models = "b747\ta wide plane\n".repeat(12);
        for content in ["query\tpositive\n1\t2\n", "1\t23\none\ttwo\n", &words, &models] {
            std::fs::write(&path, content).unwrap();
            assert!(ExampleFile::open(&path).is_ok(), "{content}");
        }
    }

    #[test]
    fn a_teachers_scores_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.tsv");
        std::fs::write(&path, "9.5\t0.5\twho\tthey\twe\n8\t-1\twhat\tit\tno\n").unwrap();
        let file = ExampleFile::open(&path).unwrap();
        let second = file.get(1).unwrap();
        let scores = [second.positives[0].score, second.negatives[0].score];
        assert_eq!((file.len(), second.query.as_str(), scores), (2, "what", [Some(8.0), Some(-1.0)]));
    }

    #[test]
    fn csv_is_read_by_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let header = "\u{feff}negative,Query,positive,label\r\n";
        let rows = "\"n, \"\"1\"\"\",\"a\nb\",p,0.5\r\n,q,\"é\u{2028}\",1\r\n";
        std::fs::write(&path, format!("{header}{rows}")).unwrap();
        let file = ExampleFile::open(&path).unwrap();
        let first = file.get(0).unwrap();
        let texts = [&first.positives[0], &first.negatives[0]].map(|own| own.text.clone().unwrap());
        assert_eq!((first.query.as_str(), texts), ("a\nb", ["p".to_owned(), "n, \"1\"".to_owned()]));
        let second = file.get(1).unwrap();
        assert_eq!((file.len(), second.negatives.len(), second.positives[0].label), (2, 0, Some(1.0)));
        for (rows, problem) in [
            (format!("{rows}n,q,,1\n"), "data.csv, line 5: a positive passage is empty"),
            (format!("{rows}n,q,p,x\n"), "data.csv, line 5: the label \"x\" is not a number"),
            (format!("{rows}q,p\n"), "data.csv, line 5: 2 columns, where the header names 4"),
            (
                format!("{rows}n,\"q,p,1\nn,q,p,1\n"),
                "data.csv, line 5: malformed record: found a quoted field without end",
            ),
        ] {
            std::fs::write(&path, format!("{header}{rows}")).unwrap();
            let error = ExampleFile::open(&path).err().unwrap().to_string();
            assert!(error.contains(problem), "{error}");
        }
        for content in ["a question,an answer\n", "id,label\n1,2\n"] {
            std::fs::write(&path, content).unwrap();
            let error = ExampleFile::open(&path).err().unwrap().to_string();
            assert!(error.contains("data.csv, line 1: expected a header"), "{error}");
        }
        for content in ["a\tb\n", "{\"a\": \"q, r\", \"b\": \"p\"}\n"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(ExampleFile::open(&path).unwrap().len(), 1, "a name alone decides nothing");
        }
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
        let compressed = folder.path().join("data.parquet.gz");
        let mut file = CompressedWriter::new(File::create(&compressed).unwrap(), Compression::Gzip);
        file.write_all(&bytes).unwrap();
        file.finish().unwrap();
        assert_eq!(ExampleFile::open(&compressed).unwrap().get(1).unwrap(), second);
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(ExampleFile::open(&path).err().unwrap().to_string().contains("data.parquet, line 1"));
    }
}
