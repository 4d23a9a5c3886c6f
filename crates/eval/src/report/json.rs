//! The report as JSON.

use serde_json::{Map, Value, json};

use super::{Compared, Report, ReportOptions, RunReport};
use crate::compare::{Outcome, PairComparison, Pairs};
use crate::evaluate::Evaluation;
use crate::measure::Measure;

pub(super) fn object(report: &Report, options: ReportOptions) -> Value {
    let mut whole = Map::new();
    whole.insert("measures".to_owned(), json!(report.measure_names()));
    let runs = report.runs.iter().map(|run| run_object(run, options)).collect();
    whole.insert("runs".to_owned(), Value::Array(runs));
    if let Some(compared) = &report.comparisons {
        if let Pairs::With(baseline) = compared.which {
            whole.insert("baseline".to_owned(), json!(report.runs[baseline].name));
        }
        let pairs = compared.pairs.iter().map(|pair| pair_object(report, compared, pair)).collect();
        whole.insert("comparisons".to_owned(), Value::Array(pairs));
    }
    Value::Object(whole)
}

fn run_object(run: &RunReport, options: ReportOptions) -> Value {
    let evaluation = &run.evaluation;
    let mut object = Map::new();
    object.insert("run".to_owned(), json!(run.name));
    if let Some(qrels) = &run.qrels {
        object.insert("qrels".to_owned(), json!(qrels));
    }
    object.insert("queries".to_owned(), json!(evaluation.per_query.len()));
    object.insert("missing_queries".to_owned(), json!(evaluation.missing));
    object.insert("unjudged_queries".to_owned(), json!(evaluation.unjudged));
    object.insert("aggregates".to_owned(), values_object(&evaluation.measures, &evaluation.aggregates));
    if !run.groups.is_empty() {
        let groups: Map<String, Value> =
            run.groups.iter().map(|(name, group)| (name.clone(), group_object(group))).collect();
        object.insert("groups".to_owned(), Value::Object(groups));
        object.insert("macro".to_owned(), values_object(&evaluation.measures, &run.macro_average()));
    }
    if options.per_query {
        let queries: Map<String, Value> = evaluation
            .per_query
            .iter()
            .map(|query| (query.query_id.clone(), values_object(&evaluation.measures, &query.values)))
            .collect();
        object.insert("per_query".to_owned(), Value::Object(queries));
    }
    Value::Object(object)
}

fn group_object(group: &Evaluation) -> Value {
    json!({
        "queries": group.per_query.len(),
        "aggregates": values_object(&group.measures, &group.aggregates),
    })
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

/// JSON has no infinity: null stands for one.
fn pair_object(report: &Report, compared: &Compared, pair: &PairComparison) -> Value {
    let tests: Map<String, Value> = pair
        .tests
        .iter()
        .map(|tested| {
            let mut object = outcome_object(&tested.outcome);
            object.insert("p".to_owned(), json!(tested.outcome.p_value()));
            object.insert("adjusted_p".to_owned(), json!(tested.adjusted_p));
            (tested.outcome.test().name().to_owned(), Value::Object(object))
        })
        .collect();
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| object.insert(key.to_owned(), value);
    set("measure", json!(pair.measure.to_string()));
    set("run", json!(report.runs[pair.run].name));
    set("baseline", json!(report.runs[pair.baseline].name));
    set("queries", json!(pair.queries));
    set("means", json!({"baseline": pair.means[0], "run": pair.means[1]}));
    set("mean_difference", json!(pair.t_test.mean_difference));
    set(
        "interval",
        json!({
            "confidence": compared.options.confidence,
            "low": pair.interval.low,
            "high": pair.interval.high,
        }),
    );
    set("cohens_d", json!(pair.effect.cohens_d));
    set("hedges_g", json!(pair.effect.hedges_g));
    set("wins", json!(pair.wins));
    set("ties", json!(pair.ties));
    set("losses", json!(pair.losses));
    set("tests", Value::Object(tests));
    set("significant", json!(pair.is_significant(compared.options.alpha())));
    if let Some(equivalence) = pair.equivalence {
        set(
            "equivalence",
            json!({
                "margin": equivalence.margin,
                "p": equivalence.p_value,
                "adjusted_p": pair.adjusted_equivalence_p,
            }),
        );
    }
    set("queries_needed", json!(pair.queries_needed));
    set("detectable_difference", json!(pair.detectable_difference));
    Value::Object(object)
}

/// The details of a test, without its p-value.
fn outcome_object(outcome: &Outcome) -> Map<String, Value> {
    let details = match outcome {
        Outcome::T(test) => json!({"t": test.t, "degrees_of_freedom": test.degrees_of_freedom}),
        Outcome::Randomization(test) => json!({"permutations": test.permutations, "exact": test.exact}),
        Outcome::Bootstrap(test) => json!({
            "resamples": test.resamples,
            "low": test.interval.low,
            "high": test.interval.high,
        }),
        Outcome::Wilcoxon(test) => json!({"pairs": test.pairs, "statistic": test.statistic}),
        Outcome::Tukey(_) => json!({}),
    };
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}
