//! Filters that change one term in place.

mod case;
mod english;

pub(super) use case::lower_case;
pub(super) use english::possessive;
