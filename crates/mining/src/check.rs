//! Whether negatives can be chosen as asked, before anything is read.

use toller_ir::{Explain, Remedy, Setting, remedy};

use crate::{Count, Format, MissingText, ScoreRule, Selection};

/// Which inputs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Judgments.
    pub qrels: bool,
    /// A reranker's scores.
    pub scores: bool,
    /// The texts of queries.
    pub queries: bool,
    /// The texts of passages.
    pub corpus: bool,
}

/// Why negatives cannot be chosen as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MiningError {
    /// No ranks, or no negatives.
    #[error("{wanted} negatives of the ranks {first} to {last}")]
    NothingSelected {
        /// The negatives of a query, or of a positive.
        wanted: usize,
        /// The first rank.
        first: usize,
        /// The last rank.
        last: usize,
    },
    /// Neither judgments, nor a score from which on documents are relevant.
    #[error("nothing says which documents are relevant")]
    NothingRelevant,
    /// A format of texts without texts.
    #[error("the format {0} needs the texts of queries and passages")]
    NeedsTexts(Format),
    /// A rule without the scores that it is about.
    #[error("a threshold of scores needs scores")]
    NeedsScores,
    /// A score that is infinite or not a number.
    #[error("a score of {0}")]
    NotFinite(f64),
    /// A margin that is negative, infinite or not a number.
    #[error("a margin of {0}")]
    Margin(f64),
    /// A share of a positive's score that is not one.
    #[error("a relative margin of {0}")]
    Share(f64),
    /// Bounds between which no score lies.
    #[error("no score is from {least} to {most}")]
    NoScoreBetween {
        /// The lowest score of a negative.
        least: f64,
        /// The highest.
        most: f64,
    },
    /// Scores of other queries or documents.
    #[error("no document that negatives are taken from has a score")]
    OtherScores,
}

impl Inputs {
    /// Checks that these inputs are enough, and that the rule and the selection let something pass.
    ///
    /// # Errors
    /// What is missing or makes no sense.
    pub fn check(self, selection: &Selection, rule: &ScoreRule, format: Format) -> Result<(), MiningError> {
        let (first, last) = selection.ranks.clone().into_inner();
        let (Count::PerQuery(wanted) | Count::PerPositive(wanted)) = selection.count;
        if first == 0 || last < first || wanted == 0 {
            return Err(MiningError::NothingSelected { wanted, first, last });
        }
        if !self.scores && *rule != ScoreRule::default() {
            return Err(MiningError::NeedsScores);
        }
        check_rule(rule)?;
        if format.needs_texts() && !(self.queries && self.corpus) {
            return Err(MiningError::NeedsTexts(format));
        }
        if !self.qrels && rule.new_positives.is_none() {
            return Err(MiningError::NothingRelevant);
        }
        Ok(())
    }
}

fn check_rule(rule: &ScoreRule) -> Result<(), MiningError> {
    let bounds = [rule.max_negative, rule.min_negative, rule.min_positive, rule.new_positives];
    if let Some(bound) = bounds.into_iter().flatten().find(|bound| !bound.is_finite()) {
        return Err(MiningError::NotFinite(bound));
    }
    if let Some(margin) = rule.absolute_margin.filter(|margin| !margin.is_finite() || *margin < 0.0) {
        return Err(MiningError::Margin(margin));
    }
    if let Some(share) = rule.relative_margin.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(MiningError::Share(share));
    }
    match (rule.min_negative, rule.max_negative) {
        (Some(least), Some(most)) if least > most => Err(MiningError::NoScoreBetween { least, most }),
        _ => Ok(()),
    }
}

impl Explain for MiningError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NothingSelected { .. } => "ranks begin at 1, and numbers are not 0".into(),
            Self::NothingRelevant => {
                remedy!("give {}, or {} with {}", Setting::Qrels, Setting::Scores, Setting::NewPositiveScore)
            }
            Self::NeedsTexts(_) => remedy!("give {} and {}", Setting::Queries, Setting::Corpus),
            Self::NeedsScores => remedy!("give {}, the run of a reranker", Setting::Scores),
            Self::NotFinite(_) => "give a finite number".into(),
            Self::Margin(_) => "give a number of at least 0".into(),
            Self::Share(_) => "give a share from 0 to 1".into(),
            Self::NoScoreBetween { .. } => {
                remedy!("give {} a number of at least {}", Setting::MaxScore, Setting::MinScore)
            }
            Self::OtherScores => remedy!("give {} what a reranker made of the same run", Setting::Scores),
        })
    }
}

impl Explain for MissingText {
    fn remedy(&self) -> Option<Remedy> {
        Some(remedy!(
            "give {} and {} with all queries and documents of the run and the judgments",
            Setting::Queries,
            Setting::Corpus
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Inputs, MiningError};
    use crate::{Choice, Count, Format, ScoreRule, Selection};

    const ALL: Inputs = Inputs { qrels: true, scores: true, queries: true, corpus: true };

    fn checked(inputs: Inputs, rule: ScoreRule, format: Format) -> Result<(), MiningError> {
        let selection =
            Selection { ranks: 1..=200, count: Count::PerQuery(30), choice: Choice::Sample, seed: 42 };
        inputs.check(&selection, &rule, format)
    }

    #[test]
    fn what_is_missing_is_named() {
        let (any, jsonl) = (ScoreRule::default(), Format::Jsonl);
        let nothing = Inputs { qrels: false, scores: false, queries: false, corpus: false };
        assert_eq!(checked(Inputs { qrels: true, ..nothing }, any, jsonl), Ok(()));
        assert_eq!(checked(nothing, any, jsonl), Err(MiningError::NothingRelevant));
        let new = ScoreRule { new_positives: Some(0.9), ..any };
        assert_eq!(checked(Inputs { scores: true, ..nothing }, new, jsonl), Ok(()));
        assert_eq!(checked(Inputs { qrels: true, ..nothing }, new, jsonl), Err(MiningError::NeedsScores));
        for without in [Inputs { queries: false, ..ALL }, Inputs { corpus: false, ..ALL }] {
            let triplets = Format::Triplets;
            assert_eq!(checked(without, any, triplets), Err(MiningError::NeedsTexts(triplets)));
            assert_eq!(checked(without, any, jsonl), Ok(()));
        }
    }

    #[test]
    fn rules_and_selections_let_something_pass() {
        let any = ScoreRule::default();
        let of = |rule| checked(ALL, rule, Format::Tevatron);
        assert_eq!(of(ScoreRule { min_negative: Some(0.5), max_negative: Some(0.5), ..any }), Ok(()));
        assert_eq!(
            of(ScoreRule { min_negative: Some(2.0), max_negative: Some(1.0), ..any }),
            Err(MiningError::NoScoreBetween { least: 2.0, most: 1.0 })
        );
        let infinite = ScoreRule { min_positive: Some(f64::INFINITY), ..any };
        assert_eq!(of(infinite), Err(MiningError::NotFinite(f64::INFINITY)));
        assert!(of(ScoreRule { max_negative: Some(f64::NAN), ..any }).is_err());
        for share in [-1.0, 1.5] {
            assert_eq!(of(ScoreRule { relative_margin: Some(share), ..any }), Err(MiningError::Share(share)));
        }
        assert_eq!(of(ScoreRule { absolute_margin: Some(-1.0), ..any }), Err(MiningError::Margin(-1.0)));
        assert!(of(ScoreRule { absolute_margin: Some(f64::NAN), ..any }).is_err());
        for (first, last, count) in
            [(0, 3, Count::PerQuery(1)), (3, 2, Count::PerQuery(1)), (1, 3, Count::PerPositive(0))]
        {
            let selection = Selection { ranks: first..=last, count, choice: Choice::Top, seed: 0 };
            let refused = ALL.check(&selection, &any, Format::Pairs);
            assert!(matches!(refused, Err(MiningError::NothingSelected { .. })), "{selection:?}");
        }
    }
}
