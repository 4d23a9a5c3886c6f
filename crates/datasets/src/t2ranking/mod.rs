//! T2Ranking: which passages of a query are judged, and how alike queries are.

mod deduplicate;
mod diversity;
mod uncertain;
mod ward;

pub use deduplicate::{Deduplicated, deduplicate};
pub use diversity::IntraListSimilarity;
pub use uncertain::{Uncertain, Uncertainty, uncertain_pairs};
pub use ward::ward_clusters;
