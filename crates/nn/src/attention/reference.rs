//! Self-attention over a flat batch, in f64.

use super::Attention;
use crate::Sequences;
use crate::norm::reference::Norm;

/// The contexts `[tokens, heads * head_size]` of `qkv` `[tokens, (heads + 2 * key_heads) * head_size]`
/// (Vaswani et al. 2017, equation 1). Rotations are by the f32 cosines and sines that all implementations
/// share.
pub(crate) fn attend(
    qkv: &[f64],
    sequences: &Sequences,
    attention: &Attention,
    head_norms: Option<&[Norm; 2]>,
) -> Vec<f64> {
    let Attention { heads, head_size, .. } = *attention;
    let (width, hidden) = (attention.input_width(), attention.output_width());
    let mut out = vec![0.0; sequences.tokens() * hidden];
    for tokens in sequences.ranges() {
        let n = tokens.len();
        for head in 0..heads {
            let places = attention.places(head);
            // Queries (part 0), keys (part 1) and values (part 2) of the head: `[n, head_size]`.
            let rows = |part: usize| -> Vec<Vec<f64>> {
                let row = |token: usize| qkv[token * width + places[part]..][..head_size].to_vec();
                tokens.clone().map(row).collect()
            };
            let [queries, keys] = [0, 1].map(|part| {
                let norm = head_norms.map(|norms| &norms[part]);
                prepared(rows(part), attention, norm)
            });
            let values = rows(2);
            for (query, of_query) in queries.iter().enumerate() {
                let seen = attention.seen(query, n);
                let score = |key: usize| {
                    let product: f64 = of_query.iter().zip(&keys[key]).map(|(x, y)| x * y).sum();
                    let distance = key as isize - query as isize;
                    let bias = attention.relative_bias.as_ref().map_or(0.0, |bias| bias.at(head, distance));
                    product * f64::from(attention.scale) + f64::from(bias)
                };
                let scores: Vec<f64> = seen.clone().map(score).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                for column in 0..head_size {
                    let weighted =
                        seen.clone().zip(&weights).map(|(key, weight)| weight * values[key][column]);
                    out[(tokens.start + query) * hidden + head * head_size + column] =
                        weighted.sum::<f64>() / total;
                }
            }
        }
    }
    out
}

/// The queries or the keys of a head, normalised and rotated by their positions.
fn prepared(mut rows: Vec<Vec<f64>>, attention: &Attention, norm: Option<&Norm>) -> Vec<Vec<f64>> {
    if let Some(norm) = norm {
        rows.iter_mut().for_each(|row| *row = norm.forward(row));
    }
    let Some(rotary) = &attention.rotary else { return rows };
    let (table, half) = (rotary.table(rows.len()), attention.head_size / 2);
    for (position, row) in rows.iter_mut().enumerate() {
        for low in 0..half {
            let angle = position * half + low;
            let (cos, sin) = (f64::from(table.cos[angle]), f64::from(table.sin[angle]));
            let (x, y) = (row[low], row[low + half]);
            (row[low], row[low + half]) = (x * cos - y * sin, y * cos + x * sin);
        }
    }
    rows
}
