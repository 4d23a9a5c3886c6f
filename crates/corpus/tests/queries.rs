//! Queries in every format, good and bad.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;

use common::{assert_error, open, queries, query, skipping, unknown_candidates};
use toller_corpus::{
    BadKind, ColumnNames, CorpusError, QueryFormat, ReadOptions, read_queries, read_queries_from,
};
use toller_files::Input;
use toller_ir::Explain;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn tsv_with_and_without_a_header() -> Outcome {
    let expected = [query("1048585", "what is paula deen's brother", &[]), query("2", " Androgen", &[])];
    let rows = "1048585\twhat is paula deen's brother\n2\t Androgen\n";
    assert_eq!(queries("topics.txt", rows)?, expected);
    assert_eq!(queries("queries.dev.tsv", format!("qid\ttext\r\n{}", rows.replace('\n', "\r\n")))?, expected);
    assert_eq!(queries("q", "query\tother\tqid\na\tb\t1\n")?, [query("1", "a", &[])]);
    Ok(())
}

#[test]
fn a_header_may_leave_the_name_of_the_text_open() -> Outcome {
    for header in ["topic_id\ttitle", "query_id\tquery_text", "qid\tutterance"] {
        assert_eq!(queries("q", format!("{header}\n1\ta b\n"))?, [query("1", "a b", &[])], "{header}");
    }
    assert_eq!(queries("q.csv", "topic_id,title\n1,a\n")?, [query("1", "a", &[])]);
    assert_error(queries("q", "qid\ttitle\tnarrative\n1\ta\tb\n"), &["one of texts", "qid, title"]);
    Ok(())
}

#[test]
fn json_lines_of_every_kind() -> Outcome {
    let beir = "{\"_id\": \"q0\", \"text\": \"a\", \"metadata\": {}}\n{\"_id\": 1, \"text\": \"b\"}\n";
    assert_eq!(queries("queries.jsonl", beir)?, [query("q0", "a", &[]), query("1", "b", &[])]);
    let dpr = "{\"question\": \"How tall?\", \"answer\": [\"6,194\\\\s?m\", \"x\"]}\n{\"question\": \"Who?\", \"answer\": [\"I\"]}";
    let expected = [query("0", "How tall?", &["6,194\\s?m", "x"]), query("1", "Who?", &["I"])];
    assert_eq!(queries("topics.txt", dpr)?, expected);
    let dureader = "{\"question_id\": \"d4\", \"question\": \"微信\", \"answer_paragraphs\": [{\"paragraph_id\": \"p\"}]}";
    assert_eq!(queries("dev.json", dureader)?, [query("d4", "微信", &[])]);
    assert_eq!(
        queries("q", "{\"id\": \"1\", \"query\": \"x\", \"answers\": \"one\"}")?,
        [query("1", "x", &["one"])]
    );
    Ok(())
}

#[test]
fn every_format_knows_the_same_names_in_any_case() -> Outcome {
    let ids = [
        "_id", "id", "qid", "q_id", "query_id", "query-id", "question_id", "topic_id", "topic-id", "ID",
        "Query-ID",
    ];
    for id in ids {
        let expected = [query("7", "a", &[])];
        assert_eq!(queries("q.jsonl", format!("{{\"{id}\": 7, \"Text\": \"a\"}}\n"))?, expected, "{id}");
        assert_eq!(queries("q.tsv", format!("{id}\tText\n7\ta\n"))?, expected, "{id}");
        assert_eq!(queries("q.csv", format!("{id},Text\n7,a\n"))?, expected, "{id}");
    }
    // In a record, a topic is what the query is about.
    for id in ["topic", "Topic"] {
        assert_eq!(queries("q.tsv", format!("{id}\tText\n7\ta\n"))?, [query("7", "a", &[])], "{id}");
        let numbered = queries("q.jsonl", format!("{{\"{id}\": \"b\", \"text\": \"a\"}}\n"))?;
        assert_eq!(numbered, [query("0", "a", &[])], "{id}");
    }
    Ok(())
}

#[test]
fn files_whose_queries_are_numbered_are_reported() -> Outcome {
    let directory = tempfile::tempdir()?;
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).map(|()| Input::File(path))
    };
    let without = "{\"number\": 1, \"text\": \"a\"}\n{\"number\": 2, \"text\": \"b\"}\n";
    let inputs = [
        file("a.jsonl", without)?,
        file("b.jsonl", "{\"id\": 1, \"text\": \"a\"}\n")?,
        file("c.json", "[{\"text\": \"c\"}]")?,
        file("d.q", "what is it\n")?,
    ];
    let message = |inputs: &[Input]| -> Result<Option<String>, CorpusError> {
        let (_, report) = read_queries(inputs, &ReadOptions::default())?;
        assert_eq!(report.total(), 0);
        Ok(report.numbered().map(|numbered| numbered.message("NAME")))
    };
    let first = format!(
        "{} has no identifiers: its queries are numbered from 0 (fields: number, text; NAME names one)",
        inputs[0]
    );
    assert_eq!(message(&inputs[..1])?, Some(first));
    assert!(message(&inputs)?.unwrap().contains(" and 1 more file have no identifiers: their queries are"));
    assert_eq!((message(&inputs[1..2])?, message(&inputs[3..])?), (None, None));
    Ok(())
}

#[test]
fn identifiers_are_in_every_record_or_in_none() -> Outcome {
    let some = "{\"id\": \"1\", \"text\": \"a\"}\n{\"text\": \"b\"}\n";
    assert_error(queries("q.jsonl", some), &["q.jsonl, line 2", "no identifier"]);
    let late = "{\"text\": \"a\"}\n{\"id\": \"1\", \"text\": \"b\"}\n";
    assert_error(queries("q.jsonl", late), &["q.jsonl, line 2", "the identifier \"1\""]);
    Ok(())
}

#[test]
fn a_name_that_was_given_must_be_there() -> Outcome {
    let directory = tempfile::tempdir()?;
    let input = Input::File(directory.path().join("q.jsonl"));
    std::fs::write(input.path().unwrap(), "{\"id\": \"7\", \"text\": \"a\"}\n")?;
    let columns = |id: Option<&str>, text: Option<&str>| ColumnNames {
        id: id.map(str::to_owned),
        text: text.map(str::to_owned),
        ..ColumnNames::default()
    };
    let read = |columns| {
        let options = ReadOptions { columns, ..ReadOptions::default() };
        read_queries(std::slice::from_ref(&input), &options).map(|(queries, _)| queries)
    };
    assert_eq!(read(columns(Some("id"), Some("text")))?, [query("7", "a", &[])]);
    assert_error(read(columns(Some("number"), None)), &["line 1", "no identifier", "expected number"]);
    assert_error(read(columns(None, Some("words"))), &["line 1", "no text", "with words"]);
    Ok(())
}

#[test]
fn entity_questions_take_their_ids_from_the_file_when_there_are_several() -> Outcome {
    let array = r#"[{"question": "What is the capital of A?", "answers": ["B", "C"]}, {"question": "D?", "answers": []}]"#;
    let one = [query("0", "What is the capital of A?", &["B", "C"]), query("1", "D?", &[])];
    assert_eq!(queries("P36.test.json", array)?, one);
    let directory = tempfile::tempdir()?;
    let inputs = ["P36.test.json", "P17.test.json"].map(|name| Input::File(directory.path().join(name)));
    for input in &inputs {
        std::fs::write(input.path().unwrap(), array)?;
    }
    let (both, _) = read_queries(&inputs, &ReadOptions::default())?;
    assert_eq!(
        both.iter().map(|query| query.id.as_str()).collect::<Vec<_>>(),
        ["P36-0", "P36-1", "P17-0", "P17-1"]
    );
    assert_error(
        read_queries(&[inputs[0].clone(), inputs[0].clone()], &ReadOptions::default()),
        &["P36.test-0", "duplicate"],
    );
    let splits = ["P36.test.json", "P36.train.json"].map(|name| Input::File(directory.path().join(name)));
    std::fs::write(splits[1].path().unwrap(), array)?;
    let (both, _) = read_queries(&splits, &ReadOptions::default())?;
    assert_eq!(
        both.iter().map(|query| query.id.as_str()).collect::<Vec<_>>(),
        ["P36.test-0", "P36.test-1", "P36.train-0", "P36.train-1"]
    );
    Ok(())
}

#[test]
fn a_broken_array_is_never_skipped() -> Outcome {
    for broken in
        ["[{\"question\": \"a\"}, {\"question\"", "[{\"question\": \"a\"}] x", "[{\"question\": \"a\"}, 3]"]
    {
        let error = read_queries_from(open("p.json", broken), &skipping()).unwrap_err();
        assert!(error.to_string().contains("p.json: not readable as json"), "{error}");
    }
    // An element of the wrong shape is one bad record.
    let shape =
        "[{\"question\": 1}, {\"question\": \"a\"}, {\"other\": 2}, {\"question\": \"a\", \"answers\": [1]}]";
    let (good, skipped) = read_queries_from(open("p.json", shape), &skipping())?;
    assert_eq!(good, [query("1", "a", &[])]);
    assert_eq!(skipped.total(), 3);
    assert_error(queries("p.json", shape), &["p.json, record 1", "the number 1 as the text"]);
    // Nor is an endless element held.
    let options = ReadOptions { max_line_bytes: 10_000, ..ReadOptions::default() };
    let endless = format!("[{{\"question\": \"{}\"}}]", "x".repeat(500_000));
    assert_error(
        read_queries_from(open("p.json", endless), &options),
        &["p.json, record 1", "line too long", "at most 10000 bytes an object"],
    );
    Ok(())
}

#[test]
fn dpr_questions_with_python_lists() -> Outcome {
    let rows =
        "who got it\t['Wilhelm Conrad Röntgen']\r\nwho sings\t\"['Solange', \"\"Destiny 's Child\"\"]\"\r\n";
    let expected = [
        query("0", "who got it", &["Wilhelm Conrad Röntgen"]),
        query("1", "who sings", &["Solange", "Destiny 's Child"]),
    ];
    assert_eq!(queries("nq-test.qa.csv", rows)?, expected);
    let bad = format!("{rows}no list\t['a'\n");
    let options = ReadOptions { format: Some(QueryFormat::Dpr), ..ReadOptions::default() };
    assert_error(read_queries_from(open("nq.csv", bad), &options), &["nq.csv, line 3", "as the answers"]);
    Ok(())
}

#[test]
fn rocketqa_in_one_or_four_columns() -> Outcome {
    let expected = [query("0", "what is it", &[]), query("1", "微信", &[])];
    assert_eq!(queries("marco.q", "what is it\n微信\n")?, expected);
    assert_eq!(queries("dureader.q", "what is it\t-\t-\t0\n微信\t-\t-\t0\n")?, expected);
    let options = ReadOptions { format: Some(QueryFormat::RocketQa), ..ReadOptions::default() };
    for row in ["1\thow\t-\t0\n", "how\t-\t-\t1\n"] {
        assert_error(read_queries_from(open("d.q", row), &options), &["d.q, line 1", "text<TAB>-<TAB>-"]);
    }
    let other = assert_error(queries("topics.txt", "1\ta\tb\tc\n"), &["cannot tell"]);
    assert!(other.remedy().unwrap().to_string().contains("names the columns"), "{other}");
    let error = assert_error(queries("topics.txt", "1 what is it\n"), &["cannot tell"]);
    assert_eq!(unknown_candidates(&error), ["rocketqa", "tsv"]);
    let hint =
        "format rocketqa if each line is one query, numbered from 0; format tsv if each is id, tab, text";
    assert_eq!(error.remedy().unwrap().to_string(), hint);
    for list in ["[\"what is it\"]", "[\n  \"what\",\n  \"who\"\n]"] {
        assert_error(queries("q.json", list), &["q.json: a JSON array of strings; queries need objects"]);
    }
    assert_error(queries("marco.q", "what\n\nis it\n"), &["marco.q, line 2", "blank line"]);
    Ok(())
}

#[test]
fn trec_topics_old_and_new() -> Outcome {
    let classical = "\n<top>\n\n<num> Number: 301 \n<title> International\nOrganized Crime \n\n<desc> Description: \nIdentify \
                     organizations\n\n<narr> Narrative: \nA relevant document\n\n</top>\n<top>\n<head> Tipster\n<num> Number:  051\n\
                     <dom> Domain:  Economics\n<title> Topic:  Airbus Subsidies\n</top>\n";
    let expected =
        [query("301", "International Organized Crime", &[]), query("051", "Airbus Subsidies", &[])];
    assert_eq!(queries("topics.301-450.txt", classical)?, expected);
    let xml = "<?xml version='1.0'?>\r\n<xml>\r\n<top>\r\n<num> 1</num> \r\n<title>\r\nwhat R&amp;D\r\nlaws\r\n</title>\r\n</top>\r\n</xml>";
    assert_eq!(queries("cran.qry.xml", xml)?, [query("1", "what R&D laws", &[])]);
    let covid = "<topics task=\"COVID\">\n  <topic number=\"1\">\n    <query>coronavirus origin</query>\n    <question>what</question>\n  </topic>\n</topics>";
    assert_eq!(queries("topics.xml", covid)?, [query("1", "coronavirus origin", &[])]);
    let trials = "<topics task=\"2021 TREC Clinical Trials\">\n<topic number=\"1\">\nA man of 45 &lt; 50\n\
                  years.\n</topic>\n<topic number='2'>Polio</topic>\n</topics>";
    let expected = [query("1", "A man of 45 < 50 years.", &[]), query("2", "Polio", &[])];
    assert_eq!(queries("topics2021.xml", trials)?, expected);
    let medicine = "<topic number=\"1\">\n<disease>Melanoma</disease>\n<gene>BRAF</gene>\n</topic>";
    assert_error(queries("topics2017.xml", medicine), &["topics2017.xml, line 1", "no title"]);
    let description = "<top>\n<num> Number: 201\n<desc> Description:\nWhat procedures exist?\n</top>";
    assert_eq!(queries("topics.201-250", description)?, [query("201", "What procedures exist?", &[])]);
    assert_error(
        queries("t", "<top>\n<num> 1\n<title>\n</top>"),
        &["t, line 1", "query without text", "query 1"],
    );
    assert_error(queries("t", "\n<top>\n<title> x\n</top>"), &["t, line 2", "no number"]);
    Ok(())
}

#[test]
fn fields_of_topics_can_be_named() -> Outcome {
    let topics = "<top>\n<num> Number: 301 \n<title> Organized\nCrime \n\n<desc> Description: \nIdentify\n\n\
                  <narr> Narrative: \nA document\n</top>\n<top>\n<num> Number: 302\n<title> Polio\n<desc> Is it?\n</top>\n";
    let named = |id: Option<&str>, text: &str| {
        let columns =
            ColumnNames { id: id.map(str::to_owned), text: Some(text.to_owned()), ..ColumnNames::default() };
        let options = ReadOptions { columns, ..ReadOptions::default() };
        read_queries_from(open("t", topics), &options).map(|(queries, _)| queries)
    };
    assert_eq!(named(None, "desc")?, [query("301", "Identify", &[]), query("302", "Is it?", &[])]);
    let joined = named(Some("num"), "title+DESC+narr")?;
    let expected =
        [query("301", "Organized Crime Identify A document", &[]), query("302", "Polio Is it?", &[])];
    assert_eq!(joined, expected);
    assert_error(named(None, "narr"), &["t, line 12", "no text", "<narr>"]);
    assert_error(named(Some("id"), "title"), &["t, line 1", "no number", "<id>"]);
    let error = assert_error(named(None, "title+description"), &["no texts by the name \"description\""]);
    assert!(error.remedy().unwrap().to_string().contains("text_column"), "{error}");
    let covid = "<topic number=\"1\" key=\"k\"><query>q</query><question>Why?</question></topic>";
    let columns = ColumnNames {
        id: Some("key".to_owned()),
        text: Some("question".to_owned()),
        ..ColumnNames::default()
    };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    assert_eq!(read_queries_from(open("t", covid), &options)?.0, [query("k", "Why?", &[])]);
    Ok(())
}

#[test]
fn objects_of_queries_may_have_lines() -> Outcome {
    let pretty = "{\n  \"id\": \"1\",\n  \"text\": \"a\"\n}\n{\n  \"id\": \"2\",\n  \"text\": \"b\"\n}\n";
    assert_eq!(queries("q.jsonl", pretty)?, [query("1", "a", &[]), query("2", "b", &[])]);
    Ok(())
}

#[test]
fn topics_that_are_documents() -> Outcome {
    let vaswani = "<DOC>\n<DOCNO>1</DOCNO>\nMEASUREMENT OF\nDIELECTRIC CONSTANT &amp; LIQUIDS\n</DOC>\n";
    assert_eq!(
        queries("query-text.trec", vaswani)?,
        [query("1", "MEASUREMENT OF DIELECTRIC CONSTANT & LIQUIDS", &[])]
    );
    let titled = "<doc><docno> q2 </docno><title>a b</title><narr>more</narr></doc>";
    assert_eq!(queries("t", titled)?, [query("q2", "a b", &[])]);
    assert_error(queries("t", "<doc>\n<docno>1</docno>\n</doc>"), &["t, line 1", "query without text"]);
    assert_error(queries("t", "<top>\n<num> 1 </num> x\n</top>"), &["t, line 1", "no title"]);
    Ok(())
}

#[test]
fn blank_lines_among_json_lines_count_no_rows() -> Outcome {
    let lines = "{\"text\": \"a\"}\n\n{\"text\": \"b\"}\n\n\n";
    assert_eq!(queries("q.jsonl", lines)?, [query("0", "a", &[]), query("1", "b", &[])]);
    Ok(())
}

#[test]
fn bad_queries() -> Outcome {
    let cases = [
        ("1\t\n", BadKind::EmptyQuery, "a text for query 1"),
        ("1\t  \n", BadKind::EmptyQuery, "query without text"),
        ("\ttext\n", BadKind::EmptyId, "an identifier"),
        (" 1\ttext\n", BadKind::UnwritableId, "\" 1\", which begins or ends with white space"),
        ("#1\ttext\n", BadKind::UnwritableId, "\"#1\", which begins with #"),
        ("1\n", BadKind::MissingColumn, "1 column"),
        ("1\ta\tb\n", BadKind::ExtraColumn, "3 columns"),
        ("7\tagain\n", BadKind::DuplicateId, "first in q.tsv, line 1"),
    ];
    for (line, kind, part) in cases {
        let content = format!("7\tgood\n{line}8\tgood\n");
        assert_error(queries("q.tsv", &content), &["q.tsv, line 2", part]);
        let (good, skipped) = read_queries_from(open("q.tsv", &content), &skipping())?;
        assert_eq!(good.len(), 2);
        assert_eq!(skipped.counts().collect::<Vec<_>>(), [(kind, 1)]);
    }
    assert_error(queries("q.tsv", ""), &["q.tsv: no queries found"]);
    assert_error(queries("q.tsv", "qid\ttext\n"), &["no queries found"]);
    Ok(())
}

#[test]
fn columns_of_queries_can_be_named() -> Outcome {
    let named = |text: &str| ReadOptions {
        columns: ColumnNames {
            id: Some("key".to_owned()),
            text: Some(text.to_owned()),
            ..ColumnNames::default()
        },
        skip_bad_lines: true,
        ..ReadOptions::default()
    };
    for (name, content) in [
        ("q.tsv", "body\tkey\nfirst\t1\nsecond\t2\n"),
        ("q.csv", "body,key\nfirst,1\n\"second\",2\n"),
        ("q.jsonl", "{\"key\":1,\"body\":\"first\"}\n{\"key\":\"2\",\"body\":\"second\"}\n"),
    ] {
        let (queries, skipped) = read_queries_from(open(name, content), &named("body"))?;
        let found: Vec<(&str, &str)> = queries.iter().map(|q| (q.id.as_str(), q.text.as_str())).collect();
        assert_eq!(found, [("1", "first"), ("2", "second")], "{name}");
        assert_eq!(skipped.total(), 0);
        // A header without the columns is not skipped.
        let error = read_queries_from(open(name, content), &named("abstract")).unwrap_err();
        assert!(name == "q.jsonl" || matches!(error, CorpusError::Broken { .. }), "{name}: {error}");
    }
    Ok(())
}
