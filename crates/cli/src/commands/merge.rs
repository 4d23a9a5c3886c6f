//! `toller merge`: the partial runs of a search in shards become one machine's run.

use toller_ir::counted;
use toller_shares::{MergeError, Merged, merge};

use crate::args::paths::{InputPath, Inputs};
use crate::args::run_output::RunOutputArgs;
use crate::error::{Failure, UsageError};
use crate::interrupt::{self, Interrupted};
use crate::ui::Ui;

/// Merge the partial runs of a search in shards into one machine's run.
///
/// The run is that of a search on one machine, byte for byte. Every shard is needed once. Shards of different
/// stores, queries or options are refused.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// Partial runs of all shards, in any order
    #[arg(value_name = "PART", required = true)]
    parts: Vec<InputPath>,

    #[command(flatten)]
    output: RunOutputArgs,
}

impl MergeArgs {
    /// Refuses a form that the run cannot have.
    pub fn check_layout(&self) -> Result<(), UsageError> {
        self.output.check_layout()
    }
}

pub fn run(args: &MergeArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check(&Inputs::files(&args.parts), ui)?;
    if args.parts.iter().any(|part| part.as_os_str() == "-") {
        let hint = "name the files that `toller search --shard` wrote";
        return Err(UsageError::new("partial runs are not read from stdin", hint).into());
    }
    let stop = interrupt::flag(ui, "stopping")?;
    let merged = args.output.write(ui, |run| merge(&args.parts, run, &stop).map_err(failure))?;
    let Merged { shards, queries, k, documents, hits } = merged;
    let output = args.output.name();
    ui.status(format!(
        "merged {} of {} for {}\n{} in {output}",
        counted(shards, "shard"),
        counted(documents, "vector"),
        counted(queries, "query"),
        counted(hits, "hit")
    ));
    ui.json(|| {
        serde_json::json!({
            "run": output,
            "shards": shards,
            "queries": queries,
            "k": k,
            "documents": documents,
            "hits": hits,
        })
    })
}

fn failure(error: MergeError) -> Failure {
    match error {
        MergeError::Stopped => Interrupted { resume: "no run was written".to_owned() }.into(),
        error => error.into(),
    }
}
