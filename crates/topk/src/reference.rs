//! The definition of the exact top-k inner product: slow and obviously right.

use half::{bf16, f16};
use toller_ir::{DocOrd, Filter, Hit, Ranking};

use crate::collection::{Collection, Vectors};
use crate::error::IpTopkError;

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
