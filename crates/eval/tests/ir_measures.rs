//! The measures equal those of ir_measures (tests/golden/ir_measures.json, by scripts/make-measure-fixtures).

mod support;

use std::error::Error;

use serde_json::{Map, Value};
use support::{TestResult, golden};
use toller_eval::{EvalOptions, Measure, evaluate};
use toller_ir::{Qrels, Run, RunEntry};

fn object(value: &Value) -> Result<&Map<String, Value>, Box<dyn Error>> {
    value.as_object().ok_or_else(|| format!("no object: {value}").into())
}

#[test]
fn every_measure_and_query() -> TestResult {
    let fixture: Value = serde_json::from_reader(std::fs::File::open(golden("ir_measures.json"))?)?;
    let (mut run, mut qrels) = (Run::default(), Qrels::new());
    for (query, scores) in object(&fixture["run"])? {
        for (doc, score) in object(scores)? {
            let entry = RunEntry { doc_id: doc.clone(), score: score.as_f64().ok_or("no score")? };
            run.queries.entry(query.clone()).or_default().push(entry);
        }
    }
    for (query, grades) in object(&fixture["qrels"])? {
        for (doc, grade) in object(grades)? {
            qrels.insert(query, doc, i32::try_from(grade.as_i64().ok_or("no grade")?)?);
        }
    }
    let expected = object(&fixture["values"])?;
    assert!(expected.len() >= 60);
    for (name, values) in expected {
        let measure: Measure = name.parse()?;
        let evaluation = evaluate(&qrels, &run, std::slice::from_ref(&measure), &EvalOptions::default())?;
        // gdeval prints five decimals.
        let tolerance = if name.starts_with("ERR") || name.contains("exp-log2") { 5.001e-6 } else { 1e-12 };
        for (query, expected) in object(values)? {
            let evaluated = evaluation.per_query.iter().find(|other| other.query_id == *query);
            let value = evaluated.ok_or_else(|| format!("{query} was not evaluated"))?.values[0];
            let expected = expected.as_f64().ok_or("no value")?;
            assert!((value - expected).abs() <= tolerance, "{name} of {query} is {value}, not {expected}");
        }
    }
    Ok(())
}
