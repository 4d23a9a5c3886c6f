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
fn every_store_and_scan_moves_queries_alike() {
    let workspace = workspace();
    workspace.runs("store import documents.jsonl --store-dtype f16 --output halves");
    workspace.runs("store quantize halves");
    let flags = "--query-vectors queries --k 9 --vector-prf rocchio --vector-prf-docs 2";
    workspace.runs(&format!("search --dense documents {flags} --output expected.txt"));
    for scan in ["auto", "f16", "int8"] {
        let search = format!("search --dense halves {flags} --scan {scan} --output found.txt --overwrite");
        workspace.runs(&search);
        assert_eq!(workspace.read("found.txt"), workspace.read("expected.txt"), "{scan}");
    }
    workspace.write("allow.txt", "d3\nd4\n");
    workspace.runs(&format!("search --dense documents {flags} --allow allow.txt --output allowed.txt"));
    // 0.9 of (2, 1) and 0.1 of (0.5, 3.5).
    let found = workspace.hits::<f64>("allowed.txt").remove("q").unwrap();
    let expected = [("d3", 1.85 + 3.0 * 1.25), ("d4", 5.0)];
    for ((document, score), (found, found_score)) in expected.into_iter().zip(&found) {
        assert!(document == found && (score - found_score).abs() < 1e-5, "{found} {found_score}");
    }
    // The mean of all documents, (2, 2), has equal products with them, and equal scores share their ranks.
    workspace.write("qrels.txt", "q 0 d4 1\n");
    let ranks = "ranks --dense documents --query-vectors queries --qrels qrels.txt --measures RR --quiet";
    let mean = "--vector-prf rocchio --vector-prf-docs 4 --vector-prf-alpha 0 --vector-prf-beta 1";
    for (flags, reciprocal) in [("", "0.2500"), (mean, "0.4000")] {
        let printed = workspace.runs(&format!("{ranks} {flags}")).stdout;
        assert!(printed.contains(reciprocal), "{printed}");
    }
}

#[test]
fn what_moves_no_query_is_refused() {
    let workspace = workspace();
    let search = "search --dense documents --query-vectors queries --k 9 --output run.txt";
    for (flags, said) in [
        ("--vector-prf average --vector-prf-beta 1", "or choose rocchio"),
        ("--vector-prf average --shard 1/2", "the best hits of the whole collection"),
        ("--vector-prf-docs 3", "--vector-prf"),
        ("--vector-prf other", "average"),
        ("--vector-prf rocchio --vector-prf-alpha -1", "a number from 0"),
        ("--vector-prf rocchio --vector-prf-alpha 0 --vector-prf-beta 0", "give one of them a weight"),
        ("--vector-prf rocchio --vector-prf-docs 1001", "more than 1000 hits"),
    ] {
        workspace.toller(&format!("{search} {flags}")).fails(2, &[said]);
    }
    let overflow = "--vector-prf rocchio --vector-prf-alpha 1e9 --vector-prf-beta 1e9";
    workspace.write("large.jsonl", r#"{"id": "d", "vector": [3e30, 0]}"#);
    workspace.runs("store import large.jsonl --output large");
    let search = format!("search --dense large --query-vectors queries --k 9 --output run.txt {overflow}");
    workspace.toller(&search).fails(1, &["the weights of the feedback", "give smaller weights"]);
    let slurm = "slurm search --shards 2 --output job.sh -- --dense documents --query-vectors queries --output run.txt";
    workspace.toller(&format!("{slurm} --vector-prf average")).fails(2, &["the whole collection"]);
}
