//! What can go wrong with annotations.

use toller_eval::EvalError;
use toller_ir::{ErrorPlace, Explain, Position, Remedy};

/// Why annotations cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    /// A run's results cannot be ranked.
    #[error(transparent)]
    Run(#[from] EvalError),
    /// A sheet is not CSV, or has no such column.
    #[error("{sheet}{}: {problem}", line.map_or(String::new(), |line| format!(", line {line}")))]
    Sheet {
        /// The sheet's name.
        sheet: String,
        /// The line, from 1.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// Somebody judged a pair twice, with different grades.
    #[error("{annotator} judged document {doc_id:?} for query {query_id:?} twice: {first} and {second}")]
    Contradiction {
        /// Who judged.
        annotator: String,
        /// The query.
        query_id: String,
        /// The document.
        doc_id: String,
        /// The first grade.
        first: i32,
        /// The other grade.
        second: i32,
    },
    /// No grade was filled in.
    #[error("no grade is filled in")]
    NoRating,
}

impl Explain for AnnotationError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Run(error) => error.remedy(),
            Self::Sheet { .. } => {
                Some("give CSV with the columns query_id, doc_id and grade, as the packages have them".into())
            }
            Self::Contradiction { .. } => Some("keep one of the two rows".into()),
            Self::NoRating => Some("give sheets with whole numbers in the column grade".into()),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Sheet { sheet, line, .. } => Some(ErrorPlace {
                file: sheet.clone(),
                position: line.map(|line| Position::Line(line as u64)),
            }),
            Self::Run(_) | Self::Contradiction { .. } | Self::NoRating => None,
        }
    }
}
