//! From scores to a ranking.

use super::options::{Combine, RerankOptions};
use crate::fusion::{Combination, Fusion, FusionError, Missing, Normalization, Pool, RRF_K, Scale};

/// A hit of the candidates, by its place among them, and its score.
pub(super) type Placed = (usize, f32);

/// The order of a query's hits. `first_stage` are their scores, best first; `models` the scores that each
/// model gave the first of them, `None` where there was no text.
///
/// # Errors
/// A score that is outside the range of f32.
pub(super) fn order(
    query: &str,
    first_stage: &[f64],
    models: &[&[Option<f32>]],
    options: &RerankOptions,
) -> Result<Vec<Placed>, FusionError> {
    let is_scored = |place: usize| models.iter().any(|scores| scores.get(place).is_some_and(Option::is_some));
    let scored: Vec<usize> = (0..first_stage.len()).filter(|place| is_scored(*place)).collect();
    let of_models = models.iter().map(|scores| {
        let score = |place: &usize| scores.get(*place).copied().flatten().map(f64::from);
        let scores: Vec<(usize, f64)> = scored.iter().filter_map(|p| Some((*p, score(p)?))).collect();
        if options.combine == Combine::SoftmaxMean { softmax(scores) } else { scores }
    });
    let first: Vec<(usize, f64)> = scored.iter().map(|place| (*place, first_stage[*place])).collect();
    let mut ranked = combined(query, first.clone(), of_models.collect(), options.combine)?;
    if let Some(weight) = options.interpolate {
        let new = ranked.iter().map(|(place, score)| (*place, f64::from(*score))).collect();
        ranked = interpolated(query, first, new, weight)?;
    }
    let others = (0..first_stage.len()).filter(|place| !is_scored(*place));
    if !options.cut {
        append_below(&mut ranked, others.map(|place| (place, first_stage[place])).collect());
    }
    Ok(ranked)
}

/// The models' scores as one. The first stage is a list of weight 0: it breaks ties.
fn combined(
    query: &str,
    first: Vec<(usize, f64)>,
    models: Vec<Vec<(usize, f64)>>,
    combine: Combine,
) -> Result<Vec<Placed>, FusionError> {
    let (normalization, combination) = match combine {
        Combine::Mean | Combine::SoftmaxMean => (Normalization::Scale(Scale::None), Combination::Mean),
        Combine::MeanRank => (Normalization::Borda, Combination::Mean),
        Combine::Rrf => (Normalization::ReciprocalRank { k: RRF_K }, Combination::Sum),
    };
    let weights: Vec<f64> = std::iter::once(0.0).chain(models.iter().map(|_| 1.0)).collect();
    let lists = std::iter::once(in_order(first)).chain(models).collect();
    fused(query, lists, normalization, combination, &weights)
}

/// `weight` of the new scores, and the rest of 1 of the first stage's, each in [0, 1].
fn interpolated(
    query: &str,
    first: Vec<(usize, f64)>,
    new: Vec<(usize, f64)>,
    weight: f64,
) -> Result<Vec<Placed>, FusionError> {
    let scaled = in_order(first);
    fused(query, vec![scaled, new], Scale::MinMax.into(), Combination::Sum, &[1.0 - weight, weight])
}

/// The scores of the first stage, lowered where they are out of order, so that they show its order.
fn in_order(mut hits: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    let mut above = f64::INFINITY;
    for (_, score) in &mut hits {
        above = score.min(above);
        *score = above;
    }
    hits
}

fn fused(
    query: &str,
    lists: Vec<Vec<(usize, f64)>>,
    normalization: Normalization,
    combination: Combination,
    weights: &[f64],
) -> Result<Vec<Placed>, FusionError> {
    let fusion = Fusion { normalization, missing: Missing::LeftOut, combination, weights: Vec::new() };
    let named = |place: usize| format!("number {} of the first stage", place + 1);
    let pool = Pool::new(lists, usize::MAX, &fusion).map_err(|bad| bad.of_query(query, named))?;
    pool.fuse(combination, weights, usize::MAX).map_err(|bad| bad.of_query(query, named))
}

/// Each score's share of the softmax of all.
fn softmax(mut scores: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    let largest = scores.iter().fold(f64::NEG_INFINITY, |largest, (_, score)| largest.max(*score));
    scores.iter_mut().for_each(|(_, score)| *score = libm::exp(*score - largest));
    let sum: f64 = scores.iter().map(|(_, score)| score).sum();
    scores.iter_mut().for_each(|(_, score)| *score /= sum);
    scores
}

/// The distance between the last reranked hit and the first hit below.
const GAP: f64 = 1.0;

/// Appends hits with their distances to each other, below those that are there. Distances that a score cannot
/// hold become those of neighbours.
fn append_below(ranked: &mut Vec<Placed>, others: Vec<(usize, f64)>) {
    let mut above = ranked.last().map(|(_, score)| *score);
    let Some(first) = others.first().map(|(_, score)| *score) else { return };
    let shift = above.map_or(0.0, |above| f64::from(above) - GAP - first);
    let lowest = others.iter().fold(f64::INFINITY, |lowest, (_, score)| lowest.min(*score));
    let is_too_low = lowest + shift <= f64::from(f32::MIN);
    for (rank, (place, score)) in (0_u32..).zip(others) {
        let score = if is_too_low { first - GAP * f64::from(rank) } else { score };
        let moved = (score + shift).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
        let falling = match above {
            Some(above) if moved >= above => above.next_down(),
            _ => moved,
        };
        ranked.push((place, falling));
        above = Some(falling);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Combine, RerankOptions, order};

    fn places(ranked: &[(usize, f32)]) -> Vec<usize> {
        ranked.iter().map(|(place, _)| *place).collect()
    }

    fn some(scores: &[f32]) -> Vec<Option<f32>> {
        scores.iter().copied().map(Some).collect()
    }

    #[test]
    fn what_no_score_can_hold_is_ordered_all_the_same() -> Result<(), Box<dyn std::error::Error>> {
        let first = [3.0, 2.0, -f64::from(f32::MAX), -f64::from(f32::MAX)];
        let ranked = order("q", &first, &[&some(&[-5.0])], &RerankOptions::default())?;
        assert_eq!(ranked, [(0, -5.0), (1, -6.0), (2, -7.0), (3, -8.0)]);
        Ok(())
    }

    #[test]
    fn the_rest_follows_below() -> Result<(), Box<dyn std::error::Error>> {
        let first = [9.0, 8.0, 8.0, 7.5, 7.5, 1.0];
        let scores = some(&[-2.0, 2.0, -2.0]);
        let ranked = order("q", &first, &[&scores], &RerankOptions::default())?;
        let second = (-2f32).next_down();
        let shifted = |score: f64| (f64::from(second) - 1.0 + score - 7.5) as f32;
        let expected = [
            (1, 2.0),
            (0, -2.0),
            (2, second),
            (3, shifted(7.5)),
            (4, shifted(7.5).next_down()),
            (5, shifted(1.0)),
        ];
        assert_eq!(ranked, expected);
        let cut = order("q", &first, &[&scores], &RerankOptions { cut: true, ..RerankOptions::default() })?;
        assert_eq!(cut, expected[..3]);
        // A hit without a text goes below those that have one, and nothing is above a query without any.
        let missing = [Some(1.0), None, Some(5.0)];
        assert_eq!(places(&order("q", &first, &[&missing], &RerankOptions::default())?), [2, 0, 1, 3, 4, 5]);
        let unscored = order("q", &first, &[&[]], &RerankOptions::default())?;
        assert_eq!(unscored[..2], [(0, 9.0), (1, 8.0)]);
        assert_eq!(places(&unscored), [0, 1, 2, 3, 4, 5]);
        Ok(())
    }

    #[test]
    fn models_are_combined_as_asked() -> Result<(), Box<dyn std::error::Error>> {
        let first = [3.0, 2.0, 1.0];
        let (one, two) = (some(&[0.0, 10.0, 1.0]), some(&[5.0, -9.0, 4.5]));
        let of = |combine, interpolate| {
            let options = RerankOptions { combine, interpolate, ..RerankOptions::default() };
            order("q", &first, &[&one, &two], &options)
        };
        // Means 2.5, 0.5 and 2.75; ranks 3 + 1, 1 + 3, 2 + 2.
        assert_eq!(of(Combine::Mean, None)?, [(2, 2.75), (0, 2.5), (1, 0.5)]);
        assert_eq!(places(&of(Combine::MeanRank, None)?), [0, 1, 2]);
        let rrf = of(Combine::Rrf, None)?;
        assert_eq!((places(&rrf), rrf[0].1), (vec![0, 1, 2], (1.0 / 61.0 + 1.0 / 63.0) as f32));
        let softmax = of(Combine::SoftmaxMean, None)?;
        assert_eq!(places(&softmax), [1, 0, 2]);
        assert!((softmax.iter().map(|(_, share)| share).sum::<f32>() - 1.0).abs() < 1e-6);
        // First stage 1, 1/2, 0; means 8/9, 0, 1.
        assert_eq!(places(&of(Combine::Mean, Some(0.0))?), [0, 1, 2]);
        assert_eq!(places(&of(Combine::Mean, Some(1.0))?), [2, 0, 1]);
        let even = of(Combine::Mean, Some(0.5))?;
        assert_eq!((places(&even), even[1]), (vec![0, 2, 1], (2, 0.5)));
        Ok(())
    }

    proptest! {
        #[test]
        fn one_model_is_sorting_by_its_scores(
            hits in prop::collection::vec((0u8..4, -3i8..3), 0..30),
            depth in 0usize..35,
        ) {
            let mut first: Vec<f64> = hits.iter().map(|(score, _)| f64::from(*score)).collect();
            first.sort_by(|a, b| b.total_cmp(a));
            let scores: Vec<Option<f32>> = hits.iter().take(depth).map(|(_, s)| Some(f32::from(*s))).collect();
            let ranked = order("q", &first, &[&scores], &RerankOptions { depth, ..RerankOptions::default() }).unwrap();
            let mut expected: Vec<usize> = (0..scores.len()).collect();
            expected.sort_by(|a, b| scores[*b].unwrap().total_cmp(&scores[*a].unwrap()));
            expected.extend(scores.len()..first.len());
            prop_assert_eq!(places(&ranked), expected);
            prop_assert!(ranked.windows(2).all(|two| two[0].1 > two[1].1), "{:?}", ranked);
        }
    }
}
