//! Indexes of impacts: a score is the sum of the products of two integers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use toller_analysis::Analyzer;
use toller_ir::{DocOrd, Hit, MAX_IMPACT, SplitMix64, push_impact};
use toller_sparse::{Lengths, Ranker, Scoring, SparseError, SparseIndex, SparseQuery};

use crate::common::{Building, Outcome, PLAIN, index_of};
use crate::search::{bits, compare};

const IMPACTS: Building = Building { impacts: true, ..PLAIN };

const SCORING: Scoring = Scoring { ranker: Ranker::Impact, lengths: Lengths::Encoded };

/// The terms of documents, with their impacts.
type Vectors = Vec<BTreeMap<u64, u32>>;

/// `count` documents over `terms` terms, the first ones frequent, with impacts up to `most`.
fn vectors(count: usize, terms: u64, most: u32, seed: u64) -> Vectors {
    let mut random = SplitMix64::new(seed);
    let mut below = move |end: u64| random.draw() % end;
    (0..count)
        .map(|_| {
            let length = below(12);
            let of_term = |_| {
                let term = below(terms) * below(terms) / terms;
                // Mostly small.
                let bits = below(u64::from(most.ilog2()) + 1);
                (term, (below(1 << bits) + below(2)).clamp(1, most.into()) as u32)
            };
            (0..length).map(of_term).collect()
        })
        .collect()
}

fn texts(vectors: &Vectors) -> Vec<String> {
    let text = |vector: &BTreeMap<u64, u32>| {
        let mut text = String::new();
        vector.iter().for_each(|(term, impact)| push_impact(&mut text, &format!("t{term}"), *impact));
        text
    };
    vectors.iter().map(text).collect()
}

/// The sums of all documents that have one, in the plainest way.
fn all_hits(vectors: &Vectors, query: &BTreeMap<u64, u32>) -> Vec<Hit> {
    let sum = |vector: &BTreeMap<u64, u32>| {
        let part =
            |(term, weight): (&u64, &u32)| u64::from(*weight) * u64::from(*vector.get(term).unwrap_or(&0));
        query.iter().map(part).sum::<u64>()
    };
    let hits = (0..).zip(vectors).map(|(doc, vector)| Hit::new(DocOrd(doc), sum(vector) as f32));
    let mut hits: Vec<Hit> = hits.filter(|hit| hit.score > 0.0).collect();
    hits.sort_unstable();
    hits
}

/// The largest sum that a document might have.
fn bound(vectors: &Vectors, query: &BTreeMap<u64, u32>) -> u64 {
    let most = |term| vectors.iter().filter_map(|vector| vector.get(term)).max().copied().unwrap_or(0);
    query.iter().map(|(term, weight)| u64::from(*weight) * u64::from(most(term))).sum()
}

fn failed(error: SparseError) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn scores_are_the_sums_of_products(
        count in prop_oneof![3 => 1..500_usize, 1 => 8_000..14_000_usize],
        terms in 1..200_u64,
        most in prop_oneof![Just(3_u32), Just(255), Just(3_000), Just(MAX_IMPACT)],
        seed in any::<u64>(),
        queries in prop::collection::vec(
            prop::collection::btree_map(
                prop_oneof![0..5_u64, 0..200_u64],
                prop_oneof![4 => 1..300_u32, 1 => 1..=MAX_IMPACT],
                1..10,
            ),
            1..8,
        ),
        k in 1..300_usize,
    ) {
        let vectors = vectors(count, terms, most, seed);
        let index = index_of(&texts(&vectors), IMPACTS).map_err(failed)?;
        for vector in queries {
            let weights = vector.iter().map(|(term, weight)| (format!("t{term}"), *weight as f32));
            let query = SparseQuery::weighted(weights).map_err(failed)?;
            for k in [1, k, usize::MAX] {
                compare(&index, &query, &SCORING, k)?;
                if bound(&vectors, &vector) < 1_000_000_000 {
                    let found = index.search(&query, &SCORING, k).map_err(failed)?.hits;
                    let all = all_hits(&vectors, &vector);
                    prop_assert_eq!(bits(&found), bits(&all[..k.min(all.len())]));
                }
            }
        }
    }
}

/// An index of one document of these impacts.
fn index_of_one(impacts: &[(&str, u32)]) -> Result<SparseIndex, SparseError> {
    let mut text = String::new();
    impacts.iter().for_each(|(term, impact)| push_impact(&mut text, term, *impact));
    index_of(&[text], IMPACTS)
}

#[test]
fn queries_are_terms_as_often_as_they_weigh() -> Outcome {
    let index = index_of_one(&[("##ly", 100), ("The", 7), ("^", MAX_IMPACT)])?;
    assert!(index.has_impacts());
    index.check_analyzer(&Analyzer::impact())?;
    assert_eq!(index.statistics().tokens, 107 + u64::from(MAX_IMPACT));
    let mut weighed = "^ the".to_owned();
    push_impact(&mut weighed, "##ly", 1000);
    for (text, score) in [("The ##ly The absent", 114.0), ("the", 0.0), (&weighed, 16_877_216.0)] {
        let query = SparseQuery::of_text(&Analyzer::impact(), text);
        let hits = index.search(&query, &SCORING, 5)?.hits;
        assert_eq!(hits.iter().map(|hit| hit.score).sum::<f32>(), score, "{text}");
    }
    Ok(())
}

#[test]
fn impacts_are_for_their_own_ranker() -> Outcome {
    let query = SparseQuery::weighted([("a", 1.0)])?;
    let impacts = index_of_one(&[("a", 2)])?;
    for scoring in [Scoring::default(), Scoring { lengths: Lengths::Exact, ..SCORING }] {
        let refused = impacts.search(&query, &scoring, 1);
        assert!(matches!(refused, Err(SparseError::HoldsImpacts { .. })), "{refused:?}");
    }
    assert!(matches!(impacts.check_feedback(), Err(SparseError::HoldsImpacts { .. })));
    let plain = index_of(&["a a".to_owned()], PLAIN)?;
    let refused = plain.search(&query, &SCORING, 1);
    assert!(matches!(refused, Err(SparseError::NoImpacts { .. })), "{refused:?}");
    Ok(())
}

#[test]
fn impacts_of_a_document_have_a_largest_sum() -> Outcome {
    let many: Vec<(String, u32)> = (0..128).map(|term| (format!("t{term}"), MAX_IMPACT)).collect();
    let many: Vec<(&str, u32)> = many.iter().map(|(term, impact)| (term.as_str(), *impact)).collect();
    assert!(matches!(index_of_one(&many), Err(SparseError::DocumentTooLong(_))));
    assert_eq!(index_of_one(&many[1..])?.statistics().postings, 127);
    Ok(())
}
