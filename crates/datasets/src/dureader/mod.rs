//! DuReader-retrieval: how it was made of DuReader, its own formats, and its out-of-domain sets.

mod domains;
mod label;
mod official;
mod passages;
mod pool;
mod similar;
mod span_f1;
mod texts;

pub use domains::{DomainFiles, OtherDomain, write_other_domain};
pub use label::{Labelling, SpanUnit, label_dureader};
pub use official::{PREDICTION_DEPTH, PassageIds, read_official, write_official, write_prediction};
pub use passages::{JoinedPassage, join_paragraphs};
pub use pool::write_pool;
pub use similar::{SimilarQueries, similar_queries};
pub use span_f1::SpanF1;
pub use texts::with_query_ids;
