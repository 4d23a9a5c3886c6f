//! Near duplicates among the passages of a query, by Ward's clustering (T2Ranking, section 4.3).

use kodama::{Method, linkage};

/// The clusters of points that Ward's method (1963) joins at distances of at most `threshold`: the indices
/// of the points of each, ascending, ordered by the first.
///
/// The distance of two clusters is sqrt(2 |a| |b| / (|a| + |b|)) times that of their centroids, so that two
/// points have their Euclidean distance, as in SciPy and scikit-learn. All joins are computed, exactly.
#[must_use]
pub fn ward_clusters(points: &[&[f32]], threshold: f64) -> Vec<Vec<usize>> {
    let mut distances = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (at, a) in points.iter().enumerate() {
        distances.extend(points.iter().skip(at + 1).map(|b| distance(a, b)));
    }
    let mut clusters: Vec<Option<Vec<usize>>> = (0..points.len()).map(|point| Some(vec![point])).collect();
    if points.len() > 1 {
        // Step n makes the cluster points.len() + n. A join beyond the threshold only follows such joins.
        for step in linkage(&mut distances, points.len(), Method::Ward).steps() {
            let mut take = |at: usize| clusters.get_mut(at).and_then(Option::take);
            let parts = (take(step.cluster1), take(step.cluster2));
            match parts {
                (Some(mut one), Some(other)) if step.dissimilarity <= threshold => {
                    one.extend(other);
                    clusters.push(Some(one));
                }
                (one, other) => {
                    // They stay apart; the joined cluster takes no part in later joins.
                    for (place, cluster) in [(step.cluster1, one), (step.cluster2, other)] {
                        if let Some(slot) = clusters.get_mut(place) {
                            *slot = cluster;
                        }
                    }
                    clusters.push(None);
                }
            }
        }
    }
    let mut clusters: Vec<Vec<usize>> = clusters.into_iter().flatten().collect();
    clusters.iter_mut().for_each(|cluster| cluster.sort_unstable());
    clusters.sort_unstable();
    clusters
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ward_clusters;

    /// Joins the two nearest clusters as long as they are near enough, by the definition.
    fn slow(points: &[Vec<f32>], threshold: f64) -> Vec<Vec<usize>> {
        let centroid = |cluster: &[usize], at: usize| {
            cluster.iter().map(|point| f64::from(points[*point][at])).sum::<f64>() / cluster.len() as f64
        };
        let distance = |a: &[usize], b: &[usize]| {
            let squares = (0..points[0].len()).map(|at| (centroid(a, at) - centroid(b, at)).powi(2));
            let (x, y) = (a.len() as f64, b.len() as f64);
            (2.0 * x * y / (x + y) * squares.sum::<f64>()).sqrt()
        };
        let mut clusters: Vec<Vec<usize>> = (0..points.len()).map(|point| vec![point]).collect();
        loop {
            let pairs = (0..clusters.len()).flat_map(|a| (a + 1..clusters.len()).map(move |b| (a, b)));
            let nearest = pairs
                .map(|(a, b)| (distance(&clusters[a], &clusters[b]), a, b))
                .min_by(|x, y| x.0.total_cmp(&y.0));
            let Some((_, a, b)) = nearest.filter(|(distance, ..)| *distance <= threshold) else { break };
            let other = clusters.remove(b);
            clusters[a].extend(other);
        }
        clusters.iter_mut().for_each(|cluster| cluster.sort_unstable());
        clusters.sort_unstable();
        clusters
    }

    fn fast(points: &[Vec<f32>], threshold: f64) -> Vec<Vec<usize>> {
        ward_clusters(&points.iter().map(Vec::as_slice).collect::<Vec<_>>(), threshold)
    }

    #[test]
    fn duplicates_are_one_cluster() {
        let points = [[0.0, 0.0], [5.0, 5.0], [0.0, 0.1], [0.0, 0.0]].map(|point| point.to_vec());
        assert_eq!(fast(&points, 0.2), [vec![0, 2, 3], vec![1]]);
        assert_eq!(fast(&points, 0.0), [vec![0, 3], vec![1], vec![2]]);
        assert_eq!(fast(&points, 100.0), [vec![0, 1, 2, 3]]);
        assert_eq!((fast(&points[..1], 1.0), fast(&[], 1.0)), (vec![vec![0]], vec![]));
    }

    proptest! {
        #[test]
        fn as_by_the_definition(
            points in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 3), 1..14), threshold in 0.0_f64..3.0,
        ) {
            prop_assert_eq!(fast(&points, threshold), slow(&points, threshold));
        }
    }
}
