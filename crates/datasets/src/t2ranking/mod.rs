//! T2Ranking: how documents become passages, which passages of a query are judged, how alike queries are.

mod deduplicate;
mod diversity;
mod segment;
mod uncertain;
mod ward;

pub use deduplicate::{Deduplicated, deduplicate};
pub use diversity::IntraListSimilarity;
pub use segment::{ScoredWords, Segmentation};
pub use uncertain::{Uncertain, Uncertainty, uncertain_pairs};
pub use ward::ward_clusters;
