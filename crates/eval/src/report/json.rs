//! The report as JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{Report, ReportOptions, RunReport};
use crate::compare::Comparison;
use crate::measure::Measure;

pub(super) fn write(report: &Report, out: &mut impl Write, options: ReportOptions) -> io::Result<()> {
    let runs: Vec<Value> = report
        .runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            let mut object = run_object(run, options);
            if report.comparisons.is_some() && index > 0 {
                let comparisons = report.comparisons_of(index);
                let by_measure: Map<String, Value> = comparisons
                    .map(|comparison| (comparison.measure.to_string(), comparison_object(comparison)))
                    .collect();
                object.insert("comparison".to_owned(), Value::Object(by_measure));
            }
            Value::Object(object)
        })
        .collect();
    let mut whole = Map::new();
    whole.insert("measures".to_owned(), json!(report.measure_names()));
    if let (Some(_), Some(baseline)) = (&report.comparisons, report.runs.first()) {
        whole.insert("baseline".to_owned(), json!(baseline.name));
    }
    whole.insert("runs".to_owned(), Value::Array(runs));
    serde_json::to_writer_pretty(&mut *out, &Value::Object(whole))?;
    writeln!(out)
}

fn run_object(run: &RunReport, options: ReportOptions) -> Map<String, Value> {
    let evaluation = &run.evaluation;
    let mut object = Map::new();
    object.insert("run".to_owned(), json!(run.name));
    object.insert("queries".to_owned(), json!(evaluation.per_query.len()));
    object.insert("missing_queries".to_owned(), json!(evaluation.missing));
    object.insert("unjudged_queries".to_owned(), json!(evaluation.unjudged));
    object.insert("aggregates".to_owned(), values_object(&evaluation.measures, &evaluation.aggregates));
    if options.per_query {
        let queries: Map<String, Value> = evaluation
            .per_query
            .iter()
            .map(|query| (query.query_id.clone(), values_object(&evaluation.measures, &query.values)))
            .collect();
        object.insert("per_query".to_owned(), Value::Object(queries));
    }
    object
}

/// Values by measure; counts as whole numbers.
fn values_object(measures: &[Measure], values: &[f64]) -> Value {
    let pairs = measures.iter().zip(values).map(|(measure, value)| {
        // A count is a whole number far below 2^53.
        let value = if measure.is_count() { json!(*value as u64) } else { json!(value) };
        (measure.to_string(), value)
    });
    Value::Object(pairs.collect())
}

fn comparison_object(comparison: &Comparison) -> Value {
    json!({
        "mean_difference": comparison.t_test.mean_difference,
        "wins": comparison.wins,
        "ties": comparison.ties,
        "losses": comparison.losses,
        "t_test": {
            // JSON has no infinity: null where all differences are the same.
            "t": comparison.t_test.t,
            "degrees_of_freedom": comparison.t_test.degrees_of_freedom,
            "p": comparison.t_test.p_value,
            "adjusted_p": comparison.adjusted_t_test_p,
        },
        "randomization_test": {
            "permutations": comparison.randomization.permutations,
            "exact": comparison.randomization.exact,
            "p": comparison.randomization.p_value,
            "adjusted_p": comparison.adjusted_randomization_p,
        },
    })
}
