//! Job scripts for Slurm, which people may read and edit.

use std::fmt;

use toller_recipe::quoted;

/// What all shares together do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Encode into a store.
    Encode {
        /// The store.
        store: String,
    },
    /// Search, and merge what the shares have found.
    Search {
        /// The merged run.
        run: String,
        /// The arguments that only the merge has.
        merge: Vec<String>,
    },
}

/// A script that submits itself: an array with a task for each share, and a step after the last of them.
#[derive(Clone, Debug)]
pub(super) struct JobScript {
    /// What is done.
    pub(super) work: Work,
    /// The program.
    pub(super) toller: String,
    /// The arguments of each share, without the one that says which share it is.
    pub(super) arguments: Vec<String>,
    /// The number of shares.
    pub(super) shards: u32,
    /// How many of them run at the same time, if not all may.
    pub(super) at_once: Option<u32>,
    /// Further options of sbatch.
    pub(super) options: Vec<String>,
    /// The name of the script's file, for its comments.
    pub(super) file: String,
}

/// The first line of a job script.
const SHEBANG: &str = "#!/usr/bin/env bash";

/// Seconds between the signal that the time limit is near and the limit: enough to finish most shard files.
const NOTICE_SECONDS: u32 = 120;

/// Seconds from that signal until an unfinished shard file is given up. The others are for the requeue.
const PATIENCE_SECONDS: u32 = NOTICE_SECONDS - 30;

/// The end of the script: what it says to an argument that it does not know.
const OTHERWISE: &str = r#"  ;;
*)
  echo "usage: bash $0 [finish], or sbatch --array=N $0 shard" >&2
  exit 2
  ;;
esac
"#;

impl fmt::Display for JobScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, toller, arguments, shards, at_once, options, file } = self;
        let (command, what, then) = match work {
            Work::Encode { .. } => ("encode", "Encodes a collection", "checks that all are complete"),
            Work::Search { .. } => ("search", "Searches stores", "merges their runs"),
        };
        // A search does not resume: after its time limit, another try would not come further.
        let (again, signal) = match work {
            Work::Encode { .. } => ("resumes", format!("#SBATCH --signal=B:USR1@{NOTICE_SECONDS}\n")),
            Work::Search { .. } => ("is searched again as a whole", String::new()),
        };
        let (toller, file) = (quoted(toller), quoted(file));
        write!(
            f,
            "{SHEBANG}
# {what} in {shards} shards on a Slurm cluster, and then {then}.
# Written by `toller slurm {command}`, to be read and edited.
#
#     bash {file}                          submit all shards and the step after them
#     sbatch --array=3,5 {file} shard      submit shards 3 and 5 again
#     bash {file} finish                   run the step after them
#
# If a shard fails, Slurm cancels the step after them. Submit the shard again, and then run that step.
# Every try of a shard leaves the same bytes; a shard that was stopped {again}.
#
#SBATCH --job-name=toller-{command}
#SBATCH --output=%x-%A-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
{signal}"
        )?;
        for option in options {
            writeln!(f, "#SBATCH {option}")?;
        }
        let limit = at_once.map_or_else(String::new, |tasks| format!("%{tasks}"));
        write!(
            f,
            r#"
shards={shards}
toller={toller}

case ${{1:-submit}} in
submit)
  job=$(sbatch --parsable --array=1-"$shards"{limit} "$0" shard) || exit
  sbatch --dependency=afterok:"${{job%%;*}}" --kill-on-invalid-dep=yes --output=%x-finish-%j.log "$0" finish
  ;;
shard)
  : "${{SLURM_ARRAY_TASK_ID:?it is set in a task of an array: sbatch --array=N $0 shard}}"
"#
        )?;
        let command_line = format!(
            "\"$toller\" {command}{} \\\n    --shard \"$SLURM_ARRAY_TASK_ID/$shards\"",
            Lines(arguments)
        );
        match work {
            Work::Encode { store } => write!(
                f,
                r#"  {command_line} &
  worker=$! again=
  # The time limit is near: finish the current file, and resume in a new try. A file that takes longer than
  # {PATIENCE_SECONDS} s is given up, and encoded again: for such files, raise --signal above and the sleep here.
  trap 'again=yes; kill -TERM "$worker"; (sleep {PATIENCE_SECONDS}; kill -TERM "$worker") &>/dev/null &' USR1
  # Cancelled or preempted: Slurm signals the worker too, and this shell waits for it.
  trap : TERM
  # A signal ends `wait` before the worker ends.
  while kill -0 "$worker" 2>/dev/null; do wait "$worker"; done
  wait "$worker"
  status=$?
  # 130: stopped, and nothing finished was lost.
  if [ -n "$again" ] && [ "$status" -eq 130 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
  exit "$status"
  ;;
finish)
  "$toller" store status {}
"#,
                quoted(store)
            )?,
            Work::Search { run, merge } => {
                let run = quoted(run);
                write!(
                    f,
                    r#"  exec {command_line}
  ;;
finish)
  "$toller" merge {run}.part-?????-of-{shards:05} --output {run}{}
"#,
                    Lines(merge)
                )?;
            }
        }
        f.write_str(OTHERWISE)
    }
}

/// Arguments for a shell, each option on a line of its own.
struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for argument in self.0 {
            let is_option = argument.starts_with('-') && argument.len() > 1;
            f.write_str(if is_option { " \\\n    " } else { " " })?;
            f.write_str(&quoted(argument))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{JobScript, OTHERWISE, Work};

    fn script(work: Work, arguments: &[&str]) -> String {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let script = JobScript {
            work,
            toller: "/opt/toller".to_owned(),
            arguments: owned(arguments),
            shards: 8,
            at_once: None,
            options: owned(&["--time=04:00:00"]),
            file: "job.sh".to_owned(),
        };
        script.to_string()
    }

    #[test]
    fn every_word_reaches_the_command_as_it_was_given() {
        let words =
            ["--model", "it's $HOME", "--corpus", "a b.jsonl", "*.gz", "--prompt", "", "--output", "store"];
        let text = script(Work::Encode { store: "store".to_owned() }, &words);
        let command =
            text.split("\"$toller\" encode").nth(1).and_then(|rest| rest.split(" \\\n    --shard").next());
        let given = command.map(|lines| shlex::split(&lines.replace("\\\n", " ")));
        assert_eq!(given.flatten().as_deref(), Some(&words.map(str::to_owned)[..]), "{text}");
        assert!(text.contains("\n#SBATCH --time=04:00:00\n") && text.contains("\nshards=8\n"), "{text}");
        assert!(text.ends_with(&format!("\"$toller\" store status store\n{OTHERWISE}")), "{text}");
    }

    #[test]
    fn the_parts_of_a_search_are_merged() {
        let work = |merge: &[&str]| Work::Search {
            run: "my run".to_owned(),
            merge: merge.iter().map(|word| (*word).to_owned()).collect(),
        };
        let merge = "\"$toller\" merge 'my run'.part-?????-of-00008 --output 'my run'";
        let text = script(work(&[]), &["--output", "my run"]);
        assert!(text.contains(&format!("{merge}\n")), "{text}");
        let text = script(work(&["--tag", "x", "--tab-separated"]), &["--output", "my run"]);
        assert!(text.contains(&format!("{merge} \\\n    --tag x \\\n    --tab-separated\n")), "{text}");
    }

    #[test]
    fn a_script_says_how_to_finish_after_a_failed_shard() {
        let text = script(Work::Encode { store: "s".to_owned() }, &["--output", "s"]);
        assert!(text.contains("#     bash job.sh finish "), "{text}");
    }

    #[test]
    fn only_an_encode_is_requeued_before_its_time_limit() {
        for (work, again, requeues) in [
            (Work::Encode { store: "s".to_owned() }, "a shard that was stopped resumes.", true),
            (
                Work::Search { run: "r".to_owned(), merge: Vec::new() },
                "a shard that was stopped is searched again as a whole.",
                false,
            ),
        ] {
            let text = script(work, &["--output", "x"]);
            assert!(text.contains(again), "{text}");
            for line in ["#SBATCH --signal=B:USR1@120\n", "scontrol requeue"] {
                assert_eq!(text.contains(line), requeues, "{text}");
            }
        }
    }
}
