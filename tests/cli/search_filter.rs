//! `toller search --exclude` and `--allow`: what is left of a run is what an unfiltered one holds of it.

use std::collections::HashSet;

use crate::support::{Workspace, gzip};

const SEARCH: &str = "search --model tiny-bert --dense store --queries q.tsv --output run.txt";

/// Twelve passages, three queries, and the run that has everything.
fn workspace_with_store() -> (Workspace, Vec<Hit>) {
    let workspace = Workspace::new();
    let lines = (0..12).map(|number| format!("{{\"_id\":\"d {number}\",\"text\":\"the year {number}\"}}\n"));
    workspace.write("corpus.jsonl", lines.collect::<String>());
    workspace.write("q.tsv", "q1\twho\nq2\tthe year 7\nq3\tthe end\n");
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output store");
    let everything = run(&workspace, "");
    assert_eq!(everything.len(), 36);
    (workspace, everything)
}

/// Query, document and score.
type Hit = (String, String, String);

/// Searches, with no warning.
#[track_caller]
fn run(workspace: &Workspace, flags: &str) -> Vec<Hit> {
    let done = workspace.runs(&format!("{SEARCH} -q --tab-separated {flags}"));
    assert_eq!(done.stderr, "");
    hits(workspace)
}

fn hits(workspace: &Workspace) -> Vec<Hit> {
    let hit = |line: &String| {
        let columns: Vec<&str> = line.split('\t').collect();
        (columns[0].to_owned(), columns[2].to_owned(), columns[4].to_owned())
    };
    workspace.lines("run.txt").iter().map(hit).collect()
}

fn without(everything: &[Hit], pairs: &[(&str, &str)]) -> Vec<Hit> {
    let kept = |hit: &&Hit| !pairs.contains(&(hit.0.as_str(), hit.1.as_str()));
    everything.iter().filter(kept).cloned().collect()
}

#[test]
fn only_judged_queries_are_searched_for() {
    let (workspace, everything) = workspace_with_store();
    workspace.write("qrels.tsv", "query-id\tcorpus-id\tscore\nq3\td 1\t1\nq1\td 2\t0\nq9\td 3\t1\n");
    let of_two: Vec<Hit> = everything.iter().filter(|hit| hit.0 != "q2").cloned().collect();
    assert_eq!(run(&workspace, "--judged qrels.tsv"), of_two);
    let printed = workspace.runs(&format!("{SEARCH} --tab-separated --judged qrels.tsv")).stderr;
    assert!(printed.contains("2 of 3 queries are judged in qrels.tsv"), "{printed}");
    workspace.runs("encode -q --model tiny-bert --queries q.tsv --output vectors");
    let vectors =
        "search -q --dense store --query-vectors vectors --judged qrels.tsv --tab-separated --output run.txt";
    workspace.runs(vectors);
    assert_eq!(hits(&workspace), of_two);
    workspace.write("others.tsv", "q7\td 1\n");
    for (file, says) in [
        ("others.tsv", "none of the 3 queries is judged in others.tsv"),
        ("nothing.tsv", "nothing.tsv"),
        ("corpus.jsonl", "hint: give --judged relevance judgments"),
    ] {
        workspace.toller(&format!("{SEARCH} --judged {file}")).fails(1, &[says]);
    }
}

#[test]
fn excluded_pairs_are_left_out_of_their_query_alone() {
    let (workspace, everything) = workspace_with_store();
    let [first, second] = [&everything[0].1, &everything[1].1];
    workspace.write("out.tsv", format!("q1\t{first}\nq1\t{second}\nq3\t{second}\nq3\t{second}\n"));
    let expected = without(&everything, &[("q1", first), ("q1", second), ("q3", second)]);
    for scan in ["auto", "f32", "f16", "int8"] {
        assert_eq!(run(&workspace, &format!("--exclude out.tsv --scan {scan}")), expected, "{scan}");
    }
    // The depth is filled from below.
    let of_q1: Vec<Hit> = expected.iter().filter(|hit| hit.0 == "q1").take(2).cloned().collect();
    let shallow = run(&workspace, "--exclude out.tsv --k 2");
    assert_eq!((&shallow[..2], shallow.len()), (&of_q1[..], 6));
    // Queries that are there as vectors are known by the same identifiers.
    workspace.write("q.tsv", "q1\twho\nq2\tthe year 7\n");
    workspace.runs("encode -q --model tiny-bert --queries q.tsv --output vectors");
    let by_vectors = "search -q --tab-separated --dense store --query-vectors vectors --output run.txt";
    workspace.runs(&format!("{by_vectors} --exclude out.tsv"));
    let of_two: Vec<Hit> = expected.into_iter().filter(|hit| hit.0 != "q3").collect();
    assert_eq!(hits(&workspace), of_two);
}

#[test]
fn a_query_does_not_find_itself() {
    let (workspace, _) = workspace_with_store();
    workspace.write("q.tsv", "d 7\tthe year 7\nq1\twho\n");
    let everything = run(&workspace, "");
    let expected = without(&everything, &[("d 7", "d 7")]);
    assert_eq!((everything.len(), expected.len()), (24, 23));
    assert_eq!(run(&workspace, "--remove-query"), expected);
    // The depth is filled from below, and what a file excludes is left out, too.
    assert_eq!(run(&workspace, "--remove-query --k 1")[0], expected[0]);
    let first = &expected[0].1;
    workspace.write("out.tsv", format!("d 7\t{first}\n"));
    assert_eq!(run(&workspace, "--remove-query --exclude out.tsv"), without(&expected, &[("d 7", first)]));
    workspace.runs("encode -q --model tiny-bert --queries q.tsv --output vectors");
    workspace.runs(
        "search -q --tab-separated --dense store --query-vectors vectors --remove-query --output run.txt",
    );
    assert_eq!(hits(&workspace), expected);
    workspace
        .toller("search words --dense store --remove-query")
        .fails(2, &["--remove-query is for queries with identifiers"]);
}

#[test]
fn lines_may_end_and_be_separated_as_they_like() {
    let (workspace, _) = workspace_with_store();
    let lines = (0..12).map(|number| format!("{{\"_id\":\"d{number}\",\"text\":\"the year {number}\"}}\n"));
    workspace.write("corpus.jsonl", lines.collect::<String>());
    workspace.runs("encode -q --overwrite --model tiny-bert --corpus corpus.jsonl --output store");
    let everything = run(&workspace, "");
    let expected = without(&everything, &[("q1", "d3"), ("q2", "d7")]);
    for text in [
        "q1\td3\nq2\td7\n", "q1 d3\nq2 d7", "  q1   d3  \n\n \t \nq2 d7\n", "q1\td3\r\nq2\td7\r\n",
        "\u{feff}q1\td3\nq2 d7\n", "q1\t d3\nq2 \td7\n",
    ] {
        workspace.write("out.tsv", text);
        assert_eq!(run(&workspace, "--exclude out.tsv"), expected, "{text:?}");
        workspace.write("out.tsv.gz", gzip(text.as_bytes()));
        assert_eq!(run(&workspace, "--exclude out.tsv.gz"), expected, "{text:?}, compressed");
        let done =
            workspace.toller_reading(text.as_bytes(), &format!("{SEARCH} -q --tab-separated --exclude -"));
        done.succeeds();
        assert_eq!(hits(&workspace), expected, "{text:?}, from stdin");
    }
}

#[test]
fn only_what_is_allowed_is_found() {
    let (workspace, everything) = workspace_with_store();
    let allowed = |ids: &[&str]| -> Vec<Hit> {
        let ids: HashSet<&str> = ids.iter().copied().collect();
        everything.iter().filter(|hit| ids.contains(hit.1.as_str())).cloned().collect()
    };
    for text in ["d 3\nd 7\nd 11\n", "\u{feff}d 3\r\n\r\nd 7\r\nd 11", "d 11\nd 7\nd 7\n d 3 \n"] {
        workspace.write("in.txt", text);
        assert_eq!(run(&workspace, "--allow in.txt"), allowed(&["d 3", "d 7", "d 11"]), "{text:?}");
    }
    workspace.write("out.tsv", "q2\td 7\n");
    let both = without(&allowed(&["d 3", "d 7", "d 11"]), &[("q2", "d 7")]);
    assert_eq!(run(&workspace, "--allow in.txt --exclude out.tsv"), both);

    // Nothing is excluded by nothing, and nothing allowed by it.
    workspace.write("empty", "");
    assert_eq!(run(&workspace, "--exclude empty"), everything);
    workspace
        .runs(&format!("{SEARCH} -q --tab-separated --allow empty"))
        .says(["no query has a hit, so the run is empty"]);
    assert_eq!(hits(&workspace), []);
}

#[test]
fn unknown_identifiers_are_reported_and_harmless() {
    let (workspace, everything) = workspace_with_store();
    workspace.write("out.tsv", "q1\td 3\nq1\td 99\nno-query\td 4\n");
    workspace.write("in.txt", "d 3\nd 4\nd 100\n");
    let done = workspace.runs(&format!("{SEARCH} --tab-separated --exclude out.tsv --allow in.txt"));
    let warning =
        "warning: 2 of 4 identifiers of --exclude and --allow are not in the store, for example \"d 100\"";
    done.says([warning]);
    let kept = |hit: &&Hit| ["d 3", "d 4"].contains(&hit.1.as_str());
    let expected: Vec<Hit> = without(&everything, &[("q1", "d 3")]).iter().filter(kept).cloned().collect();
    assert_eq!(hits(&workspace), expected);
}

#[test]
fn exclusions_of_other_queries_are_reported() {
    let (workspace, everything) = workspace_with_store();
    let warning = "of --exclude is searched for: nothing is left out";
    for (text, is_reported) in [("q8\td 3\nq9\td 4\nq9\td 3\n", true), ("q1\td 99\nq9\td 4\n", false)] {
        workspace.write("out.tsv", text);
        let done = workspace.runs(&format!("{SEARCH} --tab-separated --exclude out.tsv"));
        let said = format!("none of the 2 queries {warning}");
        assert_eq!(done.stderr.contains(&said), is_reported, "{}", done.stderr);
        assert_eq!(hits(&workspace), everything);
    }
}

#[test]
fn what_cannot_be_read_is_reported_with_its_line() {
    let (workspace, _) = workspace_with_store();
    for (text, says) in [
        ("q1\td 3\nq2\n", "out.tsv, line 2: expected a query's identifier and a document's, found 1 column"),
        ("q1 d 3\n", "out.tsv, line 1: expected a query's identifier and a document's, found 3 columns"),
        ("q1\td 3\t1\n", "found 3 columns"),
        ("\n\nq1 Q0 d3 1 0.5 toller\n", "out.tsv, line 3: expected"),
    ] {
        workspace.write("out.tsv", text);
        workspace
            .toller(&format!("{SEARCH} --exclude out.tsv"))
            .fails(1, &[says, "hint: write one pair a line, separated by a tab"]);
    }
    let broken = workspace.toller(&format!("{SEARCH} --exclude out.tsv --json"));
    broken.fails(1, &[r#""file":"out.tsv""#, r#""line":3"#]);
    workspace.write("q.json", "[{\"_id\":\"q\",\n\"text\":}]");
    let search = "search --dense store --model tiny-bert --queries q.json --output run.txt --json";
    workspace.toller(search).fails(1, &[r#""file":"q.json""#, r#""record":1"#]);
    workspace.write("in.txt", b"d 3\n\xff\n");
    workspace.toller(&format!("{SEARCH} --allow in.txt")).fails(1, &["in.txt, line 2: not UTF-8", "hint:"]);
    workspace.toller(&format!("{SEARCH} --allow nothing")).fails(1, &["cannot open nothing"]);
    for flags in [
        format!("{SEARCH} --allow - --exclude -"),
        format!("{SEARCH} --allow run.txt"),
        format!("{SEARCH} --scan int4"),
    ] {
        workspace.toller(&flags).fails(2, &["error:"]);
    }
}

#[test]
fn a_list_that_allows_nothing_is_reported() {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", "{\"_id\":\"d\",\"text\":\"the year\"}\n");
    workspace.write("q.tsv", "q1\tyear\n");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    for (list, warning) in [
        ("", "the list of --allow is empty: no query gets a hit"),
        ("x\ny\n", "none of the 2 documents of --allow is in the index: no query gets a hit"),
    ] {
        workspace.write("allowed", list);
        let search = "search --sparse index --queries q.tsv --allow allowed --output run.txt";
        workspace.runs(search).says([format!("warning: {warning}").as_str()]);
        assert_eq!(workspace.read("run.txt"), b"");
    }
}
