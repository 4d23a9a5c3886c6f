//! Searching: the best documents of a query, exactly.

mod exhaustive;

/// Documents that are scored together.
pub(crate) const WINDOW: usize = 4096;
