//! `toller tune alpha`: the weight of the second of two runs.

use clap::ArgAction;
use serde_json::json;
use toller_ir::{Run, counted};
use toller_pipeline::fusion::{Fusion, Method};
use toller_pipeline::tune::{Grid, Tuned, tune_alpha};
use toller_plot::{Axis, Curve, Curves, Figure, Panel, Style};

use super::judging::JudgingArgs;
use super::output::{Parameter, Result as TuneResult, TuneOutputArgs};
use crate::args::fusion::{MethodParser, ScaleArgs};
use crate::args::paths::{InputPath, Inputs};
use crate::args::runs::{RunInputArgs, warn_of_none_judged};
use crate::commands::fuse::check_runs;
use crate::error::UsageError;
use crate::ui::Ui;

/// Tune the weight of the second of two runs that are fused.
///
/// Every weight A is tried: first + A * second. Among weights of equal value the smallest is chosen. The
/// value is what `toller eval` gives for the output of `toller fuse` with the same flags and --alpha.
#[derive(Debug, clap::Args)]
pub struct AlphaArgs {
    /// The run of weight 1 and the weighed run: sparse, then dense, as in Mr. TyDi
    #[arg(value_name = "RUN", num_args = 2, required = true, action = ArgAction::Set)]
    runs: Vec<InputPath>,

    /// The weights: FROM:TO:STEP, or V,V,...
    #[arg(long, value_name = "GRID", default_value = "0:1:0.01", allow_hyphen_values = true)]
    alphas: Grid,

    /// How the runs are fused, as in `toller fuse`
    #[arg(long, value_name = "NAME", default_value = "interpolate", value_parser = MethodParser)]
    method: &'static Method,

    /// Hits of each run to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,

    #[command(flatten)]
    judging: JudgingArgs,

    #[command(flatten)]
    output: TuneOutputArgs,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    scale: ScaleArgs,
}

impl AlphaArgs {
    /// How the runs are fused. Refuses options that do not go together.
    pub(super) fn fusion(&self) -> Result<Fusion, UsageError> {
        check_runs(&self.runs)?;
        let fusion = self.scale.fusion(self.method)?;
        fusion.check(self.runs.len()).map_err(|error| UsageError::of(&error))?;
        Ok(fusion)
    }
}

/// Tunes the weight.
pub(super) fn run(args: &AlphaArgs, ui: &Ui) -> crate::Result<()> {
    let fusion = args.fusion()?;
    Inputs::files(args.runs.iter().chain([&args.judging.qrels.qrels])).check()?;
    let plot = args.output.plot.open()?;
    let qrels = args.judging.qrels.read(args.input.skip_bad_lines(), ui)?;
    let runs: [Run; 2] = match args.input.read_all(&args.runs, ui)?.try_into() {
        Ok(runs) => runs,
        Err(runs) => {
            let message = format!("--alpha weighs the second of two runs, but there are {}", runs.len());
            return Err(UsageError::new(message, "name two runs").into());
        }
    };
    for (path, run) in args.runs.iter().zip(&runs) {
        warn_of_none_judged(&path.input().to_string(), run, &qrels, ui);
    }
    let is_missing = |query: &str| !runs.iter().any(|run| run.queries.contains_key(query));
    let missing = qrels.iter().filter(|(query, _)| is_missing(query)).count();
    if missing > 0 {
        let judged = qrels.len();
        ui.warning(format!(
            "{missing} of {judged} judged queries have no results in the runs and count as zero"
        ));
    }
    let depth = args.depth.map_or(usize::MAX, |depth| depth as usize);
    let bar = ui.progress("tuning", "queries", qrels.len() as u64);
    let tuned = tune_alpha(&runs, &fusion, depth, &args.alphas, &args.judging.judging(&qrels), &|done| {
        bar.set(done);
    });
    drop(bar);
    let tuned = tuned?;
    let result = TuneResult {
        measure: &args.judging.measure,
        parameters: &[Parameter { name: "alpha", flag: "--alphas", largest: f64::INFINITY }],
        points: args.alphas.values().iter().map(|alpha| vec![*alpha]).collect(),
        tuned: &tuned,
        about: json!({
            "runs": args.runs.iter().map(|run| run.display().to_string()).collect::<Vec<_>>(),
            "method": args.method.name,
            "judged_queries": qrels.len(),
        }),
    };
    args.output.write(&result, plot, || figure(args, &tuned, qrels.len()), ui)
}

/// The measure against the weight.
fn figure(args: &AlphaArgs, tuned: &Tuned, queries: usize) -> Figure {
    let alphas = args.alphas.values();
    let points: Vec<(f64, f64)> = alphas.iter().copied().zip(tuned.values.iter().copied()).collect();
    let best = alphas.get(tuned.best).copied().unwrap_or(f64::NAN);
    let value = tuned.values.get(tuned.best).copied().unwrap_or(f64::NAN);
    let level = |name: String, value: f64| Curve {
        name,
        points: alphas
            .first()
            .zip(alphas.last())
            .map_or(Vec::new(), |(from, to)| vec![(*from, value), (*to, value)]),
        style: Style::Bound,
    };
    let measured = Curve { name: "fused".to_owned(), points, style: Style::Measured };
    let curves = Curves {
        x: Axis::fitted("alpha"),
        y: Axis::fitted(args.judging.measure.to_string()),
        curves: vec![measured, level(format!("best: {value:.4} at {best}"), value)],
    };
    let names: Vec<String> = args.runs.iter().map(|run| run.display().to_string()).collect();
    Figure {
        title: format!("{} by alpha", args.judging.measure),
        subtitle: format!(
            "{} by {}, {}",
            names.join(" + alpha * "),
            args.method,
            counted(queries, "judged query")
        ),
        panels: vec![Panel {
            title: format!("{} of fused runs", args.judging.measure),
            content: curves.into(),
        }],
    }
}
