//! Collections in every format, good and bad.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;

use common::{assert_error, passage, passages, passages_with, skipping, unknown_candidates, with_format};
use toller_corpus::{BadKind, CollectionFormat, ColumnNames, CorpusError, ReadOptions, SkipReport};
use toller_ir::Explain;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn jsonl_takes_every_name_of_a_field() -> Outcome {
    let lines = concat!(
        r#"{"_id": "a", "title": "T", "text": "x", "metadata": {"deep": [1, {"y": null}]}}"#,
        "\n",
        r#"{"id": 17, "contents": "line\nbreak \"q\" é中"}"#,
        "\r\n",
        r#"{"docid": "c", "document_text": "", "title": ""}"#,
        "\n",
        r#"{"text": "first name counts", "contents": "no", "title": null, "id": "e", "_id": "d"}"#,
        "\n",
        r#"{"pid": "p", "passage": "of MS MARCO v2", "spans": "(0,1)", "docid": "no"}"#,
        "\n",
        r#"{"docid": "f", "body": "b", "headings": "h"}"#,
        "\n",
        r#"{"docid": "f#0", "title": "T", "headings": "h", "segment": "of MS MARCO v2.1", "start_char": 0}"#,
        "\n",
        r#"{"id": "g", "content": "c"}"#,
        "\n\n",
    );
    let expected = [
        passage("a", "T", "x"),
        passage("17", "", "line\nbreak \"q\" é中"),
        passage("c", "", ""),
        passage("d", "", "first name counts"),
        passage("p", "", "of MS MARCO v2"),
        passage("f", "", "b"),
        passage("f#0", "T", "of MS MARCO v2.1"),
        passage("g", "", "c"),
    ];
    assert_eq!(passages("corpus.jsonl", lines)?, expected);
    assert_eq!(passages("anything", lines)?, expected, "by content");
    assert_eq!(
        passages("anything", [b"\xef\xbb\xbf", lines.as_bytes()].concat())?,
        expected,
        "byte order mark"
    );
    Ok(())
}

#[test]
fn objects_may_have_lines_and_stand_in_an_array() -> Outcome {
    let one = "{\n  \"id\": \"1\",\n  \"contents\": \"a } \\\" {\"\n}\n";
    let two = "{\n  \"id\": 2, \"title\": \"T\",\n  \"text\": \"b\", \"more\": [{}, [\"]\"]]\n}";
    let expected = [passage("1", "", "a } \" {"), passage("2", "T", "b")];
    let texts = [
        ("c.json", format!("{one}{two}")),
        ("c.jsonl", format!("\u{feff}[{one},{two}]\n")),
        ("c", format!("\r\n [ {one}\t, {two} ] \n")),
    ];
    for (name, content) in &texts {
        assert_eq!(passages(name, content)?, expected, "{content}");
    }
    assert_eq!(passages("c.json", one)?, [expected[0].clone()]);
    assert_error(passages("c.json", "[]"), &["no passages"]);
    let array = |rest: &str| format!("[{one},{rest}");
    // One bad object is skipped.
    for (bad, part) in
        [("{\"id\": 3}", "no text"), ("{\"id\" 3}", "malformed"), ("{\"id\": {}}", "an object as")]
    {
        let content = array(&format!("{bad},{two}]"));
        assert_error(passages("c.json", &content), &["c.json, record 2", part]);
        let (kept, skipped) = passages_with("c.json", &content, &skipping())?;
        assert_eq!((kept, skipped.total()), (expected.to_vec(), 1));
    }
    // Damage is not.
    for (rest, part) in [
        ("", "ends inside the array"),
        ("{\"id\": 3, \"text", "ends inside the object"),
        ("3]", "than an object"),
        ("]", "than an object"),
        ("{} {}]", "no comma"),
        ("{}] {}", "goes on after the array"),
    ] {
        let error = passages_with("c.json", array(rest), &skipping()).unwrap_err();
        assert!(matches!(error, CorpusError::Broken { .. }) && error.to_string().contains(part), "{error}");
    }
    // A long object is not held.
    let options = ReadOptions { max_line_bytes: 100, skip_bad_lines: true, ..ReadOptions::default() };
    let long = array(&format!("{{\"id\": 3, \"text\": \"{}\"}},{two}]", "x".repeat(100)));
    let (kept, skipped) = passages_with("c.json", long, &options)?;
    assert_eq!((kept, skipped.counts().collect()), (expected.to_vec(), vec![(BadKind::TooLong, 1)]));
    Ok(())
}

#[test]
fn tsv_with_and_without_a_header() -> Outcome {
    let expected = [passage("0", "", "The presence of \"communication\""), passage("x-1", "", "")];
    assert_eq!(passages("collection.tsv", "0\tThe presence of \"communication\"\r\nx-1\t\r\n")?, expected);
    assert_eq!(passages("c", "pid\ttext\n0\tThe presence of \"communication\"\nx-1\t")?, expected);
    assert_eq!(
        passages("c", "url\ttext\tDocID\nu\tThe presence of \"communication\"\t0\nv\t\tx-1")?,
        expected
    );
    Ok(())
}

#[test]
fn csv_has_a_header_and_quotes() -> Outcome {
    let rows = "text,url,id,title\n\"a, \"\"b\"\"\",u,1,T\r\n\"two\nlines\",u,2,\n";
    let expected = [passage("1", "T", "a, \"b\""), passage("2", "", "two\nlines")];
    assert_eq!(passages("c.csv", rows)?, expected);
    assert_eq!(passages("anything", rows)?, expected, "by content");
    assert_error(passages("c.csv", "1,a text\n2,another\n"), &["c.csv", "a column of identifiers (_id, id"]);
    assert_error(passages("c.csv", "id,text\n1,a,b\n"), &["c.csv, line 2", "2 comma-separated columns"]);
    Ok(())
}

#[test]
fn a_title_that_was_named_and_is_nowhere_is_an_error() -> Outcome {
    let named = |title: &str| ReadOptions {
        columns: ColumnNames { title: Some(title.to_owned()), ..ColumnNames::default() },
        skip_bad_lines: true,
        ..ReadOptions::default()
    };
    let expected = [passage("1", "", "x"), passage("2", "T", "y"), passage("3", "", "z")];
    for (name, content) in [
        (
            "c.jsonl",
            "{\"id\":1,\"text\":\"x\"}\n{\"id\":2,\"text\":\"y\",\"head\":\"T\"}\n{\"id\":3,\"text\":\"z\"}\n",
        ),
        ("c.tsv", "id\thead\ttext\turl\n1\t\tx\tu\n2\tT\ty\tu\n3\t\tz\tu\n"),
        ("dpr.tsv", "id\ttext\thead\n1\tx\t\n2\ty\tT\n3\tz\t\n"),
        ("c.csv", "id,head,text\n1,,x\n2,T,y\n3,,z\n"),
    ] {
        assert_eq!(passages_with(name, content, &named("head"))?.0, expected, "{name}");
        let error = passages_with(name, content, &named("haed")).unwrap_err();
        assert!(matches!(error, CorpusError::NoSuchName { .. }), "{name}: {error}");
        assert_eq!(error.remedy().unwrap().to_string(), "correct title_column, or leave it out");
        assert_eq!(error.place().unwrap().file, name);
    }
    let empty = "{\"id\":1,\"text\":\"x\",\"head\":\"\"}\n";
    assert_eq!(passages_with("c.jsonl", empty, &named("head"))?.0, [passage("1", "", "x")]);
    Ok(())
}

#[test]
fn a_table_may_have_many_columns() -> Outcome {
    let rows = |more: usize, tab: &str| {
        let row = |first: &str, cell: &str| format!("{first}{}\n", format!("{tab}{cell}").repeat(more));
        row(&format!("id{tab}text"), "more") + &row(&format!("1{tab}x"), "0")
    };
    for (name, tab) in [("c.tsv", "\t"), ("c.csv", ",")] {
        assert_eq!(passages(name, rows(62, tab))?, [passage("1", "", "x")]);
        assert_error(passages(name, rows(63, tab)), &[name, "the first line has 65 columns; at most 64"]);
    }
    Ok(())
}

#[test]
fn columns_can_be_named() -> Outcome {
    let named = |id: &str, text: &str| ReadOptions {
        columns: ColumnNames {
            id: Some(id.to_owned()),
            text: Some(text.to_owned()),
            ..ColumnNames::default()
        },
        ..ReadOptions::default()
    };
    let expected = [passage("1", "T", "x"), passage("2", "", "y")];
    for (name, content) in [
        ("c.jsonl", "{\"key\":1,\"body\":\"x\",\"title\":\"T\",\"id\":\"no\"}\n{\"key\":2,\"body\":\"y\"}\n"),
        ("c.tsv", "body\tKey\ttitle\tid\nx\t1\tT\tno\ny\t2\t\tno\n"),
        ("c.csv", "body,key,title,id\nx,1,T,no\ny,2,,no\n"),
    ] {
        assert_eq!(passages_with(name, content, &named("key", "body"))?.0, expected, "{name}");
        let missing = passages_with(name, content, &named("key", "abstract"));
        assert!(missing.unwrap_err().to_string().contains("abstract"), "{name}");
    }
    // Bad records are skipped, a header without the columns is not.
    let options = ReadOptions { skip_bad_lines: true, ..named("key", "body") };
    for (name, content) in [("c.tsv", "id\ttext\n1\tx\n"), ("c.csv", "id,text\n1,x\n")] {
        assert!(matches!(passages_with(name, content, &options), Err(CorpusError::Broken { .. })), "{name}");
    }
    Ok(())
}

#[test]
fn dpr_is_quoted_as_csv() -> Outcome {
    let rows = "id\ttext\ttitle\n1\t\"Aaron (\"\"Ahärôn\"\") is a prophet\"\tAaron\n2\ta \"b\" c\t\"\"\n3\t\"two\nlines\"\tT\n";
    let expected = [
        passage("1", "Aaron", "Aaron (\"Ahärôn\") is a prophet"),
        passage("2", "", "a \"b\" c"),
        passage("3", "T", "two\nlines"),
    ];
    assert_eq!(passages("psgs_w100.tsv", rows)?, expected);
    let headless = rows.split_once('\n').unwrap().1;
    let options = with_format(CollectionFormat::Dpr);
    assert_eq!(passages_with("psgs_w100.tsv", headless, &options)?.0, expected);
    // Without the header nothing says that the second column is the text.
    let error = assert_error(passages("psgs_w100.tsv", headless), &["psgs_w100.tsv", "cannot tell"]);
    assert_eq!(unknown_candidates(&error), ["dpr"]);
    // As plain TSV the quotes are text.
    let raw = passages_with(
        "psgs_w100.tsv",
        "id\ttext\ttitle\n1\t\"a\"\tb\n",
        &with_format(CollectionFormat::Tsv),
    )?
    .0;
    assert_eq!(raw, [passage("1", "b", "\"a\"")]);
    assert_error(
        passages("p.tsv", "id\ttext\ttitle\n1\tx\ty\n2\t\"open\tt\n3\tx\ty\n"),
        &["p.tsv, line 3", "closing"],
    );
    Ok(())
}

#[test]
fn rows_that_only_look_like_dprs_are_not_lost_in_quotes() -> Outcome {
    let rows = "1\t\"A start\tT\n2\tx\tU\n3\t\"B\" end\tV\n4\ty\tW\n";
    // Other names or another order are not DPR's.
    for header in ["docid\ttext\ttitle", "id\ttitle\ttext", "id\tcontents\ttitle"] {
        assert_eq!(passages("p.tsv", format!("{header}\n{rows}"))?.len(), 4, "{header}");
    }
    let with_header = format!("id\ttext\ttitle\n{rows}");
    let error = assert_error(passages("p.tsv", &with_header), &["p.tsv, line 2", "holds whole rows"]);
    let remedy = error.remedy().unwrap().to_string();
    assert!(remedy.contains("tsv") && remedy.contains("dpr"), "{remedy}");
    let as_given = |format| passages_with("p.tsv", &with_header, &with_format(format));
    assert_eq!(as_given(CollectionFormat::Tsv)?.0.len(), 4);
    assert_eq!(as_given(CollectionFormat::Dpr)?.0.len(), 2);
    Ok(())
}

#[test]
fn rocketqa_numbers_its_rows() -> Outcome {
    let four = "-\t\t第一\t0\n-\t标题\t第二\t0\n-\t-\tthird\t0\n";
    let expected = [passage("0", "", "第一"), passage("1", "标题", "第二"), passage("2", "", "third")];
    assert_eq!(passages("part-00", four)?, expected);
    assert_eq!(passages("dureader.para", "-\t第一\n标题\t第二\n-\tthird\n")?, expected);
    Ok(())
}

#[test]
fn four_columns_with_anything_else_are_not_rocketqa() -> Outcome {
    let msmarco = "D1\thttps://a.org\tTitle\tThe body.\nD2\thttps://b.org\tTitle\tThe body.\n";
    let options = with_format(CollectionFormat::RocketQa);
    for rows in [msmarco, "-\ttitle\ttext\tmore\n", "1\ttitle\ttext\t0\n"] {
        let error = assert_error(passages_with("d.tsv", rows, &options), &["d.tsv, line 1", "-<TAB>title"]);
        assert!(matches!(&error, CorpusError::Bad(bad) if bad.kind == BadKind::Malformed), "{error}");
    }
    let named = format!("id\turl\ttitle\tbody\n{msmarco}");
    assert_eq!(passages("d.tsv", named)?, ["D1", "D2"].map(|id| passage(id, "Title", "The body.")));
    Ok(())
}

#[test]
fn rows_are_numbered_over_files_and_bad_lines() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut inputs = Vec::new();
    for (name, rows) in [("part-00", "-\t-\ta\t0\n-\t-\n-\t-\tc\t0\n\n"), ("part-01", "-\t-\td\t0\n")] {
        let path = directory.path().join(name);
        std::fs::write(&path, rows)?;
        inputs.push(toller_files::Input::File(path));
    }
    let mut reader = toller_corpus::open_collection(&inputs, &skipping())?;
    let ids: Vec<String> = reader.by_ref().map(|passage| passage.map(|p| p.id)).collect::<Result<_, _>>()?;
    assert_eq!(ids, ["0", "2", "3"]);
    assert_eq!(reader.skipped().total(), 1);
    Ok(())
}

#[test]
fn what_is_ambiguous_is_an_error_that_names_the_candidates() {
    let both = ["tsv", "rocketqa"];
    let spaces =
        assert_error(passages("c", "Geneva Durben\tlikes\nOther Name\tlikes too\n"), &["c: cannot tell"]);
    assert_eq!(unknown_candidates(&spaces), both);
    let repeated = assert_error(passages("c", "a\tx\na\ty\na\tz\nb\tw\n"), &[]);
    assert_eq!(unknown_candidates(&repeated), both);
    assert!(repeated.remedy().unwrap().to_string().contains("format"));
    let plain = assert_error(passages("c.txt", "1 some text\n"), &["c.txt: plain text files are not read"]);
    assert!(plain.remedy().unwrap().to_string().contains(r#"a line, {"id": ..., "text": ...}"#), "{plain}");
    let four = assert_error(passages("c", "a\tb\tc\td\n"), &[]);
    assert!(unknown_candidates(&four).is_empty());
    assert!(four.remedy().unwrap().to_string().contains("names the columns"));
}

#[test]
fn every_format_knows_the_same_names_in_any_case() -> Outcome {
    let ids = [
        "_id", "id", "pid", "docid", "doc_id", "doc-id", "docno", "passage_id", "passage-id", "doc_key",
        "document_id", "corpus_id", "corpus-id", "ID", "DocNo",
    ];
    for id in ids {
        for (title, text) in [("title", "contents"), ("Title", "TEXT")] {
            let expected = [passage("1", "t", "a")];
            let json = format!("{{\"{id}\": \"1\", \"{title}\": \"t\", \"{text}\": \"a\"}}\n");
            assert_eq!(passages("c.jsonl", json)?, expected, "{id}");
            assert_eq!(passages("c.tsv", format!("{id}\t{title}\t{text}\n1\tt\ta\n"))?, expected, "{id}");
            assert_eq!(passages("c.csv", format!("{id},{title},{text}\n1,t,a\n"))?, expected, "{id}");
        }
    }
    // MS MARCO v2 has passages with the identifier of their document.
    let both = r#"{"docid": "d", "pid": "p", "passage": "a"}"#;
    assert_eq!(passages("c.jsonl", both)?, [passage("p", "", "a")]);
    Ok(())
}

#[test]
fn an_exact_name_counts_before_other_cases() -> Outcome {
    let json = r#"{"ID": "2", "docid": "1", "Text": "b", "text": "a", "Title": null, "TITLE": "t"}"#;
    assert_eq!(passages("c.jsonl", json)?, [passage("1", "t", "a")]);
    assert_eq!(passages("c.tsv", "id\tText\ttext\n1\tb\ta\n")?, [passage("1", "", "a")]);
    Ok(())
}

#[test]
fn semicolons_between_columns_are_named() {
    for rows in ["id;text\n1;a\n", "\"id\";\"text\"\n"] {
        let error = assert_error(passages("c.csv", rows), &["c.csv: the separator is ;", "a comma"]);
        assert!(error.remedy().unwrap().to_string().contains("format tsv"), "{error}");
    }
}

#[test]
fn what_is_no_collection_is_called_by_its_name() {
    let hint = |error: CorpusError| error.remedy().map(|hint| hint.to_string()).unwrap_or_default();
    let mut tar = vec![0; 512];
    tar[..5].copy_from_slice(b"a.tsv");
    tar[257..262].copy_from_slice(b"ustar");
    assert!(hint(assert_error(passages("m.tar", tar), &["m.tar: a tar archive"])).contains("unpack"));
    let little: Vec<u8> = "1\ta\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "1\ta\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (bytes, name) in [(little, "UTF-16LE"), (big, "UTF-16BE")] {
        assert!(hint(assert_error(passages("c.tsv", bytes), &["UTF-16 text"])).contains(name), "{name}");
    }
}

#[test]
fn a_header_may_leave_the_name_of_the_text_open() -> Outcome {
    for header in ["docid\tbody", "pid\tdoc", "doc_key\tbody", "ID\tdocument text"] {
        let found = passages("c", format!("{header}\n1\tone\n2\ttwo\n"))?;
        assert_eq!(found, [passage("1", "", "one"), passage("2", "", "two")], "{header}");
    }
    assert_eq!(passages("c.csv", "docid,body\n1,one\n")?, [passage("1", "", "one")]);
    assert_eq!(passages("c", "docid\ttitle\tbody\n1\tT\tone\n")?, [passage("1", "T", "one")]);
    let error = assert_error(passages("c", "docid\turl\tsaid\n1\tu\tone\n"), &["one of texts", "docid, url"]);
    assert!(error.remedy().unwrap().to_string().contains("text_column"), "{error}");
    Ok(())
}

/// Checks a bad line among good lines: its kind, and what the error says in addition to the place.
fn bad_line(name: &str, good: &str, bad: &[u8], kind: BadKind, parts: &[&str]) {
    let after = good.lines().last().unwrap().replace('1', "3");
    let content = [good.as_bytes(), b"\n", bad, b"\n", after.as_bytes(), b"\n"].concat();
    let place = format!("{name}, line {}", good.lines().count() + 1);
    let error = assert_error(passages(name, &content), &[parts, &[place.as_str()]].concat());
    assert!(matches!(&error, CorpusError::Bad(record) if record.kind == kind), "{error}");
    let (kept, skipped) = passages_with(name, &content, &skipping()).unwrap();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(skipped.counts().collect::<Vec<_>>(), [(kind, 1)]);
    assert_eq!(skipped.examples().len(), 1);
    assert!(skipped.to_string().starts_with("skipped 1 bad line ("), "{skipped}");
}

#[test]
fn bad_lines_of_jsonl() {
    let bad = |line: &str, kind, parts: &[&str]| {
        bad_line("c.jsonl", r#"{"id": "1", "text": "a"}"#, line.as_bytes(), kind, parts);
    };
    bad(r#"{"id": "", "text": "b"}"#, BadKind::EmptyId, &["empty id"]);
    bad(r#"{"id": " ", "text": "b"}"#, BadKind::EmptyId, &["\" \""]);
    bad(r#"{"id": "2\t3", "text": "b"}"#, BadKind::UnwritableId, &["\"2\\t3\", which holds a tab"]);
    bad(r#"{"text": "b"}"#, BadKind::MissingField, &["no identifier", "_id, id, pid, docid, "]);
    bad(r#"{"id": null, "text": "b"}"#, BadKind::MissingField, &["no identifier"]);
    bad(r#"{"id": "2"}"#, BadKind::MissingField, &["no text"]);
    bad(r#"{"id": "2", "text": null}"#, BadKind::MissingField, &["no text"]);
    bad(r#"{"id": "2", "text": ["b"]}"#, BadKind::Malformed, &["a list as the text", "a string"]);
    bad(r#"{"id": 2.5, "text": "b"}"#, BadKind::Malformed, &["2.5 as the identifier"]);
    bad(r#"{"id": "2", "text": "b", "title": {}}"#, BadKind::Malformed, &["an object as the title"]);
    bad(r#"{"id": "2", "id": "4", "text": "b"}"#, BadKind::Malformed, &["the field id twice"]);
    bad(r#"{"id": "2", "text": "b""#, BadKind::Malformed, &["EOF"]);
    bad(r#"{"id": "2", "text": NaN}"#, BadKind::NotJson, &["found NaN at column 21", "a number or null"]);
    bad(r#"{"id": "2", "text": "b", "x": [-Infinity]}"#, BadKind::NotJson, &["Infinity at column 33"]);
    for half in [r"\ud83d", r"\ude00", r"\ud83d\n", r"\ud83da"] {
        let line = format!(r#"{{"id": "2", "text": "{half}"}}"#);
        bad(&line, BadKind::LoneSurrogate, &["half of a surrogate pair at column"]);
    }
    bad(r#"{"id": "2", "text": "b"} x"#, BadKind::Malformed, &["trailing"]);
    bad(r#"["2", "b"]"#, BadKind::Malformed, &["a JSON object"]);
}

#[test]
fn blank_lines_among_json_lines_are_skipped() -> Outcome {
    let lines = "\n{\"id\": \"1\", \"text\": \"a\"}\r\n\r\n \t\n{\"id\": \"2\", \"text\": \"b\"}\n\n";
    assert_eq!(passages("c.jsonl", lines)?, [passage("1", "", "a"), passage("2", "", "b")]);
    assert_error(passages("c.jsonl", format!("{lines}\n{{\n")), &["c.jsonl, line 8"]);
    Ok(())
}

#[test]
fn bad_lines_of_tsv() {
    let bad = |line: &[u8], kind, parts: &[&str]| bad_line("c.tsv", "1\ta", line, kind, parts);
    bad(b"2", BadKind::MissingColumn, &["1 column in \"2\"", "2 tab-separated columns (id, text)"]);
    bad(b"2\tb\tc", BadKind::ExtraColumn, &["3 columns"]);
    bad(b"\tb", BadKind::EmptyId, &[]);
    bad(b"2 \tb", BadKind::UnwritableId, &["found \"2 \", which begins or ends with white space"]);
    bad("\u{a0}2\tb".as_bytes(), BadKind::UnwritableId, &["an identifier that a run can hold"]);
    bad(b"2\tb\xff", BadKind::InvalidUtf8, &["0xff as byte 4"]);
    bad(b"2\tb\xe4\xb8", BadKind::InvalidUtf8, &["0xe4"]);
    bad(b"  ", BadKind::BlankLine, &["an empty line"]);
    bad_line("c.tsv", "pid\ttext\n1\ta", b"2", BadKind::MissingColumn, &["(id, text)"]);
}

#[test]
fn a_line_that_is_too_long_is_not_held() -> Outcome {
    let options = ReadOptions { max_line_bytes: 100, ..ReadOptions::default() };
    for length in [101, 1_000, 1_000_000] {
        let content = format!("1\ta\n2\t{}\n3\tc\n", "x".repeat(length));
        let error = assert_error(
            passages_with("c.tsv", &content, &options),
            &["c.tsv, line 2", "line too long", "begins \"2\\txxx", "at most 100 bytes"],
        );
        assert!(error.to_string().len() < 300, "{error}");
        let skip = ReadOptions { skip_bad_lines: true, ..options.clone() };
        let (kept, skipped) = passages_with("c.tsv", &content, &skip)?;
        assert_eq!(kept, [passage("1", "", "a"), passage("3", "", "c")]);
        assert_eq!(skipped.total(), 1);
    }
    let fits = format!("1\t{}\r\n", "x".repeat(98));
    assert_eq!(passages_with("c.tsv", fits, &options)?.0.len(), 1);
    Ok(())
}

#[test]
fn a_collection_without_passages_is_an_error() {
    for (name, content) in
        [("e.tsv", ""), ("e.tsv", "\n\n"), ("e.tsv", "pid\ttext\n"), ("e.jsonl", ""), ("e", "\u{feff}")]
    {
        assert_error(passages(name, content), &[name, "no passages found"]);
    }
    assert_error(passages("e.xml", "<?xml version=\"1.0\"?><root></root>"), &["no passages found"]);
    let all_bad = passages_with(
        "e.tsv",
        "1\n2\n3\n",
        &ReadOptions { format: Some(CollectionFormat::Tsv), ..skipping() },
    );
    assert_error(all_bad, &["no passages found after skipping 3 bad lines"]);
    assert_error(
        toller_corpus::open_collection(&[], &ReadOptions::default())
            .and_then(|mut reader| reader.next().transpose()),
        &["no input: no passages"],
    );
}

#[test]
fn damage_is_never_skipped_and_names_the_line() -> Outcome {
    use std::io::Write;
    let lines: String = (0..20_000).map(|i| format!("{i}\ttext {}\n", i * 7919 % 10_007)).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(lines.as_bytes())?;
    let stored = gz.finish()?;
    let mut reader = toller_corpus::read_collection_from(
        common::open("c.tsv.gz", &stored[..stored.len() / 2]),
        &skipping(),
    )?;
    let good = reader.by_ref().take_while(Result::is_ok).count();
    assert!(good > 1_000);
    assert!(reader.next().is_none(), "the reader ends after an error");
    let error = passages_with("c.tsv.gz", &stored[..stored.len() / 2], &skipping()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("c.tsv.gz") && message.contains("incomplete"), "{message}");
    assert!(message.contains(&format!("after line {good}")), "{message} after {good}");
    assert_eq!(passages("c.tsv.gz", &stored)?.len(), 20_000);
    Ok(())
}

#[test]
fn the_skip_report_keeps_a_few_examples() -> Outcome {
    let content: String =
        (0..20).map(|i| if i % 2 == 0 { format!("{i}\ta\n") } else { format!("{i}\n") }).collect();
    let (kept, skipped) =
        passages_with("c.tsv", content, &ReadOptions { format: Some(CollectionFormat::Tsv), ..skipping() })?;
    assert_eq!((kept.len(), skipped.total()), (10, 10));
    assert_eq!(skipped.examples().len(), SkipReport::EXAMPLES);
    assert!(
        skipped.to_string().starts_with("skipped 10 bad lines (10 missing column)\n  c.tsv, line 2: "),
        "{skipped}"
    );
    assert!(skipped.to_string().ends_with("..."));
    Ok(())
}

#[test]
fn a_bad_first_line_does_not_hide_the_format() -> Outcome {
    for (name, bad) in [("c.tsv", "1"), ("c", "no tab"), ("c", "1\ta\tb")] {
        let content = format!("{bad}\n2\tb\n3\tc\n");
        assert_error(passages(name, &content), &[name, "line 1", "column"]);
        assert_eq!(passages_with(name, &content, &skipping())?.0.len(), 2);
    }
    assert_error(passages("c.tsv", "1 only\n"), &["c.tsv, line 1", "missing column"]);
    Ok(())
}

#[test]
fn format_names_parse_and_print() {
    for format in CollectionFormat::ALL {
        assert_eq!(format.to_string().parse::<CollectionFormat>().unwrap(), format);
    }
    let error = "xml".parse::<CollectionFormat>().unwrap_err();
    assert!(error.to_string().contains("xml") && error.to_string().contains("jsonl, json, tsv"));
}
