//! Bringing the scores of a list to a scale.

use super::options::{Missing, Normalization, Scale};

/// The scaled scores of one list for a query.
#[derive(Debug, PartialEq)]
pub(crate) struct Scaled {
    /// Of each document that it has, in its order.
    pub(crate) values: Vec<f64>,
    /// The value of each document that is missing from the list; `None` for no value.
    pub(crate) missing: Option<f64>,
}

/// Normalizes the scores of a list, best first, of a query for which the lists have `pooled` documents
/// together.
pub(crate) fn normalize(
    scores: &[f64],
    pooled: usize,
    normalization: Normalization,
    missing: Missing,
) -> Scaled {
    let values = match normalization {
        Normalization::Scale(Scale::None) => scores.to_vec(),
        Normalization::Scale(Scale::MinMax) => min_max(scores),
        Normalization::Scale(Scale::Centred) => centred(scores),
        Normalization::Scale(Scale::ZScore) => z_scores(scores),
        Normalization::ReciprocalRank { k } => {
            (1..=scores.len()).map(|rank| 1.0 / (k + rank as f64)).collect()
        }
        Normalization::Borda => (0..scores.len()).map(|above| (pooled - above) as f64).collect(),
    };
    let missing = match (normalization, missing) {
        // The points from 1 to c - n, shared by c - n documents.
        (Normalization::Borda, _) => Some((pooled - scores.len() + 1) as f64 / 2.0),
        (_, Missing::LeftOut) => None,
        (_, Missing::Zero) => Some(0.0),
        (Normalization::Scale(Scale::Centred), Missing::Minimum) if scores.is_empty() => Some(-0.5),
        (_, Missing::Minimum) => values.last().copied(),
    };
    Scaled { values, missing }
}

/// Whether falling scores are all equal.
fn all_equal(scores: &[f64]) -> bool {
    scores.first() == scores.last()
}

fn min_max(scores: &[f64]) -> Vec<f64> {
    let (Some(max), Some(min)) = (scores.first(), scores.last()) else { return Vec::new() };
    if all_equal(scores) {
        return vec![1.0; scores.len()];
    }
    // The distance of two numbers may overflow; that of their halves does not.
    let unit = if (max - min).is_finite() { 1.0 } else { 0.5 };
    let width = max * unit - min * unit;
    scores.iter().map(|score| (score * unit - min * unit) / width).collect()
}

/// As [`min_max`], minus 1/2. The sum of minimum and maximum is avoided, because it may overflow.
fn centred(scores: &[f64]) -> Vec<f64> {
    if all_equal(scores) {
        return vec![0.0; scores.len()];
    }
    min_max(scores).into_iter().map(|value| value - 0.5).collect()
}

fn z_scores(scores: &[f64]) -> Vec<f64> {
    if all_equal(scores) {
        return vec![0.0; scores.len()];
    }
    // Standard scores do not depend on the origin and the unit of the scores; in [0, 1] no square overflows.
    let scaled = min_max(scores);
    let count = scaled.len() as f64;
    let mean = scaled.iter().sum::<f64>() / count;
    let variance = scaled.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    scaled.iter().map(|value| (value - mean) / variance.sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Missing, Normalization, Scale, Scaled, normalize};

    fn values(scores: &[f64], normalization: impl Into<Normalization>) -> Vec<f64> {
        normalize(scores, scores.len(), normalization.into(), Missing::LeftOut).values
    }

    #[test]
    fn scales_are_what_they_are_defined_as() {
        let scores = [5.0, 2.0, 1.0];
        assert_eq!(values(&scores, Scale::None), scores);
        assert_eq!(values(&scores, Scale::MinMax), [1.0, 0.25, 0.0]);
        assert_eq!(values(&scores, Scale::Centred), [0.5, -0.25, -0.5]);
        assert_eq!(
            values(&scores, Normalization::ReciprocalRank { k: 60.0 }),
            [1.0 / 61.0, 1.0 / 62.0, 1.0 / 63.0]
        );
        // Mean 8/3, variance 26/9.
        let deviation = (26.0_f64 / 9.0).sqrt();
        for (value, score) in values(&scores, Scale::ZScore).into_iter().zip(scores) {
            assert!((value - (score - 8.0 / 3.0) / deviation).abs() < 1e-15);
        }
    }

    #[test]
    fn equal_scores_have_no_range() {
        for scores in [&[3.0][..], &[-1.0, -1.0, -1.0], &[0.0, 0.0]] {
            assert!(values(scores, Scale::MinMax).iter().all(|value| *value == 1.0));
            assert!(values(scores, Scale::Centred).iter().all(|value| *value == 0.0));
            assert!(values(scores, Scale::ZScore).iter().all(|value| *value == 0.0));
        }
        assert_eq!(values(&[], Scale::MinMax), [0.0; 0]);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let scores = [f64::MAX, 0.0, -f64::MAX];
        assert_eq!(values(&scores, Scale::MinMax), [1.0, 0.5, 0.0]);
        assert_eq!(values(&scores, Scale::Centred), [0.5, 0.0, -0.5]);
        assert!(values(&scores, Scale::ZScore).iter().all(|value| value.is_finite()));
    }

    #[test]
    fn what_is_missing_gets_what_was_asked_for() {
        let missing =
            |scores: &[f64], scale: Scale, missing| normalize(scores, 5, scale.into(), missing).missing;
        assert_eq!(missing(&[2.0, 1.0], Scale::MinMax, Missing::LeftOut), None);
        assert_eq!(missing(&[2.0, 1.0], Scale::None, Missing::Zero), Some(0.0));
        assert_eq!(missing(&[2.0, 1.0], Scale::None, Missing::Minimum), Some(1.0));
        assert_eq!(missing(&[2.0, 1.0], Scale::Centred, Missing::Minimum), Some(-0.5));
        assert_eq!(missing(&[], Scale::Centred, Missing::Minimum), Some(-0.5));
        assert_eq!(missing(&[], Scale::ZScore, Missing::Minimum), None);
        // Five documents, two ranked: 5 and 4 points, and 3 + 2 + 1 for the other three.
        let points = Scaled { values: vec![5.0, 4.0], missing: Some(2.0) };
        assert_eq!(normalize(&[2.0, 1.0], 5, Normalization::Borda, Missing::Zero), points);
    }
}
