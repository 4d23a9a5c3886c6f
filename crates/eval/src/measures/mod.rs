//! The measures' formulas: each a function of one query's ranking, its parameters and the lowest
//! relevant grade. The order of the floating-point operations is trec_eval's, so that the values agree
//! to the last printed digit.

pub(crate) mod average_precision;
pub(crate) mod bpref;
pub(crate) mod compatibility;
pub(crate) mod counts;
pub(crate) mod err;
pub(crate) mod gains;
pub(crate) mod interpolated;
pub(crate) mod ndcg;
pub(crate) mod precision;
pub(crate) mod sets;
pub(crate) mod user_models;

/// `part / whole`, or 0 where there is no whole.
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
