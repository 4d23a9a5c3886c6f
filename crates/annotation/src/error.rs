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
    /// A row of a sheet contradicts an earlier row, of this sheet or of another.
    #[error("{sheet}, line {line}: {contradiction}")]
    Contradiction {
        /// The sheet's name.
        sheet: String,
        /// The line, from 1.
        line: usize,
        /// The grades.
        contradiction: Contradiction,
    },
    /// No grade was filled in.
    #[error("no grade is filled in")]
    NoRating,
}

/// Somebody judged a pair twice, with different grades.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{annotator} judged document {doc_id:?} for query {query_id:?} twice: {first} and {second}")]
pub struct Contradiction {
    /// Who judged.
    pub annotator: String,
    /// The query.
    pub query_id: String,
    /// The document.
    pub doc_id: String,
    /// The first grade.
    pub first: i32,
    /// The other grade.
    pub second: i32,
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
        let (file, line) = match self {
            Self::Sheet { sheet, line, .. } => (sheet.clone(), *line),
            Self::Contradiction { sheet, line, .. } => (sheet.clone(), Some(*line)),
            Self::Run(_) | Self::NoRating => return None,
        };
        Some(ErrorPlace { file, position: line.map(|line| Position::Line(line as u64)) })
    }
}
