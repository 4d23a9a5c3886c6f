//! Fusions of three small runs against those of ranx, and the script of Mr. TyDi's authors; see
//! scripts/make-fusion-fixtures.

use std::collections::BTreeMap;
use std::error::Error;

use toller_corpus::{ReadOptions, read_run};
use toller_files::Input;
use toller_ir::Run;
use toller_pipeline::fusion::{Fusion, Method, Missing, fuse_runs};

/// Scores by document.
type Scores = BTreeMap<String, f64>;

/// "method --flag value" as the fixture's keys have it.
fn fusion(key: &str) -> Result<Fusion, Box<dyn Error>> {
    let mut words = key.split(' ');
    let method: &Method = words.next().unwrap_or_default().parse()?;
    let mut fusion = method.fusion();
    match (words.next(), words.next()) {
        (None, _) => {}
        (Some("--missing"), Some("zero")) => fusion.missing = Missing::Zero,
        (Some("--alpha"), Some(alpha)) => fusion.weights = vec![1.0, alpha.parse()?],
        other => return Err(format!("{other:?}").into()),
    }
    Ok(fusion)
}

#[test]
fn scores_are_those_of_other_programs() -> Result<(), Box<dyn Error>> {
    let fixtures = toller_testing::repository("crates/pipeline/tests/fixtures/fusion");
    let read = |name: &str| -> Result<Run, Box<dyn Error>> {
        Ok(read_run(&Input::File(fixtures.join(name)), &ReadOptions::default())?.0)
    };
    let runs = [read("sparse.run")?, read("dense.run")?, read("third.run")?];
    let expected: BTreeMap<String, BTreeMap<String, Scores>> =
        serde_json::from_slice(&std::fs::read(fixtures.join("expected.json"))?)?;
    assert_eq!(expected.len(), 11);
    for (key, queries) in expected {
        let fusion = fusion(&key)?;
        let count = if fusion.weights.is_empty() { 3 } else { fusion.weights.len() };
        let fused = fuse_runs(&runs[..count], &fusion, usize::MAX, usize::MAX)?;
        assert_eq!(fused.len(), queries.len(), "{key}");
        for query in fused {
            let scores = &queries[query.query_id];
            assert_eq!(query.hits.len(), scores.len(), "{key} {}", query.query_id);
            for (document, score) in query.hits {
                let expected = scores[document];
                let error = (f64::from(score) - expected).abs();
                assert!(
                    error <= 1e-6 * expected.abs().max(1.0),
                    "{key} {document}: {score}, expected {expected}"
                );
            }
        }
    }
    Ok(())
}
