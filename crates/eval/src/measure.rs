//! A measure: a declaration with its parameters, which parses and prints itself.

use std::fmt;
use std::str::FromStr;

use crate::declarations::{Aggregation, Declaration};
use crate::error::MeasureError;
use crate::exact;
use crate::parameters::{Parameter, Parameters};
use crate::parse;
use crate::ranking::JudgedRanking;

/// A retrieval measure in the notation of ir_measures: `nDCG@10`, `AP(rel=2)`, `IPrec@0.1`.
///
/// Names are read in upper and lower case, with the aliases of ir_measures (`MRR`, `MAP`, `Recall`) and the
/// names of trec_eval (`ndcg_cut_10`, `recip_rank`); a measure prints in its canonical form, which parses
/// back to the same measure.
#[derive(Clone)]
pub struct Measure {
    pub(crate) declaration: &'static Declaration,
    pub(crate) parameters: Parameters,
}

impl Measure {
    /// The value of this measure on one query's ranking, where `level` is the lowest relevant grade
    /// unless the measure names its own.
    pub(crate) fn compute(&self, ranking: &JudgedRanking, level: u32) -> f64 {
        let level = self.parameters.rel.unwrap_or(level);
        if self.parameters.judged_only {
            return (self.declaration.compute)(&ranking.judged_only(), &self.parameters, level);
        }
        (self.declaration.compute)(ranking, &self.parameters, level)
    }

    /// How much a query counts in the value over all queries.
    pub(crate) fn weight(&self, ranking: &JudgedRanking, level: u32, retrieved: bool) -> f64 {
        let level = self.parameters.rel.unwrap_or(level);
        match self.declaration.denominator {
            _ if self.parameters.skip_missing && !retrieved => 0.0,
            Some(denominator) if self.parameters.micro => denominator(ranking, &self.parameters, level),
            _ => 1.0,
        }
    }

    /// The value on a query whose first relevant document has this rank; `None` if the value depends on more.
    pub(crate) fn of_first_rank(&self, rank: Option<f64>) -> Option<f64> {
        let Parameters { rel: None, judged_only: false, skip_missing: false, .. } = self.parameters else {
            return None;
        };
        Some((self.declaration.of_first_rank?)(rank, &self.parameters))
    }

    /// The same measure, with documents of the same score that share the mean of their ranks.
    #[must_use]
    pub fn with_average_ties(&self) -> Self {
        Self { parameters: Parameters { average_ties: true, ..self.parameters.clone() }, ..self.clone() }
    }

    /// Whether each query's judgments in the order of its ranking decide the value, and all queries count
    /// alike.
    #[must_use]
    pub fn is_of_rankings(&self) -> bool {
        !(self.parameters.micro || self.parameters.skip_missing || self.parameters.average_ties)
    }

    /// Whether the value says how much of a ranking is judged, and not how good its order is.
    #[must_use]
    pub fn is_of_judging(&self) -> bool {
        self.declaration.of_judging
    }

    /// Whether the value is a count, which is summed over the queries; others are averaged.
    #[must_use]
    pub fn is_count(&self) -> bool {
        self.declaration.aggregation == Aggregation::Sum
    }

    /// Whether the value over all queries is the mean of the queries' values.
    #[must_use]
    pub fn is_mean(&self) -> bool {
        let weighted = self.parameters.micro || self.parameters.skip_missing;
        self.declaration.aggregation == Aggregation::Mean && !weighted
    }

    /// The value over all queries from those of each, summed in this order: the mean, or the sum of a count.
    /// It equals the value of [`evaluate`](crate::evaluate) if the queries are in the order of their ids'
    /// bytes and the measure [is of rankings](Measure::is_of_rankings).
    pub fn aggregate(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        self.aggregate_weighted(values.into_iter().map(|value| (value, 1.0)))
    }

    /// As [`Measure::aggregate`], from the values and their weights.
    pub(crate) fn aggregate_weighted(&self, values: impl IntoIterator<Item = (f64, f64)>) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (value, weight) in values {
            sum += weight * self.declaration.aggregation.term(value);
            weights += weight;
        }
        self.declaration.aggregation.of_sum(sum, weights)
    }

    /// How many documents of a ranking the value depends on, at most; `None` for all.
    #[must_use]
    pub fn depth(&self) -> Option<usize> {
        // The first k judged documents can be at any depth, and so can the last of a tie.
        let Parameters { judged_only, average_ties, cutoff, .. } = self.parameters;
        cutoff.filter(|_| !judged_only && !average_ties).map(|cutoff| cutoff as usize)
    }

    /// The lowest relevant grade, where `level` is that of the evaluation; `None` if none is asked for.
    #[must_use]
    pub fn relevance_level(&self, level: u32) -> Option<u32> {
        let takes_level = self.declaration.parameters.contains(&Parameter::Rel);
        takes_level.then(|| self.parameters.rel.unwrap_or(level))
    }

    /// What is measured, in one line.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.declaration.summary
    }

    /// A value of this measure as trec_eval prints it: `digits` decimals, counts without any.
    #[must_use]
    pub fn format(&self, value: f64, digits: usize) -> String {
        if self.is_count() { format!("{value:.0}") } else { format!("{value:.digits$}") }
    }

    /// The same with all digits, for programs.
    #[must_use]
    pub fn format_exact(&self, value: f64) -> String {
        if self.is_count() { self.format(value, 0) } else { exact(value) }
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.declaration.name == other.declaration.name && self.parameters == other.parameters
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Padding must see the whole text, so it is formed first.
        f.pad(&format!("{}{}", self.declaration.name, self.parameters))
    }
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Measure({self})")
    }
}

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, MeasureError> {
        parse::parse_measure(text)
    }
}
