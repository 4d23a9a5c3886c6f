//! Self-attention over a flat batch, in f64.

use super::Attention;
use crate::Sequences;

/// The contexts `[tokens, heads * head_size]` of `qkv` `[tokens, (heads + 2 * key_heads) * head_size]`
/// (Vaswani et al. 2017, equation 1). Rotations are by the f32 cosines and sines that all implementations
/// share.
pub(crate) fn attend(qkv: &[f64], sequences: &Sequences, attention: &Attention) -> Vec<f64> {
    let Attention { heads, head_size, .. } = *attention;
    let (width, hidden, half) = (attention.input_width(), attention.output_width(), head_size / 2);
    let mut out = vec![0.0; sequences.tokens() * hidden];
    for tokens in sequences.ranges() {
        let table = attention.rotary.as_ref().map(|rotary| rotary.table(tokens.len()));
        for head in 0..heads {
            let places = attention.places(head);
            let plain = |token: usize, part: usize, column: usize| qkv[token * width + places[part] + column];
            // Column `c` of the head of a query (part 0) or a key (part 1), rotated by its position.
            let at = |token: usize, part: usize, c: usize| {
                let Some(table) = &table else { return plain(token, part, c) };
                let angle = (token - tokens.start) * half + c % half;
                let (cos, sin) = (f64::from(table.cos[angle]), f64::from(table.sin[angle]));
                if c < half {
                    plain(token, part, c) * cos - plain(token, part, c + half) * sin
                } else {
                    plain(token, part, c) * cos + plain(token, part, c - half) * sin
                }
            };
            for query in tokens.clone() {
                let seen = attention.seen(query - tokens.start, tokens.len());
                let seen = seen.start + tokens.start..seen.end + tokens.start;
                let score = |key: usize| {
                    let product: f64 = (0..head_size).map(|c| at(query, 0, c) * at(key, 1, c)).sum();
                    let distance = key as isize - query as isize;
                    let bias = attention.relative_bias.as_ref().map_or(0.0, |bias| bias.at(head, distance));
                    product / (head_size as f64).sqrt() + f64::from(bias)
                };
                let scores: Vec<f64> = seen.clone().map(score).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                for column in 0..head_size {
                    let weighted =
                        seen.clone().zip(&weights).map(|(key, weight)| weight * plain(key, 2, column));
                    out[query * hidden + head * head_size + column] = weighted.sum::<f64>() / total;
                }
            }
        }
    }
    out
}
