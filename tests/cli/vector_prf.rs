//! Queries whose vectors are moved towards their best hits.

use crate::support::Workspace;

/// Four documents and a query, whose hits are d1, d2, d3, d4.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let line = |id: &str, vector: [i32; 2]| format!("{{\"id\": {id:?}, \"vector\": {vector:?}}}\n");
    let documents = [("d1", [4, 0]), ("d2", [3, 1]), ("d3", [1, 3]), ("d4", [0, 4])];
    workspace.write("documents.jsonl", documents.map(|(id, vector)| line(id, vector)).concat());
    workspace.write("queries.jsonl", line("q", [2, 1]));
    workspace.runs("store import documents.jsonl --output documents");
    workspace.runs("store import queries.jsonl --role query --output queries");
    workspace
}

#[test]
fn queries_move_to_their_best_hits_and_search_again() {
    let workspace = workspace();
    let scores = |flags: &str| -> Vec<(String, f64)> {
        workspace.runs(&format!(
            "search --dense documents --query-vectors queries --k 9 --output run.txt --overwrite {flags}"
        ));
        workspace.hits::<f64>("run.txt").remove("q").unwrap().into_iter().collect()
    };
    let check = |flags: &str, expected: &[(&str, f64)]| {
        let found = scores(flags);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (document, score) in expected {
            let score_of = found.iter().find(|(found, _)| found == document).unwrap().1;
            assert!((score_of - score).abs() < 1e-5, "{flags} {document}: {found:?}");
        }
    };
    check("", &[("d1", 8.0), ("d2", 7.0), ("d3", 5.0), ("d4", 4.0)]);
    // The mean of the query, d1 and d2 is (3, 2/3).
    let moved = [("d1", 12.0), ("d2", 29.0 / 3.0), ("d3", 5.0), ("d4", 8.0 / 3.0)];
    check("--vector-prf average --vector-prf-docs 2", &moved);
    // (1, 0.5) and (8, 0).
    let moved = [("d1", 36.0), ("d2", 27.5), ("d3", 10.5), ("d4", 2.0)];
    check("--vector-prf rocchio --vector-prf-docs 1 --vector-prf-alpha 0.5 --vector-prf-beta 2", &moved);
    // 0.9 of the query and 0.1 of the mean of three, (8/3, 4/3).
    check(
        "--vector-prf rocchio",
        &[("d1", 124.0 / 15.0), ("d2", 217.0 / 30.0), ("d3", 31.0 / 6.0), ("d4", 62.0 / 15.0)],
    );
    // A document that is left out moves nothing, and more hits than there are do no harm.
    workspace.write("exclude.tsv", "q\td1\n");
    let moved = [("d2", 8.5), ("d3", 5.5), ("d4", 4.0)];
    check("--exclude exclude.tsv --vector-prf average --vector-prf-docs 1", &moved);
    check("--vector-prf average --vector-prf-docs 99", &[("d1", 8.0), ("d2", 7.8), ("d3", 7.4), ("d4", 7.2)]);
}

#[test]
fn what_moves_no_query_is_refused() {
    let workspace = workspace();
    let search = "search --dense documents --query-vectors queries --k 9 --output run.txt";
    for (flags, said) in [
        ("--vector-prf average --vector-prf-beta 1", "--vector-prf rocchio"),
        ("--vector-prf average --shard 1/2", "the best hits of the whole collection"),
        ("--vector-prf-docs 3", "--vector-prf"),
        ("--vector-prf other", "average"),
        ("--vector-prf rocchio --vector-prf-alpha -1", "a number from 0"),
    ] {
        workspace.toller(&format!("{search} {flags}")).fails(2, &[said]);
    }
}
