//! Judgments by people: a pool of what runs retrieved, in packages; how far annotators agree; and the vote.
//!
//! [`Pool`] collects the first documents of several runs, as TREC does. [`packages`] cuts it into parts that
//! one person can judge. The filled sheets come back as [`Ratings`]: [`agreement`] says how far they can be
//! trusted, and [`vote`] makes judgments of them.

mod agreement;
mod error;
mod package;
mod pool;
mod ratings;
mod sheet;
mod vote;

pub use agreement::{Agreement, PairAgreement, agreement};
pub use error::{AnnotationError, Contradiction};
pub use package::{Package, packages};
pub use pool::{Pair, Pool};
pub use ratings::{Rating, Ratings};
pub use sheet::{Row, Sheet, SheetProblem};
pub use vote::{Outcome, Vote, vote};
