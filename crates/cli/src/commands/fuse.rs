//! `toller fuse`: several runs become one.

use toller_ir::counted;
use toller_pipeline::fusion::{FusedQuery, Fusion, Method, fuse_runs};

use crate::args::fusion::{FusionArgs, MethodParser};
use crate::args::paths::{InputPath, Inputs};
use crate::args::run_output::RunOutputArgs;
use crate::args::runs::RunInputArgs;
use crate::error::UsageError;
use crate::ui::Ui;

/// Fuse the runs of several systems into one.
///
/// Ties are broken by the rank in the first run, then in the second, and so on. Scores of the fused run fall
/// strictly. A query that is missing from a run is fused from the others.
#[derive(Debug, clap::Args)]
pub struct FuseArgs {
    /// Runs (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet), two or more; `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    /// How scores or ranks become one score
    #[arg(long, value_name = "NAME", value_parser = MethodParser)]
    method: &'static Method,

    /// Hits to keep for each query
    #[arg(long, short, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    /// Hits of each run to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,

    #[command(flatten)]
    output: RunOutputArgs,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    fusion: FusionArgs,
}

impl FuseArgs {
    /// Refuses options that do not go together; returns how the runs are fused.
    pub fn check_options(&self) -> Result<Fusion, UsageError> {
        check_runs(&self.runs)?;
        self.fusion.fusion(self.method, self.runs.len())
    }
}

pub fn run(args: &FuseArgs, ui: &Ui) -> crate::Result<()> {
    let fusion = args.check_options()?;
    args.output.check(&Inputs::files(&args.runs), ui)?;
    let (queries, hits) = args.output.write(ui, |output| {
        let runs = args.input.read_all(&args.runs, ui)?;
        let depth = args.depth.map_or(usize::MAX, |depth| depth as usize);
        let fused = fuse_runs(&runs, &fusion, depth, args.k as usize)?;
        let found: Vec<_> =
            fused.iter().map(|FusedQuery { query_id, hits }| (*query_id, &hits[..])).collect();
        output.write_queries(&found)?;
        Ok((fused.len(), output.hits()))
    })?;
    report(args, queries, hits, ui)
}

/// Refuses fewer than two runs.
pub fn check_runs(runs: &[InputPath]) -> Result<(), UsageError> {
    if runs.len() < 2 {
        return Err(UsageError::new("one run cannot be fused", "name two runs or more"));
    }
    Ok(())
}

fn report(args: &FuseArgs, queries: usize, hits: u64, ui: &Ui) -> crate::Result<()> {
    let (runs, output) = (args.runs.len(), args.output.name());
    let (of, found) = (counted(queries, "query"), counted(hits, "hit"));
    ui.status(format!("fused {runs} runs of {of} by {}: {found} in {output}", args.method));
    ui.json(|| {
        serde_json::json!({
            "run": output,
            "method": args.method.name,
            "runs": runs,
            "queries": queries,
            "k": args.k,
            "hits": hits,
        })
    })
}
