//! Two runs query by query: which queries are shown, and what was retrieved for them.

use std::collections::HashMap;

use serde_json::{Value, json};
use toller_eval::{
    EvalOptions, Evaluation, Measure, QueryDifference, RankedDocument, evaluate, query_difference,
};
use toller_ir::{Qrels, Run};

use crate::error::ReportError;
use crate::texts::{Texts, Wanted};

/// Which queries are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those on which the second run loses, the greatest loss first.
    Losses,
    /// Those on which the second run gains, the greatest gain first.
    Gains,
    /// All, from the greatest loss to the greatest gain.
    All,
    /// The greatest losses, then the greatest gains.
    Ends,
}

/// Two runs compared.
#[derive(Clone, Debug)]
pub struct Contrast {
    /// What the runs are called: the baseline, and the run that is compared with it.
    pub names: [String; 2],
    /// By what they are compared.
    pub measure: Measure,
    /// Its value over all queries.
    pub means: [f64; 2],
    /// How many queries there are.
    pub all: usize,
    /// On how many the second run loses.
    pub lost: usize,
    /// On how many the second run gains.
    pub gained: usize,
    /// The lowest relevant grade.
    pub relevance_level: u32,
    /// The queries that are shown.
    pub shown: Vec<QueryDifference>,
}

/// How to compare two runs.
#[derive(Clone, Debug)]
pub struct ContrastOptions {
    /// By what they are compared.
    pub measure: Measure,
    /// Which queries are shown.
    pub choice: Choice,
    /// How many queries are shown; of [`Choice::Ends`], from each end.
    pub limit: usize,
    /// How many documents of each ranking are shown.
    pub documents: usize,
    /// How measures are computed.
    pub eval: EvalOptions,
}

impl Contrast {
    /// Compares two runs.
    ///
    /// # Errors
    /// As [`evaluate`], for either run, with its name.
    pub fn new(
        qrels: &Qrels,
        names: [String; 2],
        runs: [&Run; 2],
        options: &ContrastOptions,
    ) -> Result<Self, ReportError> {
        let measures = std::slice::from_ref(&options.measure);
        let evaluated = |at: usize| {
            let evaluation = evaluate(qrels, runs[at], measures, &options.eval);
            evaluation.map_err(ReportError::of_run(&names[at]))
        };
        let (before, after) = (evaluated(0)?, evaluated(1)?);
        Self::of_evaluations(qrels, names, runs, [&before, &after], options)
    }

    /// Compares two runs that were evaluated by the options' measure, among others, and on the same queries.
    pub(crate) fn of_evaluations(
        qrels: &Qrels,
        names: [String; 2],
        runs: [&Run; 2],
        evaluations: [&Evaluation; 2],
        options: &ContrastOptions,
    ) -> Result<Self, ReportError> {
        let pairs = pairs(evaluations, &options.measure);
        let count = |which: fn(f64) -> bool| pairs.iter().filter(|pair| which(gain(pair))).count();
        let (all, lost, gained) = (pairs.len(), count(|gain| gain < 0.0), count(|gain| gain > 0.0));
        let means = evaluations.map(|run| run.aggregate(&options.measure).unwrap_or(f64::NAN));
        let shown = chosen(&pairs, options.choice, options.limit)
            .into_iter()
            .map(|(id, values)| {
                query_difference(qrels, runs, id, values, options.eval.relevance_level, options.documents)
            })
            .collect::<Result<_, _>>()
            .map_err(ReportError::of_run(&names[1]))?;
        let (measure, relevance_level) = (options.measure.clone(), options.eval.relevance_level);
        Ok(Self { names, measure, means, all, lost, gained, relevance_level, shown })
    }

    /// A value with four decimals.
    #[must_use]
    pub fn number(&self, value: f64) -> String {
        self.measure.format(value, 4)
    }

    /// Everything with its texts, for programs.
    #[must_use]
    pub fn json(&self, texts: &Texts) -> Value {
        let passage = |id: &str| match texts.passage(id) {
            Some(passage) => json!({"title": passage.title, "text": passage.text}),
            None => Value::Null,
        };
        let document = |document: &RankedDocument| {
            json!({
                "id": document.doc_id,
                "score": document.score,
                "grade": document.grade,
                "other_rank": document.other_rank,
                "passage": passage(&document.doc_id),
            })
        };
        let query = |query: &QueryDifference| {
            let relevant = query.relevant.iter().map(|document| {
                json!({
                    "id": document.doc_id,
                    "grade": document.grade,
                    "ranks": document.ranks,
                    "passage": passage(&document.doc_id),
                })
            });
            let ranking = |ranking: &Vec<RankedDocument>| ranking.iter().map(document).collect::<Vec<_>>();
            json!({
                "id": query.query_id,
                "text": texts.query(&query.query_id),
                "values": query.values,
                "gain": query.gain(),
                "relevant": relevant.collect::<Vec<_>>(),
                "rankings": query.rankings.each_ref().map(ranking),
            })
        };
        json!({
            "runs": self.names,
            "measure": self.measure.to_string(),
            "means": self.means,
            "queries": self.all,
            "lost": self.lost,
            "gained": self.gained,
            "shown": self.shown.iter().map(query).collect::<Vec<_>>(),
        })
    }

    /// Adds the identifiers of the texts that are shown.
    pub fn want<'a>(&'a self, wanted: &mut Wanted<'a>) {
        for query in &self.shown {
            wanted.queries.insert(&query.query_id);
            let retrieved = query.rankings.iter().flatten().map(|document| document.doc_id.as_str());
            let relevant = query.relevant.iter().map(|document| document.doc_id.as_str());
            wanted.documents.extend(retrieved.chain(relevant));
        }
    }
}

/// A query's values in both runs.
type Pair<'a> = (&'a str, [f64; 2]);

fn gain((_, [before, after]): &Pair<'_>) -> f64 {
    after - before
}

/// The values of the queries that both runs have, from the greatest loss to the greatest gain.
fn pairs<'a>([before, after]: [&'a Evaluation; 2], measure: &Measure) -> Vec<Pair<'a>> {
    let place = |run: &Evaluation| run.measures.iter().position(|other| other == measure);
    let (Some(at), Some(other_at)) = (place(before), place(after)) else { return Vec::new() };
    let others: HashMap<&str, f64> =
        after.per_query.iter().map(|query| (query.query_id.as_str(), query.values[other_at])).collect();
    let pair = |query: &'a toller_eval::QueryEvaluation| {
        let id = query.query_id.as_str();
        Some((id, [query.values[at], *others.get(id)?]))
    };
    let mut pairs: Vec<_> = before.per_query.iter().filter_map(pair).collect();
    pairs.sort_by(|a, b| gain(a).total_cmp(&gain(b)).then_with(|| a.0.cmp(b.0)));
    pairs
}

/// The queries that are shown, in their order.
fn chosen<'a>(pairs: &[Pair<'a>], choice: Choice, limit: usize) -> Vec<Pair<'a>> {
    let losses = || pairs.iter().filter(|pair| gain(pair) < 0.0).take(limit);
    let gains = || pairs.iter().rev().filter(|pair| gain(pair) > 0.0).take(limit);
    match choice {
        Choice::Losses => losses().copied().collect(),
        Choice::Gains => gains().copied().collect(),
        Choice::All => pairs.iter().take(limit).copied().collect(),
        Choice::Ends => losses().chain(gains()).copied().collect(),
    }
}
