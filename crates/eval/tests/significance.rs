//! The statistics equal scipy's (tests/golden/significance.json, by scripts/make-significance-fixtures).

mod support;

use std::error::Error;

use serde_json::Value;
use support::{TestResult, golden};
use toller_eval::{
    Correction, adjust_p_values, bootstrap_test, paired_t_test, power, queries_needed, wilcoxon_test,
};

/// The promise of docs/measures.md.
const TOLERANCE: f64 = 1e-9;

fn number(value: &Value) -> Result<f64, Box<dyn Error>> {
    value.as_f64().ok_or_else(|| format!("no number: {value}").into())
}

fn numbers(value: &Value) -> Result<Vec<f64>, Box<dyn Error>> {
    value.as_array().ok_or("no list")?.iter().map(number).collect()
}

#[track_caller]
fn assert_close(what: &str, value: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap_or(f64::NAN);
    let error = (value - expected).abs();
    assert!(error <= TOLERANCE * expected.abs().max(1e-3), "{what} is {value}, and scipy's {expected}");
}

fn fixture() -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_reader(std::fs::File::open(golden("significance.json"))?)?)
}

#[test]
fn tests_intervals_and_effects() -> TestResult {
    let fixture = fixture()?;
    let confidence = number(&fixture["confidence"])?;
    let (resamples, seed) = (fixture["resamples"].as_u64(), fixture["seed"].as_u64());
    let (resamples, seed) = (resamples.ok_or("resamples")?, seed.ok_or("seed")?);
    let cases = fixture["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() >= 8);
    for case in cases {
        let (baseline, other) = (numbers(&case["baseline"])?, numbers(&case["other"])?);
        let what = |name: &str| format!("{name} of {} pairs", baseline.len());
        let t = paired_t_test(&baseline, &other)?;
        assert_close(&what("t"), t.t, &case["t"]["statistic"]);
        assert_close(&what("p of t"), t.p_value, &case["t"]["p"]);
        let interval = t.interval(confidence);
        assert_close(&what("low"), interval.low, &case["t"]["interval"][0]);
        assert_close(&what("high"), interval.high, &case["t"]["interval"][1]);
        let margin = number(&case["equivalence"]["margin"])?;
        assert_close(&what("equivalence"), t.equivalence(margin)?.p_value, &case["equivalence"]["p"]);
        let effect = t.effect();
        assert_close(&what("Cohen's d"), effect.cohens_d, &case["cohens_d"]);
        assert_close(&what("Hedges' g"), effect.hedges_g, &case["hedges_g"]);
        let wilcoxon = wilcoxon_test(&baseline, &other)?;
        assert_close(&what("rank sum"), wilcoxon.statistic, &case["wilcoxon"]["statistic"]);
        assert_close(&what("p of ranks"), wilcoxon.p_value, &case["wilcoxon"]["p"]);
        let bootstrap = bootstrap_test(&baseline, &other, resamples, confidence, seed)?;
        let expected = &case["bootstrap"];
        assert_close(&what("p of bootstrap"), bootstrap.p_value, &expected["p"]);
        assert_close(&what("bootstrap's low"), bootstrap.interval.low, &expected["interval"][0]);
        assert_close(&what("bootstrap's high"), bootstrap.interval.high, &expected["interval"][1]);
    }
    Ok(())
}

#[test]
fn power_and_corrections() -> TestResult {
    let fixture = fixture()?;
    for case in fixture["power"].as_array().ok_or("no power")? {
        let (effect, alpha) = (number(&case["effect"])?, number(&case["alpha"])?);
        let queries = case["queries"].as_u64().ok_or("queries")? as usize;
        assert_close("power", power(effect, queries, alpha), &case["power"]);
        // The queries that are needed for this power are these.
        let wanted = number(&case["power"])? - 1e-7;
        if effect > 0.0 {
            assert_eq!(queries_needed(effect, alpha, wanted), Some(queries), "{case}");
        }
    }
    let correction = &fixture["correction"];
    let adjusted = adjust_p_values(&numbers(&correction["p"])?, Correction::BenjaminiHochberg);
    for (p, expected) in adjusted.iter().zip(numbers(&correction["benjamini_hochberg"])?) {
        assert!((p - expected).abs() < TOLERANCE);
    }
    Ok(())
}
