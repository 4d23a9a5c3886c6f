//! The papers' own definitions, where trec_eval's are others, on runs small enough to count by hand.

mod support;

use std::error::Error;

use support::TestResult;
use toller_eval::{
    EvalError, EvalOptions, Evaluation, Measure, QueryJudge, evaluate, evaluate_first_ranks, parse_measures,
};
use toller_ir::{Qrels, Run, RunEntry};

/// q1 has one relevant document of three, q2 four, q3 one that the run has nothing for.
fn judgments() -> Qrels {
    let mut qrels = Qrels::new();
    for (query, grades) in [("q1", &[0, 2, 0][..]), ("q2", &[1, 1, 1, 3]), ("q3", &[1])] {
        for (doc, grade) in grades.iter().enumerate() {
            qrels.insert(query, &format!("d{doc}"), *grade);
        }
    }
    qrels
}

fn run(lines: &[(&str, &[(&str, f64)])]) -> Run {
    let mut run = Run::default();
    for (query, docs) in lines {
        let entries = docs.iter().map(|(doc, score)| RunEntry { doc_id: (*doc).into(), score: *score });
        run.queries.insert((*query).into(), entries.collect());
    }
    run
}

fn evaluated(run: &Run, measures: &str) -> Result<Evaluation, Box<dyn Error>> {
    Ok(evaluate(&judgments(), run, &parse_measures(measures)?, &EvalOptions::default())?)
}

#[test]
fn micro_recall_divides_sums() -> TestResult {
    let run = run(&[("q1", &[("d1", 2.0), ("d0", 1.0)]), ("q2", &[("d0", 2.0), ("x", 1.5), ("d1", 1.0)])]);
    let measures = "R@2 R(micro=True)@2 R@10 R(micro=True)@10 R(micro=True,rel=2)@10";
    let evaluation = evaluated(&run, measures)?;
    let expected = [
        (1.0 + 0.25) / 3.0,
        2.0 / 6.0,
        (1.0 + 0.5) / 3.0,
        3.0 / 6.0,
        // One of the two documents of at least grade 2.
        1.0 / 2.0,
    ];
    for (value, expected) in evaluation.aggregates.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-15, "{value} {expected}");
    }
    // A group's sums are its own.
    let group = evaluation.restricted_to(["q3", "q1", "none"]).ok_or("no group")?;
    assert_eq!(group.aggregates[..2], [0.5, 0.5]);
    let names: Vec<String> = evaluation.measures.iter().map(ToString::to_string).collect();
    assert_eq!(names.join(" "), measures.replace("micro=True,rel=2", "rel=2,micro=True"));
    Ok(())
}

/// T2Ranking's equations 7 and 8: the sum of DCG over the queries, over that of the ideal DCG.
#[test]
fn micro_ndcg_divides_sums() -> TestResult {
    let run = run(&[("q1", &[("d0", 2.0), ("d1", 1.0)]), ("q2", &[("d3", 2.0), ("d0", 1.0)])]);
    let log2 = f64::log2;
    let (first, first_ideal) = (2.0 / log2(3.0), 2.0);
    let (second, second_ideal) = (3.0 + 1.0 / log2(3.0), 3.0 + 1.0 / log2(3.0) + 1.0 / log2(4.0));
    let evaluation = evaluated(&run, "nDCG@3 nDCG(micro=True)@3")?;
    let expected = [
        (first / first_ideal + second / second_ideal) / 3.0,
        (first + second) / (first_ideal + second_ideal + 1.0),
    ];
    for (value, expected) in evaluation.aggregates.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-15, "{value} {expected}");
    }
    Ok(())
}

#[test]
fn rr_over_the_runs_queries() -> TestResult {
    let run = run(&[("q1", &[("d0", 2.0), ("d1", 1.0)]), ("q2", &[("d0", 2.0)])]);
    let evaluation = evaluated(&run, "RR@10 RR(missing=skip)@10 RR(missing='zero')@10 RR@1")?;
    let names: Vec<String> = evaluation.measures.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["RR@10", "RR(missing='skip')@10", "RR@1"]);
    assert_eq!(evaluation.aggregates, [0.5, 0.75, 1.0 / 3.0]);
    Ok(())
}

/// T2Ranking's script divides by the queries of the run, its equation 5 by all queries. Either counts q3,
/// which has no passage of grade 2.
#[test]
fn rr_counts_queries_without_a_relevant_passage() -> TestResult {
    let run = run(&[("q1", &[("d0", 2.0), ("d1", 1.0)]), ("q3", &[("d0", 2.0)])]);
    let evaluation = evaluated(&run, "RR(rel=2,missing='skip')@10 RR(rel=2)@10")?;
    assert_eq!(evaluation.aggregates, [0.25, 0.5 / 3.0]);
    Ok(())
}

/// ReQA ranks by `scipy.stats.rankdata`: documents of the same score share the mean of their ranks.
#[test]
fn ties_share_the_mean_rank() -> TestResult {
    // d1 ties with two others below one document: ranks 2, 3 and 4.
    let ties: &[(&str, f64)] = &[("a", 3.0), ("d0", 1.0), ("d1", 1.0), ("z", 1.0), ("b", 0.5)];
    let run = run(&[("q1", ties), ("q2", &[("d0", 1.0), ("x", 1.0)])]);
    let measures = "RR RR(ties='average') Success@2 Success(ties='average')@2 Success(ties='average')@3 \
                    RR(ties='average')@2 RR(ties='id')";
    let evaluation = evaluated(&run, measures)?;
    assert_eq!(evaluation.per_query[0].values, [1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(evaluation.per_query[1].values, [0.5, 1.0 / 1.5, 1.0, 1.0, 1.0, 1.0 / 1.5]);

    // The same from only the ranks.
    let ranks = [("q2", Some(1.5)), ("q3", None), ("q1", Some(3.0))];
    let ranks = ranks.map(|(query, rank)| (query.to_owned(), rank)).to_vec();
    let measures = parse_measures("RR Success@2 Success@3 RR@2")?;
    let by_rank = evaluate_first_ranks(ranks.clone(), &measures)?;
    let same = [1, 3, 4, 5].map(|at| (evaluation.measures[at].clone(), evaluation.aggregates[at]));
    let by_rank = by_rank.measures.iter().map(Measure::with_average_ties).zip(by_rank.aggregates);
    assert!(by_rank.eq(same));
    for measure in ["AP", "nDCG@10", "RR(rel=2)", "R@10", "RR(missing='skip')"] {
        let error = evaluate_first_ranks(ranks.clone(), &parse_measures(measure)?);
        assert!(matches!(error, Err(EvalError::NotOfFirstRank { .. })), "{measure}");
    }
    Ok(())
}

/// What only sees one ranking at a time, without scores, refuses measures that need more.
#[test]
fn judges_of_rankings_refuse_them() -> TestResult {
    let grades = judgments();
    let grades = grades.query("q1").ok_or("no judgments")?;
    for measure in ["R(micro=True)@5", "nDCG(micro=True)", "RR(missing='skip')", "RR(ties='average')"] {
        let measures = parse_measures(measure)?;
        assert!(matches!(QueryJudge::new("q1", grades, &measures, 1), Err(EvalError::NotOfRankings { .. })));
        assert!(!measures[0].is_of_rankings());
    }
    Ok(())
}

/// 100,000 documents of one score: trec_eval's order is by identifier, descending.
#[test]
fn ties_by_the_hundred_thousand() -> TestResult {
    const TIED: usize = 100_000;
    let mut qrels = Qrels::new();
    for doc in [0, 42, 70_000, TIED - 3] {
        qrels.insert("q1", &doc.to_string(), 1);
    }
    let mut run = Run::default();
    // Neither ascending nor descending.
    let docs = (0..TIED).map(|at| RunEntry { doc_id: (at * 7919 % TIED).to_string(), score: 0.25 });
    run.queries.insert("q1".into(), docs.collect());
    let measures = parse_measures("RR AP Success@2 Success@3 RR(ties='average') nDCG")?;
    let evaluation = evaluate(&qrels, &run, &measures, &EvalOptions::default())?;

    // By the bytes of the identifiers: 99999, 99998, 99997, ...
    let mut ids: Vec<String> = (0..TIED).map(|at| at.to_string()).collect();
    ids.sort_by(|a, b| b.cmp(a));
    let mut ranks: Vec<f64> = (1..)
        .zip(&ids)
        .filter(|(_, id)| qrels.query("q1").is_some_and(|grades| grades.contains_key(*id)))
        .map(|(r, _)| f64::from(r))
        .collect();
    ranks.sort_by(f64::total_cmp);
    assert_eq!(ranks[0], 3.0);
    let precision = (1..).zip(&ranks).map(|(found, rank)| f64::from(found) / rank).sum::<f64>();
    let gain = |rank: &f64| 1.0 / (rank + 1.0).log2();
    let ideal = [1.0, 2.0, 3.0, 4.0].iter().map(gain).sum::<f64>();
    let expected =
        [1.0 / 3.0, precision / 4.0, 0.0, 1.0, 1.0 / 50_000.5, ranks.iter().map(gain).sum::<f64>() / ideal];
    for (value, expected) in evaluation.aggregates.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    }
    Ok(())
}
