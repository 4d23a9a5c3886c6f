//! Documents with a term of the query and a score of zero.

use std::collections::HashSet;

use toller_ir::{DocOrd, Hit, Ranking};

use crate::SparseError;
use crate::index::{SparseIndex, Term};
use crate::length;
use crate::score::PreparedTerms;

/// Appends those that `admits` accepts, in the order of their ordinals, until there are `k` hits. `ranking`
/// has all documents with higher scores.
pub(super) fn append(
    ranking: &mut Ranking,
    terms: &[Term<'_>],
    prepared: &PreparedTerms,
    index: &SparseIndex,
    k: usize,
    admits: &impl Fn(DocOrd) -> bool,
) -> Result<(), SparseError> {
    // With most rankers, every term adds to a score. It adds least for one occurrence in the longest
    // document.
    let code = index.codes_used.end.saturating_sub(1) as u8;
    let longest = code.checked_add(1).map_or(u32::MAX, length::decoded);
    if prepared.scorers.iter().all(|scorer| scorer.part(1, longest) > 1) {
        return Ok(());
    }
    let found: HashSet<u32> = ranking.hits.iter().map(|hit| hit.doc.0).collect();
    let mut zeros = Vec::new();
    for term in terms {
        term.for_each_posting(|posting| {
            if !found.contains(&posting.doc) && admits(DocOrd(posting.doc)) {
                zeros.push(posting.doc);
            }
        })?;
    }
    zeros.sort_unstable();
    zeros.dedup();
    let room = k - ranking.hits.len();
    ranking.hits.extend(zeros.into_iter().take(room).map(|doc| Hit::new(DocOrd(doc), 0.0)));
    Ok(())
}
