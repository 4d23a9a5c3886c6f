//! Jobs that are divided among processes: `--shard`, `store status` and `merge`.

use serde_json::json;

use crate::support::{Finished, Workspace, assert_has};

const MODEL: &str = "--model tiny-bert";
const ENCODE: &str = "encode --model tiny-bert --corpus data/corpus.jsonl --rows-per-shard 100";

/// XQuAD-R, its store in one piece, and vectors of its first questions.
fn workspace_with_store() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.runs(&format!("{ENCODE} --output store"));
    workspace.head("data/queries.jsonl", 60, "queries.jsonl");
    workspace.runs(&format!("encode {MODEL} --queries queries.jsonl --output questions"));
    workspace
}

/// A task of a Slurm array of three.
fn slurm_task(workspace: &Workspace, arguments: &str, task: u32) -> Finished {
    let mut command = workspace.command(arguments);
    command
        .env("SLURM_ARRAY_TASK_ID", task.to_string())
        .env("SLURM_ARRAY_TASK_COUNT", "3")
        .env("SLURM_ARRAY_TASK_MIN", "0")
        .env("SLURM_ARRAY_TASK_MAX", "2");
    Finished::new(command.output().unwrap())
}

/// The partial runs of `of` shares, as a command line has them.
fn parts(run: &str, of: u32) -> String {
    (1..=of).map(|index| format!("{run}.part-{index:05}-of-{of:05} ")).collect()
}

#[test]
fn a_scheduler_gives_each_task_its_part() {
    let workspace = Workspace::with_xquad();
    for part in 1..=3 {
        workspace.runs(&format!("{ENCODE} --output given --shard {part}/3"));
        let task = slurm_task(&workspace, &format!("{ENCODE} --output found --shard auto"), part - 1);
        task.succeeds().says([format!(
            "share {part}/3 by SLURM_ARRAY_TASK_ID={} and SLURM_ARRAY_TASK_COUNT=3",
            part - 1
        )]);
    }
    assert!(workspace.files_in("found") == workspace.files_in("given"));
    workspace
        .toller(&format!("{ENCODE} --output none --shard auto"))
        .fails(2, &["--shard auto: no scheduler has given this process a share", "hint: ", "--shard I/N"]);
    let search =
        format!("search --dense given {MODEL} --queries data/queries.jsonl --output run --shard auto");
    workspace.toller(&search).fails(2, &["no scheduler"]);
    slurm_task(&workspace, &search, 9).fails(2, &["SLURM_ARRAY_TASK_ID is \"9\""]);
}

#[test]
fn a_single_task_is_repeated_as_the_status_says() {
    let workspace = Workspace::with_xquad();
    let encode = |shard: &str, task: u32| {
        slurm_task(&workspace, &format!("{ENCODE} --output store --shard {shard}"), task)
    };
    encode("2/3", 0).succeeds();
    let found = workspace.toller("store status store");
    found.says(["`--shard 1/3`", "`--shard auto/3`", "sbatch --array=1,3"]);
    encode("auto/3", 0).fails(2, &["SLURM_ARRAY_TASK_ID is \"0\", which is not a number from 1 on"]);
    for task in [1, 3] {
        encode("auto/3", task).succeeds().says([format!("share {task}/3 by SLURM_ARRAY_TASK_ID={task}")]);
    }
    workspace.runs("store status store");
    encode("auto/0", 1).fails(2, &["there is no part 1 of 0"]);
}

#[test]
fn parts_of_two_collections_are_told_apart() {
    let workspace = Workspace::with_xquad();
    for part in 1..=3 {
        workspace.runs(&format!("{ENCODE} --output store --shard {part}/3"));
    }
    let changed = workspace.lines("data/corpus.jsonl")[1..].join("\n");
    workspace.write("data/corpus.jsonl", changed);
    let again = format!("{ENCODE} --output store --shard 2/3");
    workspace.toller(&again).fails(1, &["the texts are not the same", "make all parts of this store again"]);
    workspace.runs(&format!("{again} --overwrite"));
    let found = workspace.toller("store status store --json");
    assert_eq!(found.code, Some(1));
    assert_has(&found.json(), json!({"complete": false, "parts_finished": 3, "disagreeing": [2]}));
    let said =
        ["cannot be searched as one", "hint: all parts of a store", "with `toller encode --overwrite`"];
    let found = workspace.toller("store status store");
    found.prints(["disagreeing  2"]);
    found.says(said);
    workspace.toller("store info store").fails(1, &said);
    for part in [1, 3] {
        workspace.runs(&format!("{ENCODE} --output store --shard {part}/3 --overwrite"));
    }
    workspace.runs("store status store");
}

#[test]
fn a_merge_opens_more_files_than_the_soft_limit() {
    let workspace = workspace_with_store();
    workspace.head("data/queries.jsonl", 1, "one.jsonl");
    workspace.runs(&format!("encode {MODEL} --queries one.jsonl --output question"));
    for index in 1..=24 {
        workspace.runs(&format!(
            "search --dense store --query-vectors question --k 1 --output run --shard {index}/24"
        ));
    }
    let merge = format!("merge {} --output run", parts("run", 24));
    workspace.runs(&merge);
    let limited = |limit: &str| Finished::new(workspace.command_after(limit, &merge).output().unwrap());
    limited("ulimit -Sn 20").succeeds();
    limited("ulimit -n 20").fails(1, &["open files", "ulimit -n"]);
}

#[test]
fn the_status_of_a_store_says_what_is_missing() {
    let workspace = Workspace::with_xquad();
    workspace.toller("store status store").fails(1, &["store"]);
    for part in [2, 5] {
        workspace.runs(&format!("{ENCODE} --output store --shard {part}/5"));
    }
    let found = workspace.toller("store status store --json");
    assert_eq!(found.code, Some(1));
    let expected = json!({"complete": false, "parts": 5, "parts_finished": 2, "missing": [1, 3, 4],
        "unfinished": [], "rows": 472, "rows_expected": 1180});
    assert_has(&found.json(), expected);
    let found = workspace.toller("store status store");
    assert_eq!(found.code, Some(1));
    found.prints(["2 of 5 finished", "not begun    1,3-4"]);
    found.says(["3 of 5 parts are not complete: 1,3-4", "--shard 1/5", "sbatch --array=1,3-4"]);
    for part in [1, 3, 4] {
        workspace.runs(&format!("{ENCODE} --output store --shard {part}/5"));
    }
    assert_has(&workspace.runs("store status store --json").json(), json!({"complete": true, "rows": 1180}));
    // A truncated file is noticed without reading the others.
    let shard = "store/part-00004-of-00005/shard-00001.safetensors";
    let bytes = workspace.read(shard);
    workspace.write(shard, &bytes[..bytes.len() - 1]);
    let found = workspace.toller("store status store");
    assert_eq!(found.code, Some(1));
    found.says(["shard-00001.safetensors", "hint: "]);
    workspace.runs(&format!("{ENCODE} --output store --shard 4/5"));
    workspace.runs("store status store");
    workspace.runs(&format!("{ENCODE} --output whole"));
    workspace.runs("store status whole");
}

#[test]
fn shards_of_a_search_make_the_run_of_one_process() {
    let workspace = workspace_with_store();
    for part in [2, 3, 1] {
        workspace.runs(&format!("{ENCODE} --output parts --shard {part}/3"));
    }
    workspace.runs("store quantize store");
    let best = workspace.runs("search --dense store --query-vectors questions --k 3 --output -").stdout;
    let pairs = best.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let pairs = pairs.map(|columns| format!("{}\t{}\n", columns[0], columns[2]));
    workspace.write("exclude.tsv", pairs.collect::<String>());
    for (store, of, flags) in [
        ("store", 4, "--query-vectors questions --k 100"),
        ("parts", 3, "--query-vectors questions --k 1000"),
        ("store", 2, "--query-vectors questions --k 5000 --scan int8"),
        ("store", 7, "--model tiny-bert --queries queries.jsonl --k 7 --exclude exclude.tsv"),
    ] {
        workspace.runs(&format!("search --dense {store} {flags} --output whole"));
        for index in (1..=of).rev() {
            workspace.runs(&format!("search --dense {store} {flags} --output run --shard {index}/{of}"));
        }
        let merged = workspace.runs(&format!("merge {} --output run --json", parts("run", of))).json();
        assert_has(&merged, json!({"run": "run", "shards": of, "queries": 60, "documents": 1180}));
        assert!(workspace.read("run") == workspace.read("whole"), "{store}, {of} shards, {flags}");
    }
    let shard =
        |flags: &str| format!("search --dense store --query-vectors questions --k 9 --output {flags}");
    workspace.runs(&shard("few --shard 1/1"));
    workspace.write("qrels.txt", "1 0 d 1\n");
    let partial = "eval few.part-00001-of-00001 --qrels qrels.txt";
    workspace.toller(partial).fails(1, &["a partial run of a search in shares", "toller merge"]);
    let tagged = workspace.runs("merge few.part-00001-of-00001 --output - --tag mine").stdout;
    assert!(tagged == workspace.runs(&shard("- --tag mine")).stdout);
}

#[test]
fn what_does_not_make_one_run_is_refused() {
    let workspace = workspace_with_store();
    let search = |flags: &str| format!("search --dense store --query-vectors questions --k 5 {flags}");
    for index in 1..=3 {
        workspace.runs(&search(&format!("--output run --shard {index}/3")));
    }
    workspace.runs("search --dense store --query-vectors questions --k 6 --output other --shard 3/3");
    let [one, two, three] = [1, 2, 3].map(|index| format!("run.part-{index:05}-of-00003"));
    workspace
        .toller(&format!("merge {one} {three} --output run"))
        .fails(1, &["1 of 3 shards are missing: 2", "hint: "]);
    workspace
        .toller(&format!("merge {one} {two} {three} {two} --output run"))
        .fails(1, &["both hold shard 2"]);
    workspace
        .toller(&format!("merge {one} {two} other.part-00003-of-00003 --output run"))
        .fails(1, &["are of different searches: k: 5, and 6", "hint: "]);
    workspace.flip_byte(&two, 40);
    workspace.toller(&format!("merge {one} {two} {three} --output run")).fails(1, &["is damaged", "hint: "]);
    workspace.toller(&format!("merge {one} queries.jsonl --output run")).fails(1, &["is not a partial run"]);
    workspace.toller(&format!("merge {one} - --output run")).fails(2, &["not read from stdin", "hint: name"]);
    assert!(!workspace.path("run").exists(), "nothing was merged");
    workspace.write(&two, "something else");
    workspace
        .toller(&search("--output run --shard 2/3"))
        .fails(2, &["it is not a partial run", "--overwrite"]);

    workspace.runs("index --corpus data/corpus.jsonl --language en --output index");
    workspace
        .toller("search --sparse index --queries queries.jsonl --output run --shard 1/3")
        .fails(2, &["statistics of all its documents", "hint: divide the queries"]);
    workspace.toller(&search("--output run --shard 4/3")).fails(2, &["4/3"]);
    workspace.toller(&search("--output run --shard 1/3 --tag mine")).fails(2, &["--tag"]);
}

#[test]
fn a_share_without_vectors_is_nothing_to_warn_of() {
    let workspace = Workspace::new();
    workspace.write("c.jsonl", "{\"_id\":\"a\",\"text\":\"one\"}\n");
    workspace.runs(&format!("encode {MODEL} --corpus c.jsonl --output store"));
    let search = format!("search {MODEL} --dense store --queries c.jsonl --output run --shard 2/2");
    let searched = workspace.runs(&search);
    assert!(!searched.stderr.contains("no query has a hit"), "{}", searched.stderr);
}
