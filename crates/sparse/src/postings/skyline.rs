//! The few pairs of frequency and length that dominate a block: its skyline.

use crate::length;

/// The most points of a block.
pub(crate) const POINTS: usize = 4;

/// The frequency of a point that means the term's largest.
pub(crate) const SATURATED: u8 = u8::MAX;

/// A frequency, and the code of a length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) tf: u8,
    pub(crate) code: u8,
}

/// Points that dominate all `postings` (frequency and code), at most [`POINTS`]. Both numbers ascend.
pub(crate) fn skyline(postings: impl Iterator<Item = (u32, u8)>) -> Vec<Point> {
    // The largest frequency of each code; of these, the ones that no shorter length reaches.
    let mut most = [0_u8; 256];
    for (tf, code) in postings {
        let most = &mut most[usize::from(code)];
        *most = (*most).max(tf.min(u32::from(SATURATED)) as u8);
    }
    let mut points: Vec<Point> = Vec::new();
    for (code, &tf) in most.iter().enumerate() {
        if tf > points.last().map_or(0, |last| last.tf) {
            points.push(Point { tf, code: code as u8 });
        }
    }
    while points.len() > POINTS {
        merge_closest(&mut points);
    }
    points
}

/// Merges the two neighbours that lose least by it: the higher frequency and the shorter length.
fn merge_closest(points: &mut Vec<Point>) {
    // By what factor the merged point exaggerates frequency and length.
    let loss = |pair: &[Point]| match pair {
        [a, b] => {
            let lengths =
                f64::from(length::decoded(b.code).max(1)) / f64::from(length::decoded(a.code).max(1));
            lengths * f64::from(b.tf) / f64::from(a.tf.max(1))
        }
        _ => f64::INFINITY,
    };
    let place = (0..points.len().saturating_sub(1))
        .min_by(|&a, &b| loss(&points[a..a + 2]).total_cmp(&loss(&points[b..b + 2])));
    if let Some(place) = place {
        points[place].tf = points[place + 1].tf;
        points.remove(place + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SATURATED, skyline};

    proptest! {
        #[test]
        fn points_dominate(postings in prop::collection::vec((1..300_u32, any::<u8>()), 1..200)) {
            let points = skyline(postings.iter().copied());
            for (tf, code) in postings {
                let tf = tf.min(u32::from(SATURATED)) as u8;
                prop_assert!(points.iter().any(|point| point.tf >= tf && point.code <= code));
            }
        }
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let points = skyline([(1, 30), (2, 40), (2, 50), (1, 20)].into_iter());
        let found: Vec<(u8, u8)> = points.iter().map(|point| (point.tf, point.code)).collect();
        assert_eq!(found, [(1, 20), (2, 40)]);
    }
}
