//! `toller fuse` and `toller tune alpha` from outside.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::support::{Workspace, assert_has};

const FIRST: &str = "q1 Q0 a 1 10 x\nq1 Q0 b 2 6.0 x\nq1 Q0 c 3 2 x\nq3 Q0 a 1 1.5 x\n";
const SECOND: &str =
    "q1\tQ0\tc\t1\t0.9\ty\nq1\tQ0\td\t2\t0.5\ty\nq2\tQ0\te\t1\t0.7\ty\nq3\tQ0\ta\t1\t0.1\ty\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("one.run", FIRST);
    workspace.write("two.run", SECOND);
    workspace.write("qrels", "q1 0 c 1\nq2 0 e 1\nq3 0 z 1\nq4 0 a 1\n");
    workspace
}

#[test]
fn methods_do_what_their_names_say() {
    let workspace = workspace();
    for (flags, expected) in [
        (
            "interpolate --alpha 0.5",
            "q1 Q0 a 1 1.0 toller\nq1 Q0 b 2 0.5 toller\nq1 Q0 c 3 0.49999997 toller\nq1 Q0 d 4 0.0 toller\n\
             q2 Q0 e 1 0.5 toller\nq3 Q0 a 1 1.5 toller\n",
        ),
        (
            "rrf --k 2 --tag f",
            "q1 Q0 c 1 0.032266457 f\nq1 Q0 a 2 0.016393442 f\nq2 Q0 e 1 0.016393442 f\nq3 Q0 a 1 0.032786883 f\n",
        ),
        (
            "rrf --rrf-k 1 --depth 1",
            "q1 Q0 a 1 0.5 toller\nq1 Q0 c 2 0.49999997 toller\nq2 Q0 e 1 0.5 toller\nq3 Q0 a 1 1.0 toller\n",
        ),
        ("borda --k 1 --weights 1,3", "q1 Q0 c 1 14.0 toller\nq2 Q0 e 1 4.0 toller\nq3 Q0 a 1 4.0 toller\n"),
        (
            "MEAN --k 1 --tab-separated",
            "q1\tQ0\ta\t1\t5.25\ttoller\nq2\tQ0\te\t1\t0.7\ttoller\nq3\tQ0\ta\t1\t0.8\ttoller\n",
        ),
        (
            "combmax --normalize none --missing zero --k 2",
            "q1 Q0 a 1 10.0 toller\nq1 Q0 b 2 6.0 toller\nq2 Q0 e 1 0.7 toller\nq3 Q0 a 1 1.5 toller\n",
        ),
    ] {
        let done = workspace.runs(&format!("fuse one.run two.run --output - --method {flags}"));
        assert_eq!(done.stdout, expected, "{flags}");
        done.says(["one.run: 1 of 3 queries have no results"]);
    }
}

#[test]
fn runs_may_be_compressed_and_of_other_formats_and_report() {
    let workspace = workspace();
    workspace.write("marco.run", "q1\ta\t1\nq1\tb\t2\nq3\ta\t1\n");
    let fuse = "fuse marco.run one.run - --method rrf --output out.run --json";
    let done = workspace.toller_reading(SECOND.as_bytes(), fuse).succeeds();
    let report = done.json();
    assert_has(&report, json!({"queries": 3, "hits": 6, "runs": 3}));
    assert_eq!(report["method"], "rrf");
    // What was fused can be fused and evaluated again.
    workspace.runs("fuse out.run one.run --method combmnz --output again.run -q");
    workspace.runs("eval --qrels qrels again.run");
}

#[test]
fn what_cannot_be_fused_is_refused() {
    let workspace = workspace();
    workspace.write("other.run", "q9 Q0 a 1 10 x\n");
    workspace.write("twice.run", "q1 Q0 a 1 10 x\nq1 Q0 a 2 9 x\n");
    workspace.write("nan.run", "q1 Q0 a 1 NaN x\n");
    workspace.write("inf.run", "q1 Q0 a 1 inf x\n");
    workspace.write("huge.run", "q1 Q0 a 1 1e300 x\n");
    workspace.write("empty.run", "");
    let fuse = "fuse one.run --method";
    for (code, flags, says) in [
        (2, "rrf --output new", "one run cannot be fused"),
        (2, "rrf --output new - -", "stdin is named twice"),
        (2, "rrf --output two.run two.run", "would overwrite the input two.run"),
        (2, "rrf --output - --json two.run", "--json would both write to stdout"),
        (2, "sum --output new two.run", "no method of fusion is named \"sum\""),
        (2, "rrf --output new two.run --weights 1", "1 weight for 2 lists"),
        (2, "rrf --output new two.run --weights 1,-2", "the weight -2 is not"),
        (2, "rrf --output new two.run --weights 1,NaN", "the weight NaN is not"),
        (2, "rrf --output new two.run --weights 0,0", "every weight is 0"),
        (2, "rrf --output new two.run --alpha 1 --weights 1,1", "--alpha"),
        (2, "rrf --output new two.run two.run --alpha 1", "--alpha weighs the second of two runs"),
        (2, "rrf --output new two.run --rrf-k -1", "the constant -1"),
        (2, "borda --output new two.run --rrf-k 1", "leave --rrf-k out, or fuse by rrf"),
        (2, "borda --output new two.run --missing zero", "leave --missing out: borda looks at ranks alone"),
        (2, "rrf --output new two.run --k 0", "--k"),
        (2, "rrf --output new two.run --depth 0", "--depth"),
        (1, "rrf --output new nothing.run", "cannot open nothing.run"),
        (1, "rrf --output new empty.run", "empty.run"),
        (1, "rrf --output new twice.run", "twice.run, line 2"),
        (1, "rrf --output new nan.run", "nan.run, line 1"),
        (1, "rrf --output new inf.run", "inf.run, line 1"),
        (1, "rrf --output new other.run", "no query in common"),
        (1, "mean --output new huge.run", "the fused score 5e299 of document a"),
        (1, "rrf --output no/new two.run", "no/new"),
    ] {
        workspace.toller(&format!("{fuse} {flags}")).fails(code, &[says]);
        assert!(!workspace.has_trace_of("new"), "{flags}");
    }
}

#[test]
fn tuning_alpha_finds_what_fuse_and_eval_do() {
    let workspace = workspace();
    for (method, measure) in
        [("interpolate", "RR@10"), ("rrf", "nDCG"), ("rrf --rrf-k 1", "nDCG"), ("mr-tydi-script", "AP")]
    {
        let grid = "--alphas 0:1:0.25 --k 3 --depth 2";
        let tune =
            format!("tune alpha one.run two.run --qrels qrels --method {method} -m {measure} {grid} --json");
        let tuned = workspace.runs(&format!("{tune} --plot alpha.svg")).json();
        let points = tuned["points"].as_array().unwrap();
        assert_eq!(points.len(), 5);
        let mut best: Option<(f64, f64)> = None;
        for point in points {
            let (alpha, value) = (point["alpha"].as_f64().unwrap(), point["value"].as_f64().unwrap());
            let fuse = format!("fuse one.run two.run --k 3 --depth 2 --method {method} --alpha {alpha}");
            workspace.runs(&format!("{fuse} -q --output fused.run"));
            let eval = workspace.runs(&format!("eval --qrels qrels fused.run -m {measure} --json"));
            let expected = find_number(&eval.json(), measure);
            assert_eq!(Some(value), expected, "{method} {alpha} in {}", eval.stdout);
            if best.is_none_or(|(_, highest)| value > highest) {
                best = Some((alpha, value));
            }
        }
        let found = (tuned["best"]["alpha"].as_f64().unwrap(), tuned["best"]["value"].as_f64().unwrap());
        assert_eq!(Some(found), best);
        let svg = workspace.lines("alpha.svg").join("\n");
        assert!(svg.starts_with("<svg") && svg.contains("alpha"), "{svg}");
    }
}

/// The first number under this key, at any depth.
fn find_number(value: &serde_json::Value, key: &str) -> Option<f64> {
    match value {
        serde_json::Value::Object(map) => {
            let here = map.get(key).and_then(serde_json::Value::as_f64);
            here.or_else(|| map.values().find_map(|value| find_number(value, key)))
        }
        serde_json::Value::Array(values) => values.iter().find_map(|value| find_number(value, key)),
        _ => None,
    }
}

/// The three formats hold the same hits, and are read back.
#[test]
fn runs_are_written_as_msmarco_and_tevatron_have_them() {
    let workspace = Workspace::new();
    workspace.write("x.run", "q1 Q0 a 1 2.5 x\nq1 Q0 b 2 1 x\nq2 Q0 c 1 0.5 x\n");
    let fuse = "fuse --method combsum x.run x.run --normalize none --output";
    workspace.runs(&format!("{fuse} m.run --output-format msmarco"));
    workspace.runs(&format!("{fuse} t.run --output-format tevatron"));
    assert_eq!(workspace.lines("m.run"), ["q1\ta\t1", "q1\tb\t2", "q2\tc\t1"]);
    assert_eq!(workspace.lines("t.run"), ["q1\ta\t5.0", "q1\tb\t2.0", "q2\tc\t1.0"]);
    workspace.write("qrels", "q1 0 b 1\nq2 0 c 1\n");
    for run in ["x.run", "m.run --run-format msmarco", "t.run --run-format tevatron"] {
        let value = workspace.runs(&format!("eval --qrels qrels -m RR --json {run}")).json();
        assert_eq!(value["runs"][0]["aggregates"]["RR"], 0.75, "{run}");
    }
    // What is there may be anything with three columns.
    let there = "m.run is there already";
    workspace.toller(&format!("{fuse} m.run --output-format msmarco")).fails(2, &[there, "--overwrite"]);
    workspace
        .toller(&format!("{fuse} new.run --output-format msmarco --tag mine"))
        .fails(2, &["a run as msmarco has no tag"]);
}

#[test]
fn alpha_is_written_as_table_and_csv() {
    let workspace = workspace();
    let tune = "tune alpha one.run two.run --qrels qrels -m RR@10 --alphas 0,0.5,0.75,1";
    let table = workspace.runs(tune);
    // c of q1 is second from 0.75 on: that is the first of the best.
    assert_eq!(
        table.stdout,
        "alpha    RR@10\n0        0.3333\n0.5      0.3333\n0.75     0.3750*\n1        0.3750\n"
    );
    table.says(["best: --alpha 0.75 (RR@10 0.3750)"]);
    assert!(!table.stderr.contains("wider range"), "{}", table.stderr);
    // A better weight may be beyond the last one, but none is below 0.
    let end = "warning: alpha 0.75 is the largest value that was tried: give --alphas a wider range";
    workspace.runs(&tune.replace(",1", "")).says([end]);
    let start = workspace.runs(&tune.replace("0.5,0.75,1", "0.5"));
    assert!(!start.stderr.contains("wider range"), "{}", start.stderr);
    // The end of a name says whether a file is compressed; the second time, the figure is recognized.
    for _ in 0..2 {
        workspace.runs(&format!("{tune} --plot alpha.svg.gz"));
        let mut svg = String::new();
        GzDecoder::new(workspace.read("alpha.svg.gz").as_slice()).read_to_string(&mut svg).unwrap();
        assert!(svg.starts_with("<svg"), "{svg}");
    }
    let csv = workspace.runs(&format!("{tune} --format csv -q"));
    assert!(csv.stdout.starts_with("alpha,RR@10\n0,0.3333333333333333\n"), "{}", csv.stdout);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let workspace = workspace();
    workspace.write("unjudged", "q9 0 c 1\n");
    workspace.write("bad", [&workspace.read("qrels")[..], b"q1 0 c\n"].concat());
    workspace.toller("tune alpha one.run two.run --qrels bad").fails(1, &["bad, line", "--skip-bad-lines"]);
    workspace.toller("tune alpha one.run two.run --qrels bad --skip-bad-lines").succeeds();
    workspace.write("nothing", "");
    let tune = "tune alpha one.run";
    for (code, flags, says) in [
        (2, "--qrels qrels", "2 values required"),
        (2, "two.run one.run --qrels qrels", "2 values required for '<RUN> <RUN>' but 3"),
        (2, "two.run", "--qrels"),
        (2, "- --qrels -", "stdin is named twice"),
        (2, "two.run --qrels qrels --alphas 1:0:0.1", "does not go up"),
        (2, "two.run --qrels qrels --alphas 0:1:0", "does not go up"),
        (2, "two.run --qrels qrels --alphas x", "FROM:TO:STEP"),
        (2, "two.run --qrels qrels -m nDGC@10", "nDGC"),
        (2, "two.run --qrels qrels --method borda --normalize none", "no meaning for borda"),
        (2, "two.run --qrels qrels --rrf-k 1", "leave --rrf-k out, or fuse by rrf"),
        (2, "two.run --qrels qrels --rrf-k 1", "error: --rrf-k has no meaning for"),
        (2, "two.run --qrels qrels --method rrf --rrf-k -1", "the constant -1"),
        (1, "two.run --qrels unjudged", "none of the 3 queries is judged"),
        (1, "two.run --qrels nothing", "nothing"),
        (1, "two.run --qrels qrels --plot no/plot.svg", "no/plot.svg"),
        (
            2,
            "two.run --qrels qrels --plot qrels",
            "qrels is there already, and it is not a figure that toller drew",
        ),
    ] {
        let done = workspace.toller(&format!("{tune} {flags}"));
        assert_eq!(done.code, Some(code), "{flags}: {}", done.stderr);
        assert!(done.stderr.contains(says) && !done.stderr.contains("panicked"), "{flags}: {}", done.stderr);
    }
}
