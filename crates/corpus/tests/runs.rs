//! Runs in every format, good and bad, and written.
#![allow(clippy::unwrap_used)]

mod common;

use std::error::Error;
use std::fs;

use common::{assert_error, entries, open, passage, run, skipping, unknown_candidates};
use toller_corpus::{BadKind, ReadOptions, RunFormat, TrecRunWriter, read_dpr_results, read_run_from};
use toller_files::Input;
use toller_ir::Explain;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn trec_runs_as_trec_eval_reads_them() -> Outcome {
    let content = "\n# a comment\n301\tQ0\tFR-1\t104\t  2.5\tSTANDARD more junk\n  # another\n\n301 Q0 d#2 x -1e-3 last\n302 Q0 FR-1 1 3 last\r\n";
    let found = run(content)?;
    assert_eq!(entries(&found), [("301", "FR-1", 2.5), ("301", "d#2", -0.001), ("302", "FR-1", 3.0)]);
    assert_eq!(found.tag, "last");
    Ok(())
}

#[test]
fn ranks_become_scores_that_fall() -> Outcome {
    let found = run("7\td1\t1\n7\td2\t2\n8\td1\t1\n")?;
    assert_eq!(entries(&found), [("7", "d1", -1.0), ("7", "d2", -2.0), ("8", "d1", -1.0)]);
    assert_eq!(found.tag, "");
    Ok(())
}

#[test]
fn scores_in_three_columns() -> Outcome {
    assert_eq!(entries(&run("7\td1\t80.25\n7\td2\t79\n")?), [("7", "d1", 80.25), ("7", "d2", 79.0)]);
    assert_eq!(entries(&run("7\td1\t12\n7\td2\t9\n")?), [("7", "d1", 12.0), ("7", "d2", 9.0)]);
    let error = assert_error(run("7\td1\t3\n7\td2\t9\n"), &["run.txt: cannot tell"]);
    assert_eq!(unknown_candidates(&error), ["msmarco", "tevatron"]);
    let options = ReadOptions { format: Some(RunFormat::Tevatron), ..ReadOptions::default() };
    let (forced, _) = read_run_from(open("run.txt", "7\td1\t3\n7\td2\t9\n"), &options)?;
    assert_eq!(entries(&forced), [("7", "d1", 3.0), ("7", "d2", 9.0)]);
    Ok(())
}

#[test]
fn ranks_in_any_order_are_ranks() -> Outcome {
    let content = "7\td3\t3\n8\td1\t1\n7\td1\t1\n7\td2\t2\n";
    let expected = [("7", "d3", -3.0), ("7", "d1", -1.0), ("7", "d2", -2.0), ("8", "d1", -1.0)];
    assert_eq!(entries(&run(content)?), expected);
    // If only the beginning of a file is looked at, the ranks of a query may be any numbers.
    let long: String = (0..1000).map(|at| format!("7\td{at}\t{}\n", at * 7 % 1000 + 1)).collect();
    let error = assert_error(run(&long), &["cannot tell"]);
    assert_eq!(unknown_candidates(&error), ["msmarco", "tevatron"]);
    Ok(())
}

#[test]
fn an_identifier_with_spaces_needs_tabs() -> Outcome {
    for line in ["q1 Q0 doc one 1 3.0 tag", "new york Q0 d 1 3.0 tag"] {
        let error = assert_error(run(format!("q1 Q0 d 1 2.0 t\n{line}\n")), &["line 2", "7 columns in"]);
        let hint = error.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
        assert!(hint.contains("need tabs between the columns"), "{hint}");
    }
    let content = "q1 Q0 d 1 2.0 my tag\nq1\tQ0\tdoc one\t2\t1.0\tmy tag\n";
    assert_eq!(entries(&run(content)?), [("q1", "d", 2.0), ("q1", "doc one", 1.0)]);
    Ok(())
}

#[test]
fn what_is_no_run_is_called_by_its_name() {
    assert_error(run("q1 d1 1 3.0 tag\n"), &["line 1: missing column", "5 columns", "query, Q0, document"]);
    assert_error(run("q1 Q0 d1 1\n"), &["4 columns", "expected 6 columns"]);
    assert_error(run("q1 0 d1 1\n"), &["run.txt: judgments, where a run is expected"]);
    let partial = "{\"format\":\"toller-partial-run\",\"format_version\":1,\"index\":1}\n\u{1}\0\0\0";
    let error = assert_error(run(partial), &["run.txt: a partial run"]);
    assert!(error.remedy().is_some_and(|remedy| remedy.to_string().contains("merge")), "{error}");
}

#[test]
fn dureader_runs_and_predictions() -> Outcome {
    let found = run("微信 分享\t17\t1\t9.5\n微信 分享\t3\t2\t9.25\n")?;
    assert_eq!(entries(&found), [("微信 分享", "17", 9.5), ("微信 分享", "3", 9.25)]);
    let found = run("{\"q1\": [\"a\", \"b\"], \"q2\": [\"a\"]}")?;
    assert_eq!(entries(&found), [("q1", "a", -1.0), ("q1", "b", -2.0), ("q2", "a", -1.0)]);
    assert_error(run("{\"q1\": [\"a\", \"a\"]}"), &["run.txt, record 1", "retrieved twice"]);
    assert_error(run("{\"q1\": \"a\"}"), &["not readable as dureader-json"]);
    Ok(())
}

/// As pytrec_eval, BEIR and ranx keep them.
#[test]
fn scores_by_document_and_query() -> Outcome {
    let content = "{\"q1\": {\"b\": 0.5, \"a\": 2}, \"q2\": {}, \"q3\": {\"7\": -1e-3}}\n";
    let expected = [("q1", "b", 0.5), ("q1", "a", 2.0), ("q3", "7", -0.001)];
    assert_eq!(entries(&run(content)?), expected);
    assert_eq!(entries(&run(content.replace(' ', "\n  "))?), expected);
    assert_eq!(entries(&run(content.replacen("q1", "q0\": {}, \"q1", 1))?), expected);
    // Longer than what detection looks at.
    let many: Vec<String> = (0..10_000).map(|at| format!("\"d{at}\": {at}.5")).collect();
    assert_eq!(entries(&run(format!("{{\"q\": {{{}}}}}", many.join(", ")))?).len(), 10_000);

    let bad = "{\"q1\": {\"a\": 1}, \"q2\": {\"b\": null, \"c\": 3, \"c\": 4, \"\": 2}}";
    assert_error(run(bad), &["run.txt, record 2: bad number: found null as the score"]);
    let (good, skipped) = read_run_from(open("r", bad), &skipping())?;
    assert_eq!(entries(&good), [("q1", "a", 1.0), ("q2", "c", 3.0)]);
    let kinds = [BadKind::EmptyId, BadKind::BadNumber, BadKind::DuplicateHit];
    assert_eq!(skipped.counts().collect::<Vec<_>>(), kinds.map(|kind| (kind, 1)));
    assert_error(
        run("{\"q1\": {\"a\": 1},\n\"q2\": {\"a\": NaN}}"),
        &["run.txt: not readable as json", "line 2"],
    );
    assert_error(run("{\"q1\": {\"a\": 1}, \"q2\": [\"a\"]}"), &["not readable as json"]);
    assert_error(run("{}"), &["no hits found"]);
    // Other objects of objects, and objects one a line.
    assert_error(run("{\"default\": {\"test\": {\"q\": {\"d\": 1}}}}"), &["objects that are not scores"]);
    assert_error(run("{\"a\": {\"n\": 1}}\n{\"a\": {\"n\": 2}}\n"), &["objects that are not scores"]);
    Ok(())
}

#[test]
fn dpr_results() -> Outcome {
    let content = r#"[{"question": "q", "answers": ["x"], "ctxs": [{"id": "wiki:1", "title": "t", "text": "…", "score": "81.5"}, {"id": 2, "score": 80}]},
        {"question": "r", "ctxs": [{"id": "wiki:1", "score": 1.5, "has_answer": false}]}]"#;
    // DPR's newer code puts `wiki:` before the numbers of Wikipedia's passages.
    assert_eq!(entries(&run(content)?), [("0", "1", 81.5), ("0", "2", 80.0), ("1", "1", 1.5)]);
    let other =
        r#"[{"question": "q", "ctxs": [{"id": "wiki:Oslo", "score": 2}, {"id": "wiki:", "score": 1}]}]"#;
    assert_eq!(entries(&run(other)?), [("0", "wiki:Oslo", 2.0), ("0", "wiki:", 1.0)]);
    assert_error(
        run(r#"[{"question": "q", "ctxs": [{"id": "a", "score": "NaN"}]}]"#),
        &["record 1", "\"NaN\" as the score"],
    );
    assert_error(
        run(r#"[{"question": "q", "ctxs": [{"score": 1}]}]"#),
        &["record 1", "null as the document"],
    );
    Ok(())
}

/// As Contriever, Self-RAG and their descendants write them.
#[test]
fn dpr_results_may_be_one_a_line() -> Outcome {
    let lines = "{\"id\": 7, \"question\": \"q\", \"answers\": [\"x\"], \"ctxs\": [{\"id\": \"1\", \"title\": \"t\", \"text\": \"b\", \"score\": \"1.5\"}]}\n\
                 {\"question\": \"r\", \"ctxs\": [{\"id\": \"2\", \"text\": \"c\", \"score\": \"2\"}]}\n";
    let expected = [("0", "1", 1.5), ("1", "2", 2.0)];
    assert_eq!(entries(&run(lines)?), expected);
    // The first question is longer than what detection looks at.
    let long = lines.replace("\"b\"", &format!("\"{}\"", "b".repeat(100_000)));
    assert_eq!(entries(&run(long)?), expected);
    let bad = format!("{lines}{{\"question\": \"s\"}}\n{{\"ctxs\": [{{\"id\": 3, \"score\": 1}}]}}\n");
    let error = assert_error(run(&bad), &["run.txt, record 3: malformed record", "missing field `ctxs`"]);
    assert!(!error.remedy().unwrap().to_string().contains("columns"), "{:?}", error.remedy());
    let (good, skipped) = read_run_from(open("run.txt", &bad), &skipping())?;
    assert_eq!((entries(&good)[2], skipped.total()), (("3", "3", 1.0), 1));

    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("test.jsonl"), &bad)?;
    let input = [Input::parse(folder.path().join("test.jsonl"))];
    let mut ids = Vec::new();
    let read = read_dpr_results(&input, &skipping(), |result| ids.push(result.query.id));
    // The last question has no text.
    assert_error(read, &["record 4", "null as the question"]);
    fs::write(folder.path().join("test.jsonl"), lines)?;
    ids.clear();
    read_dpr_results(&input, &ReadOptions::default(), |result| ids.push(result.query.id))?;
    assert_eq!(ids, ["0", "1"]);
    // A query's text may have the name of the field.
    assert_eq!(entries(&run("{\"q\": [\"ctxs\"]}")?), [("q", "ctxs", -1.0)]);
    Ok(())
}

/// DPR, EntityQuestions and Pyserini count the first k of the list.
#[test]
fn the_rank_of_dprs_passages_is_their_position() -> Outcome {
    let content = r#"[{"question": "q", "ctxs": [{"id": "b", "score": 3}, {"id": "c", "score": "3"}, {"id": "a", "score": 5},
        {"id": "d", "score": 1}]}]"#;
    let below = 3_f64.next_down();
    let expected = [("0", "b", 3.0), ("0", "c", below), ("0", "a", below.next_down()), ("0", "d", 1.0)];
    assert_eq!(entries(&run(content)?), expected);
    Ok(())
}

#[test]
fn dpr_results_have_questions_and_texts() -> Outcome {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).map(|()| Input::parse(folder.path().join(name)))
    };
    let one = r#"[{"question": "where", "answers": ["x", "y"], "ctxs": [
        {"id": "wiki:1", "title": "t", "text": "an x", "score": "2", "has_answer": true}, {"id": 2, "title": "", "text": "z"}]}]"#;
    let inputs = [write("P36.results.json", one)?, write("P19.results.json", &one.replace("where", "who"))?];
    let mut results = Vec::new();
    let (files, skipped) = read_dpr_results(&inputs, &ReadOptions::default(), |result| results.push(result))?;
    let ids: Vec<&str> = results.iter().map(|result| result.query.id.as_str()).collect();
    assert_eq!((ids, skipped.total()), (vec!["P36-0", "P19-0"], 0));
    assert_eq!(results[1].query.text, "who");
    assert_eq!(results[0].query.answers, ["x", "y"]);
    assert_eq!(results[0].passages, [passage("1", "t", "an x"), passage("2", "", "z")]);
    let places: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.places.clone())).collect();
    assert_eq!(places, [("P36", 0..1), ("P19", 1..2)]);

    let read = |content: &str, options: &ReadOptions<RunFormat>| {
        let input = write("other.json", content).unwrap();
        let mut passages = 0;
        read_dpr_results(&[input], options, |result| passages += result.passages.len()).map(|_| passages)
    };
    let twice = one.replace("2, \"title\": \"\"", "1, \"title\": \"\"");
    assert_error(read(&twice, &ReadOptions::default()), &["record 1", "retrieved twice", "document 1"]);
    assert_eq!(read(&twice, &ReadOptions { keep_first: true, ..ReadOptions::default() })?, 1);
    assert_error(read(&one.replace("\"z\"", "null"), &ReadOptions::default()), &["null as the text"]);
    assert_error(read("1 Q0 a 1 2.0 t\n", &ReadOptions::default()), &["only DPR's JSON has questions"]);
    assert_error(read("[]", &ReadOptions::default()), &["no questions found"]);
    Ok(())
}

#[test]
fn bad_lines() -> Outcome {
    let cases = [
        ("1 Q0 b 1 nan t", BadKind::BadNumber, "\"nan\" as the score"),
        ("1 Q0 b 1 inf t", BadKind::BadNumber, "a finite number"),
        ("1 Q0 b 1 1e999 t", BadKind::BadNumber, "a finite number"),
        ("1 Q0 b 1 high t", BadKind::BadNumber, "\"high\""),
        ("1 Q0 b 1 0.5", BadKind::MissingColumn, "5 columns"),
        ("1 Q0 a 9 0.5 t", BadKind::DuplicateHit, "document a for query 1, which is on line 1 too"),
    ];
    for (line, kind, part) in cases {
        let content = format!("1 Q0 a 1 2.0 t\n{line}\n2 Q0 a 1 1.0 t\n");
        assert_error(run(&content), &["run.txt, line 2", part]);
        let (good, skipped) = read_run_from(open("run.txt", &content), &skipping())?;
        assert_eq!(entries(&good), [("1", "a", 2.0), ("2", "a", 1.0)]);
        assert_eq!(skipped.counts().collect::<Vec<_>>(), [(kind, 1)]);
    }
    assert_error(run(""), &["run.txt: no hits found"]);
    assert_error(run("1 0 a 1\n1 0 b 0\n"), &["run.txt: judgments, where a run is expected"]);
    assert_error(run("qid,docid,rank\n1,a,1\n"), &["runs are not read from CSV"]);
    assert_eq!(entries(&run("topic 0\td1\t1\ntopic 0\td2\t2\n")?).len(), 2);
    // Line ends of JSON may be carriage returns; those of columns are not read.
    assert_eq!(entries(&run("{\r\"q1\": [\"d1\"],\r\"q2\": [\"d1\"]\r}")?).len(), 2);
    assert_error(run("1 Q0 a 1 2.0 t\r1 Q0 b 2 1.0 t\r"), &["run.txt: lines that end in a carriage return"]);
    assert_error(run("7\td\t0\n7\te\t1\n"), &["cannot tell"]);
    let options = ReadOptions { format: Some(RunFormat::MsMarco), ..ReadOptions::default() };
    assert_error(read_run_from(open("r", "7\td\t0\n"), &options), &["r, line 1", "\"0\" as the rank"]);
    Ok(())
}

#[test]
fn a_bad_first_line_does_not_hide_the_format() -> Outcome {
    let content = "1 Q0 b 1 0.5\n1 Q0 a 2 0.4 t\n1 Q0 c 3 0.3 t\n";
    assert_error(run(content), &["run.txt, line 1", "5 columns"]);
    let (good, _) = read_run_from(open("run.txt", content), &skipping())?;
    assert_eq!(entries(&good), [("1", "a", 0.4), ("1", "c", 0.3)]);
    Ok(())
}

#[test]
fn several_duplicates_keep_the_first_of_each() -> Outcome {
    let content =
        "1 Q0 a 1 5 t\n2 Q0 a 1 5 t\n1 Q0 b 2 4 t\n1 Q0 a 3 3 t\n1 Q0 b 4 2 t\n1 Q0 a 5 1 t\n2 Q0 c 2 4 t\n";
    let (good, skipped) = read_run_from(open("r", content), &skipping())?;
    assert_eq!(entries(&good), [("1", "a", 5.0), ("1", "b", 4.0), ("2", "a", 5.0), ("2", "c", 4.0)]);
    let lines: Vec<u64> = skipped.examples().iter().map(|bad| bad.place.position.number()).collect();
    assert_eq!(lines, [4, 5, 6]);
    Ok(())
}

#[test]
fn what_is_written_reads_back() -> Outcome {
    let scores = [
        f32::MAX,
        1e10,
        16_777_216.0,
        12.0,
        0.1,
        1e-7,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        0.0,
        -0.0,
        -3.25,
    ];
    let ids: Vec<String> = (0..scores.len()).map(|i| format!("d{i}")).collect();
    let mut writer = TrecRunWriter::new(Vec::new(), "run.txt", "toller")?;
    writer.write_query("q1", ids.iter().map(String::as_str).zip(scores))?;
    writer.write_query("empty", std::iter::empty::<(&str, f32)>())?;
    let written = String::from_utf8(writer.finish()?)?;
    assert!(
        written.starts_with("q1 Q0 d0 1 3.4028235e38 toller\nq1 Q0 d1 2 10000000000.0 toller\n"),
        "{written}"
    );
    let found = run(&written)?;
    for ((_, doc, score), (id, expected)) in entries(&found).iter().zip(ids.iter().zip(scores)) {
        assert_eq!((*doc, (*score as f32).to_bits()), (id.as_str(), expected.to_bits()));
    }
    assert_eq!((found.queries.len(), found.tag.as_str()), (1, "toller"));
    // A run that was read is written with its f64 scores.
    let mut writer = TrecRunWriter::new(Vec::new(), "run.txt", "toller")?;
    writer.write_run(&found)?;
    assert_eq!(run(writer.finish()?)?, found);
    Ok(())
}

#[test]
fn what_a_trec_run_cannot_hold_is_an_error() -> Outcome {
    let write = |query: &str, doc: &str, score: f32| {
        let mut writer = TrecRunWriter::new(Vec::new(), "run.txt", "t").unwrap();
        writer.write_query(query, [(doc, score)]).map_err(|error| (error.to_string(), error.remedy()))
    };
    let (message, hint) = write("q", "Geneva Durben", 1.0).unwrap_err();
    assert!(
        message.contains("\"Geneva Durben\"") && message.contains("white space") && hint.is_some(),
        "{message}"
    );
    assert!(write("q", "", 1.0).is_err());
    assert!(write("#q", "d", 1.0).is_err());
    assert!(write("q", "d\u{2003}e", 1.0).is_err());
    assert!(write("q", "d", f32::NAN).unwrap_err().0.contains("NaN"));
    assert!(write("q", "d", f32::INFINITY).is_err());
    assert!(TrecRunWriter::new(Vec::new(), "run.txt", "two words").is_err());
    assert!(TrecRunWriter::new(Vec::new(), "run.txt", "").is_err());

    assert!(hint.is_some_and(|hint| hint.to_string().contains("tab_separated")));

    let mut tabs = TrecRunWriter::new(Vec::new(), "run.txt", "t")?.tab_separated();
    for (query, document) in [("#1", "d"), (" lead", "d"), ("q", "trail ")] {
        let error = tabs.write_query(query, [(document, 1.0_f32)]).unwrap_err();
        let hint = error.remedy().map(|hint| hint.to_string());
        assert_eq!(hint.as_deref(), Some("give it another identifier"), "{error}");
    }
    tabs.write_query("query 1", [("Geneva Durben", 2.0_f32), ("other", 1.0)])?;
    assert!(tabs.write_query("q", [("a\tb", 1.0_f32)]).is_err());
    let written = tabs.finish()?;
    assert_eq!(entries(&run(&written)?), [("query 1", "Geneva Durben", 2.0), ("query 1", "other", 1.0)]);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_names_the_file() -> Outcome {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
    let mut writer = TrecRunWriter::new(full, "out/run.txt", "t")?;
    let error = writer.write_query("q", [("d", 1.0_f32)]).unwrap_err();
    assert!(error.to_string().contains("out/run.txt") && error.remedy().is_some(), "{error}");
    Ok(())
}
