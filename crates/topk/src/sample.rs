//! What a sample of a collection says about the k best of the whole.

/// The depth at which a sample of a `share` of the collection is searched, so that almost certainly more than
/// `k` vectors of the collection score at least as much as the last.
///
/// Of the k best, the sample holds k * share if it was drawn vector by vector, with a standard deviation of
/// less than the root of that. Vectors that are stored next to each other are alike, and drawn together. So
/// it may hold twice as many, and four deviations more.
pub(crate) fn sample_depth(k: usize, share: f64) -> usize {
    let expected = k as f64 * share;
    ((2.0 * expected + 4.0 * expected.sqrt() + 4.0).ceil() as usize).min(k)
}
