//! Collections as Parquet.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use common::{assert_error, entries, passage, query, skipping, triples};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use toller_corpus::{
    CorpusError, ReadOptions, RunFormat, SkipReport, open_collection, read_qrels, read_queries, read_run,
    read_run_and_format, survey,
};
use toller_files::Input;
use toller_ir::{Explain, Passage};

type Outcome = Result<(), Box<dyn Error>>;

/// Writes the next column; `None` is null.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: Vec<Option<T::T>>,
    optional: bool,
) {
    let mut writer = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, optional.then_some(&levels[..]), None).unwrap();
    writer.close().unwrap();
}

fn text(value: &str) -> Option<ByteArray> {
    Some(ByteArray::from(value))
}

/// Two row groups of `rows` rows: `id` (int64), `embedding` (ignored), `title` (optional), `text`.
fn write(path: &Path, rows: i64, compression: Compression) {
    let schema = "message m { required int64 id; required double embedding; optional binary title (UTF8); optional binary text (UTF8); }";
    let properties =
        WriterProperties::builder().set_compression(compression).set_data_page_row_count_limit(100).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for part in 0..2 {
        let ids = || part * rows..(part + 1) * rows;
        let mut group = writer.next_row_group().unwrap();
        column::<Int64Type>(&mut group, ids().map(Some).collect(), false);
        column::<DoubleType>(&mut group, ids().map(|id| Some(id as f64)).collect(), false);
        let title = |id: i64| if id % 3 == 0 { None } else { text(&format!("title {id}")) };
        column::<ByteArrayType>(&mut group, ids().map(title).collect(), true);
        column::<ByteArrayType>(&mut group, ids().map(|id| text(&format!("text 中 {id}"))).collect(), true);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn read(path: &Path) -> Result<Vec<Passage>, CorpusError> {
    open_collection(&[Input::File(path.into())], &ReadOptions::default())?.collect()
}

#[test]
fn row_groups_pages_nulls_and_codecs() -> Outcome {
    let directory = tempfile::tempdir()?;
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::try_new(1)?),
        Compression::GZIP(Default::default()),
    ];
    for (at, codec) in codecs.into_iter().enumerate() {
        let path = directory.path().join(format!("{at}.parquet"));
        write(&path, 1_000, codec);
        let passages = read(&path)?;
        assert_eq!(passages.len(), 2_000, "{codec}");
        assert_eq!(passages[0], passage("0", "", "text 中 0"));
        assert_eq!(passages[1_999], passage("1999", "title 1999", "text 中 1999"));
    }
    // By content, whatever the name.
    let renamed = directory.path().join("shard");
    fs::rename(directory.path().join("0.parquet"), &renamed)?;
    assert_eq!(read(&renamed)?.len(), 2_000);
    Ok(())
}

#[test]
fn a_file_that_is_written_while_it_is_read_is_not_called_damaged() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("c.parquet");
    for cut in [false, true] {
        write(&path, 1_000, Compression::SNAPPY);
        let mut passages = open_collection(&[Input::File(path.clone())], &ReadOptions::default())?;
        passages.next().ok_or("it has rows")??;
        let file = File::options().write(true).open(&path)?;
        file.set_len(if cut { 100 } else { file.metadata()?.len() + 1 })?;
        assert_error(passages.collect::<Result<Vec<_>, _>>(), &["c.parquet", "it has changed"]);
    }
    Ok(())
}

#[test]
fn rows_of_several_groups_are_duplicates_of_their_own() -> Outcome {
    let directory = tempfile::tempdir()?;
    let (once, part) = (directory.path().join("a.parquet"), directory.path().join("b.parquet"));
    write(&once, 300, Compression::SNAPPY);
    write(&part, 200, Compression::SNAPPY);
    let inputs = [Input::File(part), Input::File(once)];
    assert_error(
        survey(&inputs, &ReadOptions::default(), |_| {}),
        &["a.parquet, row 1: duplicate id: found \"0\"", "b.parquet, row 1"],
    );
    let found = survey(&inputs, &skipping(), |_| {})?;
    assert_eq!((found.passages, found.duplicates.len()), (600, 400));
    let kept = open_collection(&inputs, &skipping())?.without(found.duplicates);
    let ids = kept.map(|passage| passage.map(|passage| passage.id)).collect::<Result<Vec<_>, _>>()?;
    assert!(ids.into_iter().eq((0..600).map(|id| id.to_string())));
    Ok(())
}

#[test]
fn string_ids_and_bad_rows() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("c.parquet");
    let schema = "message m { optional binary docid (UTF8); optional binary contents (UTF8); }";
    let mut writer = SerializedFileWriter::new(
        File::create(&path)?,
        Arc::new(parse_message_type(schema)?),
        Default::default(),
    )?;
    let mut group = writer.next_row_group()?;
    let ids = vec![text("a"), text(""), None, text("b"), Some(ByteArray::from(vec![0xff])), text("c")];
    column::<ByteArrayType>(&mut group, ids, true);
    let texts = vec![text(""), text("x"), text("x"), None, text("x"), text("y")];
    column::<ByteArrayType>(&mut group, texts, true);
    group.close()?;
    writer.close()?;
    assert_error(read(&path), &["c.parquet, row 2", "empty id"]);
    let mut reader = open_collection(&[Input::File(path)], &skipping())?;
    let kept = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
    assert_eq!(kept, [passage("a", "", ""), passage("c", "", "y")]);
    assert_eq!(reader.skipped().total(), 4);
    Ok(())
}

/// Writes one row group of these columns.
fn write_table(path: &Path, schema: &str, columns: impl FnOnce(&mut SerializedRowGroupWriter<'_, File>)) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    columns(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn an_exact_name_counts_before_other_cases() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("c.parquet");
    let schema = "message m { required binary ID; required binary Title; required binary TEXT; required binary text; }";
    write_table(&path, schema, |group| {
        for value in ["1", "t", "b", "a"] {
            column::<ByteArrayType>(group, vec![text(value)], false);
        }
    });
    assert_eq!(read(&path)?, [passage("1", "t", "a")]);
    Ok(())
}

#[test]
fn queries_are_rows() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("q.parquet");
    let schema = "message m { optional int64 TOPIC_ID; required binary text (UTF8);
        optional group answers (LIST) { repeated group list { optional binary element (UTF8); } } }";
    let answers = [text("b"), text("c"), text("d")];
    let write_with = |ids: Vec<Option<i64>>| {
        write_table(&path, schema, |group| {
            column::<Int64Type>(group, ids, true);
            column::<ByteArrayType>(group, vec![text("who"), text("what")], false);
            let mut writer = group.next_column().unwrap().unwrap();
            let values: Vec<ByteArray> = answers.iter().flatten().cloned().collect();
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&[3, 3, 3]), Some(&[0, 1, 0])).unwrap();
            writer.close().unwrap();
        });
        read_queries(&[Input::File(path.clone())], &ReadOptions::default())
    };
    let (queries, report) = write_with(vec![Some(7), Some(8)])?;
    assert_eq!(queries, [query("7", "who", &["b", "c"]), query("8", "what", &["d"])]);
    assert_eq!(report, SkipReport::default());
    let (queries, report) = write_with(vec![None, None])?;
    assert_eq!(queries[1], query("1", "what", &["d"]));
    assert_eq!(report.numbered().unwrap().fields, ["TOPIC_ID", "text", "answers"]);
    assert_error(write_with(vec![Some(7), None]), &["q.parquet, row 2", "no identifier"]);
    assert_error(write_with(vec![Some(7), Some(7)]), &["q.parquet, row 2", "duplicate id", "row 1"]);
    Ok(())
}

#[test]
fn judgments_are_rows() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("test.parquet");
    let schema =
        "message m { required binary query-id (UTF8); required int64 corpus-id; required double score; }";
    let write_with = |documents: [i64; 2]| {
        write_table(&path, schema, |group| {
            column::<ByteArrayType>(group, vec![text("q"), text("q")], false);
            column::<Int64Type>(group, documents.map(Some).to_vec(), false);
            column::<DoubleType>(group, vec![Some(1.0), Some(0.0)], false);
        });
        read_qrels(&Input::File(path.clone()), &ReadOptions::default())
    };
    let expected = [("q", "1", 1), ("q", "2", 0)].map(|(q, d, g)| (q.to_owned(), d.to_owned(), g));
    assert_eq!(triples(&write_with([1, 2])?.0), expected);
    assert_error(write_with([1, 1]), &["test.parquet, row 2", "document 1, which have grade 1 on row 1"]);
    // As NanoBEIR has them.
    write_table(&path, "message m { required binary query-id (UTF8); required int64 corpus-id; }", |group| {
        column::<ByteArrayType>(group, vec![text("q")], false);
        column::<Int64Type>(group, vec![Some(1)], false);
    });
    let (pairs, _) = read_qrels(&Input::File(path.clone()), &ReadOptions::default())?;
    assert_eq!(triples(&pairs), expected[..1]);
    write(&path, 1, Compression::SNAPPY);
    let other = read_qrels(&Input::File(path.clone()), &ReadOptions::default());
    assert_error(other, &["row 1", "no query among id, embedding, title, text"]);
    Ok(())
}

/// The hits of ranx, whose third row is as `score` says.
fn write_hits(path: &Path, names: [&str; 3], score: Option<f64>) {
    let [query, document, number] = names;
    let schema = format!(
        "message m {{ required binary {query} (UTF8); required int64 {document}; optional double {number}; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    column::<ByteArrayType>(&mut group, ["b", "a", "a"].map(text).to_vec(), false);
    column::<Int64Type>(&mut group, vec![Some(7), Some(7), Some(8)], false);
    column::<DoubleType>(&mut group, vec![Some(1.0), Some(0.0), score], true);
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn runs_and_judgments_of_ranx() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("run.parquet");
    let input = Input::File(path.clone());
    for names in [["q_id", "doc_id", "score"], ["qid", "docno", "score"], ["query_id", "docid", "score"]] {
        write_hits(&path, names, Some(2.5));
        let (run, format, _) = read_run_and_format(&input, &ReadOptions::default())?;
        assert_eq!(entries(&run), [("b", "7", 1.0), ("a", "7", 0.0), ("a", "8", 2.5)], "{names:?}");
        assert_eq!(format, RunFormat::Parquet);
        write_hits(&path, names, Some(2.0));
        let judged = triples(&read_qrels(&input, &ReadOptions::default())?.0);
        assert!(judged.contains(&("a".to_owned(), "8".to_owned(), 2)), "{names:?}");
    }
    for (score, says) in [(None, "row 3: "), (Some(f64::NAN), "row 3: bad number")] {
        write_hits(&path, ["q_id", "doc_id", "score"], score);
        assert_error(read_run(&input, &ReadOptions::default()), &["run.parquet", says]);
        let (run, skipped) = read_run(&input, &skipping())?;
        assert_eq!((entries(&run).len(), skipped.total()), (2, 1));
    }
    write_hits(&path, ["q_id", "doc_id", "similarity"], Some(1.0));
    let missing = "row 1: missing column: found no score among q_id, doc_id, similarity";
    assert_error(read_run(&input, &ReadOptions::default()), &[missing]);
    Ok(())
}

#[test]
fn what_cannot_be_read_says_why() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("c.parquet");
    write(&path, 10, Compression::SNAPPY);
    let bytes = fs::read(&path)?;

    let stream = toller_files::InputReader::from_reader(Input::Stdin, std::io::Cursor::new(bytes.clone()))?;
    assert_error(
        toller_corpus::read_collection_from(stream, &ReadOptions::default()),
        &["standard input", "stream"],
    );

    let gz = directory.path().join("c.parquet.gz");
    let mut encoder = flate2::write::GzEncoder::new(File::create(&gz)?, flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &bytes)?;
    encoder.finish()?;
    assert_error(read(&gz), &["c.parquet.gz", "compressed"]);

    let cut = directory.path().join("cut.parquet");
    fs::write(&cut, &bytes[..bytes.len() / 2])?;
    assert_error(read(&cut), &["cut.parquet: not readable as parquet"]);

    // What the footer says of the compression of a column: 1 is Snappy, 4 is Brotli, both doubled.
    let (snappy, brotli) = (b"text\x15\x02", b"text\x15\x08");
    let at = bytes.windows(snappy.len()).position(|found| found == snappy).ok_or("no such column")?;
    let mut other = bytes.clone();
    other[at..][..brotli.len()].copy_from_slice(brotli);
    fs::write(&cut, other)?;
    let error =
        assert_error(read(&cut), &["cut.parquet: its pages are compressed by Brotli, which is not read"]);
    assert!(error.remedy().unwrap().to_string().contains("compression=\"zstd\""));

    let other = directory.path().join("other.parquet");
    let schema = Arc::new(parse_message_type("message m { required int64 id; required double score; }")?);
    SerializedFileWriter::new(File::create(&other)?, schema, Default::default())?.close()?;
    assert_error(read(&other), &["other.parquet", "no column text", "it has id, score"]);
    Ok(())
}

#[test]
fn damaged_files_never_panic() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("c.parquet");
    write(&path, 50, Compression::SNAPPY);
    let bytes = fs::read(&path)?;
    // A fixed walk over the file: every byte is hit by some mask.
    for (at, mask) in (0..bytes.len()).step_by(3).zip([0xff, 0x01, 0x80, 0x10].into_iter().cycle()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= mask;
        fs::write(&path, damaged)?;
        if let Ok(reader) = open_collection(&[Input::File(path.clone())], &skipping()) {
            assert!(reader.take(1_000).count() <= 1_000);
        }
        let _ = read_queries(&[Input::File(path.clone())], &ReadOptions::default());
    }
    Ok(())
}
