//! A disk that is full, and a stdout that is: what was finished is kept, nothing is left half, and the error
//! says where.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::process::Command;

use toller_testing::{Need, skip};

use crate::support::{Finished, Workspace};

/// A small file system of its own, which only root can have.
struct SmallDisk<'a> {
    workspace: &'a Workspace,
}

impl<'a> SmallDisk<'a> {
    /// Mounts `bytes` of memory at the workspace's `disk`; `None`, with a line on stderr, if that is not
    /// allowed.
    fn mount(workspace: &'a Workspace, bytes: usize) -> Option<Self> {
        let point = workspace.path("disk");
        std::fs::create_dir(&point).unwrap();
        let option = format!("size={bytes}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&point).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { workspace });
        }
        skip(Need::Mount, "a small file system cannot be mounted here");
        None
    }

    fn resize(&self, bytes: usize) {
        let option = format!("remount,size={bytes}");
        let status = Command::new("mount").args(["-o", &option]).arg(self.workspace.path("disk")).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.workspace.path("disk")).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} stays mounted", self.workspace.path("disk").display());
        }
    }
}

#[test]
fn an_encode_keeps_its_finished_shards_and_resumes_when_there_is_room() {
    const ENCODE: &str = "encode --model tiny-bert --corpus data/corpus.jsonl --rows-per-shard 200 --output";
    let workspace = Workspace::with_xquad();
    let Some(disk) = SmallDisk::mount(&workspace, 96 << 10) else { return };
    let full = workspace.toller(&format!("{ENCODE} disk/store"));
    full.fails(
        1,
        &["error: cannot write disk/store/shard-", "No space left on device", "hint: free some space"],
    );
    let kept: Vec<String> = workspace.files_in("disk/store").into_iter().map(|(name, _)| name).collect();
    assert!(kept.contains(&"shard-00000.safetensors".to_owned()), "{kept:?}");
    assert!(kept.len() < 7, "{kept:?}");
    assert!(kept.iter().all(|name| !name.ends_with(".tmp")), "{kept:?}");

    disk.resize(4 << 20);
    workspace.runs(&format!("{ENCODE} disk/store")).says(["resuming disk/store at row "]);
    workspace.runs(&format!("{ENCODE} whole"));
    assert!(workspace.files_in("disk/store") == workspace.files_in("whole"));
}

#[test]
fn a_search_leaves_no_half_run() {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    let Some(_disk) = SmallDisk::mount(&workspace, 256 << 10) else { return };
    workspace
        .toller("search --dense store --model tiny-bert --queries data/queries.jsonl --output disk/run.txt")
        .fails(1, &["error: cannot write disk/run.txt", "No space left on device", "hint: free some space"]);
    assert_eq!(workspace.path("disk").read_dir().unwrap().count(), 0);
}

#[test]
fn packages_appear_all_or_none() {
    let workspace = Workspace::new();
    let run: String = (0..300).map(|query| format!("q{query} Q0 d 1 1 x\n")).collect();
    workspace.write("x.run", run);
    workspace.write("c.jsonl", format!("{{\"_id\":\"d\",\"text\":\"{}\"}}\n", "word ".repeat(100)));
    let Some(_disk) = SmallDisk::mount(&workspace, 64 << 10) else { return };
    workspace
        .toller("annotate packages x.run --corpus c.jsonl --size 10 --format csv --output disk/packages")
        .fails(1, &["error: cannot write disk/packages/package-", "No space left", "hint: free some space"]);
    assert_eq!(workspace.path("disk/packages").read_dir().unwrap().count(), 0);
}

#[test]
fn a_report_and_its_data_appear_all_or_none() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "q1 0 a 1\nq2 0 a 1\n");
    workspace.write("a.run", "q1 Q0 a 1 1 x\nq2 Q0 b 1 1 x\n");
    let report = "report a.run --qrels qrels.txt --data numbers --output";
    workspace
        .toller(&format!("{report} /dev/full"))
        .fails(1, &["error: cannot write /dev/full: No space left", "hint: free some space"]);
    assert!(std::fs::read_dir(workspace.path("numbers")).unwrap().next().is_none());
    workspace.runs(&format!("{report} page.html"));
    assert_eq!(workspace.files_in("numbers").len(), 8);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_as_a_full_disk_is() {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output whole");
    for (arguments, output) in [
        ("encode --model tiny-bert --corpus data/corpus.jsonl --output store", "store"),
        ("search --dense whole --model tiny-bert --queries data/queries.jsonl --output run.txt", "run.txt"),
    ] {
        let ended = Finished::new(workspace.command_with_file_limit(arguments, 20).output().unwrap());
        let named = format!("error: cannot write {output}");
        ended.fails(1, &[&named, "File too large", "hint: raise the limit of a file's size"]);
        assert!(!workspace.has_trace_of("run.txt"));
    }
    assert!(workspace.files_in("store").iter().all(|(name, _)| !name.ends_with(".tmp")));
}

#[test]
fn stdout_that_takes_no_data_is_named() {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    let search = "search --dense store --model tiny-bert --queries data/queries.jsonl --k 3 --output";
    workspace.runs(&format!("{search} run.txt"));
    for arguments in [
        "doctor",
        "doctor --json",
        "completions bash",
        "eval --qrels data/qrels.txt run.txt",
        "eval --qrels data/qrels.txt run.txt --json",
        &format!("{search} -"),
        &format!("{search} run.txt --json"),
    ] {
        let full = File::create("/dev/full").unwrap();
        let failed = Finished::new(workspace.command(arguments).stdout(full).output().unwrap());
        failed.fails(1, &["cannot write standard output: No space left", "free some space"]);
    }
}
