//! Queries that are searched together.

use toller_ir::Filter;

use crate::collection::Collection;

/// Queries that share each reading of the vectors.
#[derive(Clone, Copy)]
pub(crate) struct QueryGroup<'a> {
    pub(crate) collection: &'a Collection<'a>,
    /// `[count, dim]`.
    pub(crate) queries: &'a [f32],
    /// Each query's number among all queries of the search, for the filter.
    pub(crate) numbers: &'a [usize],
    pub(crate) filter: Filter<'a>,
}

impl QueryGroup<'_> {
    /// How many queries there are.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }
}
