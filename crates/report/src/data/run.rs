//! What one run contributes to a report, found in two passes over the run.

use toller_eval::{EvalError, EvalOptions, Evaluation, Measure, QueryJudge, evaluate, map_graded_rankings};
use toller_ir::{Qrels, Run};

/// Depths of the curves.
pub(crate) const DEPTHS: [usize; 13] = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000];

/// Recall levels of the precision-recall curve, in tenths.
pub(crate) const RECALL_LEVELS: usize = 11;

/// Of the measures with a cutoff, this many have a curve.
const MOST_CURVES: usize = 4;

/// What every run is measured by.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) measures: Vec<Measure>,
    /// The measures with a cutoff, without it: `nDCG@`.
    pub(crate) families: Vec<String>,
    /// Of each family, at each depth.
    at_depths: Vec<Measure>,
    at_recalls: Vec<Measure>,
    pub(crate) eval: EvalOptions,
}

/// A measured run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) evaluation: Evaluation,
    /// The value at each depth, `[families][depths]`.
    pub(crate) at_depths: Vec<Vec<f64>>,
    /// The precision at each recall level.
    pub(crate) precision: Vec<f64>,
    /// The rank of each query's first relevant document.
    pub(crate) first_ranks: Vec<Option<usize>>,
    /// The length of the longest ranking.
    pub(crate) longest: usize,
}

impl Plan {
    pub(crate) fn new(measures: &[Measure], eval: EvalOptions) -> Self {
        let mut families: Vec<String> = Vec::new();
        for family in measures.iter().filter(|measure| measure.is_of_rankings()).filter_map(family) {
            if !families.contains(&family) && families.len() < MOST_CURVES {
                families.push(family);
            }
        }
        if families.is_empty() {
            families.extend(["nDCG@", "R@"].map(str::to_owned));
        }
        let parsed = |name: String| name.parse().ok();
        let at_depths = families
            .iter()
            .flat_map(|family| DEPTHS.map(|depth| format!("{family}{depth}")))
            .filter_map(parsed)
            .collect();
        let at_recalls = (0..RECALL_LEVELS).map(|tenths| format!("IPrec@{}", tenths as f64 / 10.0));
        Self {
            measures: measures.to_vec(),
            families,
            at_depths,
            at_recalls: at_recalls.filter_map(parsed).collect(),
            eval,
        }
    }

    /// Measures a run.
    pub(crate) fn measure(&self, name: String, qrels: &Qrels, run: &Run) -> Result<Measured, EvalError> {
        let evaluation = evaluate(qrels, run, &self.measures, &self.eval)?;
        let measures: Vec<Measure> = self.at_depths.iter().chain(&self.at_recalls).cloned().collect();
        let level = self.eval.relevance_level;
        let queries = map_graded_rankings(qrels, run, &self.eval, |ranking, judgments| {
            let judge = QueryJudge::new(ranking.query_id, judgments, &measures, level)?;
            let values = judge.values(ranking.grades());
            Ok((ranking.first_relevant(level), ranking.documents.len(), values))
        })?;
        let first_ranks = queries.iter().map(|(first, _, _)| *first).collect();
        let longest = queries.iter().map(|(_, length, _)| *length).max().unwrap_or(0);
        let values = |at: usize| queries.iter().map(move |(_, _, values)| values[at]);
        let means = measures.iter().enumerate().map(|(at, measure)| measure.aggregate(values(at)));
        let mut means: Vec<f64> = means.collect();
        let precision = means.split_off(self.at_depths.len());
        let at_depths = means.chunks(DEPTHS.len()).map(<[f64]>::to_vec).collect();
        Ok(Measured { name, evaluation, at_depths, precision, first_ranks, longest })
    }
}

/// A measure with a cutoff, without it.
fn family(measure: &Measure) -> Option<String> {
    let name = measure.to_string();
    let (family, cutoff) = name.rsplit_once('@')?;
    cutoff.parse::<usize>().ok()?;
    Some(format!("{family}@"))
}

#[cfg(test)]
mod tests {
    use super::{DEPTHS, Plan, RECALL_LEVELS};
    use toller_eval::{EvalOptions, parse_measures};

    #[test]
    fn curves_are_those_of_the_measures_with_a_cutoff() {
        let plan = |text: &str| Plan::new(&parse_measures(text).unwrap(), EvalOptions::default());
        assert_eq!(plan("nDCG@10 AP IPrec@0.1 nDCG@100 RR(rel=2)@10").families, ["nDCG@", "RR(rel=2)@"]);
        let without = plan("AP");
        assert_eq!(without.families, ["nDCG@", "R@"]);
        assert_eq!((without.at_depths.len(), without.at_recalls.len()), (2 * DEPTHS.len(), RECALL_LEVELS));
    }
}
