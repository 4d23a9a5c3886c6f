//! `toller eval`, `compare` and `qrels diff`: groups, several judgments, real runs with faults, trec_eval's
//! output.

use serde_json::json;

use crate::support::Workspace;

const QRELS: &str = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq3 0 c 1\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", QRELS);
    // Not in order, tabs, and more than six columns.
    workspace.write(
        "good.run",
        "q2\tQ0\ta\t1\t1.0\tgood\tjunk more\nq1 Q0 b 2 1.0 good\nq1  Q0  a 1 2.0 good x\n",
    );
    workspace.write("bad.run", "q1 Q0 b 1 2.0 bad\nq1 Q0 a 2 1.0 bad\nq3 Q0 x 1 1.0 bad\nq9 Q0 a 1 1 bad\n");
    workspace
}

#[test]
fn a_query_is_no_hit_of_itself() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "a 0 b 1\nb 0 a 1\n");
    workspace.write("one.run", "a Q0 a 1 3 x\na Q0 b 2 2 x\nb Q0 a 1 1 x\n");
    workspace.write("two.run", "a Q0 b 1 3 x\nb Q0 b 1 2 x\nb Q0 c 2 1 x\n");
    let values = |flags: &str| {
        let done =
            workspace.runs(&format!("eval one.run two.run --qrels qrels.txt -m RR --format csv -q {flags}"));
        done.stdout
    };
    assert_eq!(values(""), "run,query,RR\none.run,all,0.75\ntwo.run,all,0.5\n");
    assert_eq!(values("--remove-query"), "run,query,RR\none.run,all,1\ntwo.run,all,0.5\n");
    let compared = workspace.runs("compare one.run two.run --qrels qrels.txt -m RR --remove-query --json");
    assert_eq!(compared.json()["runs"][0]["aggregates"]["RR"], json!(1.0));
}

/// However many are read at the same time.
#[test]
fn runs_are_reported_in_their_order() {
    let workspace = workspace();
    let names: Vec<String> = (0..6).map(|at| format!("{at}.run")).collect();
    for name in &names {
        workspace.write(name, format!("{}q1 Q0 a 1 2 x\n", "q1 Q0 b 2 x x\n".repeat(2)));
    }
    let command = format!("{} --qrels qrels.txt -m RR --format csv", names.join(" "));
    for command in [format!("eval {command}"), format!("eval --threads 1 {command}")] {
        workspace.toller(&command).fails(1, &["0.run, line 1: bad number"]);
        let done = workspace.runs(&format!("{command} --skip-bad-lines"));
        let found: Vec<&str> =
            done.stdout.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(found, names);
        let skipped = done.stderr.lines().filter(|line| line.contains("skipped 2 bad lines"));
        let in_order: Vec<bool> =
            skipped.zip(&names).map(|(line, name)| line.contains(&format!("{name}: "))).collect();
        assert_eq!(in_order, [true; 6], "{}", done.stderr);
    }
    let fuse = format!("fuse --method rrf {} --output fused.run", names.join(" "));
    workspace.toller(&fuse).fails(1, &["0.run, line 1: bad number"]);
    assert!(!workspace.has_trace_of("fused.run"));
}

#[test]
fn groups_and_several_judgments() {
    let workspace = workspace();
    workspace.write("groups.tsv", "q1\teasy\nq2\teasy\nq9\tunknown\nq3\thard\n");
    workspace.write("strict.txt", "q1 0 a 0\nq1 0 b 1\n");
    let command = "eval good.run --qrels qrels.txt --measures RR --groups groups.tsv --format csv";
    let found = workspace.toller(command).succeeds();
    assert_eq!(
        found.stdout,
        "run,group,query,RR\ngood.run,easy,all,1\ngood.run,hard,all,0\ngood.run,macro,all,0.5\n\
         good.run,all,all,0.6666666666666666\n"
    );
    assert!(found.stderr.contains("1 of 3 judged queries have no results"), "{}", found.stderr);
    let found = workspace
        .toller("eval good.run --qrels qrels.txt --qrels strict.txt --measures RR --json")
        .succeeds();
    let runs = found.json()["runs"].clone();
    assert_eq!((&runs[0]["qrels"], &runs[1]["qrels"]), (&json!("qrels.txt"), &json!("strict.txt")));
    assert_eq!(runs[1]["aggregates"]["RR"], json!(0.5));
    workspace.write("other.tsv", "x\teasy\n");
    workspace.runs("eval good.run --qrels qrels.txt -m RR -l 9").says(["qrels.txt: the highest grade is"]);
    workspace.runs("eval good.run --qrels qrels.txt -m RR(rel=9)@10").says(["relevant from grade 9 on"]);
    let found = workspace.runs("eval good.run --qrels qrels.txt -m nDCG@10 -l 9");
    assert!(!found.stderr.contains("highest grade"), "{}", found.stderr);
    let command = "compare good.run good.run --qrels qrels.txt --groups groups.tsv --format csv";
    workspace.toller(command).fails(2, &["--groups has no effect on the CSV of comparisons"]);
    let command = "eval good.run --qrels qrels.txt --groups other.tsv";
    workspace.toller(command).fails(1, &["no query of --groups is evaluated", "\"q1\""]);
    for name in ["all", "macro"] {
        workspace.write("other.tsv", format!("q1\t{name}\n"));
        let says = format!("other.tsv: a group is called '{name}'");
        workspace.toller(command).fails(1, &[&says, "give the group another name"]);
    }
}

#[test]
fn measures_that_are_no_means_are_not_compared_in_silence() {
    let workspace = workspace();
    for command in ["compare", "eval --significance"] {
        let command = format!("{command} good.run bad.run --qrels qrels.txt");
        let said = "not compared, since tests compare means over queries: NumRet, GMAP";
        workspace.runs(&format!("{command} -m RR,NumRet,GMAP")).says([said]);
        let says = ["none of the measures is: NumRet, GMAP", "hint: add a measure such as AP"];
        workspace.toller(&format!("{command} -m NumRet,GMAP")).fails(2, &says);
        let plain = workspace.runs(&format!("{command} -m RR,AP"));
        assert!(!plain.stderr.contains("not compared"), "{}", plain.stderr);
    }
}

#[test]
fn settings_of_tests_that_are_not_made_are_refused() {
    let workspace = workspace();
    for flag in ["--correction bonferroni", "--permutations 10", "--seed 7"] {
        let eval = format!("eval good.run bad.run --qrels qrels.txt {flag}");
        workspace.toller(&eval).fails(2, &["--significance"]);
        workspace.runs(&format!("{eval} --significance"));
    }
    let compare = "compare good.run bad.run --qrels qrels.txt";
    for (flag, tests, other) in [
        ("--permutations 10", "t,randomization", "t,bootstrap"),
        ("--resamples 10", "bootstrap", "t,randomization"),
        ("--seed 7", "tukey", "t,wilcoxon"),
    ] {
        workspace.runs(&format!("{compare} --tests {tests} {flag}"));
        let says = [flag.split_once(' ').unwrap().0, "has no effect on these tests", "--tests"];
        workspace.toller(&format!("{compare} --tests {other} {flag}")).fails(2, &says);
    }
}

#[test]
fn a_measure_is_not_taken_for_a_run() {
    let workspace = workspace();
    for command in ["eval", "compare", "report --output page.html", "depth"] {
        workspace
            .toller(&format!("{command} --qrels qrels.txt -m AP nDCG@10 good.run"))
            .fails(2, &["there is no run nDCG@10, which is the name of a measure", "one pair of quotes"]);
    }
    workspace.write("AP", "q1 Q0 a 1 2.0 x\n");
    workspace.runs("eval --qrels qrels.txt -m RR AP");
}

#[test]
fn a_run_of_another_collection_is_noticed() {
    let workspace = workspace();
    workspace.write("other.run", "q1 Q0 x1 1 2.0 t\nq2 Q0 x2 1 1.0 t\nq9 Q0 a 1 1.0 t\n");
    let says = [
        "other.run: none of the 2 documents retrieved for judged queries is judged, for example \"x1\"; one that \
         is judged is \"a\"",
    ];
    workspace.runs("eval other.run --qrels qrels.txt").says(says);
    workspace.runs("compare good.run other.run --qrels qrels.txt").says(says);
    workspace.runs("report good.run other.run --qrels qrels.txt --output page.html").says(says);
    let good = workspace.runs("eval good.run --qrels qrels.txt");
    assert!(!good.stderr.contains("is judged"), "{}", good.stderr);
}

#[test]
fn a_document_listed_twice() {
    let workspace = workspace();
    workspace.write("twice.run", "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.5 t\nq1 Q0 a 3 1.0 t\n");
    let command = "eval twice.run --qrels qrels.txt --measures RR --format csv";
    workspace.toller(command).fails(
        1,
        &["twice.run", "document a for query q1", "line 1", "pass --keep first to use the first of each"],
    );
    let found = workspace.toller(&format!("{command} --keep first")).succeeds();
    assert!(found.stdout.ends_with("twice.run,all,0.3333333333333333\n"), "{}", found.stdout);
    assert!(found.stderr.contains("skipped 1 bad line"), "{}", found.stderr);
    workspace.write("broken.run", "q1 Q0 a 1 2.0 t\nq1 Q0\n");
    let command = "eval broken.run --qrels qrels.txt --keep first";
    workspace.toller(command).fails(1, &["broken.run", "line 2"]);
}

#[test]
fn comparisons() {
    let workspace = workspace();
    let command =
        "compare good.run bad.run --qrels qrels.txt --measures RR --tests t,tukey --equivalence 0.9";
    let found = workspace.toller(&format!("{command} --json")).succeeds();
    let comparison = found.json()["comparisons"][0].clone();
    assert_eq!((&comparison["run"], &comparison["baseline"]), (&json!("bad.run"), &json!("good.run")));
    assert_eq!((&comparison["losses"], &comparison["queries"]), (&json!(2), &json!(3)));
    assert!(comparison["tests"]["tukey"]["p"].is_number() && comparison["equivalence"]["p"].is_number());
    let table = workspace.toller(&format!("{command} --baseline bad.run --format latex")).succeeds();
    assert!(
        table.stdout.starts_with("\\begin{tabular}{llrr}\n\\toprule\n\\# & run & queries & RR"),
        "{}",
        table.stdout
    );
    workspace.toller(&format!("{command} --baseline ./bad.run --format latex")).succeeds();
    workspace
        .toller(&format!("{command} --baseline x.run"))
        .fails(2, &["--baseline x.run is not one of the runs"]);
    // A run has a query that the other has not.
    assert!(!table.stdout.contains("that both have"), "{}", table.stdout);
    workspace.write("some.run", "q1 Q0 a 1 2.0 x\nq2 Q0 a 1 2.0 x\nq3 Q0 c 1 2.0 x\n");
    let some = workspace.runs("compare good.run some.run --qrels qrels.txt --measures RR --skip-missing");
    assert!(some.stdout.contains("Runs are compared on the queries that both have: 2."), "{}", some.stdout);
    workspace.toller(&format!("{command} --confidence 1")).fails(2, &["a number between 0 and 1"]);
    workspace.toller("compare good.run --qrels qrels.txt").fails(2, &["only one run"]);
    let two_sets = "compare good.run bad.run --qrels qrels.txt --qrels qrels.txt";
    workspace.toller(two_sets).fails(2, &["'--qrels <FILE>' cannot be used multiple times"]);
}

#[test]
fn differences_of_judgments() {
    let workspace = workspace();
    workspace.write("new.txt", "q1 0 a 1\nq1 0 b 1\nq2 0 a 2\nq2 0 d 0\n");
    let found = workspace.toller("qrels diff qrels.txt new.txt --json").succeeds().json();
    assert_eq!(found["pairs"], json!({"only_a": 1, "both": 3, "only_b": 1}));
    assert_eq!((&found["changed_queries"], &found["relevant_per_query"]), (&json!(1), &json!([1.0, 1.5])));
    let text = workspace.toller("qrels diff qrels.txt new.txt").succeeds().stdout;
    assert!(text.contains("relevant for each query: 1.00 in A, 1.50 in B"), "{text}");
}

#[test]
fn trec_evals_own_arguments_and_output() {
    let workspace = workspace();
    let command = "eval --trec-eval -q -c -m recip_rank -m num_q -mrelstring.3 qrels.txt good.run";
    let expected = "\
recip_rank            \tq1\t1.0000
relstring_3           \tq1\t'10'
recip_rank            \tq2\t1.0000
relstring_3           \tq2\t'2'
recip_rank            \tq3\t0.0000
relstring_3           \tq3\t'-'
num_q                 \tall\t3
recip_rank            \tall\t0.6667
";
    assert_eq!(workspace.toller(command).succeeds().stdout, expected);
    let missing = workspace.toller("eval --trec-eval -m map qrels.txt good.run");
    missing.fails(1, &["the run has no result for query 'q3'", "add -c"]);
    workspace
        .toller("eval --trec-eval -m ndcg@10 qrels.txt good.run")
        .fails(2, &["illegal measure 'ndcg@10'"]);
    workspace.toller("eval --trec-eval qrels.txt").fails(2, &["expected the files"]);
}

#[test]
fn tables_send_no_commands_to_the_terminal() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "q\x1b[31m1 0 d 1\nq2 0 d 1\n");
    for run in ["a.run", "b.run"] {
        workspace.write(run, "q\x1b[31m1 Q0 d 1 1 t\nq2 Q0 d 1 1 t\n");
    }
    workspace.write("groups.tsv", "q\x1b[31m1\tred\x1b[0m\nq2\tplain\n");
    for command in [
        "eval --per-query -m RR --qrels qrels.txt a.run",
        "eval --format markdown --per-query -m RR --qrels qrels.txt a.run",
        "eval --groups groups.tsv -m RR --qrels qrels.txt a.run",
        "diff --qrels qrels.txt a.run b.run -m RR",
    ] {
        let shown = workspace.runs(command).stdout;
        assert!(!shown.contains('\x1b'), "{command}: {shown:?}");
    }
    // For programs, nothing is changed.
    let sheet = workspace.runs("eval --format csv --per-query -m RR --qrels qrels.txt a.run").stdout;
    assert!(sheet.contains("q\x1b[31m1"), "{sheet:?}");
}

#[test]
fn what_does_not_count_is_said() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "q1 0 d 1\nq2 0 d 1\nq3 0 d 1\n");
    workspace.write("a.run", "q1 Q0 d 1 1 t\n");
    workspace.write("b.run", "q2 Q0 d 1 1 t\nq1 Q0 d 1 1 t\n");
    workspace.write("groups.tsv", "q1\tone\nq2\tone\nq3\tone\nq4\ttwo\n");
    workspace
        .runs("eval --groups groups.tsv -m RR --qrels qrels.txt b.run")
        .says(["1 of 2 groups have no evaluated query and do not count in 'macro', for example \"two\""]);
    workspace
        .runs("tune alpha a.run b.run --qrels qrels.txt --alphas 0,1")
        .says(["1 of 3 judged queries have no results in the runs and count as zero"]);
}
