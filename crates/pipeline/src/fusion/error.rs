//! Why rankings cannot be fused.

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, counted, remedy};

/// Why rankings cannot be fused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FusionError {
    /// A setting that the method does not look at.
    #[error("{setting} has no meaning for {method}")]
    NoMeaning {
        /// What was set.
        setting: Setting,
        /// The name of the method.
        method: &'static str,
    },
    /// Nothing to fuse.
    #[error("there is nothing to fuse")]
    NoLists,
    /// Weights of another number than there are lists.
    #[error("{} for {}", counted(*weights, "weight"), counted(*lists, "list"))]
    WeightCount {
        /// How many weights.
        weights: usize,
        /// How many lists.
        lists: usize,
    },
    /// A weight that is negative or no number.
    #[error("the weight {0} is not a number from 0 up")]
    Weight(f64),
    /// No list would count.
    #[error("every weight is 0")]
    ZeroWeights,
    /// The constant of reciprocal rank fusion is negative or no number.
    #[error("the constant {0} of reciprocal rank fusion is not a number from 0 up")]
    ReciprocalRankConstant(f64),
    /// A document that a list has twice for a query.
    #[error("list {list} has document {document} twice for query {query}")]
    Duplicate {
        /// Which list, from 1.
        list: usize,
        /// The query's identifier.
        query: String,
        /// The document's identifier.
        document: String,
    },
    /// A score that is NaN or infinite.
    #[error("list {list} has the score {score} for document {document} of query {query}")]
    NotFinite {
        /// Which list, from 1.
        list: usize,
        /// The query's identifier.
        query: String,
        /// The document's identifier.
        document: String,
        /// The score.
        score: f64,
    },
    /// A fused score is too large for f32.
    #[error("the fused score {score:e} of document {document} for query {query} is outside the range of f32")]
    Overflow {
        /// The query's identifier.
        query: String,
        /// The document's identifier.
        document: String,
        /// The score.
        score: f64,
    },
    /// A searcher answered another number of queries than it was asked.
    #[error("searcher {list} returned {} for {}", counted(*rankings, "ranking"), counted(*queries, "query"))]
    RankingCount {
        /// Which searcher, from 1.
        list: usize,
        /// The rankings it returned.
        rankings: usize,
        /// The queries it was given.
        queries: usize,
    },
    /// Searchers of different collections.
    #[error(
        "the collections differ: {first_count} documents in the first and {other_count} in the other (number {list}); document \
         {document:?} is in the {present} alone"
    )]
    CollectionsDiffer {
        /// Which searcher differs from the first, from 1.
        list: usize,
        /// The documents of the first.
        first_count: usize,
        /// The documents of the other.
        other_count: usize,
        /// A document that is missing from one of them.
        document: String,
        /// "first" or "other": which one has it.
        present: &'static str,
    },
    /// A temporary file, in which the documents of large collections are matched.
    #[error(transparent)]
    File(#[from] FileError),
    /// Two documents of a collection with the same identifier, which cannot be matched.
    #[error("collection {list} has two documents of the identifier {document:?}")]
    AmbiguousId {
        /// Which collection, from 1.
        list: usize,
        /// The identifier.
        document: String,
    },
}

impl Explain for FusionError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NoMeaning { setting: setting @ Setting::RrfK, .. } => {
                remedy!("leave {} out, or fuse by rrf", *setting)
            }
            Self::NoMeaning { setting, method } => {
                remedy!("leave {} out: {} looks at ranks alone", *setting, *method)
            }
            Self::WeightCount { lists, .. } => {
                format!("give {}, one a list and in their order", counted(*lists, "weight")).into()
            }
            Self::Weight(_) | Self::ZeroWeights => {
                "weights are finite, at least 0, and one of them is above 0".into()
            }
            Self::ReciprocalRankConstant(_) => "the usual constant is 60".into(),
            Self::Overflow { .. } => remedy!(
                "normalize the scores before they are combined ({})",
                Setting::Normalize.to("min-max")
            ),
            Self::CollectionsDiffer { .. } => remedy!(
                "index and encode the same collection; or add {} to fuse what each finds in its own",
                Setting::DifferentCollections
            ),
            Self::AmbiguousId { .. } => {
                "identifiers must be unique for documents to be matched by them".into()
            }
            Self::File(error) => return error.remedy(),
            Self::NoLists | Self::Duplicate { .. } | Self::NotFinite { .. } | Self::RankingCount { .. } => {
                return None;
            }
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            _ => None,
        }
    }
}
