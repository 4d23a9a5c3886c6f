//! A measure: a declaration with its parameters, which parses and prints itself.

use std::fmt;
use std::str::FromStr;

use crate::declarations::{Aggregation, Declaration};
use crate::error::MeasureError;
use crate::parameters::Parameters;
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

    /// Whether the value is a count, which is summed over the queries; others are averaged.
    #[must_use]
    pub fn is_count(&self) -> bool {
        self.declaration.aggregation == Aggregation::Sum
    }

    /// Whether the value over all queries is the mean of the queries' values.
    #[must_use]
    pub fn is_mean(&self) -> bool {
        self.declaration.aggregation == Aggregation::Mean
    }

    /// The value over all queries from those of each, summed in this order: the mean, or the sum of a count.
    /// It equals that of [`evaluate`](crate::evaluate) if the order is that of the query ids' bytes.
    pub fn aggregate(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        let (mut sum, mut count) = (0.0, 0_usize);
        for value in values {
            sum += self.declaration.aggregation.term(value);
            count += 1;
        }
        self.declaration.aggregation.of_sum(sum, count)
    }

    /// How many documents of a ranking the value depends on, at most; `None` for all.
    #[must_use]
    pub fn depth(&self) -> Option<usize> {
        // If only judged documents count, the first k of them can be at any depth.
        self.parameters.cutoff.filter(|_| !self.parameters.judged_only).map(|cutoff| cutoff as usize)
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
