//! What can be wrong with a search.

use toller_gpu::DeviceError;
use toller_ir::{Explain, Remedy, Setting, remedy};

/// Why a search cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IpTopkError {
    /// `k` is zero.
    #[error("k is 0")]
    ZeroK,
    /// The dimension is zero.
    #[error("the dimension is 0")]
    ZeroDim,
    /// A segment is not a whole number of vectors.
    #[error("segment {segment} holds {len} numbers, not a whole number of vectors of dimension {dim}")]
    SegmentShape {
        /// Which segment, from zero.
        segment: usize,
        /// How many numbers it holds.
        len: usize,
        /// The dimension of the collection.
        dim: usize,
    },
    /// A segment's ordinals overlap those of the previous segment, or exceed 32 bits.
    #[error(
        "segment {segment} begins at ordinal {first}, expected at least {expected} and an end below 2^32"
    )]
    SegmentOrder {
        /// Which segment, from zero.
        segment: usize,
        /// Its first ordinal.
        first: u32,
        /// One past the last ordinal of the previous segment.
        expected: u64,
    },
    /// A segment has codes for another number of vectors.
    #[error("the codes of segment {segment} are not those of {rows} vectors")]
    CodesShape {
        /// Which segment, from zero.
        segment: usize,
        /// The number of its vectors.
        rows: usize,
    },
    /// The number of exclusion lists is not that of the queries.
    #[error("{lists} lists of excluded documents for {queries} queries")]
    ExclusionShape {
        /// The number of lists.
        lists: usize,
        /// The number of queries.
        queries: usize,
    },
    /// The vectors have more numbers than the sums of the int8 scan can hold.
    #[error("the int8 scan adds up at most {max} products, the vectors have {dim} numbers")]
    DimTooLarge {
        /// The dimension of the collection.
        dim: usize,
        /// The largest dimension for the int8 scan.
        max: usize,
    },
    /// The queries are not a whole number of vectors.
    #[error(
        "the queries hold {len} numbers, not a whole number of vectors of the collection's dimension {dim}"
    )]
    QueryShape {
        /// How many numbers were given.
        len: usize,
        /// The dimension of the collection.
        dim: usize,
    },
    /// A query has a number that is not finite.
    #[error("query {query} is not finite: number {column} is {value}")]
    QueryNotFinite {
        /// Which query, from zero.
        query: usize,
        /// Which of its numbers, from zero.
        column: usize,
        /// NaN or an infinity.
        value: f32,
    },
    /// The number of lists of relevant vectors is not that of the queries.
    #[error("{lists} lists of relevant vectors for {queries} queries")]
    RelevantShape {
        /// The number of lists.
        lists: usize,
        /// The number of queries.
        queries: usize,
    },
    /// A relevant vector that the collection does not have.
    #[error("no vector has the ordinal {doc}")]
    UnknownVector {
        /// Its ordinal.
        doc: u32,
    },
    /// Groups that are not numbered, or not one for each ordinal.
    #[error("{groups} groups for {ordinals} ordinals, or a group's number is not below that")]
    GroupShape {
        /// How many ordinals have a group.
        groups: usize,
        /// How many ordinals there are.
        ordinals: usize,
    },
    /// A device cannot be used or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Explain for IpTopkError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::ZeroK => remedy!("ask for at least one hit, for instance `{}`", Setting::K.to("1000")),
            Self::QueryShape { .. } => "encode the queries with the model that encoded the collection".into(),
            Self::QueryNotFinite { .. } => {
                remedy!(
                    "give finite numbers; a model that made these overflows: compute with `{}`",
                    Setting::Dtype.to("f32")
                )
            }
            Self::DimTooLarge { .. } => remedy!("scan with `{}`", Setting::Scan.to("f32")),
            Self::Device(error) => return error.remedy(),
            Self::ZeroDim
            | Self::SegmentShape { .. }
            | Self::SegmentOrder { .. }
            | Self::CodesShape { .. }
            | Self::ExclusionShape { .. }
            | Self::RelevantShape { .. }
            | Self::UnknownVector { .. }
            | Self::GroupShape { .. } => return None,
        })
    }
}
