//! Depth curves, their bound, and differences of runs, against evaluations of runs that are cut and reordered
//! by hand.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use toller_eval::{
    Depth, DepthOrder, EvalError, EvalOptions, Measure, depth_curve, evaluate, parse_measures,
    query_difference,
};
use toller_ir::{Qrels, Run, RunEntry};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Grades of documents d0, d1, ... and scores of those that are retrieved, for each query.
type Query = (Vec<i32>, Vec<(usize, i32)>, Vec<(usize, i32)>);

fn query() -> impl Strategy<Value = Query> {
    let scores = || {
        proptest::collection::btree_map(0..20_usize, -5..5_i32, 1..20)
            .prop_map(|map| map.into_iter().collect())
    };
    (proptest::collection::vec(-1..4_i32, 1..12), scores(), scores())
}

fn run(scores: &[(usize, i32)]) -> Vec<RunEntry> {
    let entry =
        |(doc, score): &(usize, i32)| RunEntry { doc_id: format!("d{doc}"), score: f64::from(*score) };
    scores.iter().map(entry).collect()
}

fn collection(queries: &[Query]) -> (Qrels, Run, Run) {
    let (mut qrels, mut first, mut second) = (Qrels::new(), Run::default(), Run::default());
    for (at, (grades, one, other)) in queries.iter().enumerate() {
        for (doc, grade) in grades.iter().enumerate() {
            qrels.insert(&format!("q{at}"), &format!("d{doc}"), *grade);
        }
        first.queries.insert(format!("q{at}"), run(one));
        second.queries.insert(format!("q{at}"), run(other));
    }
    (qrels, first, second)
}

/// The documents of a query in the order of evaluation.
fn order(run: &Run, query: &str) -> Vec<String> {
    let mut entries = run.queries.get(query).cloned().unwrap_or_default();
    entries.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.doc_id.cmp(&a.doc_id)));
    entries.into_iter().map(|entry| entry.doc_id).collect()
}

/// A run with these rankings.
fn of_rankings(rankings: Vec<(String, Vec<String>)>) -> Run {
    let entries = |ids: Vec<String>| {
        ids.into_iter().zip(0..).map(|(doc_id, at)| RunEntry { doc_id, score: f64::from(-at) }).collect()
    };
    let queries = rankings.into_iter().map(|(query, ids)| (query, entries(ids))).collect();
    Run { queries, ..Run::default() }
}

fn value(qrels: &Qrels, run: &Run, measure: &Measure) -> Result<f64, EvalError> {
    Ok(evaluate(qrels, run, std::slice::from_ref(measure), &EvalOptions::default())?.aggregates[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_depth_is_a_run_that_is_cut_or_reranked_there(queries in proptest::collection::vec(query(), 1..4)) {
        let (qrels, first, second) = collection(&queries);
        let depths = [1, 2, 3, 5, 8, 13, 40];
        for measure in parse_measures("nDCG@10 RR AP R@5 P@3").unwrap() {
            let curve = |run: &Run, depth, order| {
                depth_curve(&qrels, run, &measure, &depths, (depth, order), &EvalOptions::default()).unwrap()
            };
            let cut = curve(&first, Depth::Cutoff, DepthOrder::Run);
            let reranked = curve(&second, Depth::Reranked { first: &first }, DepthOrder::Run);
            let oracle = curve(&first, Depth::Cutoff, DepthOrder::Oracle);
            let bound = curve(&second, Depth::Reranked { first: &first }, DepthOrder::Oracle);
            for (at, depth) in depths.into_iter().enumerate() {
                let options = EvalOptions { depth: NonZeroUsize::new(depth), ..EvalOptions::default() };
                let expected = evaluate(&qrels, &first, std::slice::from_ref(&measure), &options).unwrap();
                prop_assert_eq!(cut[at], expected.aggregates[0]);

                let rankings = first.queries.keys().map(|query| {
                    let (before, after) = (order(&first, query), order(&second, query));
                    let (top, rest) = before.split_at(depth.min(before.len()));
                    let mut ranking: Vec<String> = after.into_iter().filter(|id| top.contains(id)).collect();
                    let lacking: Vec<String> = top.iter().filter(|id| !ranking.contains(id)).cloned().collect();
                    ranking.extend(lacking);
                    ranking.extend_from_slice(rest);
                    (query.clone(), ranking)
                });
                let by_hand = of_rankings(rankings.collect());
                prop_assert_eq!(reranked[at], value(&qrels, &by_hand, &measure).unwrap());
                // Nothing beats the best order, and more to choose from never makes it worse.
                prop_assert!(oracle[at] >= cut[at] - 1e-12 && bound[at] >= reranked[at] - 1e-12);
                prop_assert!(at == 0 || oracle[at] >= oracle[at - 1] - 1e-12);
            }
        }
    }

    #[test]
    fn differences_hold_the_rankings(queries in proptest::collection::vec(query(), 1..5)) {
        let (qrels, first, second) = collection(&queries);
        for (id, _) in qrels.iter() {
            let found = query_difference(&qrels, [&first, &second], id, [0.5, 0.25], 2, 4).unwrap();
            prop_assert_eq!((&*found.query_id, found.gain()), (id, -0.25));
            for (at, run) in [&first, &second].into_iter().enumerate() {
                let order = order(run, id);
                let ids: Vec<&String> = found.rankings[at].iter().map(|document| &document.doc_id).collect();
                prop_assert_eq!(ids, order.iter().take(4).collect::<Vec<_>>());
                for relevant in &found.relevant {
                    let rank = order.iter().position(|id| *id == relevant.doc_id).map(|place| place + 1);
                    prop_assert_eq!(relevant.ranks[at], rank);
                }
            }
            let judged = qrels.query(id).into_iter().flatten();
            prop_assert_eq!(found.relevant.len(), judged.filter(|(_, grade)| **grade >= 2).count());
            for relevant in &found.relevant {
                prop_assert!(relevant.grade >= 2);
            }
        }
    }
}

/// All orders of some documents.
fn orders(docs: &[usize]) -> Vec<Vec<usize>> {
    if docs.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |at: usize| {
        let rest: Vec<usize> = docs[..at].iter().chain(&docs[at + 1..]).copied().collect();
        orders(&rest).into_iter().map(move |order| [vec![docs[at]], order].concat())
    };
    (0..docs.len()).flat_map(with_first).collect()
}

#[test]
fn no_order_beats_the_best_one() -> Tested {
    // d4 is not retrieved, and d7 is not judged.
    let retrieved = [0, 1, 2, 3, 7];
    let scores = retrieved.map(|doc| (doc, 0)).to_vec();
    let (qrels, first, _) = collection(&[(vec![1, 2, 0, -1, 2], scores, vec![])]);
    let curve = |measure: &Measure, order| {
        let depth = (Depth::Cutoff, order);
        depth_curve(&qrels, &first, measure, &[5], depth, &EvalOptions::default())
    };
    let measures = "nDCG nDCG(dcg='exp-log2')@3 nDCG(gains={1:9,2:1})@3 DCG(gains={0:2})@2 \
                    DCG(gains={1:-1}) nDCGRel RnDCG G BinG AP infAP YAAP RR RR(rel=2) R@2 P@2 Success@1 \
                    Rprec Bpref IPrec@0.5 SetP NumRelRet ERR RBP RBP(rel=2) INST(max_rel=2) \
                    INSQ(max_rel=1) BPM(max_rel=2)@3 SDCG(max_rel=2)@3 NERR8(max_rel=2)@3 \
                    NERR9(max_rel=2)@3 NERR10(max_rel=2) NERR11(max_rel=2) Compat Accuracy Accuracy@3";
    for measure in parse_measures(measures)? {
        let mut highest = f64::MIN;
        for order in orders(&retrieved) {
            let ids = order.iter().map(|doc| format!("d{doc}")).collect();
            highest = highest.max(value(&qrels, &of_rankings(vec![("q0".to_owned(), ids)]), &measure)?);
        }
        let best = curve(&measure, DepthOrder::Oracle)?[0];
        assert!((best - highest).abs() < 1e-9, "{measure}: {best}, and some order has {highest}");
    }
    for measure in parse_measures("Judged Judged@2 Unjudged@2 RBPResid")? {
        assert!(matches!(curve(&measure, DepthOrder::Oracle), Err(EvalError::NoBestOrder { .. })));
        curve(&measure, DepthOrder::Run)?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_compared_is_an_error() -> Tested {
    let (qrels, first, _) = collection(&[(vec![1, 0], vec![(0, 1)], vec![(1, 1)])]);
    let empty = Run::default();
    let measure: Measure = "AP".parse()?;
    let depth = (Depth::Reranked { first: &empty }, DepthOrder::Run);
    assert!(depth_curve(&qrels, &first, &measure, &[1], depth, &EvalOptions::default()).is_err());
    Ok(())
}
