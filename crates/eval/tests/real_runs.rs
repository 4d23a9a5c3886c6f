//! Real runs (TREC DL 2019, Robust 2003, trectools' cases) give what trec_eval 10 and ir_measures print.

#![allow(clippy::print_stderr)]

mod support;

use std::error::Error;

use serde_json::{Map, Value};
use support::{TestResult, golden, read_qrels, read_run};
use toller_eval::{EvalOptions, Evaluation, Measure, evaluate};

fn printed(values: &Value) -> Result<Vec<(Measure, String)>, Box<dyn Error>> {
    let values: &Map<String, Value> = values.as_object().ok_or("values are not an object")?;
    values
        .iter()
        .map(|(measure, value)| {
            Ok((measure.parse()?, value.as_str().ok_or("a value is not a string")?.to_owned()))
        })
        .collect()
}

fn assert_printed(run: &str, evaluation: &Evaluation, expected: &[(Measure, String)]) -> TestResult {
    for (measure, expected) in expected {
        let value = evaluation.aggregate(measure).ok_or("not measured")?;
        assert_eq!(&measure.format(value, 4), expected, "{measure} of {run}");
    }
    Ok(())
}

#[test]
fn golden_values() -> TestResult {
    let Some(data) = toller_testing::shared("data") else { return Ok(()) };
    let cases: Value = serde_json::from_reader(std::fs::File::open(golden("real-runs.json"))?)?;
    let cases = cases["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() >= 14);
    for case in cases {
        let path = |key: &str| case[key].as_str().map(|path| data.join(path)).ok_or("no path");
        let (qrels, run) = (read_qrels(&path("qrels")?)?, read_run(&path("run")?)?);
        let name = case["run"].as_str().unwrap_or_default();

        let mut expected = printed(&case["values"])?;
        expected.extend(printed(&case["ir_measures"])?);
        let measures: Vec<Measure> = expected.iter().map(|(measure, _)| measure.clone()).collect();
        let evaluation = evaluate(&qrels, &run, &measures, &EvalOptions::default())?;
        assert_printed(name, &evaluation, &expected)?;

        for (query_id, values) in case["per_query"].as_object().into_iter().flatten() {
            let query = evaluation.per_query.iter().find(|query| query.query_id == *query_id);
            let query = query.ok_or_else(|| format!("query {query_id} was not evaluated"))?;
            for (measure, expected) in printed(values)? {
                let at =
                    evaluation.measures.iter().position(|other| *other == measure).ok_or("not measured")?;
                assert_eq!(
                    measure.format(query.values[at], 4),
                    expected,
                    "{measure} of {query_id} in {name}"
                );
            }
        }
    }
    Ok(())
}

/// The published figures of the six DL 2019 runs.
#[test]
fn dl19_as_published() -> TestResult {
    let Some(data) = toller_testing::shared("data") else { return Ok(()) };
    let folder = data.join("msmarco-dl19");
    let qrels = read_qrels(&folder.join("qrels.dl19-passage.txt"))?;
    for (run, published) in [
        ("BM25", "0.5058"),
        ("BM25_RM3", "0.5216"),
        ("D_BERT_KD_TASB", "0.7210"),
        ("OPEN_AI_ADA2", "0.7035"),
        ("SPLADE_P_P_ENSEMBLE_DISTIL", "0.7308"),
        ("REP_LLAMA", "0.7384"),
    ] {
        let path = folder.join(format!("runs/{run}.trec_results_dl19.txt.gz"));
        let measures = ["nDCG@10".parse()?];
        let evaluation = evaluate(&qrels, &read_run(&path)?, &measures, &EvalOptions::default())?;
        assert_eq!(measures[0].format(evaluation.aggregates[0], 4), published, "{run}");
    }
    Ok(())
}
