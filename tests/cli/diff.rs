//! `toller diff`: queries by loss, in every format, and the tally of what was filled in.

use serde_json::json;

use crate::support::{Workspace, assert_has};

const QRELS: &str = "q1 0 a 2\nq1 0 b 0\nq2 0 a 1\nq3 0 a 1\nq4 0 a 1\n";
const BEFORE: &str =
    "q1 Q0 a 1 9 f\nq1 Q0 b 2 8 f\nq2 Q0 x 1 9 f\nq2 Q0 a 2 8 f\nq3 Q0 a 1 1 f\nq4 Q0 x 1 1 f\n";
const AFTER: &str = "q1 Q0 x 1 9 r\nq1 Q0 b 2 8 r\nq2 Q0 b 1 9 r\nq2 Q0 x 2 8 r\nq2 Q0 a 3 7 r\nq3 Q0 a 1 1 r\nq4 Q0 a 1 1 r\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", QRELS);
    workspace.write("before.run", BEFORE);
    workspace.write("after.run", AFTER);
    workspace.write("queries.tsv", "q1\twho <b>said</b> \"it\"?\nq2\t=SUM(1)\nq3\tthree\nq4\tfour\n");
    let long = "word ".repeat(200);
    workspace.write(
        "corpus.jsonl",
        format!(
            "{{\"_id\": \"a\", \"title\": \"A & <i>\", \"text\": \"</script><script>alert(1)</script>\"}}\n\
             {{\"_id\": \"b\", \"text\": \"{long}\"}}\n{{\"_id\": \"x\", \"text\": \"ex\\u001b[31m\"}}\n"
        ),
    );
    workspace
}

const DIFF: &str =
    "diff before.run after.run --qrels qrels.txt -m RR --queries queries.tsv --corpus corpus.jsonl";

#[test]
fn losses_come_first() {
    let workspace = workspace();
    let report = workspace.runs(&format!("{DIFF} --json")).json();
    let ids = |report: &serde_json::Value| {
        let shown = report["shown"].as_array().unwrap();
        shown.iter().map(|query| query["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&report), ["q1", "q2"]);
    assert_has(&report, json!({"queries": 4, "lost": 2, "gained": 1}));
    let first = &report["shown"][0];
    assert_eq!((&first["gain"], &first["relevant"][0]["ranks"][0]), (&(-1.0).into(), &1.into()));
    assert!(first["relevant"][0]["ranks"][1].is_null());
    let ranking = &first["rankings"][1];
    assert_has(&ranking[1], json!({"id": "b", "grade": 0, "other_rank": 2}));
    assert!(ranking[0]["grade"].is_null(), "unjudged");
    assert_eq!(ranking[0]["passage"]["text"], "ex\u{1b}[31m");
    let gains = workspace.runs(&format!("{DIFF} --show gains --json")).json();
    assert_eq!(ids(&gains), ["q4"]);
    let all = workspace.runs(&format!("{DIFF} --show all --limit 3 --json")).json();
    assert_eq!(ids(&all), ["q1", "q2", "q3"]);

    let text = workspace.runs(DIFF).stdout;
    for words in
        ["RR: before.run 0.6250, after.run 0.5833 over 4 queries", "1.0000 -> 0.0000 (-1.0000)", "unjudged"]
    {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "control characters reach the terminal");
}

#[test]
fn the_page_is_whole_and_harmless() {
    let workspace = workspace();
    workspace.runs(&format!("{DIFF} --format html --output page.html"));
    let page = String::from_utf8(workspace.read("page.html")).unwrap();
    assert_eq!(page.matches("<article ").count(), 2);
    assert_eq!(page.matches("<script>").count(), 1, "only its own");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)") && page.contains("A &amp; &lt;i&gt;"));
    assert!(page.contains("who &lt;b&gt;said&lt;/b&gt; &quot;it&quot;?") && !page.contains('\u{1b}'));
    assert!(page.contains("<details><summary"), "the long passage is folded");
    for outside in ["http:", "https:", " src=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn what_is_filled_in_is_counted() {
    let workspace = workspace();
    workspace.runs(&format!("{DIFF} --format csv --output sheet.csv"));
    let lines = workspace.lines("sheet.csv");
    assert!(lines[0].starts_with("query_id,query,RR of before.run,RR of after.run,gain,"), "{}", lines[0]);
    assert!(lines[2].starts_with("q2,'=SUM(1),0.5,0.3333333333333333,"), "a formula is a text: {}", lines[2]);
    let filled = lines.iter().map(|line| match line.get(..3) {
        Some("q1,") => line.replace(",,", ",entity mismatch; false negative,"),
        Some("q2,") => line.replace(",,", ",false negative,"),
        _ => line.clone(),
    });
    workspace.write("filled.csv", filled.collect::<Vec<_>>().join("\n") + "\n");
    let tally = workspace.runs("diff --tally filled.csv --json").json();
    assert_has(&tally, json!({"queries": 2, "with_category": 2}));
    let first = &tally["categories"][0];
    assert_has(first, json!({"category": "false negative", "queries": 2, "share": 1.0}));
    let mean = first["mean_gain"].as_f64().unwrap();
    assert!((mean - (-1.0 - 1.0 / 6.0) / 2.0).abs() < 1e-12, "{mean}");
    let table = workspace.runs("diff --tally filled.csv").stdout;
    assert!(table.contains("entity mismatch        1   50.0 %    -1.0000"), "{table}");

    // As the page saves it.
    workspace
        .write("page.csv", "\u{feff}query_id,query,gain,category,note\r\nq1,\"a, \"\"b\"\"\",-1,other,\r\n");
    let tally = workspace.runs("diff --tally page.csv --json").json();
    assert_eq!(tally["categories"][0]["category"], "other");
}

#[test]
fn failures_of_one_run() {
    let workspace = workspace();
    let failures =
        "diff after.run --qrels qrels.txt --queries queries.tsv --corpus corpus.jsonl --failed-at 2";
    let report = workspace.toller(&format!("{failures} --json")).succeeds().json();
    assert_eq!((&report["queries"], &report["failed"]), (&4.into(), &2.into()));
    let shown = &report["shown"];
    assert_eq!((&shown[0]["id"], &shown[1]["id"]), (&"q1".into(), &"q2".into()));
    assert!(shown[0]["relevant"][0]["rank"].is_null());
    assert_eq!((&shown[1]["relevant"][0]["rank"], &shown[1]["documents"][1]["id"]), (&3.into(), &"x".into()));
    let sampled = workspace.toller(&format!("{failures} --sample 1 --json")).succeeds().json();
    assert_eq!((&sampled["failed"], sampled["shown"].as_array().unwrap().len()), (&2.into(), 1));
    let text = workspace.toller(failures).succeeds().stdout;
    assert!(text.contains("after.run: 2 of 4 queries have no relevant document among the first 2"), "{text}");

    // A row for each of the pairs, and the tally of what was filled in: rows have no gain.
    workspace.toller(&format!("{failures} --per-pair --format csv --output pairs.csv")).succeeds();
    let lines = workspace.lines("pairs.csv");
    assert_eq!(lines.len(), 1 + 4);
    assert!(lines[3].starts_with("q2,'=SUM(1),1,b,"), "{}", lines[3]);
    let filled: Vec<String> = lines
        .iter()
        .map(|line| line.strip_suffix(",,").map_or(line.clone(), |line| format!("{line},other,")))
        .collect();
    workspace.write("filled.csv", filled.join("\n") + "\n");
    let tally = workspace.toller("diff --tally filled.csv --json").succeeds().json();
    let other = &tally["categories"][0];
    assert_eq!((&tally["rows"], &other["rows"]), (&4.into(), &4.into()));
    assert!(other["mean_gain"].is_null());

    for (flags, articles) in [("", 2), ("--per-pair", 4)] {
        workspace.toller(&format!("{failures} {flags} --format html --output page.html")).succeeds();
        let page = String::from_utf8(workspace.read("page.html")).unwrap();
        assert_eq!(page.matches("<article ").count(), articles);
        assert!(!page.contains("<script>alert"));
    }
}

#[test]
fn what_is_wrong_is_reported() {
    let workspace = workspace();
    workspace.toller("diff before.run after.run").fails(2, &["--qrels"]);
    workspace.toller("diff before.run --qrels qrels.txt").fails(2, &["a comparison needs two runs"]);
    let per_pair = "diff before.run --qrels qrels.txt --failed-at 5 --per-pair";
    workspace.toller(per_pair).fails(2, &["--per-pair is for sheets and pages", "add --format csv or html"]);
    workspace.toller("diff before.run after.run --qrels qrels.txt --failed-at 5").fails(2, &["name one run"]);
    workspace.toller("diff before.run --qrels qrels.txt --sample 5").fails(2, &["--failed-at"]);
    workspace.toller("diff before.run after.run --qrels qrels.txt -m nDCD").fails(2, &["nDCD"]);
    let format = "diff before.run after.run --qrels qrels.txt --format html --output";
    for input in ["before.run", "qrels.txt"] {
        let said = format!("would overwrite the input {input}");
        workspace.toller(&format!("{format} {input}")).fails(2, &[&said]);
        workspace
            .toller(&format!("diff before.run after.run --qrels qrels.txt --output {input}"))
            .fails(2, &[&said]);
    }
    workspace.write("keys", "read secret");
    workspace
        .toller(&format!("{format} keys"))
        .fails(2, &["keys is there already, and it is not a page that toller wrote"]);
    assert_eq!(workspace.read("keys"), b"read secret");
    workspace.write("none.csv", "a,b\n1,2\n");
    workspace.toller("diff --tally none.csv").fails(1, &["none.csv: there is no column \"category\""]);
    workspace.write("bad.csv", "gain,category\nlots,x\n");
    workspace
        .toller("diff --tally bad.csv")
        .fails(1, &["bad.csv, line 2: the gain \"lots\" is not a number"]);
    // The folder of the output is looked for before the work.
    for command in ["before.run after.run", "before.run --failed-at 1"] {
        let command = format!("diff {command} --qrels none.txt --format html --output none/page.html");
        workspace.toller(&command).fails(1, &["cannot create none/page.html"]);
    }
    workspace.write("other.run", "q9 Q0 a 1 1 o\n");
    for runs in ["before.run other.run", "other.run before.run", "other.run --failed-at 1"] {
        let unjudged = workspace.toller(&format!("diff {runs} --qrels qrels.txt"));
        unjudged.fails(1, &["cannot evaluate other.run: no query of the run is judged", "hint: "]);
    }
    workspace.write("few.jsonl", "{\"_id\": \"a\", \"text\": \"t\"}\n");
    workspace
        .runs("diff before.run after.run --qrels qrels.txt --corpus few.jsonl")
        .says(["2 of 3 documents are not in the collection, for example \"b\""]);
}
