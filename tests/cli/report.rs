//! `toller report`: the page and its data, and what is hostile in them.

use crate::support::Workspace;

/// Five queries on which run b is better than run a, the run without results for the last query.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let (mut qrels, mut a, mut b, mut queries) = (String::new(), String::new(), String::new(), String::new());
    for query in 1..=5 {
        qrels += &format!("q{query} 0 good{query} 1\nq{query} 0 bad 0\n");
        queries += &format!("q{query}\twhat is number {query}?\n");
        a += &format!("q{query} Q0 bad 1 {} a\nq{query} Q0 good{query} 2 1 a\n", 2 + query);
        if query < 5 {
            b += &format!("q{query} Q0 good{query} 1 9 b\nq{query} Q0 bad 2 8 b\n");
        }
    }
    workspace.write("qrels.txt", qrels);
    workspace.write("queries.tsv", queries);
    workspace.write("a.run", a);
    workspace.write("b.run", b);
    workspace
}

const REPORT: &str =
    "report a.run b.run --qrels qrels.txt --queries queries.tsv -m RR,AP,P@1 --output page.html";

#[test]
fn the_page_and_its_data() {
    let workspace = workspace();
    let done = workspace.toller(&format!("{REPORT} --data numbers")).succeeds();
    assert!(
        done.stderr.contains("b.run: 1 of 5 judged queries have no results and count as zero"),
        "{}",
        done.stderr
    );
    let page = String::from_utf8(workspace.read("page.html")).unwrap();
    for outside in ["http:", "https:", " src=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script>").count(), 1, "only its own");
    for section in [
        "measures", "significance", "depth", "ranks", "relative", "precision-recall", "differences",
        "difficulty", "queries", "method",
    ] {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    assert!(page.contains("what is number 5?"));

    let report: serde_json::Value = serde_json::from_slice(&workspace.read("numbers/report.json")).unwrap();
    assert_eq!((&report["runs"][1]["letter"], &report["runs"][1]["missing"]), (&"B".into(), &1.into()));
    assert_eq!(report["runs"][1]["estimates"][0]["value"], 0.8);
    assert_eq!(report["values"][0][0].as_array().unwrap().len(), 5);
    assert_eq!(report["pairs"][0]["pairs"][0]["wins"], 4);
    assert_eq!(report["ranks"]["not_found"], serde_json::json!([0, 1]));
    // The same numbers as the command that measures.
    let eval = workspace.toller("eval a.run b.run --qrels qrels.txt -m RR,AP,P@1 --json").succeeds().json();
    for run in 0..2 {
        for (at, measure) in ["RR", "AP", "P@1"].into_iter().enumerate() {
            let own = &report["runs"][run]["estimates"][at]["value"];
            assert_eq!(own, &eval["runs"][run]["aggregates"][measure], "{measure}");
        }
    }
    let measures = workspace.lines("numbers/measures.csv");
    assert_eq!(measures[0], "run,file,measure,value,low,high");
    assert!(measures[4].starts_with("b,b.run,RR,0.8,"), "{}", measures[4]);
    assert_eq!(workspace.lines("numbers/queries.csv").len(), 1 + 5 * 2);
    assert_eq!(workspace.lines("numbers/pairs.csv").len(), 1 + 3);

    // The same input gives the same bytes.
    let before = workspace.read("page.html");
    workspace.toller(REPORT).succeeds();
    assert_eq!(before, workspace.read("page.html"));
}

#[test]
fn the_baseline_and_groups() {
    let workspace = workspace();
    workspace.write("groups.tsv", "q1\tfirst\nq2\tfirst\nq3\tsecond group\n");
    workspace.toller(&format!("{REPORT} --baseline b.run --groups groups.tsv --data numbers")).succeeds();
    let report: serde_json::Value = serde_json::from_slice(&workspace.read("numbers/report.json")).unwrap();
    let names = report["runs"].as_array().unwrap().iter().map(|run| run["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names, ["b", "a"], "the baseline comes first, and once");
    workspace.toller(&format!("{REPORT} --baseline ./b.run --groups groups.tsv --data dotted")).succeeds();
    assert!(workspace.read("dotted/report.json") == workspace.read("numbers/report.json"));
    workspace.write("others.tsv", "q77\tfirst\n");
    workspace
        .toller(&format!("{REPORT} --groups others.tsv"))
        .fails(1, &["no query of --groups is evaluated", "hint: write the identifiers"]);
    assert_eq!(report["groups"]["without"], 2);
    assert_eq!(report["groups"]["groups"][0]["means"], serde_json::json!([1.0, 0.5]));
    let page = String::from_utf8(workspace.read("page.html")).unwrap();
    assert!(page.contains("<section id=\"groups\"") && page.contains("2 judged queries are in no group"));
}

#[test]
fn hostile_names_and_texts_are_harmless() {
    let workspace = Workspace::new();
    let evil = "</script><script>alert(1)</script>";
    let long = "d".repeat(20_000);
    let id = "x\"onmouseover=\"alert(1)";
    workspace.write("qrels.txt", format!("{id} 0 {long} 1\nq2 0 {evil} 1\n"));
    workspace.write("a.run", format!("{id} Q0 {long} 1 1 t\nq2 Q0 {evil} 1 1 t\n"));
    workspace.write("b.run", format!("{id} Q0 \u{202e}cod 1 1 t\nq2 Q0 other 1 1 t\n"));
    workspace
        .write("queries.tsv", format!("{id}\t<img src=x onerror=alert(1)> \u{202e}turned\nq2\t{evil}\n"));
    let corpus = [long.as_str(), evil]
        .map(|id| serde_json::json!({"_id": id, "title": evil, "text": "text ".repeat(50_000)}).to_string());
    workspace.write("corpus.jsonl", corpus.join("\n"));
    workspace.toller("report a.run b.run --qrels qrels.txt --queries queries.tsv --corpus corpus.jsonl --output page.html").succeeds();
    let page = String::from_utf8(workspace.read("page.html")).unwrap();
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<img") && !page.contains("\"onmouseover") && !page.contains("\u{202e}cod"));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn what_is_wrong_is_told() {
    let workspace = workspace();
    workspace.toller("report a.run --qrels qrels.txt --output - --json").fails(2, &["both write to stdout"]);
    workspace.toller("report a.run --qrels qrels.txt --output a.run").fails(2, &["overwrite"]);
    let named = |name: &str| format!("report a.run --qrels qrels.txt --output {name}");
    for name in ["keys", "keys.gz", "keys.zip"] {
        let content: &[u8] = if name == "keys.zip" { b"PK\x03\x04" } else { b"read secret" };
        workspace.write(name, content);
        workspace
            .toller(&named(name))
            .fails(2, &["is there already, and it is not a page that toller wrote"]);
        assert_eq!(workspace.read(name), content);
    }
    // A page that is there may be replaced, compressed or not.
    for name in ["again.html.gz", "again.html.gz", "again.html", "again.html"] {
        workspace.toller(&named(name)).succeeds();
    }
    workspace
        .toller("report a.run --qrels qrels.txt -m NumRel --output p.html")
        .fails(1, &["NumRel is not a mean", "nDCG@10"]);
    workspace.write("one.txt", "q1 0 good1 1\n");
    workspace.toller("report a.run --qrels one.txt --output p.html").fails(1, &["too few"]);
    // The folder of the page is looked for before the work, and no data are written.
    workspace
        .toller("report a.run --qrels qrels.txt --output none/p.html --data numbers")
        .fails(1, &["cannot create none/p.html"]);
    assert!(!workspace.path("numbers").exists());
    workspace.toller("report a.run --qrels qrels.txt --output p.html").succeeds();
    let page = String::from_utf8(workspace.read("p.html")).unwrap();
    assert!(!page.contains("<section id=\"significance\""), "a single run has nothing to compare with");
    workspace.runs("report a.run --qrels qrels.txt --output new/p.html --data ./new");
    assert!(workspace.path("new/p.html").is_file(), "the page may be in the new folder of its data");
}

#[test]
fn the_test_of_the_pairs() {
    let workspace = workspace();
    for (test, caption) in [("randomization", "(randomization, Holm)"), ("tukey", "(tukey)")] {
        workspace.runs(&format!("{REPORT} --test {test} --data {test}"));
        let page = String::from_utf8(workspace.read("page.html")).unwrap();
        assert!(page.contains(caption) && !page.contains("(t-test"), "{test}");
        let report: serde_json::Value =
            serde_json::from_slice(&workspace.read(&format!("{test}/report.json"))).unwrap();
        let compare = format!("compare a.run b.run --qrels qrels.txt -m RR --tests {test} --json");
        let compared = workspace.runs(&compare).json();
        let [own, other] =
            [&report["pairs"][0]["pairs"][0]["p"], &compared["comparisons"][0]["tests"][test]["p"]];
        assert!(own.is_number() && own == other, "{test}: {own} {other}");
    }
}
