//! `toller data`: published collections, builders, statistics.

use toller_testing::shared;

use crate::support::Workspace;

#[test]
fn a_folder_with_files_is_not_written_to_by_accident() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    let built = workspace.runs("data beir corpus.jsonl --output built");
    assert!(built.stdout.contains("passages") && built.stderr.contains("built: corpus.jsonl"), "{built:?}");
    assert_eq!(workspace.lines("built/corpus.jsonl"), [r#"{"_id":"a","text":"dog"}"#]);
    workspace
        .toller("data beir corpus.jsonl --output built")
        .fails(2, &["built has files already, such as corpus.jsonl", "--overwrite"]);
    workspace.write("corpus.jsonl", "{\"_id\": \"b\", \"text\": \"sea\"}\n");
    workspace.runs("data beir corpus.jsonl --output built --overwrite");
    assert_eq!(workspace.lines("built/corpus.jsonl"), [r#"{"_id":"b","text":"sea"}"#]);
    workspace.toller("data beir corpus.jsonl --output -").fails(2, &["a benchmark is a directory"]);
    workspace
        .toller("data miracl corpus.jsonl --output other")
        .fails(1, &["no file of the layout 'miracl'", "docs-"]);
}

#[test]
fn a_builder_does_not_write_over_what_it_reads() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("t")).unwrap();
    workspace.write("t/queries.tsv", "a\tqq\nb\tzz\n");
    workspace.write("u.run", "q0 Q0 a 1 0.95 t\n");
    let similar = "data dureader similar u.run --queries t/queries.tsv --overwrite --output";
    workspace
        .toller(&format!("{similar} t"))
        .fails(2, &["the input t/queries.tsv is in --output t", "hint: "]);
    assert_eq!(workspace.lines("t/queries.tsv").len(), 2);
    workspace.runs(&format!("{similar} other"));
    let names: Vec<String> = workspace.files_in("other").into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
    // What fails leaves nothing.
    std::fs::create_dir(workspace.path("bad")).unwrap();
    workspace.write("bad/corpus.jsonl", "{\"_id\": 1.5}\n");
    workspace.toller("data beir bad --output new").fails(1, &["bad/corpus.jsonl, line 1"]);
    assert!(!workspace.path("new").exists());
}

#[cfg(unix)]
#[test]
fn two_builders_do_not_write_one_folder() {
    use std::{fs::File, io::Write, os::unix::fs::OpenOptionsExt};

    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    std::fs::create_dir(workspace.path("pipe")).unwrap();
    let pipe = workspace.path("pipe/corpus.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut first = workspace.spawn("data beir pipe/corpus.jsonl --output built");
    // Who reads the pipe has locked the folder. Without a reader, the pipe is not opened.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let started = std::time::Instant::now();
    let mut writer = loop {
        match File::options().write(true).custom_flags(nonblocking).open(&pipe) {
            Ok(writer) => break writer,
            Err(error) => assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NXIO.raw_os_error())),
        }
        assert!(started.elapsed().as_secs() < 60 && first.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    workspace
        .toller("data beir corpus.jsonl --output built")
        .fails(1, &["another process is writing built", "hint: wait until it has ended"]);
    writer.write_all(b"{\"_id\": \"b\", \"text\": \"sea\"}\n").unwrap();
    drop(writer);
    assert!(first.wait().unwrap().success());
    assert_eq!(workspace.lines("built/corpus.jsonl"), [r#"{"_id":"b","text":"sea"}"#]);
    assert!(!workspace.path("built/.lock").exists());
}

#[test]
fn judgments_of_other_questions_are_refused() {
    let workspace = Workspace::new();
    workspace.write("answers.csv", "ans_id,content\r\n1,a\r\n2,b\r\n");
    workspace.write("questions.csv", "question_id,content\n10,what\n");
    workspace.write("candidates.txt", "question_id,ans_id,cnt,label\n10,1,0,1\n11,2,0,1\n");
    let domain = "data dureader domain cmedqa --passages answers.csv --questions questions.csv --candidates candidates.txt --output";
    workspace.toller(&format!("{domain} built")).fails(1, &["questions.csv", "\"11\""]);
    workspace.write("candidates.txt", "question_id,ans_id,cnt,label\n10,1,0,1\n");
    workspace.runs(&format!("{domain} built"));
    workspace.write("answers.csv", "ans_id,content\r\n1,a\r\n2,b,c\r\n");
    workspace
        .toller(&format!("{domain} other"))
        .fails(1, &["answers.csv, line 3: 3 columns, but the header has 2"]);
    let covid = domain.replace("cmedqa", "covid-news");
    workspace.toller(&format!("{covid} other")).fails(2, &["--candidates is for cmedqa"]);
}

#[test]
fn a_collection_and_its_judgments_fit() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("beir")).unwrap();
    workspace.write("beir/corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    workspace.write("beir/queries.jsonl", "{\"_id\": \"q\", \"text\": \"what\"}\n");
    workspace.runs("data beir beir --output one").says(["beir/queries.jsonl was not used", "no judgments"]);
    workspace.write("beir/qrels.jsonl", "{\"query-id\": \"q\", \"corpus-id\": \"b\", \"score\": 1}\n");
    let built = workspace.runs("data beir beir --output two");
    built.says(["the collection does not have 1 judged document, for example \"b\""]);
    assert!(!built.stderr.contains("not used"), "{}", built.stderr);
    assert_eq!(workspace.lines("two/qrels.test.txt"), ["q 0 b 1"]);
}

#[test]
fn queries_that_are_passages_are_reported() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    workspace.write("queries.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    workspace.write("qrels.jsonl", "{\"query-id\": \"a\", \"corpus-id\": \"b\"}\n");
    let built = workspace.runs("data beir corpus.jsonl queries.jsonl qrels.jsonl --output built");
    built.says(["passages have the identifiers of 1 query", "see --remove-query"]);
}

#[test]
fn a_named_file_is_not_ignored() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    workspace.write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"what\"}\n");
    workspace.write("test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
    let said =
        ["test.tsv: no file of the layout 'beir' is called that", "qrels/SPLIT.tsv", "*-qrels/SPLIT.tsv"];
    workspace.toller("data beir corpus.jsonl queries.jsonl test.tsv --output built").fails(1, &said);
    std::fs::create_dir(workspace.path("scifact-qrels")).unwrap();
    std::fs::rename(workspace.path("test.tsv"), workspace.path("scifact-qrels/test.tsv")).unwrap();
    workspace.runs("data beir corpus.jsonl queries.jsonl scifact-qrels/test.tsv --output built");
    assert_eq!(workspace.lines("built/qrels.test.txt"), ["q 0 a 1"]);
}

#[test]
fn files_are_compared_with_what_is_known() {
    let workspace = Workspace::new();
    let list = workspace.runs("data list").stdout;
    assert!(list.lines().count() == 74 && list.contains("beir/scifact "), "{list}");
    workspace.toller("data list beir/nothing").fails(2, &["no known collection is called beir/nothing"]);
    workspace
        .toller("data list SciFact")
        .fails(2, &["no known collection is called SciFact", "did you mean beir/scifact?"]);
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    let other = "passages: found 1, expected 5183";
    workspace.toller("data list beir/scifact corpus.jsonl").fails(1, &[other]);
    workspace.toller("data beir corpus.jsonl --known beir/scifact --output built").fails(1, &[other]);
    assert!(!workspace.path("built/corpus.jsonl").exists());
    let Some(scifact) = shared("data/scifact") else { return };
    let compared = workspace.runs(&format!("data list beir/scifact {}", scifact.display()));
    let said = "the files are beir/scifact as it is known";
    assert!(compared.stderr.lines().any(|line| line == said), "{}", compared.stderr);
    let some = workspace
        .runs(&format!("data list beir/scifact {0}/queries.jsonl {0}/qrels/test.tsv", scifact.display()));
    some.says(["as it is known, as far as they go; without: passages, split train"]);
}

#[test]
fn a_pool_is_reranked_and_similar_queries_are_removed() {
    let workspace = Workspace::new();
    workspace.write("a.run", "q Q0 d1 1 2.0 a\nq Q0 d2 2 1.0 a\n");
    workspace.write("b.run", "q Q0 d3 1 2.0 b\nq Q0 d1 2 1.0 b\n");
    workspace.runs("data dureader pool a.run b.run --depth 1 --output pool");
    assert_eq!(workspace.lines("pool/pool.run"), ["q Q0 d1 1 2.0 toller", "q Q0 d3 2 1.0 toller"]);

    workspace.write("train.tsv", "d1\tone\nd2\ttwo\nd3\tthree\n");
    let similar =
        workspace.runs("data dureader similar a.run --queries train.tsv --threshold 1.5 --output left");
    assert!(similar.stdout.contains("removed"), "{}", similar.stdout);
    assert_eq!(workspace.lines("left/queries.tsv"), ["d2\ttwo", "d3\tthree"]);
    assert_eq!(workspace.lines("left/removed.tsv"), ["d1\tone"]);
    assert!(!workspace.path("left/qrels.txt").exists());

    workspace.write("qrels.txt", "d1 0 p 1\nd3 0 p 2\nd3 0 r 0\n");
    let similar = "data dureader similar a.run --queries train.tsv --threshold 1.5 --qrels";
    workspace.runs(&format!("{similar} qrels.txt --output both"));
    assert_eq!(workspace.lines("both/qrels.txt"), ["d3 0 p 2", "d3 0 r 0"]);
    workspace.write("more.txt", "d9 0 p 1\n");
    workspace.toller(&format!("{similar} more.txt --output none")).fails(1, &["1 judged query", "\"d9\""]);
}

#[test]
fn near_duplicates_and_similarity_come_from_stores() {
    let workspace = Workspace::new();
    workspace.write(
        "c.jsonl",
        "{\"_id\": \"a\", \"text\": \"a dog\"}\n{\"_id\": \"b\", \"text\": \"the deep sea\"}\n{\"_id\": \"c\", \"text\": \"a dog\"}\n",
    );
    workspace.runs("encode -q --model tiny-bert --corpus c.jsonl --output store");
    workspace.write("p.run", "q Q0 a 1 3 x\nq Q0 b 2 2 x\nq Q0 c 3 1 x\n");
    let command = "data t2ranking deduplicate p.run --passage-vectors store";
    workspace.runs(&format!("{command} --distance 0 --output kept"));
    assert_eq!(workspace.lines("kept/left-out.tsv"), ["q\ta\tc"]);
    assert_eq!(workspace.lines("kept/kept.run").len(), 2);
    let stats = workspace.runs("data stats --query-vectors store --json").json();
    let similarity = stats["statistics"]["queries"]["intra_list_similarity"].as_f64().unwrap();
    assert!(similarity < 1.0, "{stats}");
    assert_eq!(stats["statistics"]["queries"]["vectors"], 3);
}

#[test]
fn published_formats_of_dureader_both_ways() {
    let workspace = Workspace::new();
    workspace.write("part-00", "-\t\t甲\t0\n-\t\t乙\t0\n");
    workspace.write("map.json", r#"{"1": "yi", "0": "jia"}"#);
    let dev = r#"{"question_id":"q1","question":"谁","answer_paragraphs":[{"paragraph_id":"yi","paragraph_text":"乙"}]}"#;
    workspace.write("dev.json", format!("{dev}\n"));
    workspace.runs("data dureader read dev.json --ids map.json --passages part-00 --output read");
    assert_eq!(workspace.lines("read/qrels.txt"), ["q1 0 yi 1"]);
    assert_eq!(workspace.lines("read/qrels.rows.txt"), ["q1 0 1 1"]);
    assert_eq!(workspace.lines("read/corpus.jsonl")[1], r#"{"_id":"yi","text":"乙"}"#);
    workspace.runs(
        "data dureader write --queries read/queries.tsv --qrels read/qrels.txt --corpus read/corpus.jsonl --output again",
    );
    assert_eq!(workspace.lines("again/dev.json"), [dev]);
    workspace.write("others.txt", "q1 0 yi 1\nq2 0 yi 1\nq3 0 jia 1\n");
    workspace
        .toller("data dureader write --queries read/queries.tsv --qrels others.txt --corpus read/corpus.jsonl --output no")
        .fails(1, &["there is no text of 2 judged queries, for example \"q2\"", "give every judged query"]);
    assert!(!workspace.path("no").exists());
    workspace.write("half", "-\t\t甲\t0\n");
    let few = "half: the parts have 1 passages, the map 2";
    workspace
        .toller("data dureader read dev.json --ids map.json --passages half --output other")
        .fails(1, &[few, "all parts, in their order"]);
    workspace.write("twice.json", r#"{"1": "yi", "0": "yi"}"#);
    workspace
        .toller("data dureader read dev.json --ids twice.json --passages part-00 --output other")
        .fails(1, &["twice.json: two passages have the identifier \"yi\"", "correct the identifiers"]);
    workspace.write("rows.run", "q1 Q0 0 1 2.0 x\nq1 Q0 1 2 1.0 x\n");
    workspace.runs("data dureader predict rows.run --ids map.json --output predicted");
    assert_eq!(workspace.lines("predicted/prediction.json"), [r#"{"q1":["jia","yi"]}"#]);
    workspace.write("bad.json", r#"{"0": "jia", "2": "yi"}"#);
    workspace.toller("data dureader predict rows.run --ids bad.json --output other").fails(1, &["bad.json"]);
    workspace
        .runs("data dureader predict rows.run --output rows")
        .says(["rows.run: its documents are numbers"]);
}

/// What DuReader-retrieval's own code writes: texts as queries, and rows as documents.
#[test]
fn runs_of_texts_and_rows_become_predictions() {
    let workspace = Workspace::new();
    workspace.write("map.json", r#"{"0": "jia", "1": "yi"}"#);
    workspace.write("queries.tsv", "q1\t谁 来\nq2\t何时\n");
    workspace.write("res.top50", "谁 来\t1\t1\t9.5\n谁 来\t0\t2\t9.25\n何时\t0\t1\t8\n");
    let predict = "data dureader predict res.top50 --output";
    workspace
        .toller(&format!("{predict} a"))
        .fails(2, &["res.top50: its documents are rows", "hint: give --ids passage2id.map.json"]);
    workspace
        .toller(&format!("{predict} a --ids map.json"))
        .fails(2, &["res.top50: its queries are texts", "hint: give --queries"]);
    workspace.runs(&format!("{predict} b --ids map.json --queries queries.tsv"));
    assert_eq!(workspace.lines("b/prediction.json"), [r#"{"q1":["yi","jia"],"q2":["jia"]}"#]);
    workspace.write("few.tsv", "q1\t谁 来\n");
    workspace
        .toller(&format!("{predict} c --ids map.json --queries few.tsv"))
        .fails(1, &["the run has 1 query that is not given, for example \"何时\"", "hint: "]);
    workspace.write("qrels.txt", "q1 0 jia 1\nq2 0 yi 1\n");
    workspace.toller("eval --qrels qrels.txt res.top50").fails(
        1,
        &[
            "res.top50: its queries are texts",
            "toller data dureader predict res.top50 --queries QUESTIONS --ids MAP",
        ],
    );
    workspace.runs("eval --qrels qrels.txt b/prediction.json -m RR@10").prints(["0.2500"]);
}

#[test]
fn other_domains_and_natural_questions() {
    let workspace = Workspace::new();
    workspace.write("answer.csv", "ans_id,question_id,content\n1,9,\"rest, water\"\n2,9,tea\n");
    workspace.write("question.csv", "question_id,content\n9,what helps\n8,unused\n");
    workspace.write("candidates.txt", "question_id,ans_id,cnt,label\n9,1,1,1\n9,2,1,0\n");
    workspace.runs(
        "data dureader domain cmedqa --passages answer.csv --questions question.csv --candidates candidates.txt --output med",
    );
    assert_eq!(workspace.lines("med/corpus.jsonl")[0], r#"{"_id":"1","text":"rest, water"}"#);
    assert_eq!(workspace.lines("med/queries.tsv"), ["9\twhat helps"]);
    assert_eq!(workspace.lines("med/qrels.txt"), ["9 0 1 1"]);
    let domain =
        "data dureader domain cmedqa --questions question.csv --candidates candidates.txt --output other";
    workspace.write("twice.csv", "ans_id,content\n1,rest\n1,tea\n");
    workspace
        .toller(&format!("{domain} --passages twice.csv"))
        .fails(1, &["twice.csv, line 3: two passages have the identifier \"1\""]);
    workspace.write("questions.csv", "question_id,content\r\n9,what helps\r\n9,what else\r\n");
    workspace
        .toller("data dureader domain cmedqa --passages answer.csv --questions questions.csv --candidates candidates.txt --output other")
        .fails(1, &["questions.csv, line 3: two queries have the identifier \"9\""]);
    workspace.write("empty.csv", "ans_id,content\n");
    workspace.toller(&format!("{domain} --passages empty.csv")).fails(1, &["empty.csv: there is no record"]);
    workspace.write("few.csv", "ans_id,content\n2,tea\n");
    workspace
        .toller(&format!("{domain} --passages few.csv"))
        .fails(1, &["few.csv: the collection has no passage \"1\""]);
    workspace.write("context.csv", "docid\ttext\nd1\tnews\n");
    workspace.write("train.csv", "id\tdocid\tquestion\tanswer\nq1\td1\twhat\tnews\n");
    workspace
        .runs("data dureader domain covid-news --passages context.csv --questions train.csv --output covid");
    assert_eq!(workspace.lines("covid/qrels.txt"), ["q1 0 d1 1"]);

    let nq = "{\"example_id\": 1, \"question_text\": \"where was ann born\", \"document_text\": \"<P> Ann was born in Oslo . \
              She sings . </P>\", \"annotations\": [{\"short_answers\": [{\"start_token\": 5, \"end_token\": 6}], \
              \"long_answer\": {\"start_token\": 0, \"end_token\": 11}}]}\n";
    workspace.write("nq.jsonl", nq);
    let built = workspace.runs("data reqa nq.jsonl --natural-questions --output nq").stdout;
    assert!(built.contains("coverage mean percent"), "{built}");
    assert_eq!(workspace.lines("nq/qrels.txt"), ["1 0 s0 1"]);
    assert_eq!(workspace.lines("nq/corpus.jsonl").len(), 2);
}

#[test]
fn a_question_has_a_text() {
    let workspace = Workspace::new();
    workspace.write(
        "train.json",
        r#"{"question_id": 1, "question": "  ", "answers": ["tea"], "documents": [{"paragraphs": ["tea"]}]}"#,
    );
    workspace
        .toller("data dureader label train.json --output out")
        .fails(1, &["train.json, line 1: the query \"1\" has no text", "hint: give it a text"]);
    assert!(!workspace.path("out/queries.tsv").exists());
}

#[test]
fn files_of_another_kind_are_refused_in_plain_words() {
    let workspace = Workspace::new();
    workspace.write("numbers.jsonl", "1\n");
    let object = "numbers.jsonl, line 1: integer `1` where an object is expected";
    workspace
        .toller("data tydi --train numbers.jsonl --dev numbers.jsonl --output out")
        .fails(1, &[object, "hint: expected TyDi QA's primary task"]);
    workspace
        .toller("data paq numbers.jsonl --corpus numbers.jsonl --output out")
        .fails(1, &[object, "hint: expected PAQ's metadata"]);
    workspace.write("empty.json", "");
    workspace
        .toller("data reqa empty.json --output out")
        .fails(1, &["empty.json: there is no record", "hint: expected SQuAD JSON"]);
}

#[test]
fn hints_of_builders_name_flags_that_they_have() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\nbad\n");
    let built = workspace.toller("data beir corpus.jsonl --output built");
    built.fails(1, &["corpus.jsonl, line 2", "hint: correct the record, or fetch the file again"]);
    workspace.write("queries.tsv", "q\twhat\n");
    workspace.write("qrels.txt", "q 0 a 1\n");
    let write =
        "data dureader write --queries queries.tsv --qrels qrels.txt --corpus corpus.jsonl --output out";
    workspace.toller(write).fails(1, &["corpus.jsonl, line 2", "--skip-bad-lines"]);
    workspace.runs(&format!("{write} --skip-bad-lines")).says(["malformed record"]);
}

#[test]
fn facts_with_numbers_and_results_are_of_the_same_questions() {
    let workspace = Workspace::new();
    workspace.write("facts.jsonl", "{\"subject\": \"Ann\", \"relation\": \"P19\", \"object\": \"Oslo\"}\n");
    workspace.write("links.tsv", "Ann\t1\nAnn\t2\n");
    workspace
        .toller("data entityquestions buckets facts.jsonl --frequencies links.tsv --output buckets")
        .fails(1, &["links.tsv: there are two numbers of \"Ann\"", "write each subject once"]);
    workspace.write(
        "more.jsonl",
        "{\"subject\": \"Ann\", \"relation\": \"P19\", \"object\": \"Oslo\"}\n\
        {\"subject\": \"Bo Ek\", \"relation\": \"P36\", \"object\": \"Rome\"}\n",
    );
    workspace.write("links.tsv", "Bo_Ek\t5\n");
    let buckets = "data entityquestions buckets more.jsonl --frequencies links.tsv --output buckets";
    workspace
        .toller(buckets)
        .fails(1, &["links.tsv names no subject of the facts, such as \"Ann\"", "hint: write the subjects"]);
    workspace.write("links.tsv", "Bo Ek\t5\n");
    workspace.write("seen.txt", "Bo_Ek\n");
    let seen = format!("{buckets} --seen seen.txt");
    workspace.toller(&seen).fails(1, &["seen.txt names no subject of the facts"]);
    workspace.runs(buckets).says(["links.tsv: 1 of 2 subjects have no frequency and count as the rarest"]);
    workspace.write("questions.jsonl", "{\"_id\": \"q\", \"text\": \"where\", \"answers\": [\"Oslo\"]}\n");
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"Oslo\"}\n");
    let results = "data entityquestions results --queries questions.jsonl --corpus corpus.jsonl --output";
    workspace.write("other.run", "p Q0 a 1 1.0 x\n");
    workspace
        .toller(&format!("{results} other other.run"))
        .fails(1, &["other.run has no results for the questions; it has some for \"p\""]);
    workspace.write("same.run", "q Q0 a 1 1.0 x\n");
    workspace.runs(&format!("{results} same same.run"));
    workspace.write("questions.jsonl", "{\"_id\": \"q\", \"text\": \"where\"}\n");
    workspace
        .toller(&format!("{results} none same.run"))
        .fails(1, &["no question has answers", "give --queries a file with answers"]);
}

/// The official scripts count the first of the list: it has the order of `eval` and `accuracy`.
#[test]
fn tied_scores_have_one_order() {
    let workspace = Workspace::new();
    workspace.write("tied.run", "q Q0 a 1 2.0 x\nq Q0 b 2 2.0 x\nq Q0 c 3 3.0 x\n");
    workspace.write("qrels.txt", "q 0 b 1\n");
    workspace.runs("eval --qrels qrels.txt tied.run -m RR@10").prints(["0.5000"]);
    workspace.runs("data dureader predict tied.run --output predicted");
    assert_eq!(workspace.lines("predicted/prediction.json"), [r#"{"q":["c","b","a"]}"#]);
    workspace.write("q.jsonl", r#"{"_id": "q", "text": "where", "answers": ["Oslo"]}"#);
    let passage = |id: &str, text: &str| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
    workspace.write("c.jsonl", [passage("a", "Rome"), passage("b", "Oslo"), passage("c", "Bonn")].concat());
    let results = "data entityquestions results tied.run --queries q.jsonl --corpus c.jsonl --output results";
    let built = workspace.runs(&format!("{results} --depth 2 --json")).json();
    assert_eq!(built["statistics"]["results"]["accuracy_at_5"], 1.0);
}

#[test]
fn results_compare_words_or_characters() {
    let workspace = Workspace::new();
    workspace.write("c.jsonl", "{\"_id\": \"a\", \"text\": \"首都は東京です\"}\n");
    workspace.write("q.jsonl", "{\"_id\": \"q\", \"text\": \"首都\", \"answers\": [\"東京\"]}\n");
    workspace.write("x.run", "q Q0 a 1 1 x\n");
    let results = "data entityquestions results x.run --queries q.jsonl --corpus c.jsonl --json --output";
    let accuracy = |flags: &str| {
        workspace.runs(&format!("{results} {flags}")).json()["statistics"]["results"]["accuracy_at_1"].clone()
    };
    assert_eq!(accuracy("words"), 0.0);
    assert_eq!(accuracy("characters --matching substring"), 1.0);
    assert_eq!(accuracy("patterns --matching regex"), 1.0);
    workspace.runs(&format!("{results} again")).says(["--matching substring compares characters"]);
}

#[test]
fn limits_that_nothing_or_everything_passes_are_refused() {
    let workspace = Workspace::new();
    workspace.write("x.run", "q Q0 a 1 0.5 x\n");
    workspace.write("q.tsv", "other\twhat\n");
    let uncertain = "data t2ranking uncertain x.run --output out";
    for (command, says) in [
        ("data t2ranking deduplicate x.run --passage-vectors s --distance nan --output out", "a number"),
        (&format!("{uncertain} --low nan --high 1"), "a number"),
        (&format!("{uncertain} --low 0 --high inf"), "a number"),
        (&format!("{uncertain} --low 0.9 --high 0.1"), "no score is from 0.9 (--low) to 0.1 (--high)"),
        ("data dureader similar x.run --queries q.tsv --threshold nan --output out", "a number"),
    ] {
        workspace.toller(command).fails(2, &[says]);
    }
    workspace
        .toller("data dureader similar x.run --queries q.tsv --output out")
        .fails(1, &["no document of x.run is a query of --queries", "hint: give --queries the training"]);
    assert!(!workspace.path("out").exists());
}

#[test]
fn questions_of_squad_keep_their_answers() {
    let workspace = Workspace::new();
    let answer = |text: &str| serde_json::json!({"answer_start": 0, "text": text});
    let paragraph = serde_json::json!({"context": "Oslo is north.", "qas": [
        {"id": "q1", "question": "Where?", "answers": [answer("Oslo"), answer("Oslo"), answer("north")]},
        {"id": "q2", "question": "Who?", "answers": [], "is_impossible": true},
    ]});
    let squad = serde_json::json!({"data": [{"title": "T", "paragraphs": [paragraph]}]});
    workspace.write("squad.json", squad.to_string());
    workspace
        .runs("data squad squad.json --output built")
        .says(["1 question marked impossible or without an answer, judged as the others"]);
    assert_eq!(
        workspace.lines("built/queries.jsonl"),
        [r#"{"_id":"q1","text":"Where?","answers":["Oslo","north"]}"#, r#"{"_id":"q2","text":"Who?"}"#]
    );
    workspace.write("x.run", "q1 Q0 p0 1 9 x\n");
    let accuracy = "accuracy x.run --queries built/queries.jsonl --corpus built/corpus.jsonl";
    workspace.runs(&format!("{accuracy} -m Success@1")).prints(["0.5000"]);
}

#[test]
fn rows_of_squad_and_answers_that_are_misplaced() {
    let workspace = Workspace::new();
    let row = |id: &str, context: &str, start: i64| {
        let answers = serde_json::json!({"text": ["Oslo"], "answer_start": [start]});
        serde_json::json!({"id": id, "title": "T", "context": context, "question": "Where?", "answers": answers})
    };
    std::fs::create_dir(workspace.path("hf")).unwrap();
    let rows = [row("a", "In Oslo. In Oslo.", 3), row("b", "É: Oslo.", 3), row("c", "In Oslo. In Oslo.", 4)];
    workspace.write("hf/validation.jsonl", rows.map(|row| format!("{row}\n")).concat());
    workspace.runs("data squad hf --output paragraphs");
    assert_eq!(workspace.lines("paragraphs/qrels.txt"), ["a 0 p0 1", "c 0 p0 1", "b 0 p1 1"]);
    let reqa = "data reqa hf --sentences english --unique-questions";
    let said = "1 of 3 answers do not begin at their answer_start, for example \"Oslo\" of question 'c'";
    workspace.runs(&format!("{reqa} --output sentences")).says([said]);
    assert_eq!(workspace.lines("sentences/corpus.jsonl").len(), 3);
    workspace.runs(&format!("{reqa} --unique-sentences --output unique"));
    assert_eq!(workspace.lines("unique/corpus.jsonl").len(), 2);
    workspace.write("bytes.jsonl", row("a", "É: Oslo.", 4).to_string());
    workspace
        .toller("data reqa bytes.jsonl --sentences english --output bytes")
        .fails(1, &["1 of 1 answers do not begin", "hint: answer_start counts characters"]);
}

#[test]
fn what_does_not_fit_a_collection_is_reported() {
    let workspace = Workspace::new();
    workspace.write("c.jsonl", "{\"_id\": \"a\", \"text\": \"dog\"}\n");
    workspace.write("q.tsv", "q1\twhat\n");
    workspace.write("qrels.txt", "q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n");
    let stats = "data stats --corpus c.jsonl --queries q.tsv --qrels";
    workspace.runs(&format!("{stats} qrels.txt")).says([
        "the collection does not have 1 judged document, for example \"b\"",
        "1 of 2 judged queries are not among --queries",
    ]);
    workspace.write("fitting.txt", "q1 0 a 1\n");
    let fitting = workspace.runs(&format!("{stats} fitting.txt"));
    assert!(!fitting.stderr.contains("warning"), "{}", fitting.stderr);
    workspace.write("facts.jsonl", "{\"subject\": \"Ann\", \"relation\": \"P19\", \"object\": \"Oslo\"}\n");
    workspace
        .runs("data entityquestions questions facts.jsonl --train 1 --output questions")
        .says(["no fact is left for P19 train: --test takes its facts first"]);
    assert!(!workspace.path("questions/P19.train.json").exists());
    let fact =
        |at: u32| format!("{{\"subject\": \"n{at}\", \"relation\": \"P19\", \"object\": \"o{at}\"}}\n");
    workspace.write("facts.jsonl", (0..5).map(fact).collect::<String>());
    workspace
        .runs("data entityquestions questions facts.jsonl --test 1 --train 8000 --dev 1000 --output few")
        .says(["no fact is left for P19 dev: of the few facts, --train takes the larger share"]);
    assert!(workspace.path("few/P19.train.json").exists());
    workspace
        .write("others.jsonl", "{\"subject\": \"Ann\", \"relation\": \"P9999\", \"object\": \"Oslo\"}\n");
    workspace
        .toller("data entityquestions questions others.jsonl --output none")
        .fails(1, &["others.jsonl has no fact of the benchmark's 24 relations", "hint: "]);
    assert!(!workspace.path("none").exists());
}
