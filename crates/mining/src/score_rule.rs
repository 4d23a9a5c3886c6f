//! What a reranker's scores of documents must be, for negatives and for positives.

/// What scores must be. A bound that is `None` lets every score pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreRule {
    /// The highest score of a negative. RocketQA (Qu et al. 2021): 0.1.
    pub max_negative: Option<f64>,
    /// The lowest score of a negative.
    pub min_negative: Option<f64>,
    /// How far a negative is below every positive, at least.
    pub absolute_margin: Option<f64>,
    /// The same, as a share of the positive's score: 0.05 is NV-Retriever's TopK-PercPos of 95%
    /// (Moreira et al. 2024).
    pub relative_margin: Option<f64>,
    /// The lowest score of a positive. RocketQA: 0.9.
    pub min_positive: Option<f64>,
    /// Retrieved documents with at least this score are positives, too, unless they are judged not relevant.
    pub new_positives: Option<f64>,
}

impl ScoreRule {
    /// The lowest and the highest score of a negative of a query whose positives have these scores. Without
    /// positives no score keeps a margin: the highest is then below the lowest.
    #[must_use]
    pub fn negatives(&self, positives: impl IntoIterator<Item = f64>) -> (f64, f64) {
        let mut highest = self.max_negative.unwrap_or(f64::INFINITY);
        if self.absolute_margin.is_some() || self.relative_margin.is_some() {
            let least = positives.into_iter().reduce(f64::min);
            let bound = least.map_or(f64::NEG_INFINITY, |least| self.below(least));
            highest = highest.min(bound);
        }
        let lowest = self.min_negative.unwrap_or(f64::NEG_INFINITY);
        if highest == f64::NEG_INFINITY { (f64::INFINITY, highest) } else { (lowest, highest) }
    }

    /// The highest score that keeps the margins to this one. The share is of its absolute value, so that a
    /// margin is below also where scores are negative.
    fn below(&self, score: f64) -> f64 {
        let absolute = score - self.absolute_margin.unwrap_or(0.0);
        let relative = score - score.abs() * self.relative_margin.unwrap_or(0.0);
        absolute.min(relative)
    }

    /// Whether a document with this score may be a positive.
    #[must_use]
    pub fn keeps_positive(&self, score: f64) -> bool {
        self.min_positive.is_none_or(|least| score >= least)
    }

    /// Whether a document with this score is a positive, although nobody judged it.
    #[must_use]
    pub fn is_new_positive(&self, score: f64) -> bool {
        self.new_positives.is_some_and(|least| score >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::ScoreRule;

    fn allowed(rule: ScoreRule, positives: &[f64], score: f64) -> bool {
        let (lowest, highest) = rule.negatives(positives.iter().copied());
        (lowest..=highest).contains(&score)
    }

    #[test]
    fn bounds_and_margins() {
        let any = ScoreRule::default();
        assert!(allowed(any, &[], 1e30) && allowed(any, &[1.0], -1e30));
        let rocketqa = ScoreRule { max_negative: Some(0.1), min_positive: Some(0.9), ..any };
        assert!(allowed(rocketqa, &[0.5], 0.1) && !allowed(rocketqa, &[0.5], 0.11));
        assert!(rocketqa.keeps_positive(0.9) && !rocketqa.keeps_positive(0.89));
        assert!(any.keeps_positive(f64::MIN) && !rocketqa.is_new_positive(1.0));
        let between = ScoreRule { max_negative: Some(0.5), min_negative: Some(0.2), ..any };
        assert!(allowed(between, &[], 0.2) && !allowed(between, &[], 0.19) && !allowed(between, &[], 0.51));
        // The least positive counts.
        let near = ScoreRule { absolute_margin: Some(1.0), ..any };
        assert!(allowed(near, &[3.0, 2.0], 1.0) && !allowed(near, &[3.0, 2.0], 1.5));
        let share = ScoreRule { relative_margin: Some(0.05), ..any };
        assert!(allowed(share, &[2.0], 1.9) && !allowed(share, &[2.0], 1.91));
        assert!(allowed(share, &[-2.0], -2.1) && !allowed(share, &[-2.0], -2.05));
        // Both: the stricter of the two. Without a positive no score is far enough.
        let both = ScoreRule { absolute_margin: Some(0.5), relative_margin: Some(0.05), ..any };
        assert!(allowed(both, &[2.0], 1.5) && !allowed(both, &[2.0], 1.6));
        assert!(allowed(both, &[20.0], 19.0) && !allowed(both, &[20.0], 19.1));
        assert!(!allowed(both, &[], f64::MIN) && !allowed(near, &[], f64::NEG_INFINITY));
    }
}
