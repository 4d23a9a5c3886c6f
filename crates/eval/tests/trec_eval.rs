//! Parity with NIST's trec_eval 10: its own test outputs, and those of a run made of hard cases.

#![allow(clippy::print_stderr)]

mod support;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use support::{TestResult, golden, measure_of_trec_name, read_qrels, read_run, read_trec_eval_output};
use toller_eval::{EvalOptions, MissingQueries, evaluate};

const PLAIN: EvalOptions = EvalOptions { missing: MissingQueries::Skip, relevance_level: 1, depth: None };
const COMPLETE: EvalOptions =
    EvalOptions { missing: MissingQueries::CountAsZero, relevance_level: 1, depth: None };

/// Checks every line of an output that is of an implemented measure. `judged_only` is trec_eval's `-J`.
fn check(qrels: &Path, run: &Path, output: &Path, options: EvalOptions, judged_only: bool) -> TestResult {
    let lines = read_trec_eval_output(output)?;
    let mut measures = Vec::new();
    let mut names = BTreeSet::new();
    for (name, _, _) in &lines {
        if names.insert(name.as_str())
            && let Some(mut measure) = measure_of_trec_name(name)?
        {
            if judged_only {
                let Ok(judged) = with_judged_only(&measure.to_string()).parse() else { continue };
                measure = judged;
            }
            measures.push((name.as_str(), measure));
        }
    }
    let list: Vec<_> = measures.iter().map(|(_, measure)| measure.clone()).collect();
    let evaluation = evaluate(&read_qrels(qrels)?, &read_run(run)?, &list, &options)?;
    let mut checked = 0;
    for (name, query_id, expected) in &lines {
        let Some(at) = measures.iter().position(|(other, _)| other == name) else { continue };
        // trec_eval sums what is relevant at grade 1 whatever its `-l` says.
        if name == "num_rel" && options.relevance_level != 1 && query_id == "all" {
            continue;
        }
        // trec_eval divides zero by zero where nothing that it retrieved is judged; the value is 0.
        if expected.ends_with("nan") {
            assert!(judged_only);
            continue;
        }
        let value = if query_id == "all" {
            evaluation.aggregates[at]
        } else {
            let query = evaluation.per_query.iter().find(|query| query.query_id == *query_id);
            query.ok_or_else(|| format!("query {query_id} was not evaluated"))?.values[at]
        };
        let printed = list[at].format(value, 4);
        assert_eq!(&printed, expected, "{name} of query {query_id} in {}", output.display());
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} values checked in {}", output.display());
    eprintln!("{checked} values of {} measures agree with {}", list.len(), output.display());
    Ok(())
}

/// The measure with `judged_only=True`; no measure if it does not take it.
fn with_judged_only(measure: &str) -> String {
    let at = measure.find(['(', '@']).unwrap_or(measure.len());
    let (name, rest) = measure.split_at(at);
    match rest.strip_prefix('(') {
        Some(rest) => format!("{name}(judged_only=True,{rest}"),
        None => format!("{name}(judged_only=True){rest}"),
    }
}

#[test]
fn nist_outputs() -> TestResult {
    let Some(data) = toller_testing::shared("data") else { return Ok(()) };
    let nist = data.join("trec_eval-test");
    let level_2 = EvalOptions { relevance_level: 2, ..PLAIN };
    let depth_100 = EvalOptions { depth: NonZeroUsize::new(100), ..COMPLETE };
    for (qrels, run, output, options) in [
        ("qrels.test", "results.test", "out.test", PLAIN),
        ("qrels.test.with-comments", "results.test", "out.test", PLAIN),
        ("qrels.comment.test", "results.comment.test", "out.comment.test", PLAIN),
        ("qrels.test", "results.test", "out.test.a", PLAIN),
        ("qrels.test", "results.test", "out.test.aq", PLAIN),
        ("qrels.test", "results.trunc", "out.test.aqc", COMPLETE),
        ("qrels.test", "results.trunc", "out.test.aqcM", depth_100),
        ("qrels.rel_level", "results.test", "out.test.aql", level_2),
        ("qrels.test", "results.test", "out.test.meas_params", PLAIN),
    ] {
        check(&nist.join(qrels), &nist.join(run), &nist.join(output), options, false)?;
    }
    Ok(())
}

/// Tied scores, scores that differ in the last bits of an f64, negative grades, queries that are missing,
/// not judged or without a relevant document, ids beyond ASCII.
#[test]
fn hard_cases() -> TestResult {
    let (qrels, run) = (golden("synthetic.qrels"), golden("synthetic.run"));
    let level_2 = EvalOptions { relevance_level: 2, ..COMPLETE };
    let depth_10 = EvalOptions { depth: NonZeroUsize::new(10), ..COMPLETE };
    check(&qrels, &run, &golden("synthetic.c.out"), COMPLETE, false)?;
    check(&qrels, &run, &golden("synthetic.c-l2.out"), level_2, false)?;
    check(&qrels, &run, &golden("synthetic.c-M10.out"), depth_10, false)?;
    check(&qrels, &run, &golden("synthetic.c-J.out"), COMPLETE, true)
}

#[test]
fn missing_queries_skipped() -> TestResult {
    let (qrels, run) = (read_qrels(&golden("synthetic.qrels"))?, read_run(&golden("synthetic.run"))?);
    let measures = toller_eval::parse_measures("NumQ AP")?;
    let all = evaluate(&qrels, &run, &measures, &COMPLETE)?;
    let found = evaluate(&qrels, &run, &measures, &PLAIN)?;
    assert_eq!((all.missing, all.unjudged), (2, 1));
    assert_eq!((found.missing, found.unjudged), (2, 1));
    assert_eq!(all.aggregates[0], found.aggregates[0] + 2.0);
    let sums = (all.aggregates[1] * all.aggregates[0], found.aggregates[1] * found.aggregates[0]);
    assert!((sums.0 - sums.1).abs() < 1e-12);
    Ok(())
}
