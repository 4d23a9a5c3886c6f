//! Pooling, forward and backward.

use toller_nn::Pooling;

/// The weight of a token in a linear pooling of `count` tokens; the first has position `first`. `None` for
/// the maximum.
fn weight(pooling: Pooling, token: usize, count: usize, first: usize) -> Option<f64> {
    let is = |wanted: usize| f64::from(u8::from(token == wanted));
    Some(match pooling {
        Pooling::Cls => is(0),
        Pooling::LastToken => is(count - 1),
        Pooling::Mean => 1.0 / count as f64,
        Pooling::MeanSqrtLen => 1.0 / (count as f64).sqrt(),
        Pooling::WeightedMean => {
            let total: usize = (first + 1..=first + count).sum();
            (first + token + 1) as f64 / total as f64
        }
        Pooling::Max => return None,
    })
}

/// The first token that has the largest value of each column.
fn largest(rows: &[f32], width: usize) -> Vec<usize> {
    let mut best = vec![0; width];
    for (token, row) in rows.chunks_exact(width).enumerate() {
        for (column, &value) in row.iter().enumerate() {
            if value > rows[best[column] * width + column] {
                best[column] = token;
            }
        }
    }
    best
}

/// One row of `rows`; the first has position `first` in its sequence. Without rows, zeros.
pub(super) fn forward(pooling: Pooling, rows: &[f32], width: usize, first: usize) -> Vec<f32> {
    let count = rows.len() / width;
    if count == 0 {
        return vec![0.0; width];
    }
    if pooling == Pooling::Max {
        let best = largest(rows, width);
        return best.iter().enumerate().map(|(column, token)| rows[token * width + column]).collect();
    }
    let mut sums = vec![0.0_f64; width];
    for (token, row) in rows.chunks_exact(width).enumerate() {
        let weight = weight(pooling, token, count, first).unwrap_or_default();
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * f64::from(x));
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// Adds to `out` the gradient of the rows, from that of the pooled row.
pub(super) fn backward(pooling: Pooling, rows: &[f32], first: usize, gradient: &[f32], out: &mut [f32]) {
    let width = gradient.len();
    let count = rows.len() / width;
    if pooling == Pooling::Max {
        if count > 0 {
            for (column, token) in largest(rows, width).into_iter().enumerate() {
                out[token * width + column] += gradient[column];
            }
        }
        return;
    }
    for (token, out) in out.chunks_exact_mut(width).enumerate() {
        let weight = weight(pooling, token, count, first).unwrap_or_default() as f32;
        out.iter_mut().zip(gradient).for_each(|(out, gradient)| *out += weight * gradient);
    }
}
