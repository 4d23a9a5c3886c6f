//! The job scripts of `toller slurm`, with stand-ins for the commands of Slurm.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{Finished, Workspace};

const ENCODE: &str = "--model tiny-bert --corpus data/corpus.jsonl --rows-per-shard 100";

/// `sbatch` without a cluster: it runs the tasks at once, one after the other.
const SBATCH: &str = r#"#!/usr/bin/env bash
set -eu
array=
while [ "${1#-}" != "$1" ]; do
  case $1 in --array=*) array=${1#--array=} ;; --dependency=afterok:77) echo dependent >&2 ;; esac
  shift
done
export SLURM_JOB_ID=77
if [ -z "$array" ]; then exec bash "$@" >&2; fi
echo "array of $array" >&2
array=${array%\%*}
for task in $(seq "${array%-*}" "${array#*-}"); do
  SLURM_ARRAY_TASK_ID=$task bash "$@" >&2
done
echo 77
"#;

/// A workspace with `bin/sbatch`.
fn workspace_with_slurm() -> Workspace {
    let workspace = Workspace::with_xquad();
    fs::create_dir(workspace.path("bin")).unwrap();
    add_command(&workspace, "sbatch", SBATCH);
    workspace
}

fn add_command(workspace: &Workspace, name: &str, script: &str) {
    let file = format!("bin/{name}");
    workspace.write(&file, script);
    fs::set_permissions(workspace.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
}

/// `bash` with these arguments, which finds the workspace's `bin` first, in the environment of its commands.
fn bash(workspace: &Workspace, arguments: &[&str]) -> Command {
    let path = format!("{}:{}", workspace.path("bin").display(), std::env::var("PATH").unwrap());
    let ours = workspace.command("");
    let mut command = Command::new("bash");
    command.args(arguments).current_dir(workspace.path("")).env("PATH", path);
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn a_job_script_encodes_searches_and_merges() {
    let workspace = workspace_with_slurm();
    let submit = |script: &str| Finished::new(bash(&workspace, &[script]).output().unwrap()).succeeds();
    workspace.runs(&format!(
        "slurm encode --shards 3 --at-once 2 --output encode.sh --sbatch=--time=01:00:00 -- {ENCODE} --output parts"
    ));
    submit("encode.sh").says(["array of 1-3%2", "dependent", "3 of 3 finished"]);
    for part in 1..=3 {
        workspace.runs(&format!("encode {ENCODE} --output expected --shard {part}/3"));
    }
    assert!(workspace.files_in("parts") == workspace.files_in("expected"));

    workspace.head("data/queries.jsonl", 60, "queries.jsonl");
    let search = "--dense parts --model tiny-bert --queries queries.jsonl --k 50 --output";
    workspace.runs(&format!("slurm search --shards 4 --output search.sh -- {search} run"));
    submit("search.sh").says(["array of 1-4\n", "merged 4 shards"]);
    workspace.runs(&format!("search {search} whole"));
    assert!(workspace.read("run") == workspace.read("whole"));

    // Options of the run are given to the merge, which also runs by itself.
    let tagged = "--tag=mine --tab-separated";
    workspace.runs(&format!("slurm search --shards 2 --output tagged.sh -- {tagged} {search} tagged"));
    submit("tagged.sh").says(["merged 2 shards"]);
    workspace.runs(&format!("search {tagged} {search} whole.tagged"));
    assert!(workspace.read("tagged") == workspace.read("whole.tagged"));
    fs::remove_file(workspace.path("tagged")).unwrap();
    let finish = bash(&workspace, &["tagged.sh", "finish"]).output().unwrap();
    Finished::new(finish).succeeds().says(["merged 2 shards"]);
    assert!(workspace.read("tagged") == workspace.read("whole.tagged"));
}

#[test]
fn a_task_is_requeued_before_its_time_limit_however_long_its_shard_file_takes() {
    let workspace = workspace_with_slurm();
    workspace.runs(&format!("slurm encode --shards 3 --output encode.sh -- {ENCODE} --output parts"));
    add_command(&workspace, "scontrol", "#!/usr/bin/env bash\necho \"scontrol $*\"\n");
    // Time passes fast.
    add_command(&workspace, "sleep", "#!/usr/bin/env bash\necho \"$1\" > slept\ncommand -p sleep 0.3\n");
    // It ends with the first signal, as after a short file, or with the second.
    add_command(
        &workspace,
        "worker",
        "#!/usr/bin/env bash\ntrap 'asked=$((asked + 1))' TERM\necho ready\n\
         until [ \"${asked:-0}\" -ge \"$ENDS_AT\" ]; do command -p sleep 0.01; done\nexit 130\n",
    );
    let script = String::from_utf8(workspace.read("encode.sh")).unwrap();
    let program = script.lines().find(|line| line.starts_with("toller=")).unwrap();
    workspace.write("encode.sh", script.replace(program, "toller=bin/worker"));
    for ends_at in ["1", "2"] {
        let mut task = bash(&workspace, &["encode.sh", "shard"]);
        task.env("SLURM_ARRAY_TASK_ID", "2").env("SLURM_JOB_ID", "78").env("ENDS_AT", ends_at);
        let mut child = task.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        // The worker may say so before the script has set its trap.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let signal = Command::new("kill").args(["-USR1", &child.id().to_string()]).status().unwrap();
        assert!(signal.success());
        assert_eq!(lines.next().unwrap().unwrap(), "scontrol requeue 78", "{ends_at}");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{ends_at}");
    }
    assert_eq!(workspace.read("slept"), b"90\n");
}

#[test]
fn a_job_script_that_is_called_in_a_wrong_way_says_how() {
    let workspace = workspace_with_slurm();
    let search = "-- --dense store --query-vectors q --output run";
    workspace.runs(&format!("slurm encode --shards 3 --output encode.sh -- {ENCODE} --output parts"));
    workspace.runs(&format!("slurm search --shards 3 --output search.sh {search}"));
    for script in ["encode.sh", "search.sh"] {
        let run = |argument: &str| {
            let mut script = bash(&workspace, &[script, argument]);
            Finished::new(script.env_remove("SLURM_ARRAY_TASK_ID").output().unwrap())
        };
        run("bogus").fails(2, &[&format!("usage: bash {script} [finish]")]);
        let said = format!("SLURM_ARRAY_TASK_ID: it is set in a task of an array: sbatch --array=N {script}");
        let alone = run("shard");
        alone.says([said]);
        assert!(alone.code.is_some_and(|code| code != 0), "{alone:?}");
    }
    assert!(!workspace.has_trace_of("parts"));
}

#[test]
fn input_of_a_job_that_is_not_there_is_reported() {
    let workspace = Workspace::new();
    workspace.write("here.jsonl", "");
    let encode = "slurm encode --shards 3 --output job.sh -- --model tiny-bert --output store --corpus";
    let written = workspace.runs(&format!("{encode} here.jsonl there.jsonl s3://bucket/corpus.jsonl"));
    written.says(["warning: there.jsonl, which the tasks will read, is not there yet"]);
    assert_eq!(written.stderr.matches("warning").count(), 1, "{}", written.stderr);
}

#[test]
fn a_job_script_of_a_command_that_would_fail_is_not_written() {
    let workspace = Workspace::new();
    let encode = |flags: &str| format!("slurm encode --shards 3 --output job.sh {flags}");
    for (flags, says) in [
        ("-- --model M --corpus c.jsonl", "--output <STORE>"),
        ("-- --model M --corpus c.jsonl --output store --shard 1/3", "--shard"),
        ("-- --model M --queries q.tsv --output store", "--queries"),
        (
            "--sbatch=--array=1-3%2 -- --model M --corpus c.jsonl --output store",
            "hint: give --shards, and --at-once",
        ),
        ("--sbatch=-a1-3%2 -- --model M --corpus c.jsonl --output store", "--sbatch -a1-3%2"),
        ("--sbatch=time -- --model M --corpus c.jsonl --output store", "--sbatch time"),
        ("-- --model M --corpus c.jsonl --output store --overwrite", "--overwrite"),
        ("-- --model M --corpus - --output store", "standard input"),
    ] {
        workspace.toller(&encode(flags)).fails(2, &[says, "hint: "]);
    }
    workspace
        .toller("slurm search --shards 3 --output job.sh -- --sparse index --queries q.tsv --output run")
        .fails(2, &["statistics of all its documents"]);
    workspace
        .toller("slurm search --shards 3 --output job.sh -- --dense store --query-vectors q --output -")
        .fails(2, &["give --output a file"]);
    let merged =
        "slurm search --shards 3 --output job.sh -- --dense s --query-vectors q --output r --output-format";
    workspace.toller(&format!("{merged} msmarco --tag x")).fails(2, &["a run as msmarco has no tag"]);
    workspace.toller(&format!("{merged} odd")).fails(2, &["toller merge does not take these arguments"]);
    assert!(!workspace.has_trace_of("job.sh"));
}

#[test]
fn a_job_script_replaces_nothing() {
    let workspace = Workspace::new();
    let slurm = |output: &str| {
        let mut command = workspace.command("slurm encode --shards 3");
        command.args(["--output", output, "--", "--model", "M", "--corpus", "c.jsonl", "--output", "store"]);
        Finished::new(command.output().unwrap())
    };
    workspace.write("c.jsonl", "{}");
    slurm("c.jsonl").fails(2, &["c.jsonl is there already", "hint: "]);
    assert_eq!(workspace.read("c.jsonl"), b"{}");
    slurm("my job.sh").succeeds().says(["bash 'my job.sh'"]);
    // People edit them.
    slurm("my job.sh").fails(2, &["my job.sh is there already", "--overwrite"]);
    slurm("new\nline.sh").fails(2, &["has a line end", "hint: "]);
}
