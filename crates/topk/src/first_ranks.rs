//! The rank of the best of a query's relevant vectors among all vectors.

use toller_ir::DocOrd;
use toller_simd::Isa;

use crate::collection::Collection;
use crate::cpu;
use crate::error::IpTopkError;
use crate::options::IpTopkOptions;

/// Where the best of a query's relevant vectors is in the ranking of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstRank {
    /// How many vectors score higher.
    pub above: usize,
    /// How many have the same score; the vector itself is one.
    pub equal: usize,
}

impl FirstRank {
    /// The rank from 1, or the mean of the ranks of all vectors of this score.
    #[must_use]
    pub fn average(self) -> f64 {
        self.above as f64 + (self.equal as f64 + 1.0) / 2.0
    }
}

/// The rank of the best of each query's `relevant` vectors in the ranking of all that the filter admits;
/// `None` where it admits no relevant one. Scores equal those of [`ip_topk`](crate::ip_topk).
///
/// `groups` has the number of each ordinal's group, below the number of ordinals. With groups, groups are
/// ranked by their best vector, and those of relevant vectors are relevant.
///
/// Neither scores nor rankings are stored: vectors above the best relevant one are counted, in one scan. It
/// multiplies in f32 with [`Scan::Auto`](crate::Scan), since f32 is enough to tell nearly all pairs of scores
/// apart. Memory is for the queries, and two bits for each group, query and thread, in blocks of queries that
/// need some hundred MiB.
///
/// # Errors
/// Those of [`ip_topk`](crate::ip_topk), [`IpTopkError::RelevantShape`], [`IpTopkError::UnknownVector`] and
/// [`IpTopkError::GroupShape`].
pub fn ip_first_ranks(
    collection: &Collection<'_>,
    queries: &[f32],
    relevant: &[Vec<DocOrd>],
    groups: Option<&[u32]>,
    options: &IpTopkOptions<'_>,
) -> Result<Vec<Option<FirstRank>>, IpTopkError> {
    check(collection, queries, relevant, groups, options)?;
    options.scan.check_dim(collection.dim())?;
    Ok(cpu::first_ranks(Isa::active(), collection, queries, relevant, groups, options))
}

/// Checks the arguments.
pub(crate) fn check(
    collection: &Collection<'_>,
    queries: &[f32],
    relevant: &[Vec<DocOrd>],
    groups: Option<&[u32]>,
    options: &IpTopkOptions<'_>,
) -> Result<(), IpTopkError> {
    collection.check_search(queries, 1, &options.filter)?;
    let (lists, queries) = (relevant.len(), queries.len() / collection.dim());
    if lists != queries {
        return Err(IpTopkError::RelevantShape { lists, queries });
    }
    if let Some(doc) = relevant.iter().flatten().find(|doc| !collection.contains(**doc)) {
        return Err(IpTopkError::UnknownVector { doc: doc.0 });
    }
    if let Some(groups) = groups {
        let ordinals = collection.ordinals();
        if groups.len() != ordinals || groups.iter().any(|group| *group as usize >= ordinals) {
            return Err(IpTopkError::GroupShape { groups: groups.len(), ordinals });
        }
    }
    Ok(())
}
