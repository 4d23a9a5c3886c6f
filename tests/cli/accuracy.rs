//! `toller accuracy`: from questions with answers and a collection to top-k accuracy.

use serde_json::json;

use crate::support::Workspace;

/// Two relations, as EntityQuestions writes them, and a collection as DPR does.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("questions")).unwrap();
    let capitals = json!([
        {"question": "What is the capital of Brazil?", "answers": ["Bras\u{ed}lia"]},
        {"question": "What is the capital of Iceland?", "answers": ["REYKJAVI\u{301}K", "Reykjavik city"]},
        {"question": "What is the capital of Chad?", "answers": ["N'Djamena"]},
    ]);
    let births = json!([{"question": "Where was Ada Lovelace born?", "answers": ["London", "U.K."]}]);
    workspace.write("questions/P36.test.json", capitals.to_string());
    workspace.write("questions/P19.test.json", births.to_string());
    workspace.write(
        "passages.tsv",
        "id\ttext\ttitle\n\
         1\tThe capital of Brazil was Rio. Now the capital of Brazil is another.\tBras\u{ed}lia\n\
         2\tBRASI\u{301}LIA is in Brazil.\tBrazil\n\
         3\tReykjav\u{ed}kings say: the capital of Iceland, the capital.\tIceland\n\
         4\tIceland: reykjav\u{ed}k, of course.\tIceland\n\
         5\tThe capital of Chad is N'Djamena.\tChad\n\
         6\tLovelace, Ada: born in (London).\tAda Lovelace\n",
    );
    workspace
}

const ACCURACY: &str = "accuracy found.run --queries questions --corpus passages.tsv";

#[test]
fn entity_questions_end_to_end() {
    let workspace = workspace();
    workspace.runs("index --corpus passages.tsv --language en --output index --quiet");
    workspace.runs("search --sparse index --queries questions --k 10 --output found.run --quiet");
    let found =
        workspace.runs(&format!("{ACCURACY} --group-by-file --measures Success@1,Success@2 --format csv"));
    // By tokens, a title is not a text, and "Reykjavíkings" no answer: P36-0 and P36-1 are found in second
    // place.
    assert_eq!(
        found.stdout,
        "run,group,query,Success@1,Success@2\n\
         found.run,P19,all,1,1\n\
         found.run,P36,all,0.3333333333333333,1\n\
         found.run,macro,all,0.6666666666666666,1\n\
         found.run,all,all,0.5,1\n"
    );
}

/// Identifiers that questions bring say nothing about files.
#[test]
fn questions_with_identifiers_belong_to_their_files() {
    let workspace = workspace();
    let question =
        |id: &str, answer: &str| json!({"id": id, "question": "?", "answers": [answer]}).to_string();
    std::fs::create_dir(workspace.path("own")).unwrap();
    workspace.write("own/P1.jsonl", format!("{}\n{}\n", question("x-1", "Rio"), question("y-1", "Rio")));
    workspace.write("own/P2.test.jsonl", format!("{}\n{}\n", question("x-2", "Bonn"), question("y", "Bonn")));
    workspace.write("found.run", ["x-1", "x-2", "y-1", "y"].map(|id| format!("{id} Q0 1 1 2 t\n")).concat());
    let by_file =
        "accuracy found.run --corpus passages.tsv --group-by-file -m Success@1 --format csv --queries";
    let found = workspace.runs(&format!("{by_file} own"));
    assert_eq!(
        found.stdout,
        "run,group,query,Success@1\n\
         found.run,P1,all,1\n\
         found.run,P2,all,0\n\
         found.run,macro,all,0.5\n\
         found.run,all,all,0.5\n"
    );
    workspace.write("own/P2.dev.jsonl", question("z", "Bonn"));
    workspace.runs(&format!("{by_file} own")).prints(["found.run,P2.dev,all,0", "found.run,P2.test,all,0"]);
    std::fs::create_dir(workspace.path("more")).unwrap();
    workspace.write("more/P1.jsonl", question("w", "Bonn"));
    let said = ["two files of questions are called 'P1'", "hint: give them names that differ"];
    workspace.toller(&format!("{by_file} own more")).fails(1, &said);
}

#[test]
fn a_folder_of_questions_is_the_same_in_every_command() {
    let workspace = workspace();
    workspace.runs("index --corpus passages.tsv --language en --output index --quiet");
    workspace.write("judged.txt", "P19-0 0 6 1\nP36-2 0 5 1\n");
    let both = "questions/P19.test.json questions/P36.test.json";
    for queries in ["questions", both] {
        let tune = "tune bm25 --sparse index --qrels judged.txt -m RR@10 --k1 0.9 --b 0.4 --format csv";
        let tuned = workspace.runs(&format!("{tune} --queries {queries}"));
        assert!(!tuned.stderr.contains("count as zero"), "{}", tuned.stderr);
        let stats = workspace.runs(&format!("data stats --queries {queries} --json"));
        assert_eq!(stats.json()["statistics"]["characters of a query"]["count"], 4);
    }
    workspace.write("similar.run", "test Q0 P36-2 1 0.9 x\n");
    workspace.runs("data dureader similar similar.run --queries questions --output left");
    assert_eq!(workspace.lines("left/removed.tsv"), ["P36-2\tWhat is the capital of Chad?"]);
    let diff = "diff found.run other.run --qrels judged.txt -m RR --corpus passages.tsv --show all";
    workspace.write("found.run", "P19-0 Q0 6 1 2 x\nP36-2 Q0 1 1 2 x\n");
    workspace.write("other.run", "P19-0 Q0 1 1 2 x\nP36-2 Q0 5 1 2 x\n");
    let twice = both.replace(' ', " --queries ");
    let shown = workspace.runs(&format!("{diff} --queries {twice}"));
    shown.prints(["What is the capital of Chad?", "Where was Ada Lovelace born?"]);
    workspace.toller("eval --qrels questions found.run").fails(1, &["questions", "name a file in it"]);
    workspace.toller("eval --qrels judged.txt questions").fails(1, &["questions", "name a file in it"]);
}

#[test]
fn a_file_cannot_be_called_as_the_row_of_the_mean() {
    let workspace = workspace();
    std::fs::rename(workspace.path("questions/P19.test.json"), workspace.path("questions/macro.json"))
        .unwrap();
    workspace.write("found.run", "macro-0 Q0 6 1 2 x\n");
    workspace
        .toller(&format!("{ACCURACY} --group-by-file"))
        .fails(1, &["a group is called 'macro'", "hint: give the group another name"]);
}

/// Positives and negatives for DPR, from only the answers.
#[test]
fn answers_judge_what_was_retrieved() {
    let workspace = workspace();
    let line = |(query, doc, rank): (&str, u32, u32)| format!("{query} Q0 {doc} {rank} {} t\n", 100 - rank);
    let found =
        [("P36-0", 1, 1), ("P36-0", 2, 2), ("P36-1", 3, 1), ("P36-1", 9, 2), ("P36-2", 1, 1), ("none", 1, 1)];
    workspace.write("a.run", found.map(line).concat());
    workspace.write("b.run", [("P36-0", 5, 1), ("P36-1", 4, 1), ("P36-2", 5, 2)].map(line).concat());
    let judge = "qrels answers a.run b.run --queries questions --corpus passages.tsv";
    let judged = workspace.runs(&format!("{judge} --output qrels --json"));
    judged.says(["1 of 6 retrieved passages are not in the collection", "3 of 8 passages with an answer"]);
    let counts = judged.json();
    for (name, count) in [("questions", 4), ("answered", 3), ("pairs", 8), ("relevant", 3)] {
        assert_eq!(counts[name], count, "{name}");
    }
    let expected =
        "P36-0 0 1 0|P36-0 0 5 0|P36-0 0 2 1|P36-1 0 3 0|P36-1 0 4 1|P36-1 0 9 0|P36-2 0 1 0|P36-2 0 5 1";
    assert_eq!(workspace.lines("qrels").join("|"), expected);
    let mined =
        workspace.runs("mine --run a.run b.run --qrels qrels --choose top --format pairs --output - -q");
    assert_eq!(mined.stdout, "P36-0\t1\nP36-0\t5\nP36-1\t3\nP36-1\t9\nP36-2\t1\n");
    let first = workspace.runs(&format!("{judge} --depth 1 --output - -q"));
    assert_eq!(first.stdout.lines().count(), 6);
    let without = "qrels answers a.run --corpus passages.tsv --output new --queries";
    workspace.write("unanswered.tsv", "P36-0\twhat?\n");
    workspace.toller(&format!("{without} unanswered.tsv")).fails(1, &["no question has answers"]);
    workspace.toller(&format!("{without} questions --depth 0")).fails(2, &["--depth"]);
    assert!(!workspace.path("new").exists());
}

#[test]
fn ways_to_look_for_answers() {
    let workspace = workspace();
    let lines = ["P36-0 Q0 1 1 3", "P36-0 Q0 2 2 2", "P36-1 Q0 3 1 3", "P36-1 Q0 4 2 2", "P19-0 Q0 6 1 3"];
    workspace.write("found.run", lines.map(|line| format!("{line} t\n")).concat());
    let mean = |flags: &str| {
        workspace.runs(&format!("{ACCURACY} --measures RR {flags} --json")).json()["runs"][0]["aggregates"]["RR"].clone()
    };
    // P36-2 has no results and counts.
    assert_eq!(mean(""), json!((0.5 + 0.5 + 0.0 + 1.0) / 4.0));
    // As a pattern, the answer is found within a word.
    assert_eq!(mean("--matching regex"), json!((0.5 + 1.0 + 0.0 + 1.0) / 4.0));

    // As in Python, a backslash makes any sign itself; what is not a pattern is reported.
    workspace.write("trec.jsonl", r#"{"id": "P36-0", "question": "?", "answers": ["rio|\\– z", "(rio"]}"#);
    let by_pattern =
        format!("{ACCURACY} --matching regex --measures RR --json").replace("questions", "trec.jsonl");
    let found = workspace.runs(&by_pattern);
    found.says([r#"1 of 2 answers are not regular expressions and never match, such as "(rio""#]);
    assert_eq!(found.json()["runs"][0]["aggregates"]["RR"], 1.0);

    let found = workspace.runs(ACCURACY);
    assert!(
        found.stderr.contains("1 of 4 questions have no results and count as not answered"),
        "{}",
        found.stderr
    );
    assert_eq!(workspace.runs(&format!("{ACCURACY} --json")).json()["runs"][0]["missing_queries"], 1);
    workspace.write("found.run", "P36-0 Q0 1 1 3 t\nP36-1 Q0 99 1 3 t\n");
    let found = workspace.runs(ACCURACY);
    assert!(found.stderr.contains("1 of 2 retrieved passages are not in the collection"), "{}", found.stderr);
}

/// Of several files of questions, results are files of their own, which are measured as the run was.
#[test]
fn results_in_dprs_form_are_read_back() {
    let workspace = workspace();
    let lines = ["P36-0 Q0 1 1 3", "P36-0 Q0 2 2 2", "P36-1 Q0 3 1 3", "P36-1 Q0 4 2 2", "P19-0 Q0 6 1 3"];
    workspace.write("found.run", lines.map(|line| format!("{line} t\n")).concat());
    let texts = "--queries questions --corpus passages.tsv";
    let built = workspace.runs(&format!("data entityquestions results found.run {texts} --output results"));
    assert!(built.stderr.contains("results: P19.results.json, P36.results.json"), "{}", built.stderr);
    let by_file = "--group-by-file -m Success@1,Success@2 --format csv";
    let measured = |arguments: &str| workspace.runs(&format!("accuracy {arguments} {by_file}")).stdout;
    let expected = measured(&format!("found.run {texts}"));
    assert!(expected.contains("found.run,macro,all,0.5,0.8333"), "{expected}");
    let expected = expected.replace("found.run", "results");
    assert_eq!(measured(&format!("results {texts}")), expected);
    // The texts are in the results.
    assert_eq!(measured("results"), expected);
    workspace
        .runs("accuracy results results/P19.results.json")
        .says(["its questions are not those of results"]);
    workspace.runs("accuracy results/P36.results.json -m RR@1 --matching regex").prints(["0.3333"]);
    workspace
        .toller("accuracy results/P36.results.json --group-by-file")
        .fails(2, &["several files of questions"]);
    let one =
        "data entityquestions results found.run --queries questions/P36.test.json --corpus passages.tsv";
    workspace.write("found.run", "0 Q0 2 1 3 t\n");
    workspace.runs(&format!("{one} --output one"));
    assert_eq!(workspace.files_in("one").len(), 1);
    workspace.runs("accuracy one/results.json -m Success@1").prints(["0.3333"]);
}

/// The published flags of answers do not count.
#[test]
fn published_results_need_no_collection() {
    let workspace = workspace();
    let context = |id: &str, text: &str, has_answer: bool| json!({"id": id, "title": "Oslo", "text": text, "score": "1", "has_answer": has_answer});
    let result = json!([
        {"question": "Where?", "answers": ["Oslo"], "ctxs": [context("wiki:1", "Rome", true), context("wiki:4", "OSLO", false)]},
        {"question": "Who?", "answers": ["Ann"], "ctxs": []},
    ]);
    workspace.write("dpr.json", result.to_string());
    let found = workspace.runs("accuracy dpr.json -m Success@1,Success@2 --format csv");
    assert_eq!(found.stdout, "run,query,Success@1,Success@2\ndpr.json,all,0,0.5\n");
    // The collection has the numbers of the same passages.
    workspace.write(
        "q.jsonl",
        json!({"id": "0", "question": "Where?", "answers": ["reykjav\u{ed}k"]}).to_string(),
    );
    workspace.runs("accuracy dpr.json --queries q.jsonl --corpus passages.tsv -m RR").prints(["0.5000"]);
    workspace.write("x.run", "0 Q0 1 1 3 t\n");
    workspace
        .toller("accuracy x.run")
        .fails(1, &["x.run: of all runs, only DPR's JSON", "hint: give --queries and --corpus"]);
    workspace.toller("accuracy dpr.json --queries q.jsonl").fails(2, &["--corpus"]);
    workspace.toller("accuracy dpr.json --corpus passages.tsv").fails(2, &["--queries"]);
    workspace.toller("accuracy dpr.json --corpus-format dpr").fails(2, &["--corpus"]);
    workspace.toller("qrels answers dpr.json --output qrels.txt").fails(2, &["--queries", "--corpus"]);
}

#[test]
fn wrong_usage() {
    let workspace = workspace();
    workspace.write("found.run", "0 Q0 1 1 3 t\n");
    workspace.toller(ACCURACY).fails(1, &["has no results for the questions; it has some for \"0\""]);
    let one = ACCURACY.replace("questions", "questions/P36.test.json");
    workspace.toller(&format!("{one} --group-by-file")).fails(2, &["several files of questions"]);
    workspace.runs(&format!("{one} --measures Success@1"));
    workspace.toller(&format!("{one} --measures nDCG@10")).fails(2, &["nDCG@10 does not depend on the rank"]);
    workspace.write("plain.tsv", "0\twhere?\n");
    let plain = ACCURACY.replace("questions", "plain.tsv");
    workspace.toller(&plain).fails(1, &["no question has answers"]);
}

#[test]
fn another_collection_is_an_error() {
    let workspace = workspace();
    workspace.write("found.run", "P36-0 Q0 1 1 9 t\nP36-1 Q0 4 1 9 t\n");
    workspace.write("passages.tsv", "id\ttext\ttitle\nx\tReykjavik\t\n");
    let said = [
        "none of the 2 retrieved passages is in the collection",
        "hint: give --corpus the collection that was searched",
    ];
    workspace.toller(ACCURACY).fails(1, &said);
    let judged = ACCURACY.replace("accuracy", "qrels answers");
    workspace.toller(&format!("{judged} --output qrels.txt")).fails(1, &said);
    assert!(!workspace.has_trace_of("qrels.txt"));
}

#[test]
fn answers_that_are_not_words_are_noted() {
    let workspace = Workspace::new();
    workspace.write("passages.tsv", "1\t夏季オリンピックが東京で開催された。\n2\tIn 1964.\n");
    workspace.write("found.run", "q Q0 1 1 2 t\n");
    let question = |answers: &[&str]| {
        workspace.write("q.jsonl", json!({"id": "q", "question": "?", "answers": answers}).to_string());
    };
    let accuracy = "accuracy found.run --queries q.jsonl --corpus passages.tsv -m Success@1";
    question(&["東京"]);
    let words = workspace.runs(accuracy);
    words.says(["1 of 1 answers are in a script without spaces", "--matching substring"]).prints(["0.0000"]);
    let characters = workspace.runs(&format!("{accuracy} --matching substring"));
    assert!(!characters.stderr.contains("warning"), "{}", characters.stderr);
    characters.prints(["1.0000"]);
    question(&["19(64|65)"]);
    workspace.runs(accuracy).says(["1 of 1 answers look like regular expressions", "--matching regex"]);
    question(&["\u{200b}", "Osaka"]);
    workspace
        .runs(&format!("{accuracy} --matching substring"))
        .says(["1 of 2 answers match the empty text, and so every passage"])
        .prints(["1.0000"]);
}
