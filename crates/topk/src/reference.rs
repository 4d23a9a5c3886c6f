//! The definition of the exact top-k inner product: slow and obviously right.

use std::collections::HashSet;

use half::{bf16, f16};
use toller_ir::{DocOrd, Filter, Hit, Ranking};

use crate::collection::{Collection, Vectors};
use crate::error::IpTopkError;
use crate::first_ranks::{FirstRank, check};
use crate::options::IpTopkOptions;

/// The rankings that [`crate::ip_topk`] returns: all scores in f64 in the fixed order, then sorted.
///
/// # Errors
/// As for [`crate::ip_topk`].
pub fn ip_topk(
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    filter: &Filter<'_>,
) -> Result<Vec<Ranking>, IpTopkError> {
    collection.check_search(queries, k, filter)?;
    let dim = collection.dim();
    let mut vectors: Vec<(DocOrd, Vec<f64>)> = Vec::new();
    for segment in collection.segments() {
        let numbers: Vec<f64> = match segment.vectors {
            Vectors::F32(values) => values.iter().map(|&x| f64::from(x)).collect(),
            Vectors::F16(values) => values.iter().copied().map(f16::to_f64).collect(),
            Vectors::BF16(values) => values.iter().copied().map(bf16::to_f64).collect(),
        };
        let ordinals = (segment.first.0..).map(DocOrd);
        vectors.extend(ordinals.zip(numbers.chunks_exact(dim).map(<[f64]>::to_vec)));
    }
    let ranking = |(number, query): (usize, &[f32])| {
        let score = |vector: &[f64]| inner_product(query, vector) as f32;
        let mut hits: Vec<Hit> = vectors
            .iter()
            .filter(|(doc, _)| filter.allowed.is_none_or(|allowed| allowed.contains(*doc)))
            .filter(|(doc, _)| !filter.excluded.get(number).is_some_and(|excluded| excluded.contains(doc)))
            .map(|(doc, vector)| Hit::new(*doc, score(vector)))
            .collect();
        hits.sort();
        hits.truncate(k);
        Ranking { hits }
    };
    Ok(queries.chunks_exact(dim).enumerate().map(ranking).collect())
}

/// The ranks that [`crate::ip_first_ranks`] returns, from the rankings of all vectors.
///
/// # Errors
/// As for [`crate::ip_first_ranks`].
pub fn ip_first_ranks(
    collection: &Collection<'_>,
    queries: &[f32],
    relevant: &[Vec<DocOrd>],
    groups: Option<&[u32]>,
    options: &IpTopkOptions<'_>,
) -> Result<Vec<Option<FirstRank>>, IpTopkError> {
    check(collection, queries, relevant, groups, options)?;
    let group = |doc: DocOrd| groups.map_or(doc.0, |groups| groups[doc.index()]);
    let rankings = ip_topk(collection, queries, collection.rows().max(1), &options.filter)?;
    let rank = |(ranking, relevant): (Ranking, &Vec<DocOrd>)| {
        // The best score of each group.
        let mut best: Vec<(u32, f32)> = Vec::new();
        let mut seen = HashSet::new();
        for hit in ranking.hits {
            if seen.insert(group(hit.doc)) {
                best.push((group(hit.doc), hit.score));
            }
        }
        let relevant: HashSet<u32> = relevant.iter().map(|doc| group(*doc)).collect();
        let (_, score) = *best.iter().find(|(group, _)| relevant.contains(group))?;
        Some(FirstRank {
            above: best.iter().filter(|(_, other)| *other > score).count(),
            equal: best.iter().filter(|(_, other)| *other == score).count(),
        })
    };
    Ok(rankings.into_iter().zip(relevant).map(rank).collect())
}

/// The inner product in the fixed order: sixteen partial sums, then halves added to halves.
fn inner_product(query: &[f32], vector: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    for (i, (&q, &x)) in query.iter().zip(vector).enumerate() {
        sums[i % 16] += f64::from(q) * x;
    }
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}
