//! Vectors of terms and weights in place of texts.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;

use common::{assert_error, open, passage, passages_with, query};
use toller_corpus::{
    BadKind, ColumnNames, CorpusError, ReadOptions, read_collection_from, read_queries_from, survey,
};
use toller_files::Input;
use toller_ir::{Explain, MAX_IMPACT, impacts};

type Outcome = Result<(), Box<dyn Error>>;

fn of_vectors<F>() -> ReadOptions<F> {
    let columns = ColumnNames { vector: Some(ColumnNames::VECTOR.to_owned()), ..ColumnNames::default() };
    ReadOptions { columns, ..ReadOptions::default() }
}

fn read(line: &str) -> Result<String, CorpusError> {
    Ok(passages_with("c.jsonl", line, &of_vectors())?.0.remove(0).text)
}

#[test]
fn the_vectors_of_passages_are_read_in_place_of_texts() -> Outcome {
    let lines = concat!(
        r###"{"id": "a", "contents": "[1, 2]", "title": "T", "vector": {"the": 12, "##é": 1, "^": 16777216}}"###,
        "\n",
        r#"{"vector": {}, "id": 2}"#,
        "\n",
    );
    for (name, content) in
        [("c.jsonl", lines.to_owned()), ("c.json", format!("[{}]", lines.trim().replace('\n', ",")))]
    {
        let (read, _) = passages_with(name, content, &of_vectors())?;
        assert_eq!(read[1], passage("2", "", ""));
        assert_eq!((read[0].id.as_str(), &read[0].title), ("a", &None));
        let found: Vec<(&str, u32)> = impacts(&read[0].text).collect();
        assert_eq!(found, [("the", 12), ("##é", 1), ("^", MAX_IMPACT)]);
    }
    Ok(())
}

#[test]
fn weights_are_integers_from_one_on() {
    for weight in
        ["0", "-3", "0.53", "3.0", "16777217", "1e3", "\"3\"", "null", "[1]", "99999999999999999999"]
    {
        let line = format!("{{\"id\": \"a\", \"vector\": {{\"b\": 1, \"term\": {weight}}}}}");
        let error = assert_error(
            read(&line),
            &["c.jsonl, line 1", "as the weight of \"term\"", "from 1 to 16777216"],
        );
        assert!(matches!(&error, CorpusError::Bad(bad) if bad.kind == BadKind::Weight), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("quantize"));
    }
}

#[test]
fn what_is_no_vector_is_a_bad_record() {
    for (line, says) in [
        (r#"{"id": "a", "text": "b"}"#, "no vector in"),
        (r#"{"id": "a", "vector": [0.1, 0.2]}"#, "one object of terms and their weights"),
        (r#"{"id": "a", "vector": null}"#, "one object of terms and their weights"),
        (r#"{"id": "a", "vector": {"b": 1}, "vector": {"b": 1}}"#, "one object of terms"),
        (r#"{"id": "a", "vector": {"b c": 1}}"#, "terms without white space"),
        (r#"{"id": "a", "vector": {"": 1}}"#, "terms without white space"),
        (r#"{"id": "a", "vector": {"b\u001f3": 1}}"#, "terms without white space"),
        (r#"{"id": "a", "vector": {"b": 1, "b": 2}}"#, "each once"),
    ] {
        assert_error(read(line), &["c.jsonl, line 1", says]);
    }
    let refused = read_collection_from(open("c.tsv", "a\tb\nc\td\n"), &of_vectors()).map(|_| ());
    assert_error(refused, &["c.tsv", "only from JSON"]);
}

#[test]
fn queries_have_a_vector_or_a_text() -> Outcome {
    let lines = "{\"id\": \"1\", \"contents\": \"a\", \"vector\": {\"b\": 3}}\n{\"id\": \"2\", \"text\": \"a b a\"}\n";
    let (queries, _) = read_queries_from(open("q.jsonl", lines), &of_vectors())?;
    assert_eq!(impacts(&queries[0].text).collect::<Vec<_>>(), [("b", 3)]);
    assert_eq!(queries[1..], [query("2", "a b a", &[])]);
    let (queries, _) = read_queries_from(open("q.tsv", "1\ta b a\n2\tc\n"), &of_vectors())?;
    assert_eq!(queries, [query("1", "a b a", &[]), query("2", "c", &[])]);
    let wrong =
        read_queries_from(open("q.jsonl", "{\"id\": \"1\", \"vector\": {\"b\": 0.5}}\n"), &of_vectors());
    assert_error(wrong, &["q.jsonl, line 1", "the number 0.5 as the weight"]);
    Ok(())
}

#[test]
fn vectors_that_are_not_read_are_noticed() -> Outcome {
    let directory = tempfile::tempdir()?;
    let input = Input::File(directory.path().join("c.jsonl"));
    for (vector, is_noticed) in [("{\"b\": 0.5}", true), ("[0.5]", false), ("\"b\"", false)] {
        let line = format!("{{\"id\": \"a\", \"text\": \"b\", \"vector\": {vector}}}\n");
        std::fs::write(input.path().unwrap(), line)?;
        let surveyed = survey(std::slice::from_ref(&input), &ReadOptions::default(), |_| ())?;
        assert_eq!(surveyed.has_vectors, is_noticed, "{vector}");
    }
    Ok(())
}
