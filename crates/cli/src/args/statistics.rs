//! The flags of significance tests.

use toller_eval::{CompareOptions, Correction, Pairs, RunReport, Test};

use super::paths::InputPath;
use crate::error::UsageError;
use crate::ui::Ui;

/// Flags of the commands that compare runs by significance tests.
#[derive(Clone, Debug, clap::Args)]
pub struct StatisticsArgs {
    /// Correction of the p-values for the number of comparisons by one measure
    #[arg(long, value_enum, default_value_t)]
    correction: CorrectionArg,

    /// Random permutations of the randomisation test and of Tukey's
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().permutations,
          value_parser = clap::value_parser!(u64).range(1..))]
    permutations: u64,

    /// Seed of the tests that draw at random
    #[arg(long, value_name = "N", default_value_t = CompareOptions::default().seed)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum CorrectionArg {
    #[default]
    Holm,
    Bonferroni,
    /// Benjamini and Hochberg: bounds the share of false discoveries
    Bh,
    None,
}

/// A significance test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TestArg {
    /// Student's paired t-test
    #[default]
    T,
    /// Fisher's randomisation test
    Randomization,
    /// The paired bootstrap
    Bootstrap,
    /// Wilcoxon's signed-rank test
    Wilcoxon,
    /// Tukey's honestly significant difference by randomisation, for all pairs at once
    Tukey,
}

impl From<TestArg> for Test {
    fn from(test: TestArg) -> Self {
        match test {
            TestArg::T => Self::T,
            TestArg::Randomization => Self::Randomization,
            TestArg::Bootstrap => Self::Bootstrap,
            TestArg::Wilcoxon => Self::Wilcoxon,
            TestArg::Tukey => Self::Tukey,
        }
    }
}

impl StatisticsArgs {
    /// The default options with what the flags say.
    pub fn options(&self) -> CompareOptions {
        let correction = match self.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bonferroni => Correction::Bonferroni,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
            CorrectionArg::None => Correction::None,
        };
        let (permutations, seed) = (self.permutations, self.seed);
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
    let named =
        |(path, run): (&InputPath, &RunReport)| path == baseline || baseline.as_os_str() == run.name.as_str();
    let found = paths.iter().zip(runs).position(named);
    found.map(Pairs::With).ok_or_else(|| {
        let message = format!("--baseline {} is not one of the runs", baseline.display());
        UsageError::new(message, "name one of the runs that are compared")
    })
}
