//! Candidates become hits: scored in f64, sorted, cut to k.

use rayon::prelude::*;
use toller_ir::{Hit, Ranking};
use toller_simd::{Isa, dispatch_on};

use super::candidates::{Candidates, best};
use super::queries::QueryGroup;
use super::rescore::{Pair, Scores};
use crate::top_k::TopK;

/// Pairs of query and vector that are scored as one piece of work.
const AT_ONCE: usize = 512;

/// The `k` best of each query's candidates; the k likeliest candidates come first. Adds the number of
/// candidates scored here to `nominated`.
///
/// The likeliest are scored first: the others are then scored only if they can reach the k-th score.
pub(crate) fn ranked(
    isa: Isa,
    group: QueryGroup<'_>,
    k: usize,
    candidates: Vec<Candidates>,
    mut nominated: Vec<usize>,
) -> TopK {
    let mut hits: Vec<Vec<Hit>> = candidates.iter().map(Candidates::scored).collect();
    let likeliest = candidates.iter().enumerate().flat_map(|(query, candidates)| {
        candidates.unscored(..k).map(move |candidate| Pair::new(candidate.doc, query))
    });
    let likeliest: Vec<Pair> = likeliest.collect();
    let mut score = |mut pairs: Vec<Pair>, hits: &mut [Vec<Hit>]| {
        // In the order of the vectors, so that memory is read in order.
        pairs.par_sort_unstable();
        let mut scores = vec![0.0; pairs.len()];
        let pieces = pairs.par_chunks(AT_ONCE).zip(scores.par_chunks_mut(AT_ONCE));
        let QueryGroup { collection, queries, .. } = group;
        pieces.for_each(|(pairs, scores)| dispatch_on(isa, Scores { collection, queries, pairs, scores }));
        for (pair, score) in pairs.iter().zip(scores) {
            hits[pair.query()].push(Hit::new(pair.doc(), score));
            nominated[pair.query()] += 1;
        }
    };
    score(likeliest, &mut hits);

    let rest =
        candidates.par_iter().zip(&mut hits).enumerate().flat_map_iter(|(query, (candidates, hits))| {
            let kth =
                if hits.len() < k { f32::NEG_INFINITY } else { hits.select_nth_unstable(k - 1).1.score };
            candidates
                .unscored(k..)
                .filter(move |candidate| candidate.upper >= kth)
                .map(move |candidate| Pair::new(candidate.doc, query))
        });
    let rest: Vec<Pair> = rest.collect();
    score(rest, &mut hits);
    let rankings = hits.into_par_iter().map(|hits| Ranking { hits: best(hits, k) }).collect();
    TopK { rankings, nominated }
}
