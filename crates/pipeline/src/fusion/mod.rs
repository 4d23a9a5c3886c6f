//! Several rankings of a query become one: interpolation, reciprocal ranks, Comb*, Borda, means.
//!
//! A [`Fusion`] says how: each list's scores are brought to one scale ([`Normalization`]), a document that is
//! missing from a list gets a value ([`Missing`]), and each document's numbers become one ([`Combination`]).
//! The methods of the literature are such triples and have names ([`METHODS`]).
//!
//! Rules that hold for all of them, and make a fused run the same on every machine and for every reader:
//!
//! - The rank of a document in a list is its place by score, descending; equal scores keep the list's own
//!   order.
//! - Numbers are computed in f64, and what is added up is added in ascending order, so that the order of the
//!   lists leaves no trace in a score. The fused score is rounded to f32.
//! - Documents of equal score are ranked as the first list ranks them, a document that is missing from it
//!   last; then as the second does, and so on. Every document is in some list, so the order is total.
//! - The scores of a fused ranking fall strictly: where a score would not be below the one before it, it
//!   becomes the next smaller f32. So a reader that goes only by scores, such as trec_eval, sees the ranks
//!   that were written.

mod combine;
mod error;
mod hybrid;
mod method;
mod normalize;
mod options;
mod pool;
mod query_order;
mod runs;
mod shared;

pub use error::FusionError;
pub use hybrid::{Collections, Hybrid};
pub use method::{METHODS, Method, UnknownMethod};
pub use options::{Combination, Fusion, Missing, Normalization, RRF_K, Scale};
pub use pool::Pool;
pub use query_order::merged_order;
pub use runs::{FusedQuery, Pools, fuse_runs};
