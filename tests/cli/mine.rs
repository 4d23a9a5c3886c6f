//! `toller mine` from outside.

use crate::support::Workspace;

const RUN: &str =
    "q1 Q0 d1 1 5 x\nq1 Q0 d2 2 4 x\nq1 Q0 d3 3 3.5 x\nq1 Q0 d4 4 3 x\nq2 Q0 d5 1 2 x\nq3 Q0 d1 1 1 x\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("x.run", RUN);
    workspace.write("qrels", "q1 0 d2 1\nq1 0 d4 0\nq2 0 d5 2\nq2 0 d6 1\nq4 0 d1 1\n");
    workspace.write("q.tsv", "q1\tone?\nq2\ttwo?\nq3\tthree?\n");
    let texts = [
        ("d1", "first"),
        ("d2", "the second"),
        ("d3", " the  second"),
        ("d4", "4"),
        ("d5", "5"),
        ("d6", "6"),
    ];
    let line =
        |(id, text): (&str, &str)| format!("{{\"_id\":\"{id}\",\"title\":\"T {id}\",\"text\":\"{text}\"}}\n");
    workspace.write("corpus.jsonl", texts.map(line).concat());
    workspace
}

#[test]
fn negatives_are_what_is_not_relevant() {
    let workspace = workspace();
    let mine = |flags: &str| {
        let done = workspace.runs(&format!("mine --run x.run --qrels qrels --output - {flags}"));
        done.stdout
    };
    assert_eq!(mine("--choose top --format pairs"), "q1\td1\nq1\td3\nq1\td4\n");
    assert_eq!(
        mine("--choose top --format t2ranking --depth 2:3 -q"),
        "qid\tpid\tindex\tscore\nq1\td3\t3\t3.5\n"
    );
    assert_eq!(mine("--choose top --format pairs -l 2"), "");
    // With the collection d3 is known to be a copy of d2.
    let with_texts = "--corpus corpus.jsonl --queries q.tsv --choose top --negatives 1";
    assert_eq!(mine(&format!("{with_texts} --format pairs")), "q1\td1\n");
    assert_eq!(mine("--corpus corpus.jsonl --choose top --format pairs --depth 3:4"), "q1\td4\n");
    assert_eq!(
        mine(&format!("{with_texts} --format tevatron")),
        "{\"query_id\":\"q1\",\"query\":\"one?\",\"positive_passages\":[{\"docid\":\"d2\",\"title\":\"T d2\",\"text\":\"the second\"}],\
         \"negative_passages\":[{\"docid\":\"d1\",\"title\":\"T d1\",\"text\":\"first\"}]}\n\
         {\"query_id\":\"q2\",\"query\":\"two?\",\"positive_passages\":[{\"docid\":\"d5\",\"title\":\"T d5\",\"text\":\"5\"},\
         {\"docid\":\"d6\",\"title\":\"T d6\",\"text\":\"6\"}],\"negative_passages\":[]}\n"
    );
    assert_eq!(
        mine(&format!("{with_texts} --format triplets")),
        "{\"query\":\"one?\",\"positive\":\"T d2 the second\",\"negative\":\"T d1 first\"}\n"
    );
    assert_eq!(mine(&format!("{with_texts} --format rocketqa")), "one?\tT d2\tthe second\tT d1\tfirst\t0\n");
}

#[test]
fn a_sample_depends_on_the_seed_and_nothing_else() {
    let workspace = Workspace::new();
    let lines = |queries: &[usize]| -> String {
        let line = |query: usize, rank: usize| format!("q{query} Q0 d{rank} {rank} {} x\n", 1000 - rank);
        queries.iter().flat_map(|query| (1..=100).map(move |rank| line(*query, rank))).collect()
    };
    workspace.write("qrels", "q1 0 d7 1\nq2 0 d8 1\n");
    let mine = |queries: &[usize], flags: &str| {
        workspace.write("x.run", lines(queries));
        let mine = format!("mine --run x.run --qrels qrels --output m.tsv --format pairs -q {flags}");
        workspace.runs(&mine);
        workspace.lines("m.tsv")
    };
    let both = mine(&[1, 2], "--negatives 5 --depth 11:60");
    assert_eq!(both.len(), 10);
    assert_eq!(mine(&[1, 2], "--negatives 5 --depth 11:60 --threads 1"), both);
    assert_eq!(mine(&[2, 1], "--negatives 5 --depth 11:60")[5..], both[..5]);
    assert_eq!(mine(&[2], "--negatives 5 --depth 11:60"), both[5..]);
    assert_ne!(mine(&[1, 2], "--negatives 5 --depth 11:60 --seed 7"), both);
    let rank = |line: &String| line.split_once("\td").unwrap().1.parse::<usize>().unwrap();
    assert!(both.iter().all(|line| (11..=60).contains(&rank(line))));
    let all = mine(&[1], "--negatives 99");
    assert_eq!(all.len(), 99);
    assert!(!all.contains(&"q1\td7".to_owned()));
}

#[test]
fn what_cannot_be_mined_is_refused() {
    let workspace = workspace();
    workspace.write("other", "q9 0 d2 1\n");
    workspace.write("short.jsonl", "{\"_id\":\"d1\",\"text\":\"first\"}\n");
    let mine = "mine --run x.run";
    std::fs::create_dir(workspace.path("folder")).unwrap();
    workspace.write("folder/part.jsonl", "{\"_id\":\"d1\",\"text\":\"first\"}\n");
    let before = workspace.read("folder/part.jsonl");
    let inside =
        workspace.toller(&format!("{mine} --qrels qrels --corpus folder --output folder/part.jsonl"));
    inside.fails(
        2,
        &["folder/part.jsonl would overwrite the input folder", "hint: give --output another name"],
    );
    assert_eq!(workspace.read("folder/part.jsonl"), before);
    for (code, flags, says) in [
        (2, "--qrels qrels", "--output"),
        (2, "--output new", "--qrels"),
        (2, "--qrels qrels --output new --depth 5:2", "FROM:TO"),
        (2, "--qrels qrels --output new --depth 0:2", "FROM:TO"),
        (2, "--qrels qrels --output new --negatives 0", "--negatives"),
        (2, "--qrels qrels --output new --format json", "[possible values: jsonl,"),
        (2, "--qrels qrels --output new --format tevatron", "give --queries and --corpus"),
        (2, "--qrels qrels --output x.run", "would overwrite the input x.run"),
        (2, "--qrels qrels --output new --corpus -", "read twice"),
        (2, "--qrels qrels --output - --json", "--json would both write to stdout"),
        (1, "--qrels other --output new", "no query of x.run has a relevant document in other"),
        (1, "--qrels qrels --output new -l 9", "no query of x.run has a relevant document"),
        (1, "--qrels qrels --output new --corpus nothing", "nothing"),
        (
            1,
            "--qrels qrels --output new --corpus short.jsonl --queries q.tsv --format triplets",
            "the document \"d2\" has no text",
        ),
    ] {
        workspace.toller(&format!("{mine} {flags}")).fails(code, &[says]);
        assert!(!workspace.path("new").exists(), "{flags}");
    }
}
