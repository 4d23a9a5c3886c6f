//! `toller compare`: whether runs differ, by how much, and how many queries would show a difference.

use std::io::Write;

use clap::ArgAction;
use toller_eval::{
    CompareOptions, Compared, Format, MOST_SAMPLES, Pairs, Report, ReportOptions, Test, compare_pairs,
};

use crate::args::choice::one_of;
use crate::args::evaluation::EvaluationArgs;
use crate::args::number::{above_0, inner_share};
use crate::args::paths::InputPath;
use crate::args::statistics::{StatisticsArgs, TESTS, check_compared, with_baseline};
use crate::error::UsageError;
use crate::printable::write_printable;
use crate::ui::Ui;

/// Runs are compared by one set of judgments.
const QRELS: &str = "Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin";

/// Compare runs by significance tests, effect sizes and power.
///
/// Every run is compared with every other one, or all with a baseline. For each pair of runs and each
/// measure: the mean difference with its interval, the size of the effect (d), wins, ties and losses, and the
/// p-values of the tests. "needs" is the number of queries on which a t-test would find an effect of this
/// size, and "shows" the smallest difference that it would find on these queries.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("qrels", |qrels| qrels.action(ArgAction::Set).help(QRELS)))]
pub struct CompareArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,

    /// Compare every run only with this one
    #[arg(long, value_name = "RUN")]
    baseline: Option<InputPath>,

    /// Tests, separated by commas; letters in tables go by the first
    #[arg(long, alias = "test", value_parser = one_of(TESTS), value_name = "LIST", value_delimiter = ',', default_value = "t,randomization")]
    tests: Vec<Test>,

    #[command(flatten)]
    statistics: StatisticsArgs,

    /// Samples of the bootstrap
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().resamples,
          value_parser = clap::value_parser!(u64).range(1..=MOST_SAMPLES))]
    resamples: u64,

    /// Confidence of intervals; what is left to 1 is the level of significance
    #[arg(long, value_name = "SHARE", default_value_t = CompareOptions::default().confidence,
          value_parser = inner_share)]
    confidence: f64,

    /// Test whether the runs are equivalent: whether their means differ by less than this
    #[arg(long, value_name = "MARGIN", value_parser = above_0)]
    equivalence: Option<f64>,

    /// The probability with which a difference is to be found, for "needs" and "shows"
    #[arg(long, value_name = "SHARE", default_value_t = CompareOptions::default().power, value_parser = inner_share)]
    power: f64,
}

/// Evaluates the runs, compares them and writes the report.
pub fn run(args: &CompareArgs, ui: &Ui) -> crate::Result<()> {
    let options = args.check_options()?;
    let format = args.evaluation.result.format(ui);
    if format == Format::Csv {
        args.evaluation.check_no_groups()?;
    }
    let runs = args.evaluation.evaluate(ui)?;
    check_compared(&runs, ui)?;
    let which = match &args.baseline {
        Some(baseline) => with_baseline(baseline, &args.evaluation.runs, &runs)?,
        None => Pairs::All,
    };
    let evaluations: Vec<_> = runs.iter().map(|run| &run.evaluation).collect();
    let pairs = compare_pairs(&evaluations, which, &options)?;
    let report = Report { comparisons: Some(Compared { which, options, pairs }), runs };

    let options = ReportOptions { per_query: false, digits: args.evaluation.result.digits() };
    let mut out = ui.out();
    match format {
        Format::Json => return ui.write_json(report.to_json(options)),
        Format::Csv => report.write_comparisons(&mut out)?,
        format => write_printable(&mut out, |shown| Ok(report.write(shown, format, options)?))?,
    }
    Ok(out.flush()?)
}

/// Refuses settings of tests that are not made.
fn check_used(options: &CompareOptions) -> Result<(), UsageError> {
    let default = CompareOptions::default();
    let is_made = |tests: &[Test]| tests.iter().any(|test| options.tests.contains(test));
    let permutes = is_made(&[Test::Randomization, Test::Tukey]);
    let resamples = is_made(&[Test::Bootstrap]);
    let unused = [
        (
            "--permutations",
            "randomization or tukey",
            options.permutations != default.permutations && !permutes,
        ),
        ("--resamples", "bootstrap", options.resamples != default.resamples && !resamples),
        ("--seed", "a test that draws at random", options.seed != default.seed && !permutes && !resamples),
    ];
    match unused.into_iter().find(|(_, _, is_unused)| *is_unused) {
        None => Ok(()),
        Some((flag, tests, _)) => Err(UsageError::new(
            format!("{flag} has no effect on these tests"),
            format!("leave it out, or add {tests} to --tests"),
        )),
    }
}

impl CompareArgs {
    /// Refuses options that do not go together; returns those of the tests.
    pub fn check_options(&self) -> Result<CompareOptions, UsageError> {
        if self.evaluation.runs.len() < 2 {
            return Err(UsageError::new("there is only one run to compare", "name two runs or more"));
        }
        let options = self.options();
        check_used(&options)?;
        Ok(options)
    }

    fn options(&self) -> CompareOptions {
        let mut tests: Vec<Test> = Vec::new();
        for test in &self.tests {
            if !tests.contains(test) {
                tests.push(*test);
            }
        }
        CompareOptions {
            tests,
            resamples: self.resamples,
            confidence: self.confidence,
            margin: self.equivalence,
            power: self.power,
            ..self.statistics.options()
        }
    }
}
