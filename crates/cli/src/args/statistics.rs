//! The flags of significance tests.

use toller_eval::{CompareOptions, Correction, MOST_SAMPLES, Pairs, RunReport, Test};

use super::choice::{Choice, Described, described};
use super::outputs::is_same_place;
use super::paths::InputPath;
use crate::error::UsageError;
use crate::ui::Ui;

/// Flags of the commands that compare runs by significance tests.
#[derive(Clone, Debug, clap::Args)]
pub struct StatisticsArgs {
    /// Correction of the p-values for the number of comparisons by one measure
    #[arg(long, value_parser = described(CORRECTIONS), default_value_t)]
    correction: Correction,

    /// Random permutations of the randomisation test and of Tukey's
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().permutations,
          value_parser = clap::value_parser!(u64).range(1..=MOST_SAMPLES))]
    permutations: u64,

    /// Seed of the tests that draw at random
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().seed)]
    seed: u64,
}

const CORRECTIONS: &[Described<Correction>] = &[
    (Correction::Holm, ""),
    (Correction::Bonferroni, ""),
    (Correction::BenjaminiHochberg, "Benjamini and Hochberg: bounds the share of false discoveries"),
    (Correction::None, ""),
];

/// The significance tests.
pub const TESTS: &[Choice<Test>] = &[
    ("t", "Student's paired t-test", Test::T),
    ("t-test", "The same, as reports call it", Test::T),
    ("randomization", "Fisher's randomisation test", Test::Randomization),
    ("bootstrap", "The paired bootstrap", Test::Bootstrap),
    ("wilcoxon", "Wilcoxon's signed-rank test", Test::Wilcoxon),
    ("tukey", "Tukey's honestly significant difference by randomisation, for all pairs at once", Test::Tukey),
];

impl StatisticsArgs {
    /// The default options with what the flags say.
    pub fn options(&self) -> CompareOptions {
        let Self { correction, permutations, seed } = *self;
        CompareOptions { correction, permutations, seed, ..CompareOptions::default() }
    }
}

/// Refuses measures that no test can compare if there are no others; notes them if there are.
pub fn check_compared(runs: &[RunReport], ui: &Ui) -> Result<(), UsageError> {
    let measures = runs.first().map_or(&[][..], |run| &run.evaluation.measures);
    let others: Vec<String> =
        measures.iter().filter(|measure| !measure.is_mean()).map(ToString::to_string).collect();
    if others.is_empty() {
        return Ok(());
    }
    let names = others.join(", ");
    if others.len() == measures.len() {
        let message = format!("tests compare means over queries, which none of the measures is: {names}");
        return Err(UsageError::new(message, "add a measure such as AP"));
    }
    ui.status(format!("not compared, since tests compare means over queries: {names}"));
    Ok(())
}

/// The comparisons with the run that `--baseline` names: by its path, or as reports call it.
pub fn with_baseline(
    baseline: &InputPath,
    paths: &[InputPath],
    runs: &[RunReport],
) -> Result<Pairs, UsageError> {
    let named = |(path, run): (&InputPath, &RunReport)| {
        is_same_place(path, baseline) || baseline.as_os_str() == run.name.as_str()
    };
    let found = paths.iter().zip(runs).position(named);
    found.map(Pairs::With).ok_or_else(|| {
        let message = format!("--baseline {} is not one of the runs", baseline.display());
        UsageError::new(message, "name one of the runs that are compared")
    })
}
