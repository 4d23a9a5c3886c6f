//! How far a score of the fast pass may be from the score that is returned.
//!
//! Let q and x have d numbers, u = 2^-24, and let the fast pass combine them by f32 multiply-adds (fused) and
//! additions so that no number goes through more than m operations. Each result is the exact one times
//! (1 + e) plus h, |e| <= u, |h| <= 2^-150 (h only for multiply-adds, when the result is subnormal), as long
//! as nothing overflows. Unrolled (Higham 2002, section 3.1), with g(m) = m u / (1 - m u), m u < 1:
//!
//! ```text
//! |pass - <q,x>| <= g(m) sum |q_i x_i| + d 2^-150 (1 + g(m))
//!                <= g(m) |q| |x| + d 2^-149              for m u <= 1/2, by Cauchy and Schwarz.
//! ```
//!
//! The returned score adds exact products in f64 (u' = 2^-53) through at most m' <= m additions, without
//! underflow, since products of f32 are multiples of 2^-298: it is within g'(m) |q| |x| of <q,x>. So
//!
//! ```text
//! |pass - score| <= (g(m) + g'(m)) |q| |x| + d 2^-149.
//! ```
//!
//! No partial sum exceeds (1 + g(m)) |q| |x| <= 2 |q| |x|, up to underflow: nothing overflows when
//! |q| |x| <= MAX / 4. Beyond that, and when m u > 1/2, the pass proves nothing, and the bound is infinite.
//!
//! |x| comes from its squares, summed in f32 through at most m operations: s >= (1 - g(m)) |x|^2 - d 2^-149,
//! hence |x|^2 <= (s + d 2^-149) / (1 - g(m)), which also holds for any upper bound of s. An infinite s gives
//! an infinite bound.
//!
//! A pass that first rounds q and x to f16 multiplies the rounded vectors q' and x'. With h = 2^-11 and
//! t = sqrt(d) 2^-25 (half the distance of subnormal f16), |q - q'| <= h |q| + t and
//! |x| <= (|x'| + t) / (1 - h), so
//!
//! ```text
//! |<q',x'> - <q,x>| <= |q - q'| |x| + |q'| |x - x'| <= (h |q| + t) |x| + |q'| (h |x| + t).
//! ```
//!
//! The score is then rounded to f32. Rounding is monotone: l <= score <= u with l, u in f32 gives
//! l <= rounded <= u.

/// An upper bound of the error, for one query and any vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorBound {
    /// An upper bound of the query's length.
    length: f64,
    /// g(m) + g'(m); infinite where m is too large.
    relative: f64,
    /// d 2^-149.
    underflow: f64,
    /// 1 - g(m).
    shrinkage: f64,
    /// t, for a pass that rounds to f16.
    halves: Option<f64>,
}

/// h: half the distance of neighbours in f16, relative.
const HALF_UNIT: f64 = 1.0 / 2048.0;
/// Half the distance of subnormal f16.
const HALF_LEAST: f64 = 1.0 / (1 << 25) as f64;

/// Makes up for the roundings below, relatively: there are fewer than 2^24 of them, in f64.
pub(crate) const ROUNDINGS: f64 = 1.0 + 1.0 / (1_u64 << 28) as f64;

/// g(m) for a unit roundoff.
fn gamma(operations: f64, unit: f64) -> f64 {
    operations * unit / (1.0 - operations * unit)
}

impl ErrorBound {
    /// For vectors as long as `query`, and a pass that adds up every inner product and every sum of squares
    /// through at most `query.len() + 4` operations.
    pub(crate) fn new(query: &[f32]) -> Self {
        let operations = (query.len() + 4) as f64;
        let unit = f64::from(f32::EPSILON) / 2.0;
        let usable = operations * unit <= 0.5;
        let gamma_f32 = gamma(operations, unit);
        let squares: f64 = query.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        Self {
            length: squares.sqrt() * ROUNDINGS,
            relative: if usable { gamma_f32 + gamma(operations, f64::EPSILON / 2.0) } else { f64::INFINITY },
            underflow: query.len() as f64 * f64::from(f32::from_bits(1)),
            shrinkage: 1.0 - gamma_f32,
            halves: None,
        }
    }

    /// For a pass that first rounds `query` and the vectors to f16, also for their sums of squares.
    pub(crate) fn halves(query: &[f32]) -> Self {
        let bound = Self::new(query);
        let slack = (query.len() as f64).sqrt() * HALF_LEAST * ROUNDINGS;
        let finite = query.iter().all(|&x| half::f16::from_f32(x).is_finite());
        // At least as long as the query, rounded or not.
        let length =
            if finite { (bound.length * (1.0 + HALF_UNIT) + slack) * ROUNDINGS } else { f64::INFINITY };
        Self { length, halves: Some(slack), ..bound }
    }

    /// The bound for vectors whose squares sum to at most `largest_square` in the pass; may be infinite.
    pub(crate) fn error(&self, largest_square: f32) -> f32 {
        let mut length = ((f64::from(largest_square) + self.underflow) / self.shrinkage).sqrt() * ROUNDINGS;
        let mut rounded_away = 0.0;
        if let Some(slack) = self.halves {
            length = (length + slack) / (1.0 - HALF_UNIT) * ROUNDINGS;
            rounded_away =
                (HALF_UNIT * self.length + slack) * length + self.length * (HALF_UNIT * length + slack);
        }
        let product = self.length * length;
        // Not `>`: a NaN has no bound either.
        if !(product <= f64::from(f32::MAX) / 4.0 && self.relative.is_finite()) {
            return f32::INFINITY;
        }
        let error = (self.relative * product + self.underflow + rounded_away) * ROUNDINGS;
        (error as f32).next_up()
    }
}

/// The least score of the pass for which the exact score, rounded, can reach `threshold`.
///
/// rounded >= t means that the exact score is at least halfway from t's lower neighbour to t, hence above
/// that neighbour. So the pass's score is at least the neighbour minus the error.
pub(crate) fn cutoff(threshold: f32, error: f32) -> f32 {
    if error == f32::INFINITY {
        return f32::NEG_INFINITY;
    }
    rounded_down(f64::from(threshold.next_down()) - f64::from(error))
}

/// The bounds of the exact score, rounded, for a score of the pass. The lower bound is always less than the
/// upper, even where the error is zero.
pub(crate) fn interval(score: f32, error: f32) -> (f32, f32) {
    // A score that is not finite despite a finite error comes from vectors that are not finite.
    if error == f32::INFINITY || !score.is_finite() {
        return (f32::NEG_INFINITY, f32::INFINITY);
    }
    let (score, error) = (f64::from(score), f64::from(error));
    (rounded_down(score - error), rounded_up(score + error))
}

/// A value not above `x`, even if `x` has been rounded in f64: rounding to f32 moves it by at most half the
/// distance of neighbours, and the next lower value is a whole distance away.
pub(crate) fn rounded_down(x: f64) -> f32 {
    (x as f32).next_down()
}

/// A value not below `x`; see [`rounded_down`].
pub(crate) fn rounded_up(x: f64) -> f32 {
    (x as f32).next_up()
}

#[cfg(test)]
mod tests;
