//! Qrels in every format, good and bad.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;

use common::{assert_error, open, qrels, skipping, triples};
use toller_corpus::{BadKind, QrelsFormat, ReadOptions, read_qrels_from};

type Outcome = Result<(), Box<dyn Error>>;

fn expected() -> Vec<(String, String, i32)> {
    [("1", "a", 1), ("1", "b", -1), ("2", "a", 0)].map(|(q, d, g)| (q.to_owned(), d.to_owned(), g)).to_vec()
}

#[test]
fn every_format_says_the_same() -> Outcome {
    let trec = "# a comment\n1 0 a 1\n1\tQ0  b\t-1 \n\n2 0 a 0";
    assert_eq!(triples(&qrels(trec)?), expected());
    assert_eq!(triples(&qrels(trec.replace('\n', "\r\n"))?), expected());
    assert_eq!(triples(&qrels("qid\t-\tpid\trel\n1\t0\ta\t1\n1\t0\tb\t-1\n2\t0\ta\t0\n")?), expected());
    let beir = "query-id\tcorpus-id\tscore\r\n1\ta\t1\r\n1\tb\t-1\r\n2\ta\t0\r\n";
    assert_eq!(triples(&qrels(beir)?), expected());
    assert_eq!(triples(&qrels(beir.split_once('\n').unwrap().1)?), expected(), "without the header");
    assert_eq!(triples(&qrels("score\tcorpus-id\tquery-id\n1\ta\t1\n-1\tb\t1\n0\ta\t2\n")?), expected());
    let jsonl = "{\"query-id\": 1, \"corpus-id\": \"a\", \"score\": 1}\n{\"query-id\": \"1\", \"corpus-id\": \"b\", \"score\": -1.0}\n\
                 {\"query-id\": \"2\", \"corpus-id\": \"a\", \"score\": 0}\n";
    assert_eq!(triples(&qrels(jsonl)?), expected());
    let json = "{\"1\": {\"a\": 1, \"b\": -1.0}, \"2\": {\"a\": 0}}";
    assert_eq!(triples(&qrels(json)?), expected());
    assert_eq!(triples(&qrels(json.replace(' ', "\n"))?), expected());
    Ok(())
}

#[test]
fn bad_grades_by_document_and_query() -> Outcome {
    let bad = "{\"1\": {\"a\": 1}, \"2\": {\"a\": 0.5, \"b\": 1, \"b\": 2}}";
    assert_error(qrels(bad), &["qrels.txt, record 2: bad number: found the number 0.5 as the grade"]);
    let (good, skipped) = read_qrels_from(open("q", bad), &skipping())?;
    assert_eq!((triples(&good).len(), skipped.total()), (2, 2));
    let twice = &skipped.examples()[1];
    assert!(twice.found.contains("which have grade 1 on record 2"), "{twice}");
    assert_error(qrels("{\"1\": {\"a\": {\"n\": 1}}}"), &["objects that are not grades"]);
    Ok(())
}

#[test]
fn pairs_have_grade_one() -> Outcome {
    let expected = [("1", "a", 1), ("1", "b", 1)].map(|(q, d, g)| (q.to_owned(), d.to_owned(), g));
    assert_eq!(triples(&qrels("qid\tpid\n1\ta\n1\tb\n")?), expected);
    assert_eq!(triples(&qrels("1\ta\n1\tb\n")?), expected);
    for header in ["query\tdoc", "qid\tanswer", "topic document"] {
        assert_eq!(triples(&qrels(format!("{header}\n1\ta\n1\tb\n"))?), expected, "{header}");
    }
    assert_eq!(triples(&qrels("doc\tquery\na\t1\nb\t1\n")?), expected);
    let jsonl = "{\"query-id\": 1, \"corpus-id\": \"a\"}\n{\"corpus-id\": \"b\", \"query-id\": \"1\"}\n";
    assert_eq!(triples(&qrels(jsonl)?), expected);
    // Words of identifiers are not names, and a line with a grade is not a header.
    assert_eq!(triples(&qrels("topic 1\tdoc 2\n")?).len(), 1);
    assert_eq!(triples(&qrels("query 0 doc 1\n")?).len(), 1);
    Ok(())
}

#[test]
fn grades_have_any_name_if_one_column_is_left() -> Outcome {
    let expected = [("1", "a", 0), ("1", "b", 3), ("2", "a", 0)];
    let expected = expected.map(|(q, d, g)| (q.to_owned(), d.to_owned(), g));
    for content in [
        "query-id\tcorpus-id\trelevance_grade\n1\ta\t0\n1\tb\t3\n2\ta\t0\n",
        "query_id iter doc_id qrel\n1 0 a 0\n1 0 b 3\n2 0 a 0\n",
        "gain\tpid\tqid\n0\ta\t1\n3\tb\t1\n0\ta\t2\n",
    ] {
        assert_eq!(triples(&qrels(content)?), expected, "{content}");
    }
    for (header, row) in [
        ("query_id split doc_id qrel", "1 0 a 3"),
        ("query_id iter doc_id", "1 0 a"),
        ("qid pid rank", "1 a 3"),
        ("qid topic pid", "1 3 a"),
    ] {
        let content = format!("{header}\n{row}\n");
        let known = "one named score, rel, relevance, grade, label; known beside it are iter, ";
        assert_error(qrels(&content), &["qrels.txt, line 1: unclear header", header, known]);
        // The lines after it have no meaning without it.
        assert_error(read_qrels_from(open("q", &content), &skipping()), &["unclear header"]);
    }
    Ok(())
}

#[test]
fn identifiers_may_hold_spaces_between_tabs() -> Outcome {
    let found = qrels("q 0\t0\tGeneva Durben\t1\nq 0\t0\tOther\t2\n")?;
    assert_eq!(triples(&found)[0], ("q 0".to_owned(), "Geneva Durben".to_owned(), 1));
    let beir = qrels("query-id\tcorpus-id\tscore\nq\tGeneva Durben\t1\n")?;
    assert_eq!(triples(&beir)[0].1, "Geneva Durben");
    Ok(())
}

#[test]
fn a_bad_first_line_does_not_hide_the_format() -> Outcome {
    let content = "1 0 b\n1 0 a 1\n1 0 c 0\n";
    assert_error(qrels(content), &["qrels.txt, line 1", "3 columns"]);
    assert_eq!(triples(&read_qrels_from(open("j", content), &skipping())?.0).len(), 2);
    Ok(())
}

#[test]
fn bad_judgments() -> Outcome {
    let cases = [
        ("1 0 b", BadKind::MissingColumn, "3 columns"),
        ("1 0 b 1 more", BadKind::ExtraColumn, "5 columns"),
        ("1 0 b x", BadKind::BadNumber, "\"x\" as the grade"),
        ("1 0 b 1.5", BadKind::BadNumber, "an integer"),
        ("1 0 b NaN", BadKind::BadNumber, "an integer"),
        ("1 0 a 0", BadKind::DuplicateJudgment, "which have grade 1 on line 1"),
        ("1 0 a 1", BadKind::DuplicateJudgment, "query 1 and document a"),
    ];
    for (line, kind, part) in cases {
        let content = format!("1 0 a 1\n{line}\n2 0 c 1\n");
        assert_error(qrels(&content), &["qrels.txt, line 2", part]);
        let (good, skipped) = read_qrels_from(open("qrels.txt", &content), &skipping())?;
        assert_eq!(triples(&good).len(), 2);
        assert_eq!(skipped.counts().collect::<Vec<_>>(), [(kind, 1)]);
    }
    assert_error(qrels(""), &["no judgments"]);
    assert_error(qrels("# nothing\n"), &["no judgments"]);
    assert_error(qrels("one two three four five six\n"), &["cannot tell"]);
    assert_error(qrels("1 Q0 a 1 2.5 t\n"), &["qrels.txt: a run, where judgments are expected"]);
    for commas in ["query-id,corpus-id,score\n1,a,1\n", "1,a,1\n2,b,0\n"] {
        assert_error(qrels(commas), &["not read from CSV"]);
    }
    let forced = ReadOptions { format: Some(QrelsFormat::Jsonl), ..ReadOptions::default() };
    assert_error(read_qrels_from(open("q", "1 0 a 1\n"), &forced), &["q, line 1", "a JSON object"]);
    for more in ["\"judge\": 1", "\"score\": null"] {
        let bad_json = format!("{{\"query-id\": \"1\", \"corpus-id\": \"a\", {more}}}\n");
        assert_error(qrels(bad_json), &["line 1", "no score"]);
    }
    Ok(())
}
