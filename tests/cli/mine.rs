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
fn a_query_is_no_negative_of_itself() {
    let workspace = workspace();
    workspace.write("own.run", "d1 Q0 d1 1 5 x\nd1 Q0 d2 2 4 x\nd1 Q0 d3 3 3 x\n");
    workspace.write("own.qrels", "d1 0 d3 1\n");
    workspace.write("own.tsv", "d1\tfirst\n");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    let mine = |flags: &str| {
        workspace.runs(&format!("mine --qrels own.qrels --output - --format t2ranking -q {flags}")).stdout
    };
    let header = "qid\tpid\tindex\tscore\n";
    let of_run = "--run own.run --choose top --negatives 1";
    assert_eq!(mine(of_run), format!("{header}d1\td1\t1\t5.0\n"));
    assert_eq!(mine(&format!("{of_run} --remove-query")), format!("{header}d1\td2\t1\t4.0\n"));
    let of_index = "--sparse index --queries own.tsv";
    assert!(mine(of_index).contains("d1\td1\t1\t"));
    workspace
        .toller(&format!("mine --qrels own.qrels --output - {of_index} --remove-query"))
        .fails(1, &["no negative for"]);
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
        let mine =
            format!("mine --run x.run --qrels qrels --output m.tsv --overwrite --format pairs -q {flags}");
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
fn runs_are_pooled_by_best_rank() {
    let workspace = workspace();
    workspace.write("y.run", "q1 Q0 d6 1 9 y\nq1 Q0 d4 2 8 y\nq1 Q0 d1 3 7 y\nq5 Q0 d1 1 1 y\n");
    let mine = |runs: &str, flags: &str| {
        let mine =
            format!("mine --run {runs} --qrels qrels --choose top --output - --format t2ranking {flags}");
        workspace.runs(&mine).stdout.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // d1 is first in x and third in y, d4 second in y. Of equal ranks the first run's document comes first.
    assert_eq!(
        mine("x.run y.run", ""),
        ["q1\td1\t1\t5.0", "q1\td6\t1\t9.0", "q1\td4\t2\t8.0", "q1\td3\t3\t3.5"]
    );
    assert_eq!(mine("y.run x.run", "--depth 1:1"), ["q1\td6\t1\t9.0", "q1\td1\t1\t5.0"]);
    assert_eq!(mine("x.run --run y.run", "--depth 3:3"), ["q1\td3\t3\t3.5"], "the best rank counts");
    // Two for each positive: q1 has one positive; q2 has two, and no other hit.
    let done = workspace.runs("mine --run x.run --qrels qrels --per-positive 2 --choose top --output m");
    done.says(["fewer than 2 negatives a positive in these ranks for 1 of 2 queries"]);
    let one = workspace.runs("mine --run x.run --qrels qrels --positives 1 --output m --json").json();
    assert_eq!((one["positives"].as_u64(), one["negatives"].as_u64()), (Some(2), Some(3)));
}

#[test]
fn each_positive_has_its_own_negatives() {
    let workspace = workspace();
    workspace
        .write("x.run", "q1 Q0 d2 1 9 x\nq1 Q0 d3 2 8 x\nq1 Q0 d4 3 7 x\nq1 Q0 d5 4 6 x\nq1 Q0 d6 5 5 x\n");
    workspace.write("qrels", "q1 0 d1 1\nq1 0 d2 1\n");
    let mine = "mine --run x.run --qrels qrels --queries q.tsv --corpus corpus.jsonl --choose top --output -";
    let pairs = |flags: &str| -> Vec<String> {
        let stdout = workspace.runs(&format!("{mine} -q {flags}")).stdout;
        stdout.lines().map(|line| line.replace("one?", "q").replace("the second", "2nd")).collect()
    };
    // d3 has the text of d2.
    let expected = ["q\tT d1\tfirst\tT d4\t4\t0", "q\tT d2\t2nd\tT d5\t5\t0", "q\tT d1\tfirst\tT d6\t6\t0"];
    assert_eq!(pairs("--per-positive 2 --format rocketqa"), expected);
    assert_eq!(pairs("--per-positive 1 --format triplets").len(), 2);
    assert_eq!(pairs("--negatives 2 --format triplets").len(), 4, "every positive with every negative");
    let cross = ["q\tT d1\tfirst\t1", "q\tT d2\t2nd\t1", "q\tT d4\t4\t0", "q\tT d5\t5\t0"];
    assert_eq!(pairs("--per-positive 1 --format rocketqa-cross"), cross);
}

/// RocketQA's thresholds and TopK-PercPos, by the scores that a reranker would write.
#[test]
fn a_rerankers_scores_decide_what_is_sure_enough() {
    let workspace = workspace();
    workspace
        .write("x.run", "q1 Q0 d1 1 9 x\nq1 Q0 d2 2 8 x\nq1 Q0 d4 3 7 x\nq1 Q0 d5 4 6 x\nq1 Q0 d6 5 5 x\n");
    workspace.write("qrels", "q1 0 d2 1\nq1 0 d6 0\n");
    workspace.write("ce.run", "q1 Q0 d6 1 0.99 c\nq1 Q0 d1 2 0.97 c\nq1 Q0 d2 3 0.95 c\nq1 Q0 d4 4 0.5 c\n");
    let run = |flags: &str| workspace.runs(&format!("mine --run x.run --choose top --output - {flags}"));
    let jsonl = |flags: &str| {
        let line: serde_json::Value = serde_json::from_str(&run(flags).stdout).unwrap();
        let ids = |side: &str| {
            let of = line[side].as_array().unwrap().iter();
            of.map(|one| format!("{} {}", one["id"].as_str().unwrap(), one["score"]))
                .collect::<Vec<_>>()
                .join(", ")
        };
        (ids("positives"), ids("negatives"))
    };
    let scored = "--qrels qrels --scores ce.run";
    let two = |positives: &str, negatives: &str| (positives.to_owned(), negatives.to_owned());
    assert_eq!(jsonl(scored), two("d2 0.95", "d1 0.97, d4 0.5, d6 0.99"), "d5 has no score");
    run(scored).says(["left out 1 hit without a score in --scores, for example \"d5\""]);
    assert_eq!(jsonl(&format!("{scored} --max-score 0.6")), two("d2 0.95", "d4 0.5"));
    assert_eq!(jsonl(&format!("{scored} --min-score 0.6")), two("d2 0.95", "d1 0.97, d6 0.99"));
    assert_eq!(jsonl(&format!("{scored} --relative-margin 0.05")), two("d2 0.95", "d4 0.5"));
    let mine = format!("mine --run x.run --choose top --output - {scored}");
    workspace
        .toller(&format!("{mine} --absolute-margin 0.46"))
        .fails(1, &["no negative for 1 query", "--depth"]);
    // d6 is judged not relevant, so its score does not make it a positive.
    assert_eq!(
        jsonl(&format!("{scored} --new-positive-score 0.96")),
        two("d2 0.95, d1 0.97", "d4 0.5, d6 0.99")
    );
    assert_eq!(
        jsonl("--scores ce.run --new-positive-score 0.96"),
        two("d1 0.97, d6 0.99", "d2 0.95, d4 0.5")
    );
    workspace
        .toller(&format!("{mine} --min-positive-score 0.96"))
        .fails(1, &["no query has a positive left", "--min-positive-score"]);
    // A positive without a score does not count: nothing could be learned from it with the others.
    workspace.write("more", "q1 0 d2 1\nq1 0 d5 1\nq1 0 d9 1\n");
    let more = "--qrels more --scores ce.run";
    assert_eq!(jsonl(more), two("d2 0.95", "d1 0.97, d4 0.5, d6 0.99"));
    run(more).says(["left out 2 relevant documents without a score in --scores, for example \"d5\""]);
    workspace.write("other.run", "q9 Q0 d1 1 1 c\n");
    workspace.toller("mine --run x.run --qrels qrels --scores other.run --output new").fails(
        1,
        &[
            "other.run: no document that negatives are taken from has a score",
            "hint: give --scores what a reranker made",
        ],
    );
    // What is written is what `kl` and `margin-mse` learn from.
    workspace.runs(&format!(
        "mine --run x.run {scored} --queries q.tsv --corpus corpus.jsonl --output teacher.jsonl --negatives 1"
    ));
    let train = "train dual --model tiny-bert --steps 1 --batch-size 1 --dropout 0";
    workspace.runs(&format!("{train} --data teacher.jsonl --loss margin-mse --output student"));
    workspace.runs(&format!(
        "mine --run x.run {more} --queries q.tsv --corpus corpus.jsonl --output kl.jsonl --negatives 1"
    ));
    workspace.runs(&format!("{train} --data kl.jsonl --loss kl --output kl"));
    for (flags, says) in [
        ("--qrels qrels --max-score 1", "--scores"),
        (&*format!("{scored} --relative-margin -1"), "a share from 0 to 1"),
        (&*format!("{scored} --relative-margin 1.5"), "a share from 0 to 1"),
        (&*format!("{scored} --absolute-margin -1"), "a number of at least 0"),
        (&*format!("{scored} --max-score NaN"), "a number"),
        (&*format!("{scored} --negatives 3 --per-positive 3"), "--per-positive"),
        ("--scores ce.run --max-score 1", "nothing says which documents are relevant"),
        (
            &*format!("{scored} --min-score 2 --max-score 1"),
            "give --max-score a number of at least --min-score",
        ),
    ] {
        workspace.toller(&format!("mine --run x.run --output new {flags}")).fails(2, &[says]);
    }
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
        (2, "--qrels qrels --output new --title-column t", "--corpus <FILE>"),
        (2, "--qrels qrels --output new --queries-format tsv", "--queries <FILE>"),
        (2, "--qrels qrels --output new --format json", "[possible values: jsonl,"),
        (2, "--qrels qrels --output new --format tevatron", "give --queries and --corpus"),
        (2, "--qrels qrels --output x.run", "would overwrite the input x.run"),
        (2, "--qrels qrels --output new --corpus -", "read twice"),
        (2, "--qrels qrels --output - --json", "--json would both write to stdout"),
        (1, "--qrels other --output new", "no query of x.run has a relevant document in other"),
        (1, "--qrels qrels --output new -l 9", "no query of x.run has a relevant document"),
        (1, "--qrels qrels --output new -l 2", "no negative for 1 query"),
        (1, "--qrels qrels --output new --corpus nothing", "nothing"),
        (
            1,
            "--qrels qrels --output new --corpus short.jsonl --queries q.tsv --format triplets",
            "no query has a positive left",
        ),
    ] {
        workspace.toller(&format!("{mine} {flags}")).fails(code, &[says]);
        assert!(!workspace.path("new").exists(), "{flags}");
    }
}

#[test]
fn positives_without_a_text_are_left_out() {
    let workspace = workspace();
    workspace.write("more", "q1 0 d2 1\nq1 0 d99 1\n");
    let mine =
        "mine --run x.run --qrels more --queries q.tsv --corpus corpus.jsonl --format tevatron --output";
    workspace
        .runs(&format!("{mine} new"))
        .says(["warning: 1 relevant document missing from --corpus, for example \"d99\""]);
    let lines = workspace.lines("new");
    assert!(lines.len() == 1 && lines[0].contains("\"d2\"") && !lines[0].contains("d99"), "{lines:?}");
    // The best positive is the best of those that have a text.
    workspace.write("x.run", "q1 Q0 d99 1 9 x\nq1 Q0 d2 2 8 x\nq1 Q0 d1 3 7 x\n");
    workspace.runs(&format!("{mine} best --positives 1"));
    let lines = workspace.lines("best");
    assert!(lines.len() == 1 && lines[0].contains("\"d2\"") && !lines[0].contains("d99"), "{lines:?}");
}

#[test]
fn hits_and_queries_without_a_text_are_left_out() {
    let workspace = workspace();
    workspace.write("x.run", "q1 Q0 d98 1 9 x\nq1 Q0 d1 2 8 x\nq8 Q0 d1 1 1 x\n");
    workspace.write("more", "q1 0 d2 1\nq8 0 d2 1\n");
    let mine = "mine --run x.run --qrels more --corpus corpus.jsonl --choose top --negatives 1 --output";
    for format in ["jsonl", "tevatron", "triplets", "rocketqa"] {
        let mined = workspace.runs(&format!("{mine} {format} --queries q.tsv --format {format}"));
        mined.says([
            "warning: left out 1 query without a text, for example \"q8\"",
            "warning: left out 1 hit without a text, for example \"d98\"",
            "left out 0 without a positive",
        ]);
        let lines = workspace.lines(format);
        assert!(lines.len() == 1 && lines[0].contains("first") && !lines[0].contains("d98"), "{lines:?}");
    }
    workspace.write("other.tsv", "q7\tseven?\n");
    workspace
        .toller(&format!("{mine} new --queries other.tsv --format tevatron"))
        .fails(1, &["no query has a positive left", "hint: give --queries the texts of the judged queries"]);
    // Identifiers need no texts.
    workspace.runs(&format!("{mine} pairs --format pairs"));
    assert_eq!(workspace.lines("pairs"), ["q1\td98", "q8\td1"]);
}

#[test]
fn four_columns_may_be_judgments_and_are_not_replaced() {
    let workspace = workspace();
    workspace.write("sw.txt", "q1\tQ0\td2\t1\n");
    let mine = "mine --run x.run --qrels qrels --queries q.tsv --corpus corpus.jsonl --format rocketqa-cross --output sw.txt";
    workspace.toller(mine).fails(2, &["sw.txt is there already", "--overwrite"]);
    assert_eq!(workspace.lines("sw.txt"), ["q1\tQ0\td2\t1"]);
    workspace.runs(&format!("{mine} --overwrite"));
}

#[test]
fn judged_queries_without_results_are_counted() {
    let workspace = workspace();
    let mined = workspace.runs("mine --run x.run --qrels qrels --output new --json");
    mined.says(["warning: left out 1 judged query without results in --run"]);
    assert_eq!(mined.json()["missing"], 1);
    workspace.write("two.tsv", "q1\tsecond\n");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    workspace
        .runs("mine --sparse index --queries two.tsv --qrels qrels --output new")
        .says(["warning: left out 2 judged queries without a text in --queries"]);
}
