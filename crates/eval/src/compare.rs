//! Runs compared with each other, query by query.

use std::collections::HashMap;

use rayon::prelude::*;
use toller_ir::named;

use crate::error::{CompareError, StatsError};
use crate::evaluate::Evaluation;
use crate::measure::Measure;
use crate::stats::{
    BootstrapTest, Correction, EffectSize, Equivalence, Interval, RandomizationTest, TTest, WilcoxonTest,
    adjust_p_values, bootstrap_test, detectable_effect, paired_t_test, queries_needed, randomization_test,
    tukey_test, wilcoxon_test,
};

named! {
    /// A significance test.
    pub enum Test: "a significance test" {
        /// Student's paired t-test.
        T = "t-test",
        /// Fisher's randomisation test.
        Randomization = "randomization",
        /// The paired bootstrap.
        Bootstrap = "bootstrap",
        /// Wilcoxon's signed-rank test.
        Wilcoxon = "wilcoxon",
        /// Tukey's honestly significant difference by randomisation, over all runs at once.
        Tukey = "tukey",
    }
}

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// How p-values account for several pairs of runs being compared by one measure.
    pub correction: Correction,
    /// Random permutations of the randomisation test and of Tukey's.
    pub permutations: u64,
    /// The seed of the tests that draw at random.
    pub seed: u64,
    /// The tests to make. The first is the one that marks of significance go by.
    pub tests: Vec<Test>,
    /// Samples of the bootstrap.
    pub resamples: u64,
    /// The confidence of intervals, in (0, 1); what is left to 1 is the level of significance.
    pub confidence: f64,
    /// The largest mean difference that counts as none, for a test of equivalence.
    pub margin: Option<f64>,
    /// The probability with which a difference is to be found, for the number of queries that are needed.
    pub power: f64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            correction: Correction::default(),
            permutations: 100_000,
            seed: 42,
            tests: vec![Test::T, Test::Randomization],
            resamples: 10_000,
            confidence: 0.95,
            margin: None,
            power: 0.8,
        }
    }
}

impl CompareOptions {
    /// The level of significance.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }
}

/// Which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Each run with the one at this index.
    With(usize),
    /// Each run with each other.
    All,
}

impl Pairs {
    /// The pairs of `runs` runs: the index of the baseline, and of the run that is compared with it.
    #[must_use]
    pub fn of(self, runs: usize) -> Vec<(usize, usize)> {
        match self {
            Self::With(baseline) => {
                (0..runs).filter(|run| *run != baseline).map(|run| (baseline, run)).collect()
            }
            Self::All => (0..runs).flat_map(|a| (a + 1..runs).map(move |b| (a, b))).collect(),
        }
    }
}

/// What a test found, with its details.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Of Student's paired t-test.
    T(TTest),
    /// Of Fisher's randomisation test.
    Randomization(RandomizationTest),
    /// Of the paired bootstrap.
    Bootstrap(BootstrapTest),
    /// Of Wilcoxon's signed-rank test.
    Wilcoxon(WilcoxonTest),
    /// Tukey's p-value, which holds for all pairs together.
    Tukey(f64),
}

impl Outcome {
    /// The two-sided p-value.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        match self {
            Self::T(test) => test.p_value,
            Self::Randomization(test) => test.p_value,
            Self::Bootstrap(test) => test.p_value,
            Self::Wilcoxon(test) => test.p_value,
            Self::Tukey(p_value) => *p_value,
        }
    }

    /// Which test it was.
    #[must_use]
    pub fn test(&self) -> Test {
        match self {
            Self::T(_) => Test::T,
            Self::Randomization(_) => Test::Randomization,
            Self::Bootstrap(_) => Test::Bootstrap,
            Self::Wilcoxon(_) => Test::Wilcoxon,
            Self::Tukey(_) => Test::Tukey,
        }
    }
}

/// A test's outcome and its p-value, corrected for the number of pairs that were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// What was found.
    pub outcome: Outcome,
    /// The corrected p-value. Tukey's needs no correction.
    pub adjusted_p: f64,
}

/// Two runs compared by one measure, on the queries that both hold.
#[derive(Clone, Debug, PartialEq)]
pub struct PairComparison {
    /// The index of the run that is compared with.
    pub baseline: usize,
    /// The index of the run that is compared.
    pub run: usize,
    /// The measure.
    pub measure: Measure,
    /// The number of queries.
    pub queries: usize,
    /// The mean of the baseline and that of the run.
    pub means: [f64; 2],
    /// Queries on which the run is better than the baseline.
    pub wins: usize,
    /// Queries on which both are the same.
    pub ties: usize,
    /// Queries on which the run is worse.
    pub losses: usize,
    /// The t-test, which holds the mean difference. It is made whether or not it was asked for.
    pub t_test: TTest,
    /// The interval of the mean difference by Student's t.
    pub interval: Interval,
    /// The size of the effect.
    pub effect: EffectSize,
    /// The tests that were asked for, in their order.
    pub tests: Vec<Tested>,
    /// Equivalence within the margin, if one was given.
    pub equivalence: Option<Equivalence>,
    /// The p-value of equivalence, corrected.
    pub adjusted_equivalence_p: Option<f64>,
    /// The queries on which a t-test would find this effect; `None` without an effect.
    pub queries_needed: Option<usize>,
    /// The smallest mean difference that a t-test would find on these queries.
    pub detectable_difference: Option<f64>,
}

impl PairComparison {
    /// A test that was asked for.
    #[must_use]
    pub fn test(&self, test: Test) -> Option<&Tested> {
        self.tests.iter().find(|tested| tested.outcome.test() == test)
    }

    /// Whether the runs differ at the level `alpha` by the first test, after correction.
    #[must_use]
    pub fn is_significant(&self, alpha: f64) -> bool {
        self.tests.first().is_some_and(|tested| tested.adjusted_p < alpha)
    }
}

/// Compares pairs of `runs` by every measure that is averaged over the queries. The comparisons of one
/// measure come together, in the order of [`Pairs::of`], and their p-values are corrected together.
///
/// # Errors
/// If the runs hold different measures, two have fewer than two queries in common, or the options cannot be
/// met.
pub fn compare_pairs(
    runs: &[&Evaluation],
    pairs: Pairs,
    options: &CompareOptions,
) -> Result<Vec<PairComparison>, CompareError> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    if runs.iter().any(|run| run.measures != first.measures) {
        return Err(CompareError::DifferentMeasures);
    }
    if !(options.confidence > 0.0 && options.confidence < 1.0) {
        return Err(CompareError::BadShare { what: "confidence", value: options.confidence });
    }
    if !(options.power > 0.0 && options.power < 1.0) {
        return Err(CompareError::BadShare { what: "power", value: options.power });
    }
    let pairs = pairs.of(runs.len());
    let mut comparisons = Vec::new();
    // By number of queries, which most pairs share.
    let mut detectable = HashMap::new();
    for (at, measure) in first.measures.iter().enumerate().filter(|(_, measure)| measure.is_mean()) {
        let tukey = match options.tests.contains(&Test::Tukey) && !pairs.is_empty() {
            true => Some(tukey_of(runs, at, options)?),
            false => None,
        };
        let of_pair = |&(baseline, run): &(usize, usize)| {
            let values = paired_values(runs[baseline], runs[run], at);
            let tukey = tukey.as_ref().map(|p_values| p_values[baseline][run]);
            compare_values((baseline, run), measure, &values, tukey, options)
        };
        let mut of_measure = pairs.par_iter().map(of_pair).collect::<Result<Vec<_>, _>>()?;
        for comparison in &mut of_measure {
            let queries = comparison.queries;
            let detect = || detectable_effect(queries, options.alpha(), options.power);
            let effect = *detectable.entry(queries).or_insert_with(detect);
            comparison.detectable_difference =
                effect.map(|effect| effect * comparison.t_test.standard_deviation());
        }
        correct(&mut of_measure, options);
        comparisons.extend(of_measure);
    }
    Ok(comparisons)
}

/// The values of measure `at` on the queries that both evaluations hold. Both are in the order of the
/// query ids, so this is a merge.
fn paired_values(baseline: &Evaluation, other: &Evaluation, at: usize) -> [Vec<f64>; 2] {
    let mut others = other.per_query.iter().peekable();
    let mut pairs = [Vec::new(), Vec::new()];
    for query in &baseline.per_query {
        while others.next_if(|other| other.query_id < query.query_id).is_some() {}
        let Some(same) = others.next_if(|other| other.query_id == query.query_id) else { continue };
        pairs[0].extend(query.values.get(at));
        pairs[1].extend(same.values.get(at));
    }
    pairs
}

/// Tukey's p-values of all pairs, on the queries that all evaluations hold.
fn tukey_of(runs: &[&Evaluation], at: usize, options: &CompareOptions) -> Result<Vec<Vec<f64>>, StatsError> {
    let in_all = |query: &str| {
        let place =
            |run: &&Evaluation| run.per_query.binary_search_by(|other| other.query_id.as_str().cmp(query));
        runs.iter().map(|run| place(run).ok()).collect::<Option<Vec<usize>>>()
    };
    let mut values = vec![Vec::new(); runs.len()];
    for query in runs.first().map_or(&[][..], |run| &run.per_query) {
        let Some(places) = in_all(&query.query_id) else { continue };
        for ((values, run), place) in values.iter_mut().zip(runs).zip(places) {
            values.extend(run.per_query[place].values.get(at));
        }
    }
    let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    tukey_test(&values, options.permutations, options.seed)
}

fn compare_values(
    (baseline, run): (usize, usize),
    measure: &Measure,
    values: &[Vec<f64>; 2],
    tukey: Option<f64>,
    options: &CompareOptions,
) -> Result<PairComparison, StatsError> {
    let [before, after] = values;
    let t_test = paired_t_test(before, after)?;
    let mut tests = Vec::with_capacity(options.tests.len());
    for test in &options.tests {
        let outcome = match test {
            Test::T => Outcome::T(t_test),
            Test::Randomization => {
                Outcome::Randomization(randomization_test(before, after, options.permutations, options.seed)?)
            }
            Test::Bootstrap => {
                let (resamples, confidence) = (options.resamples, options.confidence);
                Outcome::Bootstrap(bootstrap_test(before, after, resamples, confidence, options.seed)?)
            }
            Test::Wilcoxon => Outcome::Wilcoxon(wilcoxon_test(before, after)?),
            Test::Tukey => Outcome::Tukey(tukey.unwrap_or(1.0)),
        };
        tests.push(Tested { adjusted_p: outcome.p_value(), outcome });
    }
    let effect = t_test.effect();
    let equivalence = options.margin.map(|margin| t_test.equivalence(margin)).transpose()?;
    let count =
        |wanted: fn(&f64, &f64) -> bool| before.iter().zip(after).filter(|(b, a)| wanted(b, a)).count();
    Ok(PairComparison {
        baseline,
        run,
        measure: measure.clone(),
        queries: before.len(),
        means: values.each_ref().map(|values| measure.aggregate(values.iter().copied())),
        wins: count(|before, after| after > before),
        ties: count(|before, after| after == before),
        losses: count(|before, after| after < before),
        interval: t_test.interval(options.confidence),
        queries_needed: queries_needed(effect.cohens_d, options.alpha(), options.power),
        detectable_difference: None,
        adjusted_equivalence_p: equivalence.map(|equivalence| equivalence.p_value),
        t_test,
        effect,
        tests,
        equivalence,
    })
}

/// Corrects the p-values of one measure's comparisons, each test's apart.
fn correct(comparisons: &mut [PairComparison], options: &CompareOptions) {
    let adjusted = |p_values: Vec<f64>| adjust_p_values(&p_values, options.correction);
    for (at, test) in options.tests.iter().enumerate().filter(|(_, test)| **test != Test::Tukey) {
        debug_assert!(comparisons.iter().all(|comparison| comparison.tests[at].outcome.test() == *test));
        let p_values = comparisons.iter().map(|comparison| comparison.tests[at].outcome.p_value()).collect();
        for (comparison, p) in comparisons.iter_mut().zip(adjusted(p_values)) {
            comparison.tests[at].adjusted_p = p;
        }
    }
    let equivalences =
        comparisons.iter().filter_map(|comparison| comparison.adjusted_equivalence_p).collect();
    for (comparison, p) in comparisons.iter_mut().zip(adjusted(equivalences)) {
        comparison.adjusted_equivalence_p = Some(p);
    }
}
