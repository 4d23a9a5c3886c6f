//! Jobs that are stopped: by `kill -9` at any moment, by Ctrl-C, by a scheduler.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Finished, Workspace};

/// How long to wait for something that a healthy process does in milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn an_encode_killed_at_any_moment_resumes_to_the_same_bytes() {
    const ENCODE: &str =
        "encode --model tiny-bert --corpus corpus.jsonl --rows-per-shard 16 --threads 1 --output";
    let workspace = Workspace::with_xquad();
    workspace.head("data/corpus.jsonl", 320, "corpus.jsonl");
    let killer = Killer::timing(&workspace, &format!("{ENCODE} whole"));
    let expected = workspace.files_in("whole");
    assert_eq!(expected.len(), 21, "twenty shards and a manifest");

    let cut_short = killer.kill(
        10,
        |moment| format!("{ENCODE} store-{moment}"),
        |moment, command| {
            workspace.runs(command);
            assert!(workspace.files_in(&format!("store-{moment}")) == expected, "killed in tenth {moment}");
        },
    );
    assert!(cut_short >= 2, "only {cut_short} of 10 encodes were killed before they ended");
}

#[test]
fn an_indexing_killed_at_any_moment_leaves_no_corrupt_index() {
    const INDEX: &str =
        "index --language en --corpus long.jsonl --memory 16M --doc-vectors --threads 2 --output";
    let workspace = Workspace::with_xquad();
    repeat_corpus(&workspace, 30);
    let killer = Killer::timing(&workspace, &format!("{INDEX} whole"));
    let expected = workspace.files_in("whole");
    assert_eq!(expected.len(), 6, "five files and a manifest");

    // The second time there is an index, which is replaced.
    let overwrite = |moment| if moment < 10 { "" } else { " --overwrite" };
    let command = |moment| format!("{INDEX} index-{}{}", moment % 10, overwrite(moment));
    let cut_short = killer.kill(20, command, |moment, _| {
        let index = format!("index-{}", moment % 10);
        let search = "search -q --queries data/queries.jsonl --k 1 --output killed.run --sparse";
        let left = workspace.toller(&format!("{search} {index}"));
        let is_none =
            ["is not an inverted index", "cannot open index-"].iter().any(|said| left.stderr.contains(said));
        assert!(left.code == Some(0) || is_none, "{}", left.stderr);
        workspace.runs(&format!("{INDEX} {index}"));
        assert!(workspace.files_in(&index) == expected, "killed in tenth {moment}");
    });
    assert!(cut_short >= 4, "only {cut_short} of 20 were killed before they ended");
}

#[test]
fn a_reranking_killed_at_any_moment_ends_in_the_same_run() {
    scores_survive("rerank --model cross-encoders/mpnet --run first.run", "/known_pairs");
}

#[test]
fn a_retrieval_killed_at_any_moment_ends_in_the_same_run() {
    scores_survive("retrieve --sparse index --k 12 --rerank cross-encoders/mpnet", "/rerank/known_pairs");
}

/// Kills a command that scores pairs at ten moments and runs it again. `known` is where its report has the
/// pairs that it did not score again.
fn scores_survive(command: &str, known: &str) {
    let workspace = Workspace::with_xquad();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.head("data/queries.jsonl", 100, "queries.jsonl");
    workspace.runs("index --language en --corpus data/corpus.jsonl --output index");
    let search = "search --sparse index --queries queries.jsonl --k 12 --output first.run";
    workspace.runs(search);
    let score = format!(
        "{command} --corpus data/corpus.jsonl --queries queries.jsonl --depth 10 --truncation longest_first --threads 1 --output"
    );
    // The first one indexes the texts.
    workspace.runs(&format!("{score} whole.run"));
    let killer = Killer::timing(&workspace, &format!("{score} whole.run"));
    let expected = workspace.read("whole.run");

    let mut resumed = 0;
    let command = |moment| format!("{score} killed-{moment}.run");
    let cut_short = killer.kill(10, command, |moment, command| {
        let report = workspace.runs(&format!("{command} --json")).json();
        resumed += u32::from(report.pointer(known).and_then(Value::as_u64).unwrap() > 0);
        let run = format!("killed-{moment}.run");
        assert!(workspace.read(&run) == expected, "killed in tenth {moment}");
        assert!(!workspace.path(&format!("{run}.scores")).exists(), "the journal is gone");
    });
    assert!(cut_short >= 2 && resumed >= 1, "{cut_short} of 10 were killed, {resumed} resumed");
}

#[test]
fn an_encode_killed_again_and_again_gets_on() {
    const ENCODE: &str =
        "encode --model tiny-bert --corpus long.jsonl --rows-per-shard 100 --threads 1 --output";
    let workspace = Workspace::with_xquad();
    repeat_corpus(&workspace, 5);
    workspace.runs(&format!("{ENCODE} whole"));

    let mut resumed = 0;
    for shard in (5..50).step_by(5) {
        let mut child = workspace.spawn(&format!("{ENCODE} store"));
        // Each lives until it has finished some shards more than its predecessor.
        wait_for(&mut child, &workspace.path(&format!("store/shard-{shard:05}.safetensors")));
        child.kill().unwrap();
        let stderr = Finished::new(child.wait_with_output().unwrap()).stderr;
        resumed += usize::from(stderr.contains("resuming store at row"));
    }
    assert!(resumed >= 2, "only {resumed} encodes found rows of the one before");
    workspace.runs(&format!("{ENCODE} store"));
    assert!(workspace.files_in("store") == workspace.files_in("whole"));
}

#[test]
fn ctrl_c_finishes_the_shard_and_says_how_to_resume() {
    stops_cleanly("INT");
}

#[test]
fn a_schedulers_termination_is_as_clean() {
    stops_cleanly("TERM");
}

fn stops_cleanly(signal: &str) {
    let workspace = Workspace::with_xquad();
    repeat_corpus(&workspace, 10);
    let encode = "encode --model tiny-bert --corpus long.jsonl --rows-per-shard 500 --threads 1 --output";
    let mut child = workspace.spawn(&format!("{encode} store"));
    wait_for(&mut child, &workspace.path("store/shard-00000.safetensors"));
    // As `timeout` does, once to its child and once to the group. The process may have ended in between.
    send(signal, &child);
    let _ = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    let stopped = Finished::new(child.wait_with_output().unwrap());
    let says = "finishing the shard that is under way; finished shards are kept (again: stop now)";
    let done = stopped.fails(130, &[says]).stderr;
    let message = done.lines().last().unwrap();
    let rows = message
        .strip_prefix("interrupted; ")
        .and_then(|rest| rest.strip_suffix(" of 11800 rows are written; run the command again to go on"))
        .unwrap_or_else(|| panic!("{done}"));
    let rows: usize = rows.parse().unwrap();
    assert!((500..11_800).contains(&rows) && rows.is_multiple_of(500), "{rows} rows are whole shards");

    // Unfinished, it is refused; finished, it is what it would have been.
    workspace.write("queries.tsv", "q1\twho\n");
    workspace
        .toller("search --dense store --model tiny-bert --queries queries.tsv --output run.txt")
        .fails(1, &["the store store is incomplete", &format!("{rows} of 11800 rows"), "hint: run the same"]);
    workspace.runs(&format!("{encode} store")).says([&format!("resuming store at row {rows}")]);
    workspace.runs(&format!("{encode} whole"));
    assert!(workspace.files_in("store") == workspace.files_in("whole"));
}

#[test]
fn the_second_ctrl_c_stops_at_once() {
    let workspace = Workspace::with_xquad();
    repeat_corpus(&workspace, 80);
    // A first shard that is soon there, and a second one that takes long.
    let encode =
        "encode --model tiny-bert --corpus long.jsonl --rows-per-shard 44000 --threads 1 --output store";
    let mut child = workspace.spawn(encode);
    wait_for(&mut child, &workspace.path("store/shard-00000.safetensors"));
    // Between two shards it would stop at once, and well; the next one is begun when the manifest has this
    // one.
    let started = Instant::now();
    while !String::from_utf8(workspace.read("store/manifest.json")).unwrap().contains("shard-00000") {
        assert!(started.elapsed() < PATIENCE, "the manifest does not list the shard");
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
    send("INT", &child);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("again: stop now") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    // What comes at once counts as the same signal.
    thread::sleep(Duration::from_millis(1100));
    send("INT", &child);
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.ends_with("interrupted; unfinished files were removed\n"), "{said}");
    let left = workspace.files_in("store").into_iter().filter(|(name, _)| name.ends_with(".tmp")).count();
    assert_eq!(left, 0, "temporary files");
    assert!(!workspace.path("store/shard-00001.safetensors").exists());
    // What was finished is kept.
    workspace.runs(encode).says(["resuming store at row 44000"]);
}

#[test]
fn two_encodes_do_not_write_one_store() {
    let workspace = Workspace::with_xquad();
    repeat_corpus(&workspace, 10);
    let encode =
        "encode --model tiny-bert --corpus long.jsonl --rows-per-shard 500 --threads 1 --output store";
    let mut first = workspace.spawn(encode);
    wait_for(&mut first, &workspace.path("store/shard-00000.safetensors"));
    // The first one is paused meanwhile, so that it does not end.
    send("STOP", &first);
    let second = workspace.toller(encode);
    send("CONT", &first);
    second.fails(1, &["another process is writing the store store", "hint: wait until it has ended"]);
    Finished::new(first.wait_with_output().unwrap()).succeeds();
}

#[test]
fn a_search_that_is_stopped_leaves_no_run() {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    // Long queries, so that the search takes long, but few enough that all are searched together.
    let text = "who was the first ".repeat(100);
    let queries: Vec<String> = (0..1_000).map(|number| format!("q{number}\t{text}")).collect();
    workspace.write("queries.tsv", queries.join("\n"));
    let search = "search --dense store --model tiny-bert --queries queries.tsv --k 1 --threads 1 --output run.txt --json";
    let mut child = workspace.spawn(search);
    wait_until(&mut child, "a run that is being written", || workspace.has_trace_of("run.txt"));
    send("INT", &child);
    let stopped = Finished::new(child.wait_with_output().unwrap());
    stopped.fails(130, &["\"kind\":\"interrupted\"", "interrupted; unfinished files were removed"]);
    assert!(!workspace.has_trace_of("run.txt"));
}

#[test]
fn a_command_that_cannot_stop_half_way_leaves_no_temporary_file() {
    let workspace = Workspace::new();
    let signals =
        ["INT", "TERM", "HUP"].into_iter().filter(|signal| *signal != "HUP" || !hangups_are_ignored());
    for signal in signals {
        let mut stats = workspace.command("data stats --corpus - --plot figure.svg --json");
        let stats = stats.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // It waits for its input.
        let mut child = stats.spawn().unwrap();
        wait_until(&mut child, "a figure that is being drawn", || workspace.has_trace_of("figure.svg"));
        send(signal, &child);
        let _input = child.stdin.take();
        let stopped = Finished::new(child.wait_with_output().unwrap());
        stopped.fails(130, &["\"kind\":\"interrupted\"", "unfinished files were removed"]);
        assert!(!workspace.has_trace_of("figure.svg"));
    }
}

#[test]
fn a_measurement_without_a_log_is_not_waited_for() {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/mpnet");
    for measured in [
        "search --vectors 1000 --dim 16 --queries 1 --k 1",
        "encode --model tiny-bert --lengths 8 --batches 1",
        "rerank --model cross-encoders/mpnet --depths 3 --passage-tokens 8",
    ] {
        let mut child = workspace.spawn(&format!("bench {measured} --seconds 3600 --plot figure.svg"));
        wait_until(&mut child, "a figure that is being drawn", || workspace.has_trace_of("figure.svg"));
        // In the middle of a figure, or of what is measured before it.
        thread::sleep(Duration::from_millis(500));
        send("INT", &child);
        wait_until(&mut child, "end of the benchmark", || false);
        Finished::new(child.wait_with_output().unwrap()).fails(130, &["interrupted; "]);
        assert!(!workspace.has_trace_of("figure.svg"));
    }
}

/// Whether the tests run under `nohup`: what they start ignores hangups, too.
fn hangups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let workspace = Workspace::new();
    let stats = "data stats --corpus - --plot figure.svg --json";
    // As `nohup` does.
    let mut stats = workspace.command_after("trap '' HUP", stats);
    let mut child =
        stats.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, "a figure that is being drawn", || workspace.has_trace_of("figure.svg"));
    send("HUP", &child);
    child.stdin.take().unwrap().write_all(b"{\"_id\": \"a\", \"text\": \"one\"}\n").unwrap();
    Finished::new(child.wait_with_output().unwrap()).succeeds();
    assert!(workspace.path("figure.svg").exists());
}

#[test]
fn a_collection_that_is_still_being_read_is_not_waited_for() {
    let workspace = Workspace::new();
    for (command, folder) in
        [("encode --model tiny-bert --output a/store", "a"), ("index --language en --output b/index", "b")]
    {
        let mut command = workspace.command(&format!("{command} --corpus -"));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        wait_for(&mut child, &workspace.path(folder));
        send("TERM", &child);
        let _input = child.stdin.take();
        let stopped = Finished::new(child.wait_with_output().unwrap());
        stopped.fails(130, &["interrupted; unfinished files were removed"]);
    }
}

/// Writes long.jsonl: the corpus several times, with other ids.
fn repeat_corpus(workspace: &Workspace, times: usize) {
    let lines = workspace.lines("data/corpus.jsonl");
    let repeated = (0..times).flat_map(|time| {
        lines.iter().map(move |line| line.replacen(r#""_id":""#, &format!(r#""_id":"{time}-"#), 1) + "\n")
    });
    workspace.write("long.jsonl", repeated.collect::<String>());
}

/// Waits until a process has made a file, or has ended.
fn wait_for(child: &mut Child, path: &Path) {
    wait_until(child, &path.display().to_string(), || path.exists());
}

fn wait_until(child: &mut Child, what: &str, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < PATIENCE, "no {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(status.unwrap().success(), "the process ended before it was sent SIG{signal}");
}

/// Kills commands at moments that are spread over the time that one of them takes.
struct Killer<'a> {
    workspace: &'a Workspace,
    duration: Duration,
}

impl<'a> Killer<'a> {
    /// Takes the time of a command.
    fn timing(workspace: &'a Workspace, command: &str) -> Self {
        let started = Instant::now();
        workspace.runs(command);
        Self { workspace, duration: started.elapsed() }
    }

    /// Kills one command in each tenth of the time, again and again, and calls `check` after each. Returns
    /// how many had not ended by themselves.
    fn kill(&self, times: u32, command: impl Fn(u32) -> String, mut check: impl FnMut(u32, &str)) -> u32 {
        let mut random = SplitMix64(7);
        let mut cut_short = 0;
        for moment in 0..times {
            let command = command(moment);
            let mut child = self.workspace.spawn(&command);
            thread::sleep(self.duration.mul_f64((f64::from(moment % 10) + random.unit()) / 10.0));
            child.kill().unwrap();
            cut_short += u32::from(!child.wait().unwrap().success());
            check(moment, &command);
        }
        cut_short
    }
}

/// Steele, Lea and Flood 2014: random enough to spread moments.
struct SplitMix64(u64);

impl SplitMix64 {
    /// The next number of [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
