//! What can go wrong, each error with its remedy apart.

use toller_ir::{Explain, Remedy, counted};

use crate::parse::known_names;

/// A text that is not a measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// No measure has this name.
    #[error("unknown measure '{name}' in '{text}'")]
    Unknown {
        /// The whole text.
        text: String,
        /// The name in it.
        name: String,
        /// Measures whose names are close.
        close: Vec<&'static str>,
    },
    /// The text does not follow the notation.
    #[error("cannot read the measure '{text}': expected {expected}")]
    Syntax {
        /// The whole text.
        text: String,
        /// What should have stood there.
        expected: &'static str,
    },
    /// The measure has no such parameter.
    #[error("{measure} has no parameter '{parameter}'")]
    UnknownParameter {
        /// The measure.
        measure: &'static str,
        /// The parameter as given.
        parameter: String,
        /// The parameters that it has.
        accepted: Vec<&'static str>,
    },
    /// A parameter was given twice.
    #[error("'{text}' gives {parameter} twice")]
    RepeatedParameter {
        /// The whole text.
        text: String,
        /// The parameter.
        parameter: &'static str,
    },
    /// The parameter does not have this value.
    #[error("{parameter} = {value} in '{text}' is not {expected}")]
    BadValue {
        /// The whole text.
        text: String,
        /// The parameter.
        parameter: &'static str,
        /// Its value as given.
        value: String,
        /// What its values are.
        expected: &'static str,
    },
    /// The measure needs a value after `@`.
    #[error("{measure} needs a {parameter}")]
    AtMissing {
        /// The measure.
        measure: &'static str,
        /// What must stand after `@`.
        parameter: &'static str,
        /// A measure that has one.
        example: String,
    },
    /// The measure takes no value after `@`.
    #[error("{measure} takes no '@'")]
    AtNotTaken {
        /// The measure.
        measure: &'static str,
    },
    /// One measure was expected, and this stands for several.
    #[error("'{text}' stands for {count} measures")]
    Several {
        /// The text.
        text: String,
        /// How many.
        count: usize,
    },
    /// No measure in the text.
    #[error("no measure given")]
    Empty,
}

impl Explain for MeasureError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Unknown { name, .. } if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some("commas separate measures: write R@10,R@100".into())
            }
            Self::Unknown { close, .. } if close.is_empty() => {
                Some(format!("the measures are {}", known_names().join(", ")).into())
            }
            Self::Unknown { close, .. } => Some(format!("did you mean {}?", close.join(" or ")).into()),
            Self::Syntax { .. } => Some("write measures as nDCG@10, AP(rel=2) or RR(rel=2)@10".into()),
            Self::UnknownParameter { accepted, .. } if accepted.is_empty() => Some("it has none".into()),
            Self::UnknownParameter { accepted, .. } => Some(format!("it has {}", accepted.join(", ")).into()),
            Self::RepeatedParameter { .. } => Some("give it once".into()),
            Self::BadValue { parameter, expected, .. } => {
                Some(format!("{parameter} must be {expected}").into())
            }
            Self::AtMissing { example, .. } => Some(format!("write it as {example}").into()),
            Self::AtNotTaken { .. } => Some("leave out '@' and what follows".into()),
            Self::Several { .. } => Some("name one of them alone".into()),
            Self::Empty => Some("name at least one, as nDCG@10".into()),
        }
    }
}

/// A run that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// There are no judgments.
    #[error("the qrels hold no judgment")]
    EmptyQrels,
    /// There are no results.
    #[error("the run holds no result")]
    EmptyRun,
    /// Run and qrels have no query in common.
    #[error(
        "no query of the run is judged: the run has {}, such as {run_example:?}, the qrels {qrels_queries}, \
         such as {qrels_example:?}",
        counted(*run_queries, "query")
    )]
    NoJudgedQuery {
        /// How many queries the run has.
        run_queries: usize,
        /// One of them.
        run_example: String,
        /// How many the qrels have.
        qrels_queries: usize,
        /// One of them.
        qrels_example: String,
    },
    /// A document occurs twice in one query's results.
    #[error("the run lists document '{doc_id}' twice for query '{query_id}'")]
    DuplicateDocument {
        /// The query.
        query_id: String,
        /// The document.
        doc_id: String,
    },
    /// A score is not a number.
    #[error("the score of document '{doc_id}' for query '{query_id}' is not a number")]
    ScoreNotANumber {
        /// The query.
        query_id: String,
        /// The document.
        doc_id: String,
    },
    /// A gain is so large that sums of gains would overflow.
    #[error("grade {grade} of query '{query_id}' is too large for {measure}")]
    GainTooLarge {
        /// The query.
        query_id: String,
        /// The grade.
        grade: u32,
        /// The measure.
        measure: String,
    },
    /// A measure that is given only the ranks of first relevant documents, and needs more.
    #[error("{measure} does not depend on the rank of the first relevant document alone")]
    NotOfFirstRank {
        /// The measure.
        measure: String,
    },
    /// A measure that is given rankings without scores or other queries, and needs more.
    #[error("{measure} needs scores or all queries, not only the ranking of a query")]
    NotOfRankings {
        /// The measure.
        measure: String,
    },
    /// The best order by a measure that has none.
    #[error("no order is the best by {measure}: it says how much of a ranking is judged, not how good it is")]
    NoBestOrder {
        /// The measure.
        measure: String,
    },
}

impl Explain for EvalError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::EmptyQrels | Self::EmptyRun => Some("check that this is the file you meant".into()),
            Self::NoJudgedQuery { .. } => Some(
                "check that run and qrels belong to the same queries and write their ids the same way".into(),
            ),
            Self::DuplicateDocument { .. } => Some("list each document once per query".into()),
            Self::ScoreNotANumber { .. } => Some("find out which step wrote NaN, and run it again".into()),
            Self::GainTooLarge { .. } => {
                Some("use nDCG with linear gains, or map the grades with gains={...}".into())
            }
            Self::NotOfFirstRank { .. } => Some("use RR, RR@k or Success@k, without other parameters".into()),
            Self::NotOfRankings { .. } => Some("leave out micro, missing and ties".into()),
            Self::NoBestOrder { .. } => Some("leave out the measure, or the bound of the best order".into()),
        }
    }
}

/// Values that a significance test cannot be made of.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// The two samples are not pairs.
    #[error("the samples are not pairs: {left} and {right} values")]
    Unpaired {
        /// Values of the first sample.
        left: usize,
        /// Values of the second.
        right: usize,
    },
    /// Too few pairs.
    #[error("a significance test needs at least two queries, not {pairs}")]
    TooFewPairs {
        /// The number of pairs.
        pairs: usize,
    },
    /// A value is infinite or not a number.
    #[error("a value is not finite")]
    NotFinite,
    /// A margin of equivalence that is not a distance.
    #[error("the margin of equivalence is {margin}")]
    BadMargin {
        /// The margin.
        margin: f64,
    },
    /// More or fewer random samples or permutations than a test can draw.
    #[error("{given} random {what}: a test draws 1 to {most}", most = crate::stats::MOST_SAMPLES)]
    Samples {
        /// `resamples` or `permutations`.
        what: &'static str,
        /// How many.
        given: u64,
    },
}

impl Explain for StatsError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Unpaired { .. } => Some("compare values of the same queries".into()),
            Self::TooFewPairs { .. } => Some("evaluate over more queries, or leave out the test".into()),
            Self::NotFinite => None,
            Self::BadMargin { .. } => Some("give a margin above 0, such as 0.01".into()),
            Self::Samples { .. } => Some("draw some thousands".into()),
        }
    }
}

/// Two evaluations that cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// They do not hold the same measures.
    #[error("the evaluations hold different measures")]
    DifferentMeasures,
    /// A share that must be between 0 and 1.
    #[error("the {what} is {value}")]
    BadShare {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The test cannot be made.
    #[error(transparent)]
    Stats(#[from] StatsError),
}

impl Explain for CompareError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::DifferentMeasures => Some("evaluate both runs with the same measures".into()),
            Self::BadShare { what, .. } => Some(format!("give a {what} between 0 and 1, such as 0.8").into()),
            Self::Stats(error) => error.remedy(),
        }
    }
}
