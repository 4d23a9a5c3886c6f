//! Laws of the measures, and their agreement with definitions written down as plainly as can be.

use std::collections::BTreeMap;

use proptest::prelude::*;
use toller_eval::{EvalOptions, Evaluation, Measure, evaluate, parse_measures};
use toller_ir::{Qrels, Run, RunEntry};

const ALL: &str = "nDCG nDCG@3 nDCG(dcg='exp-log2')@5 nDCG(judged_only=True)@3 RR RR@2 AP AP@3 AP(rel=2) R@3 P@4 Success@2 \
     Judged Judged@3 Rprec Bpref infAP IPrec@0.5 SetP SetRelP SetR SetF SetF(beta=2.0) SetAP";

/// A grade for some documents, by document number.
type Judgments = BTreeMap<u8, i32>;
/// A score for some documents, by document number.
type Scores = BTreeMap<u8, f64>;

fn judgments() -> impl Strategy<Value = Judgments> {
    prop::collection::btree_map(0_u8..20, -1..4_i32, 1..20)
}

fn scores() -> impl Strategy<Value = Scores> {
    prop::collection::btree_map(
        0_u8..20,
        prop::sample::select(vec![-1.0, 0.0, 1.0, 1.0 + 1e-15, 2.5, 7.0]),
        1..20,
    )
}

fn qrels(of: &[Judgments]) -> Qrels {
    let mut qrels = Qrels::new();
    for (query, judgments) in of.iter().enumerate() {
        for (doc, grade) in judgments {
            qrels.insert(&format!("q{query}"), &format!("d{doc:02}"), *grade);
        }
    }
    qrels
}

fn run(of: &[Scores]) -> Run {
    let mut run = Run::default();
    for (query, scores) in of.iter().enumerate() {
        let entries =
            scores.iter().map(|(doc, score)| RunEntry { doc_id: format!("d{doc:02}"), score: *score });
        run.queries.insert(format!("q{query}"), entries.collect());
    }
    run
}

fn measured(qrels: &Qrels, run: &Run, measures: &str) -> Result<Evaluation, TestCaseError> {
    let fail = |error: String| TestCaseError::fail(error);
    let measures = parse_measures(measures).map_err(|error| fail(error.to_string()))?;
    evaluate(qrels, run, &measures, &EvalOptions::default()).map_err(|error| fail(error.to_string()))
}

/// The ranked document numbers: by score descending, then number descending.
fn ranked(scores: &Scores) -> Vec<u8> {
    let mut docs: Vec<u8> = scores.keys().rev().copied().collect();
    docs.sort_by(|a, b| scores[b].total_cmp(&scores[a]));
    docs
}

/// Definitions by the book: quadratic, and without any of the shortcuts of the crate.
fn by_definition(judgments: &Judgments, scores: &Scores) -> Vec<(&'static str, f64)> {
    let docs = ranked(scores);
    let relevant = |doc: &u8| judgments.get(doc).is_some_and(|grade| *grade >= 1);
    let relevant_count = judgments.values().filter(|grade| **grade >= 1).count() as f64;
    let found = |cutoff: usize| docs.iter().take(cutoff).filter(|doc| relevant(doc)).count() as f64;
    let or_zero = |value: f64| if value.is_nan() { 0.0 } else { value };
    let gain = |doc: &u8| f64::from((*judgments.get(doc).unwrap_or(&0)).max(0));
    let dcg = |gains: &[f64], cutoff: usize| -> f64 {
        gains.iter().take(cutoff).enumerate().map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
    };
    let gains: Vec<f64> = docs.iter().map(gain).collect();
    let mut ideal: Vec<f64> = judgments.keys().map(gain).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let precisions = |cutoff: usize| -> f64 {
        let at = |rank: usize| found(rank) / rank as f64;
        (1..=cutoff.min(docs.len())).filter(|rank| relevant(&docs[rank - 1])).map(at).sum()
    };
    let first = (1..=docs.len()).find(|rank| found(*rank) > 0.0);
    let nonrelevant = |doc: &u8| judgments.get(doc).is_some_and(|grade| *grade == 0);
    let nonrelevant_count = judgments.values().filter(|grade| **grade == 0).count() as f64;
    let preference = |rank: usize| {
        let above = docs[..rank].iter().filter(|doc| nonrelevant(doc)).count() as f64;
        if above == 0.0 {
            1.0
        } else {
            1.0 - above.min(relevant_count) / nonrelevant_count.min(relevant_count)
        }
    };
    let preferences: f64 = (0..docs.len()).filter(|rank| relevant(&docs[*rank])).map(preference).sum();
    let half = (relevant_count / 2.0).round();
    let interpolated = (1..=docs.len())
        .filter(|rank| found(*rank) >= half.max(1.0))
        .map(|rank| found(rank) / rank as f64)
        .fold(0.0, f64::max);
    let judged = docs.iter().take(3).filter(|doc| judgments.contains_key(doc)).count() as f64;
    vec![
        ("nDCG", or_zero(dcg(&gains, 99) / dcg(&ideal, 99))),
        ("nDCG@3", or_zero(dcg(&gains, 3) / dcg(&ideal, 3))),
        ("RR", first.map_or(0.0, |rank| 1.0 / rank as f64)),
        ("RR@2", first.filter(|rank| *rank <= 2).map_or(0.0, |rank| 1.0 / rank as f64)),
        ("AP", or_zero(precisions(99) / relevant_count)),
        ("AP@3", or_zero(precisions(3) / relevant_count)),
        ("R@3", or_zero(found(3) / relevant_count)),
        ("P@4", found(4) / 4.0),
        ("Success@2", if found(2) > 0.0 { 1.0 } else { 0.0 }),
        ("Judged@3", judged / docs.len().min(3) as f64),
        ("Rprec", or_zero(found(relevant_count as usize) / relevant_count)),
        ("Bpref", or_zero(preferences / relevant_count)),
        ("IPrec@0.5", interpolated),
        ("SetP", found(99) / docs.len() as f64),
        ("SetR", or_zero(found(99) / relevant_count)),
    ]
}

proptest! {
    #[test]
    fn values_are_shares(judgments in judgments(), scores in scores()) {
        let evaluation = measured(&qrels(&[judgments]), &run(&[scores]), ALL)?;
        for (measure, value) in evaluation.measures.iter().zip(&evaluation.aggregates) {
            prop_assert!((0.0..=1.0 + 1e-12).contains(value), "{measure} is {value}");
            prop_assert!(value.is_sign_positive(), "{measure} prints a minus");
        }
    }

    #[test]
    fn order_of_the_lines_does_not_matter(
        judgments in prop::collection::vec(judgments(), 1..5),
        scores in prop::collection::vec(scores(), 5),
        seed in any::<u64>(),
    ) {
        let (qrels, run) = (qrels(&judgments), run(&scores));
        let shuffled = |len: usize| {
            let mut order: Vec<usize> = (0..len).collect();
            order.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
            order
        };
        let lines: Vec<_> = qrels.iter().flat_map(|(query, docs)| docs.iter().map(move |(doc, grade)| (query, doc, *grade))).collect();
        let mut other_qrels = Qrels::new();
        for at in shuffled(lines.len()) {
            other_qrels.insert(lines[at].0, lines[at].1, lines[at].2);
        }
        let lines: Vec<_> = run.queries.iter().flat_map(|(query, entries)| entries.iter().map(move |entry| (query, entry))).collect();
        let mut other_run = Run::default();
        for at in shuffled(lines.len()) {
            other_run.queries.entry(lines[at].0.clone()).or_default().push(lines[at].1.clone());
        }
        prop_assert_eq!(measured(&qrels, &run, ALL)?, measured(&other_qrels, &other_run, ALL)?);
    }

    #[test]
    fn the_ideal_ranking_is_perfect(judgments in judgments()) {
        prop_assume!(judgments.values().any(|grade| *grade >= 1));
        let ideal: Scores = judgments.iter().map(|(doc, grade)| (*doc, f64::from(*grade))).collect();
        let perfect = "nDCG nDCG@3 nDCG(dcg='exp-log2')@5 RR AP Rprec Bpref Success@1 SetR IPrec@0.5 Judged";
        let evaluation = measured(&qrels(&[judgments]), &run(&[ideal]), perfect)?;
        for (measure, value) in evaluation.measures.iter().zip(&evaluation.aggregates) {
            prop_assert!((value - 1.0).abs() < 1e-12, "{measure} is {value}");
        }
    }

    #[test]
    fn as_defined(judgments in judgments(), scores in scores()) {
        let evaluation = measured(&qrels(std::slice::from_ref(&judgments)), &run(std::slice::from_ref(&scores)), ALL)?;
        for (name, expected) in by_definition(&judgments, &scores) {
            let measure: Measure = name.parse().map_err(|_| TestCaseError::fail(name))?;
            let value = evaluation.aggregate(&measure).ok_or_else(|| TestCaseError::fail(name))?;
            prop_assert!((value - expected).abs() < 1e-12, "{name} is {value}, not {expected}");
        }
    }

    #[test]
    fn a_missing_query_counts_as_zero(judgments in prop::collection::vec(judgments(), 2), scores in scores()) {
        let first = measured(&qrels(&judgments[..1]), &run(std::slice::from_ref(&scores)), ALL)?;
        let both = measured(&qrels(&judgments), &run(&[scores]), ALL)?;
        for ((measure, first), both) in first.measures.iter().zip(&first.aggregates).zip(&both.aggregates) {
            prop_assert_eq!(first / 2.0, *both, "{}", measure);
        }
    }
}
