//! `toller eval`: the measures of runs.

use std::io::Write;
use std::num::NonZeroUsize;

use toller_eval::{
    CompareOptions, Correction, EvalOptions, Evaluation, Format, Measure, MissingQueries, Report,
    ReportOptions, RunReport, compare, evaluate, parse_measures,
};
use toller_ir::Qrels;

use crate::args::paths::{InputPath, Inputs};
use crate::args::qrels::QrelsArgs;
use crate::args::report::{ReportArgs, ReportFormat};
use crate::args::runs::{RunInputArgs, run_names};
use crate::error::{Context, UsageError};
use crate::ui::Ui;

/// Measures runs against relevance judgments, as trec_eval does.
///
/// Measures are written as nDCG@10, RR(rel=2)@10, AP, R@100; trec_eval's names are understood too.
/// A judged query that is missing from a run counts as zero. Ties are broken by document id, descending.
#[derive(Clone, Debug, clap::Args)]
pub struct EvalArgs {
    #[command(flatten)]
    qrels: QrelsArgs,

    /// Runs (TREC, MS MARCO or Tevatron); `-` is stdin
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<InputPath>,

    /// Measures, separated by blanks or commas
    #[arg(long, short, value_name = "LIST", default_value = "nDCG@10 RR@10 AP R@100")]
    measures: Vec<String>,

    /// Show the values of each query
    #[arg(long)]
    per_query: bool,

    /// Compare every run with the first one by a paired t-test and a randomisation test
    #[arg(long)]
    significance: bool,

    /// Correction of the p-values for the number of runs compared
    #[arg(long, value_enum, default_value_t, requires = "significance")]
    correction: CorrectionArg,

    /// Random permutations of the randomisation test
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().permutations, requires = "significance",
          value_parser = clap::value_parser!(u64).range(1..))]
    permutations: u64,

    /// Seed of the randomisation test
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().seed, requires = "significance")]
    seed: u64,

    #[command(flatten)]
    report: ReportArgs,

    /// Leave out judged queries without results (default: they count as zero)
    #[arg(long)]
    skip_missing: bool,

    /// The lowest grade that is relevant, for measures that do not name their own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Evaluate only the first N documents of each query
    #[arg(long, short = 'M', value_name = "N")]
    depth: Option<NonZeroUsize>,

    #[command(flatten)]
    input: RunInputArgs,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum CorrectionArg {
    #[default]
    Holm,
    Bonferroni,
    None,
}

/// Evaluates the runs and writes the report.
pub fn run(args: &EvalArgs, ui: &Ui) -> crate::Result<()> {
    if args.significance && args.runs.len() < 2 {
        let message = "--significance compares runs with the first one, but there is only one";
        return Err(UsageError::new(message, "name two runs or more").into());
    }
    Inputs::files(args.runs.iter().chain([&args.qrels.qrels])).check()?;
    let measures = args.all_measures()?;
    let qrels = args.qrels.read(args.input.skip_bad_lines, ui)?;
    let mut runs = Vec::with_capacity(args.runs.len());
    for (path, name) in args.runs.iter().zip(run_names(&args.runs)) {
        let evaluation = evaluate_run(path, &qrels, &measures, args, ui)?;
        runs.push(RunReport { name, evaluation });
    }
    let comparisons = if args.significance { Some(args.compare(&runs)?) } else { None };

    let mut out = ui.out();
    Report { runs, comparisons }.write(&mut out, args.report_format(ui), args.report_options())?;
    out.flush()?;
    Ok(())
}

impl EvalArgs {
    /// The measures of every `--measures`, each once.
    fn all_measures(&self) -> Result<Vec<Measure>, UsageError> {
        parse_measures(&self.measures.join(" ")).map_err(|error| UsageError::of(&error))
    }

    fn eval_options(&self) -> EvalOptions {
        let missing = if self.skip_missing { MissingQueries::Skip } else { MissingQueries::CountAsZero };
        EvalOptions { missing, relevance_level: self.relevance_level, depth: self.depth }
    }

    fn report_format(&self, ui: &Ui) -> Format {
        match self.report.format(ui) {
            ReportFormat::Table => Format::Table,
            ReportFormat::Json => Format::Json,
            ReportFormat::Csv => Format::Csv,
        }
    }

    fn report_options(&self) -> ReportOptions {
        ReportOptions { per_query: self.per_query, digits: self.report.digits() }
    }

    /// Compares all runs but the first with it.
    fn compare(&self, runs: &[RunReport]) -> crate::Result<Vec<toller_eval::Comparison>> {
        let Some((baseline, others)) = runs.split_first() else { return Ok(Vec::new()) };
        let others: Vec<&Evaluation> = others.iter().map(|run| &run.evaluation).collect();
        let correction = match self.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bonferroni => Correction::Bonferroni,
            CorrectionArg::None => Correction::None,
        };
        let (permutations, seed) = (self.permutations, self.seed);
        let options = CompareOptions { correction, permutations, seed, ..CompareOptions::default() };
        Ok(compare(&baseline.evaluation, &others, &options)?)
    }
}

/// Reads and evaluates one run, and reports missing queries.
fn evaluate_run(
    path: &InputPath,
    qrels: &Qrels,
    measures: &[Measure],
    args: &EvalArgs,
    ui: &Ui,
) -> crate::Result<Evaluation> {
    let (input, run) = (path.input(), args.input.read(path, ui)?);
    let evaluation =
        evaluate(qrels, &run, measures, &args.eval_options()).context(format!("cannot evaluate {input}"))?;
    if evaluation.missing > 0 {
        let counted = if args.skip_missing { "are left out" } else { "count as zero" };
        let (missing, judged) = (evaluation.missing, qrels.len());
        ui.warning(format!("{input}: {missing} of {judged} judged queries have no results and {counted}"));
    }
    if evaluation.unjudged > 0 {
        ui.status(format!("{input}: {} queries are not judged and ignored", evaluation.unjudged));
    }
    Ok(evaluation)
}
