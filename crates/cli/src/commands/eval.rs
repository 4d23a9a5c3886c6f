//! `toller eval`: the measures of runs.

use toller_eval::{Compared, Pairs, Report, compare_pairs};

use super::trec_eval;
use crate::args::evaluation::EvaluationArgs;
use crate::args::paths::InputPath;
use crate::args::statistics::{StatisticsArgs, check_compared, with_baseline};
use crate::error::UsageError;
use crate::ui::Ui;

/// Evaluate runs against relevance judgments, as trec_eval does.
///
/// Measures are written as nDCG@10, RR(rel=2)@10, AP, R@100; trec_eval's names are understood too. A judged
/// query that is missing from a run counts as zero. Ties are broken by document id, descending.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("correction", |correction| correction.requires("significance")),
    mut_arg("permutations", |permutations| permutations.requires("significance")),
    mut_arg("seed", |seed| seed.requires("significance"))
)]
pub struct EvalArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,

    /// Show the values of each query
    #[arg(long)]
    per_query: bool,

    /// Compare every run with the first one by a paired t-test and a randomisation test
    #[arg(long)]
    significance: bool,

    /// Compare every run with this one, not with the first
    #[arg(long, value_name = "RUN", requires = "significance")]
    baseline: Option<InputPath>,

    #[command(flatten)]
    statistics: StatisticsArgs,

    /// trec_eval's flag: judged queries that a run has not count as zero, which is always so
    #[arg(short = 'c', hide = true, conflicts_with = "skip_missing")]
    complete: bool,

    /// Take trec_eval's own arguments, which are all that follow, and print what trec_eval 10 prints
    #[arg(long, value_name = "ARGUMENT", num_args = 1.., allow_hyphen_values = true, exclusive = true)]
    trec_eval: Option<Vec<String>>,
}

impl EvalArgs {
    /// Refuses options that do not go together.
    pub fn check_options(&self) -> Result<(), UsageError> {
        if !self.significance {
            return Ok(());
        }
        self.evaluation.check_one_qrels()?;
        if self.evaluation.runs.len() < 2 {
            let message = "--significance compares runs with the first one, but there is only one";
            return Err(UsageError::new(message, "name two runs or more"));
        }
        Ok(())
    }
}

/// Evaluates the runs and writes the report.
pub fn run(args: &EvalArgs, ui: &Ui) -> crate::Result<()> {
    if let Some(arguments) = &args.trec_eval {
        return trec_eval::run(arguments, ui);
    }
    args.check_options()?;
    let runs = args.evaluation.evaluate(ui)?;
    let mut report = Report { runs, comparisons: None };
    if args.significance {
        check_compared(&report.runs, ui)?;
        let which = match &args.baseline {
            Some(baseline) => with_baseline(baseline, &args.evaluation.runs, &report.runs)?,
            None => Pairs::With(0),
        };
        let options = args.statistics.options();
        let evaluations: Vec<_> = report.runs.iter().map(|run| &run.evaluation).collect();
        let pairs = compare_pairs(&evaluations, which, &options)?;
        report.comparisons = Some(Compared { which, options, pairs });
    }

    args.evaluation.result.write(&report, args.per_query, ui)
}
