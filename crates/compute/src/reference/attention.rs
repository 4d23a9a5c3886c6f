//! Self-attention over a flat batch.

/// Attention of every token to its own sequence, in f64 (Vaswani et al. 2017, equation 1): `qkv`
/// `[tokens, 3 * heads * head_size]`, the sequences' starts and the end in `offsets`; the result is
/// `[tokens, heads * head_size]`.
#[must_use]
pub fn attention(qkv: &[f32], offsets: &[u32], heads: usize, head_size: usize) -> Vec<f64> {
    let hidden = heads * head_size;
    let at = |token: usize, part: usize, column: usize| {
        f64::from(qkv[token * 3 * hidden + part * hidden + column])
    };
    let mut out = vec![0.0; qkv.len() / 3];
    for bounds in offsets.windows(2) {
        let tokens = bounds[0] as usize..bounds[1] as usize;
        for query in tokens.clone() {
            for head in 0..heads {
                let columns = head * head_size..(head + 1) * head_size;
                let score = |key| columns.clone().map(|c| at(query, 0, c) * at(key, 1, c)).sum::<f64>();
                let scores: Vec<f64> =
                    tokens.clone().map(|key| score(key) / (head_size as f64).sqrt()).collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                for column in columns.clone() {
                    let sum: f64 =
                        tokens.clone().zip(&weights).map(|(key, weight)| weight * at(key, 2, column)).sum();
                    out[query * hidden + column] = sum / total;
                }
            }
        }
    }
    out
}
