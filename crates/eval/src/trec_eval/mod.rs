//! trec_eval's command line and its output, byte by byte: version 10 of NIST's program.
//!
//! [`Arguments::parse`] reads the arguments that trec_eval takes, and [`Request`] says which measures they
//! ask for. The caller reads the files and [`write()`] prints what trec_eval prints.

mod arguments;
mod groups;
mod output;
mod preference_measures;
mod preferences;
mod request;
mod table;
mod z_scores;

pub use arguments::{Arguments, JudgmentFormat};
pub use groups::JudgmentGroups;
pub use output::{Judgments, write};
pub use preferences::Preferences;
pub use request::Request;
pub(crate) use table::nickname_measures;
pub use z_scores::ZScores;

use toller_ir::{Explain, Remedy};

use crate::error::{EvalError, MeasureError};

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum TrecEvalError {
    /// The arguments are not trec_eval's.
    #[error("trec_eval: {message}")]
    Usage {
        /// What is wrong.
        message: String,
    },
    /// A measure that trec_eval does not have, or not with these judgments.
    #[error("trec_eval: illegal measure '{name}'")]
    Measure {
        /// The measure as given.
        name: String,
        /// Why it is illegal.
        reason: String,
    },
    /// A parameter of a measure is bad.
    #[error("trec_eval: cannot initialize measure '{name}'")]
    Parameter {
        /// The measure as given.
        name: String,
        /// What is wrong.
        source: MeasureError,
    },
    /// A judged query without results, without `-c`.
    #[error("trec_eval: the run has no result for query '{query_id}'")]
    MissingQuery {
        /// The query.
        query_id: String,
    },
    /// A line of a file that only trec_eval reads.
    #[error("line {line}: expected {expected}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A document that is judged twice for a query by one group.
    #[error("document '{doc_id}' is judged twice for query '{query_id}'")]
    JudgedTwice {
        /// The query.
        query_id: String,
        /// The document.
        doc_id: String,
    },
    /// A group of judges prefers a document to itself, or finds it relevant and non-relevant.
    #[error("a group contradicts itself about document '{doc_id}' of query '{query_id}'")]
    Conflict {
        /// The query.
        query_id: String,
        /// The document.
        doc_id: String,
    },
    /// The run cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Explain for TrecEvalError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Usage { .. } => Some(
                "the arguments are [-q] [-c] [-n] [-J] [-l LEVEL] [-M DEPTH] [-N DOCUMENTS] [-m MEASURE[.PARAMETERS]] \
                 [-R FORMAT] [-Z FILE] QRELS RUN"
                    .into(),
            ),
            Self::Measure { reason, .. } => Some(reason.clone().into()),
            Self::Parameter { source, .. } => source.remedy(),
            Self::MissingQuery { .. } => Some("add -c, and missing queries count as zero".into()),
            Self::Line { .. } => Some("correct the line".into()),
            Self::JudgedTwice { .. } => Some("judge each document once".into()),
            Self::Conflict { .. } => Some("give judges who disagree a group each".into()),
            Self::Eval(error) => error.remedy(),
            Self::Io(error) => error.remedy(),
        }
    }
}
