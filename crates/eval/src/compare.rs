//! Runs compared with a baseline, query by query.

use crate::error::{CompareError, StatsError};
use crate::evaluate::Evaluation;
use crate::measure::Measure;
use crate::stats::{
    Correction, RandomizationTest, TTest, adjust_p_values, paired_t_test, randomization_test,
};

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// How p-values account for several runs being compared with the baseline by one measure.
    pub correction: Correction,
    /// Random permutations of the randomisation test.
    pub permutations: u64,
    /// The seed of the randomisation test.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { correction: Correction::default(), permutations: 100_000, seed: 42 }
    }
}

/// One run compared with the baseline by one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Which of the compared runs, from 0.
    pub run: usize,
    /// The measure.
    pub measure: Measure,
    /// Queries on which the run is better than the baseline.
    pub wins: usize,
    /// Queries on which both are the same.
    pub ties: usize,
    /// Queries on which the run is worse.
    pub losses: usize,
    /// The paired t-test.
    pub t_test: TTest,
    /// The randomisation test.
    pub randomization: RandomizationTest,
    /// The t-test's p-value, corrected.
    pub adjusted_t_test_p: f64,
    /// The randomisation test's p-value, corrected.
    pub adjusted_randomization_p: f64,
}

/// Compares each of `runs` with `baseline` by every measure that is not a count, on the queries that
/// both hold. The p-values of one measure are corrected together.
///
/// # Errors
/// If a run holds other measures than the baseline, or fewer than two queries in common with it.
pub fn compare(
    baseline: &Evaluation,
    runs: &[&Evaluation],
    options: &CompareOptions,
) -> Result<Vec<Comparison>, CompareError> {
    if runs.iter().any(|run| run.measures != baseline.measures) {
        return Err(CompareError::DifferentMeasures);
    }
    let mut comparisons = Vec::new();
    for (at, measure) in baseline.measures.iter().enumerate().filter(|(_, measure)| !measure.is_count()) {
        let mut of_measure = Vec::with_capacity(runs.len());
        for (run, evaluation) in runs.iter().enumerate() {
            let (left, right) = paired_values(baseline, evaluation, at);
            of_measure.push(compare_values(run, measure, &left, &right, options)?);
        }
        correct(&mut of_measure, options.correction);
        comparisons.extend(of_measure);
    }
    Ok(comparisons)
}

/// The values of measure `at` on the queries that both evaluations hold. Both are in the order of the
/// query ids, so this is a merge.
fn paired_values(baseline: &Evaluation, other: &Evaluation, at: usize) -> (Vec<f64>, Vec<f64>) {
    let mut others = other.per_query.iter().peekable();
    let mut pairs = (Vec::new(), Vec::new());
    for query in &baseline.per_query {
        while others.next_if(|other| other.query_id < query.query_id).is_some() {}
        let Some(same) = others.next_if(|other| other.query_id == query.query_id) else { continue };
        pairs.0.extend(query.values.get(at));
        pairs.1.extend(same.values.get(at));
    }
    pairs
}

fn compare_values(
    run: usize,
    measure: &Measure,
    baseline: &[f64],
    other: &[f64],
    options: &CompareOptions,
) -> Result<Comparison, StatsError> {
    let t_test = paired_t_test(baseline, other)?;
    let randomization = randomization_test(baseline, other, options.permutations, options.seed)?;
    let count =
        |wanted: fn(&f64, &f64) -> bool| baseline.iter().zip(other).filter(|(b, o)| wanted(b, o)).count();
    Ok(Comparison {
        run,
        measure: measure.clone(),
        wins: count(|baseline, other| other > baseline),
        ties: count(|baseline, other| other == baseline),
        losses: count(|baseline, other| other < baseline),
        adjusted_t_test_p: t_test.p_value,
        adjusted_randomization_p: randomization.p_value,
        t_test,
        randomization,
    })
}

fn correct(comparisons: &mut [Comparison], correction: Correction) {
    let t_tests: Vec<f64> = comparisons.iter().map(|comparison| comparison.t_test.p_value).collect();
    let randomizations: Vec<f64> =
        comparisons.iter().map(|comparison| comparison.randomization.p_value).collect();
    let adjusted =
        adjust_p_values(&t_tests, correction).into_iter().zip(adjust_p_values(&randomizations, correction));
    for (comparison, (t_test, randomization)) in comparisons.iter_mut().zip(adjusted) {
        comparison.adjusted_t_test_p = t_test;
        comparison.adjusted_randomization_p = randomization;
    }
}
