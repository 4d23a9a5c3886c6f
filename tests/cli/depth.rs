//! `toller depth`: curves that end in the run's measures, bounds above them, and a figure.

use serde_json::{Value, json};

use crate::support::{Workspace, assert_has};

const QRELS: &str = "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 a 1\n";
const FIRST: &str =
    "q1 Q0 c 1 9 f\nq1 Q0 b 2 8 f\nq1 Q0 x 3 7 f\nq1 Q0 a 4 6 f\nq2 Q0 x 1 9 f\nq2 Q0 a 2 8 f\n";
const RERANKED: &str =
    "q1 Q0 a 1 9 r\nq1 Q0 b 2 8 r\nq1 Q0 c 3 7 r\nq1 Q0 x 4 6 r\nq2 Q0 x 1 9 r\nq2 Q0 a 2 8 r\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", QRELS);
    workspace.write("first.run", FIRST);
    workspace.write("reranked.run", RERANKED);
    workspace
}

fn values(curve: &Value) -> Vec<f64> {
    curve["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn shallower_rerankings_follow_from_one() {
    let workspace = workspace();
    let report = workspace.runs("depth reranked.run --first-stage first.run --qrels qrels.txt -m RR --depths 1,2,3,4 --oracle --json")
        .json();
    let curves = &report["measures"]["RR"];
    // q1: c b x a; b c x a; b c x a; a b c x. q2: x a, whose order the reranker keeps.
    assert_eq!(values(&curves[0]), [0.5, 0.75, 0.75, 0.75]);
    assert_eq!(values(&curves[1]), [0.5, 1.0, 1.0, 1.0]);
    assert_has(&curves[1], json!({"name": "first.run, best order", "best_order": true}));
}

#[test]
fn a_cutoff_is_that_of_eval() {
    let workspace = workspace();
    let table = workspace.runs(
        "depth first.run reranked.run --qrels qrels.txt -m nDCG,R@1000 --depths 1,2,4 --plot depth.svg",
    );
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["nDCG", "at", "1", "2", "4"]);
    for (depth, column) in [("1", 1), ("2", 2), ("4", 3)] {
        let eval =
            workspace.runs(&format!("eval --qrels qrels.txt first.run -m nDCG -M {depth} --json")).json();
        let value = eval["runs"][0]["aggregates"]["nDCG"].as_f64().unwrap();
        assert_eq!(
            lines[1].split_whitespace().nth(column),
            Some(&*format!("{value:.4}")),
            "{}",
            table.stdout
        );
    }
    let svg = String::from_utf8(workspace.read("depth.svg")).unwrap();
    assert!(svg.contains("reranked.run") && svg.contains("nDCG"), "{svg}");
    let csv = workspace.runs("depth first.run --qrels qrels.txt -m R@1000 --depths 2 --format csv");
    assert_eq!(csv.stdout, "measure,curve,depth,value\nR@1000,first.run,2,0.75\n");
}

#[test]
fn by_default_depths_end_with_the_longest_run() {
    let workspace = workspace();
    let long: String = (1..=1200).map(|rank| format!("q2 Q0 d{rank} {rank} {} l\n", 2000 - rank)).collect();
    workspace.write("long.run", &long);
    workspace.write("one.run", "q1 Q0 a 1 1 o\n");
    let depths = |command: &str| {
        let report = workspace.runs(&format!("depth {command} --qrels qrels.txt --json")).json();
        serde_json::from_value::<Vec<usize>>(report["depths"].clone()).unwrap()
    };
    assert_eq!(depths("first.run"), [1, 2, 4]);
    assert_eq!(depths("first.run long.run"), [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
    assert_eq!(depths("one.run --plot one.svg"), [1]);
    assert_eq!(depths("one.run --first-stage first.run"), [1, 2, 4]);
}

#[test]
fn what_cannot_be_is_refused() {
    let workspace = workspace();
    for depths in ["0,1", "2,1", "1,1", "", "a"] {
        workspace
            .toller(&format!("depth first.run --qrels qrels.txt --depths={depths}"))
            .fails(2, &["ascending"]);
    }
    workspace.toller("depth - --qrels - ").fails(2, &["stdin is named twice"]);
    workspace.write("other.run", "q9 Q0 a 1 1 o\n");
    workspace.toller("depth other.run --qrels qrels.txt").fails(1, &["other.run"]);
    workspace
        .toller("depth first.run --qrels qrels.txt -m Judged@2 --oracle")
        .fails(1, &["first.run", "no order is the best by Judged@2", "hint: leave out the measure"]);
}

#[test]
fn a_run_of_another_first_stage_is_noticed() {
    let workspace = workspace();
    let depth = "depth other.run --first-stage first.run --qrels qrels.txt -m RR";
    workspace.write("other.run", "q1 Q0 z 1 9 r\nq3 Q0 a 2 8 r\n");
    workspace.toller(depth).fails(
        1,
        &["other.run is not a reranking of first.run", "hint: give --first-stage the run that was reranked"],
    );
    workspace.write("other.run", "q1 Q0 a 1 9 r\nq1 Q0 z 2 8 r\n");
    workspace.runs(depth).says(["warning: 1 of 2 hits of other.run are not in first.run"]);
    let reranked = workspace.runs("depth reranked.run --first-stage first.run --qrels qrels.txt -m RR");
    assert_eq!(reranked.stderr, "");
}

/// A query without results counts as zero, which looks like a failure of the system.
#[test]
fn judged_queries_without_results_are_noted() {
    let workspace = workspace();
    workspace.write("judged.txt", "q1 0 a 1\nq7 0 a 1\nq8 0 a 1\n");
    workspace.write("c.jsonl", "{\"_id\": \"a\", \"text\": \"t\"}\n");
    workspace.write("part.run", "q1 Q0 a 1 9 r\n");
    for command in [
        "depth part.run --qrels judged.txt -m RR",
        "diff part.run part.run --qrels judged.txt -m RR",
        "diff part.run --qrels judged.txt --failed-at 5",
    ] {
        workspace.runs(command).says(["part.run: 2 of 3 judged queries have no results and count as zero"]);
    }
}

/// Identifiers of another collection give zeros, which look like results.
#[test]
fn a_run_without_a_judged_document_is_noted() {
    let workspace = workspace();
    workspace.write("other.run", "q1 Q0 7 1 9 r\n");
    workspace.write("c.jsonl", "{\"_id\": \"7\", \"text\": \"t\"}\n");
    for command in [
        "depth other.run --qrels qrels.txt -m RR",
        "diff other.run first.run --qrels qrels.txt -m RR",
        "diff other.run --qrels qrels.txt --failed-at 5",
        "tune alpha other.run first.run --qrels qrels.txt -m RR",
        "mine --run other.run --qrels qrels.txt --format pairs --output -",
    ] {
        workspace
            .runs(command)
            .says(["other.run: none of the 1 document retrieved for judged queries is judged"]);
    }
}
