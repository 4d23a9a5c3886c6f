//! Published collections, real ones where they are here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;
use toller_datasets::{Collection, DatasetError, Figure, Layout, convert, known_collection};
use toller_testing::shared;

fn read(layout: Layout, paths: &[PathBuf], output: Option<&Path>) -> Collection {
    convert(layout, paths, None, output, |_| Ok(()), |_| ()).unwrap()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn text(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn scifact_is_as_known() {
    let Some(scifact) = shared("data/scifact") else { return };
    let output = tempfile::tempdir().unwrap();
    let known = known_collection("beir/scifact").unwrap();
    let found = read(Layout::Beir, &[scifact], Some(output.path()));
    assert_eq!(known.differences(&found), [""; 0]);
    assert_eq!(
        found.files,
        ["corpus.jsonl", "queries.test.tsv", "qrels.test.txt", "queries.train.tsv", "qrels.train.txt"]
    );
    // What was written is read again, by another layout, to the same figures.
    let again = folder(&[]);
    fs::copy(output.path().join("corpus.jsonl"), again.path().join("corpus.jsonl")).unwrap();
    let written = read(Layout::Tevatron, &[again.path().to_owned()], None);
    assert_eq!((written.corpus, &written.statistics.0[0]), (found.corpus, &found.statistics.0[0]));
    assert_eq!(text(&output, "queries.test.tsv").lines().count(), 300);
    assert_eq!(text(&output, "qrels.test.txt").lines().next().unwrap().split(' ').count(), 4);
}

#[test]
fn mr_tydi_is_as_known_in_each_language() {
    let Some(topics) = shared("data/mrtydi/topics") else { return };
    let qrels = topics.parent().unwrap().join("qrels");
    for language in ["ar", "bn", "en", "fi", "id", "ja", "ko", "ru", "sw", "te", "th"] {
        let paths = [
            topics.join(format!("topics.mrtydi-v1.1-{language}.test.txt.gz")),
            qrels.join(format!("qrels.mrtydi-v1.1-{language}.test.txt")),
        ];
        let found = read(Layout::Mrtydi, &paths, None);
        let known = known_collection(&format!("mrtydi/{language}")).unwrap();
        assert_eq!(known.differences(&found), [""; 0], "{language}");
        let Some(Figure::Count(queries)) = found.statistics.part("test").unwrap().figure("queries") else {
            panic!("{language} has no queries")
        };
        assert_eq!(queries, known.splits["test"][0]);
    }
}

#[test]
fn ms_marco_is_as_known() {
    let Some(marco) = shared("data/msmarco-passage") else { return };
    let known = known_collection("msmarco-passage").unwrap();
    let mut paths = vec![marco.clone()];
    let dl19 = marco.parent().unwrap().join("msmarco-dl19");
    paths.extend([dl19.join("topics.dl19-passage.txt"), dl19.join("qrels.dl19-passage.txt")]);
    let found = read(Layout::Msmarco, &paths, None);
    let count = |split: &str, name: &str| found.statistics.part(split).unwrap().figure(name).unwrap();
    assert_eq!(count("dev.small", "queries"), Figure::Count(6980));
    assert_eq!(count("dev.small", "judgments"), Figure::Count(7437));
    assert_eq!(count("dl19", "judgments"), Figure::Count(9260));
    assert_eq!(count("dl19", "judged_queries"), Figure::Count(43));
    // These topics are the 43 judged ones of 200.
    assert_eq!(known.differences(&found), ["queries of dl19: found 43, expected 200"]);
}

#[test]
fn titles_answers_and_examples() {
    let mrtydi = folder(&[
        ("collection/docs.jsonl", "{\"id\": \"1#0\", \"contents\": \"Title\\n\\nText\"}\n"),
        ("topic.dev.tsv", "q1\ta\n"),
        ("qrels.dev.txt", "q1\tQ0\t1#0\t1\n"),
    ]);
    let output = tempfile::tempdir().unwrap();
    read(Layout::Mrtydi, &[mrtydi.path().to_owned()], Some(output.path()));
    assert_eq!(text(&output, "corpus.jsonl"), "{\"_id\":\"1#0\",\"title\":\"Title\",\"text\":\"Text\"}\n");
    assert_eq!(text(&output, "qrels.dev.txt"), "q1 0 1#0 1\n");

    let psgs = folder(&[
        ("psgs_w100.tsv", "id\ttext\ttitle\n1\t\"\"\"A\"\" text\"\tB\n"),
        ("nq-test.csv", "who\t['Ann', \"O'Brian\"]\n"),
    ]);
    let output = tempfile::tempdir().unwrap();
    read(Layout::Psgs, &[psgs.path().to_owned()], Some(output.path()));
    assert_eq!(
        text(&output, "corpus.jsonl"),
        "{\"_id\":\"1\",\"title\":\"B\",\"text\":\"\\\"A\\\" text\"}\n"
    );
    let queries = text(&output, "queries.nq-test.jsonl");
    assert_eq!(queries, "{\"_id\":\"0\",\"text\":\"who\",\"answers\":[\"Ann\",\"O'Brian\"]}\n");

    let tevatron = folder(&[(
        "train.jsonl",
        "{\"query_id\": 7, \"query\": \"a\\tb\", \"positive_passages\": [{\"docid\": \"d1\", \"title\": \"\", \
         \"text\": \"t\"}], \"negative_passages\": []}\n",
    )]);
    let output = tempfile::tempdir().unwrap();
    let found = read(Layout::Tevatron, &[tevatron.path().to_owned()], Some(output.path()));
    assert_eq!(text(&output, "queries.train.tsv"), "7\ta b\n");
    assert_eq!((text(&output, "qrels.train.txt").as_str(), found.changed_queries), ("7 0 d1 1\n", 1));
}

#[test]
fn levels_two_and_three_are_relevant_in_retrieval() {
    let t2 = folder(&[
        ("collection.tsv", "pid\ttext\n0\ta\n1\tb\n"),
        ("queries.dev.tsv", "qid\ttext\n7\tq\n"),
        ("qrels.dev.tsv", "qid\t-\tpid\trel\n7\t0\t0\t1\n7\t0\t1\t2\n"),
        ("qrels.retrieval.dev.tsv", "qid\tpid\n7\t1\n"),
    ]);
    let output = tempfile::tempdir().unwrap();
    let found = read(Layout::T2ranking, &[t2.path().to_owned()], Some(output.path()));
    assert_eq!(text(&output, "qrels.dev.txt"), "7 0 0 1\n7 0 1 2\n");
    assert_eq!(text(&output, "qrels.retrieval.dev.txt"), "7 0 1 1\n");
    assert_eq!(found.statistics.0.len(), 2);
}

#[test]
fn bright_has_lists_in_parquet() {
    let output = tempfile::tempdir().unwrap();
    let bright = toller_testing::repository("tests/fixtures/bright");
    let found =
        convert(Layout::Bright, &[bright], Some("pony"), Some(output.path()), |_| Ok(()), |_| ()).unwrap();
    assert_eq!(found.files, ["corpus.jsonl", "queries.pony.tsv", "qrels.pony.txt", "exclude.pony.tsv"]);
    assert_eq!(
        text(&output, "corpus.jsonl").lines().next().unwrap(),
        r#"{"_id":"a/1.txt","text":"while loops"}"#
    );
    assert_eq!(text(&output, "queries.pony.tsv"), "0\tcount to ten\n1\twrite a branch\n");
    assert_eq!(text(&output, "qrels.pony.txt"), "0 0 a/1.txt 1\n1 0 a/2.txt 1\n1 0 a/1.txt 1\n");
    assert_eq!((text(&output, "exclude.pony.tsv").as_str(), found.changed_queries), ("1\tb/1.txt\n", 1));
}

/// Writes columns of strings as Parquet.
fn write_parquet(path: &Path, columns: &[(&str, &[&str])]) {
    let fields = columns.iter().map(|(name, _)| format!("required binary {name} (UTF8); "));
    let schema = parse_message_type(&format!("message m {{ {}}}", fields.collect::<String>())).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, values) in columns {
        let values: Vec<ByteArray> = values.iter().map(|value| ByteArray::from(*value)).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn beir_is_read_from_parquet() {
    let (input, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |name: &str, columns: &[(&str, &[&str])]| write_parquet(&input.path().join(name), columns);
    for (part, id) in ["d1", "d2"].into_iter().enumerate() {
        let name = format!("corpus/corpus-0000{part}-of-00002.parquet");
        write(&name, &[("_id", &[id]), ("title", &["t"]), ("text", &["a"])]);
    }
    write("queries/queries-00000-of-00001.parquet", &[("_id", &["q1", "q2"]), ("text", &["who", "what"])]);
    let judgments: [(&str, &[&str]); 3] = [("query-id", &["q2"]), ("corpus-id", &["d1"]), ("score", &["1"])];
    write("qrels/test-00000-of-00001.parquet", &judgments);
    read(Layout::Beir, &[input.path().to_owned()], Some(output.path()));
    let documents = ["d1", "d2"].map(|id| format!("{{\"_id\":\"{id}\",\"title\":\"t\",\"text\":\"a\"}}\n"));
    assert_eq!(text(&output, "corpus.jsonl"), documents.concat());
    assert_eq!(text(&output, "queries.test.tsv"), "q2\twhat\n");
    assert_eq!(text(&output, "qrels.test.txt"), "q2 0 d1 1\n");
}

#[test]
fn nothing_appears_unless_all_is_right() {
    let output = tempfile::tempdir().unwrap();
    let twice =
        folder(&[("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"a\", \"text\": \"\"}\n")]);
    let paths = [twice.path().to_owned()];
    let run = |check: fn(&Collection) -> Result<(), DatasetError>, paths: &[PathBuf]| {
        convert(Layout::Beir, paths, None, Some(output.path()), check, |_| ()).unwrap_err().to_string()
    };
    assert!(run(|_| Ok(()), &paths).contains("line 2: duplicate id"));
    let good =
        folder(&[("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\"}\n"), ("qrels/test.tsv", "q\ta\t1\n")]);
    let refuse =
        |_: &Collection| Err(DatasetError::NotAsKnown { name: "n".to_owned(), differences: "d".to_owned() });
    assert_eq!(run(refuse, &[good.path().to_owned()]), "this is not n as it is known: d");
    assert_eq!(fs::read_dir(output.path()).unwrap().count(), 0);
}

fn refused(layout: Layout, files: &[(&str, &str)], split: Option<&str>) -> String {
    let (input, output) = (folder(files), tempfile::tempdir().unwrap());
    let paths = [input.path().to_owned()];
    let error = convert(layout, &paths, split, Some(output.path()), |_| Ok(()), |_| ()).unwrap_err();
    assert_eq!(fs::read_dir(output.path()).unwrap().count(), 0, "{error}");
    error.to_string()
}

const BEIR_CORPUS: (&str, &str) = ("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\"}\n");

#[test]
fn judged_queries_are_not_missed_in_silence() {
    let qrels = ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\ta\t1\n");
    let queries = |id: &str| format!("{{\"_id\": \"{id}\", \"text\": \"t\"}}\n");
    let foreign = queries("other");
    let message = refused(Layout::Beir, &[BEIR_CORPUS, ("queries.jsonl", &foreign), qrels], None);
    assert!(
        message.ends_with("queries.jsonl: there is no text of 2 judged queries, for example \"q1\""),
        "{message}"
    );
    let one = refused(
        Layout::T2ranking,
        &[
            ("queries.dev.tsv", "qid\ttext\n1\tt\n"),
            ("qrels.dev.tsv", "qid\t-\tpid\trel\n1\t0\t0\t1\n2\t0\t0\t1\n"),
        ],
        None,
    );
    assert!(one.ends_with("queries.dev.tsv: there is no text of 1 judged query, for example \"2\""), "{one}");

    let without = folder(&[BEIR_CORPUS, qrels]);
    let found = read(Layout::Beir, &[without.path().to_owned()], None);
    assert_eq!(found.without_queries, ["test"]);
    let known = known_collection("beir/scifact").unwrap().differences(&found);
    assert!(known.contains(&"queries of test: found 0, expected 300".to_owned()), "{known:?}");
}

#[test]
fn judgments_of_beir_are_lines_too() {
    let queries =
        ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"t\"}\n{\"_id\": \"q2\", \"text\": \"u\"}\n");
    let judgment = "{\"query-id\": \"q1\", \"corpus-id\": \"a\", \"score\": 1}\n";
    for (file, split) in [("qrels.jsonl", "test"), ("qrels/dev.jsonl", "dev")] {
        let (input, output) = (folder(&[BEIR_CORPUS, queries, (file, judgment)]), folder(&[]));
        let found = read(Layout::Beir, &[input.path().to_owned()], Some(output.path()));
        assert_eq!(text(&output, &format!("qrels.{split}.txt")), "q1 0 a 1\n");
        assert_eq!(text(&output, &format!("queries.{split}.tsv")), "q1\tt\n");
        assert_eq!((found.unused_queries, found.missing_documents.len()), (None, 0));
    }
}

/// As those of LIMIT, whose documents are people.
#[test]
fn judged_documents_may_have_spaces() {
    let corpus =
        ("corpus.jsonl", "{\"_id\": \"Ada Byron\", \"text\": \"t\"}\n{\"_id\": \"Bob\", \"text\": \"u\"}\n");
    let queries = ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"t\"}\n");
    let judgments = ("qrels/test.tsv", "q1\tAda Byron\t1\nq1\tBob\t0\n");
    let (input, output) = (folder(&[corpus, queries, judgments]), folder(&[]));
    read(Layout::Beir, &[input.path().to_owned()], Some(output.path()));
    assert_eq!(text(&output, "qrels.test.txt"), "q1\t0\tAda Byron\t1\nq1\t0\tBob\t0\n");
}

#[test]
fn what_is_left_out_or_missing_is_reported() {
    let queries = ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"t\"}\n");
    let without = folder(&[BEIR_CORPUS, queries]);
    let found = read(Layout::Beir, &[without.path().to_owned()], None);
    assert!(found.unused_queries.unwrap().ends_with("queries.jsonl"));

    let judgments = ("qrels/test.tsv", "q1\ta\t1\nq1\tz\t0\nq1\ty\t1\n");
    let missing = folder(&[BEIR_CORPUS, queries, judgments]);
    let found = read(Layout::Beir, &[missing.path().to_owned()], None);
    assert_eq!((found.unused_queries, found.missing_documents), (None, vec!["y".to_owned(), "z".to_owned()]));
    // Without a collection nothing can be missing in it.
    let found = read(Layout::Beir, &[missing.path().join("qrels")], None);
    assert_eq!(found.missing_documents, [""; 0]);
}

#[test]
fn queries_that_are_passages_are_counted() {
    let queries = ("queries.jsonl", "{\"_id\": \"a\", \"text\": \"t\"}\n{\"_id\": \"b\", \"text\": \"u\"}\n");
    let judgments = "query-id\tcorpus-id\tscore\na\ta\t1\nb\ta\t1\n";
    let splits = [("qrels/dev.tsv", judgments), ("qrels/test.tsv", judgments)];
    let input = folder(&[BEIR_CORPUS, queries, splits[0], splits[1]]);
    assert_eq!(read(Layout::Beir, &[input.path().to_owned()], None).own_passages, 1);
    let files =
        [("collection.tsv", "7\ttext\n"), ("queries.dev.tsv", "7\tq\n"), ("qrels.dev.tsv", "7\t0\t7\t1\n")];
    let numbered = folder(&files);
    assert_eq!(read(Layout::Msmarco, &[numbered.path().to_owned()], None).own_passages, 0);
}

#[test]
fn a_split_has_files() {
    let message = refused(Layout::Beir, &[BEIR_CORPUS, ("qrels/test.tsv", "q\ta\t1\n")], Some("typo"));
    assert_eq!(message, "there is no file of the split 'typo'");
    let marco = [("collection.tsv", "1\ttext\n"), ("queries.dev.tsv", "1\tq\n")];
    assert_eq!(refused(Layout::Msmarco, &marco, Some("typo")), "there is no file of the split 'typo'");
    let message = refused(Layout::Tevatron, &[("train.jsonl", "\n")], None);
    assert!(message.ends_with("train.jsonl: there is no record"), "{message}");
}

#[test]
fn identifiers_can_be_read_again() {
    let example = |id: &str, passage: &str| {
        format!(
            "{{\"query_id\": \"{id}\", \"query\": \"t\", \"positive_passages\": [{{\"docid\": \"{passage}\"}}]}}\n"
        )
    };
    let message = |examples: &str| refused(Layout::Tevatron, &[("train.jsonl", examples)], None);
    let query = message(&example("q\\t1", "a"));
    assert!(
        query.ends_with("train.jsonl, line 1: the identifier \"q\\t1\" holds a tab or a line end"),
        "{query}"
    );
    let passage = message(&example("q1", " a"));
    assert_eq!(passage, "the identifier \" a\" begins or ends with white space");
    let twice = message(&example("q1", "a").repeat(2));
    assert!(twice.ends_with("train.jsonl, line 2: two queries have the identifier \"q1\""), "{twice}");
}
