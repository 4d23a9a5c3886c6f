//! Self-attention over a flat batch.

use crate::AttentionOptions;

/// Attention of every token to its own sequence, in f64 (Vaswani et al. 2017, equation 1), with what
/// `options` add: `qkv` `[tokens, 3 * heads * head_size]`, the sequences' starts and the end in `offsets`;
/// the result is `[tokens, heads * head_size]`. Rotations are by the f32 cosines and sines that all
/// implementations share.
#[must_use]
pub fn attention(qkv: &[f32], offsets: &[u32], head_size: usize, options: &AttentionOptions<'_>) -> Vec<f64> {
    let heads = options.heads;
    let hidden = heads * head_size;
    let half = head_size / 2;
    let plain = |token: usize, part: usize, column: usize| {
        f64::from(qkv[token * 3 * hidden + part * hidden + column])
    };
    let mut out = vec![0.0; qkv.len() / 3];
    for bounds in offsets.windows(2) {
        let tokens = bounds[0] as usize..bounds[1] as usize;
        let table = options.rotary.map(|rotary| rotary.table(tokens.len()));
        // Column `c` of a head of a query (part 0) or a key (part 1), rotated by its position.
        let at = |token: usize, part: usize, first: usize, c: usize| {
            let value = plain(token, part, first + c);
            let Some(table) = &table else { return value };
            let angle = (token - tokens.start) * half + c % half;
            let (cos, sin) = (f64::from(table.cos[angle]), f64::from(table.sin[angle]));
            if c < half {
                value * cos - plain(token, part, first + c + half) * sin
            } else {
                value * cos + plain(token, part, first + c - half) * sin
            }
        };
        for query in tokens.clone() {
            let seen: Vec<usize> = tokens
                .clone()
                .filter(|key| options.window.is_none_or(|w| key.abs_diff(query) <= w))
                .collect();
            for head in 0..heads {
                let first = head * head_size;
                let score = |key: usize| {
                    let product: f64 =
                        (0..head_size).map(|c| at(query, 0, first, c) * at(key, 1, first, c)).sum();
                    let distance = key as isize - query as isize;
                    let bias = options.relative_bias.map_or(0.0, |bias| bias.at(head, distance));
                    product / (head_size as f64).sqrt() + f64::from(bias)
                };
                let scores: Vec<f64> = seen.iter().map(|&key| score(key)).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                for column in first..first + head_size {
                    let sum: f64 =
                        seen.iter().zip(&weights).map(|(&key, weight)| weight * plain(key, 2, column)).sum();
                    out[query * hidden + column] = sum / total;
                }
            }
        }
    }
    out
}
