//! The relative positions of MPNet and T5: a bias for each head and bucket of distances.

use toller_nn::Backend;

use super::Loader;
use crate::EncoderError;
use crate::config::{Names, TransformerConfig};

/// The buckets.
pub(crate) const BUCKETS: usize = 32;

/// The distance up to which buckets are meant to differ.
pub(crate) const FARTHEST: usize = 128;

/// Buckets for keys before the query, and the same number for keys after it.
const BUCKETS_A_SIDE: usize = BUCKETS / 2;

/// From this distance on, all keys of a side share a bucket: 8 (FARTHEST / 8)^(7 / 8), rounded up.
const REACH: usize = 91;

/// The table of biases by distance, `[heads, 2 * REACH + 1]`, where the architecture has one; all layers
/// share it.
pub(super) fn load<B: Backend>(
    loader: &mut Loader<'_, B>,
    config: &TransformerConfig,
    names: &Names,
) -> Result<Option<Vec<f32>>, EncoderError> {
    let Some(buckets) = config.attention.relative_buckets else {
        return Ok(None);
    };
    let heads = config.attention.heads;
    let table = loader.get(&format!("{}.weight", names.relative_bias), &[buckets, heads])?;
    let (table, reach) = (table.values(), REACH as i64);
    let by_distance = (0..heads)
        .flat_map(|head| (-reach..=reach).map(move |distance| table[bucket(distance) * heads + head]));
    Ok(Some(by_distance.collect()))
}

/// The bucket of a key at `distance` after the query (Raffel et al. 2020, section 2.1): 8 buckets a side
/// for the distances below 8, then 8 + floor(8 log(d / 8) / log(128 / 8)), at most 15. The logarithms'
/// quotient is 2 log2(d / 8) = log2(d^2) - 6, so that whole numbers suffice.
fn bucket(distance: i64) -> usize {
    let side = if distance > 0 { BUCKETS_A_SIDE } else { 0 };
    let distance = distance.unsigned_abs();
    let within = if distance < 8 {
        distance as usize
    } else {
        (distance.saturating_mul(distance).ilog2() as usize + 2).min(BUCKETS_A_SIDE - 1)
    };
    side + within
}

#[cfg(test)]
mod tests {
    use super::{REACH, bucket};

    /// What transformers' `MPNetEncoder.relative_position_bucket` gives.
    #[test]
    fn buckets_are_those_of_transformers() {
        let first_of_bucket = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91];
        for (expected, pair) in first_of_bucket.windows(2).enumerate() {
            for distance in pair[0]..pair[1] {
                assert_eq!(bucket(-distance), expected, "{distance}");
                assert_eq!(bucket(distance), if distance == 0 { 0 } else { 16 + expected });
            }
        }
        assert_eq!(REACH as i64, 91);
        for distance in [91, 127, 128, 100_000, i64::MAX] {
            assert_eq!((bucket(-distance), bucket(distance)), (15, 31));
        }
    }
}
