//! Searching with pruning finds what scoring everything finds, to the bit.

use std::collections::BTreeMap;

use proptest::prelude::*;
use toller_ir::{DocOrd, Hit};
use toller_sparse::{Bm25Variant, Lengths, Ranker, Scoring, Search, SparseIndex, SparseQuery};

use crate::common::{Outcome, PLAIN, index_of, random_texts};

fn ranker() -> impl Strategy<Value = Ranker> {
    let k1 = prop_oneof![Just(0.0_f32), Just(0.9), 0.0..5.0_f32, Just(1e6)];
    let b = prop_oneof![Just(0.0_f32), Just(1.0), 0.0..=1.0_f32];
    let variant = prop_oneof![Just(Bm25Variant::Lucene), Just(Bm25Variant::Robertson)];
    let mu = prop_oneof![Just(1000.0_f32), 0.1..50.0_f32, Just(1e-6), Just(1e9)];
    let lambda = prop_oneof![Just(0.1_f32), 0.001..=1.0_f32];
    prop_oneof![
        3 => (k1, b, variant).prop_map(|(k1, b, variant)| Ranker::Bm25 { k1, b, variant }),
        1 => mu.prop_map(|mu| Ranker::QlDirichlet { mu }),
        1 => lambda.prop_map(|lambda| Ranker::QlJelinekMercer { lambda }),
    ]
}

fn scoring() -> impl Strategy<Value = Scoring> {
    let lengths = prop_oneof![3 => Just(Lengths::Encoded), 1 => Just(Lengths::Exact)];
    (ranker(), lengths).prop_map(|(ranker, lengths)| Scoring { ranker, lengths })
}

/// Collections of every kind: of no words, of one, of equal documents, of terms that all documents have, of
/// frequencies beyond the tables, of several windows.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let random = (1..400_usize, 1..300_u64, 1..80_u64, any::<u64>())
        .prop_map(|(count, words, longest, seed)| random_texts(count, words, longest, seed));
    let windows = (8_000..14_000_usize, 5..2000_u64, 1..12_u64, any::<u64>())
        .prop_map(|(count, words, longest, seed)| random_texts(count, words, longest, seed));
    let equal = (1..5000_usize).prop_map(|count| vec!["w1 w0 w1".to_owned(); count]);
    let single = (1..600_usize).prop_map(|count| (0..count).map(|doc| format!("w{}", doc % 3)).collect());
    let repeated = (1..300_usize).prop_map(|count| {
        (0..count).map(|doc| "w0 ".repeat(doc * 3) + &"w1 ".repeat(doc % 7) + "w2").collect()
    });
    let empty = (1..5_usize).prop_map(|count| vec![String::new(); count]);
    prop_oneof![6 => random, 3 => windows, 1 => equal, 1 => single, 2 => repeated, 1 => empty]
}

fn query() -> impl Strategy<Value = Vec<(u64, f32)>> {
    let weight = prop_oneof![
        4 => Just(1.0_f32), 1 => Just(2.0), 1 => Just(0.0), 2 => 0.0..1.0_f32, 1 => Just(1e-9), 1 => Just(1e15)
    ];
    prop::collection::vec((prop_oneof![0..5_u64, 0..50_u64, 0..2000_u64], weight), 0..12)
}

/// Scores every document that has a term of the query, in the plainest way.
fn all_hits(
    index: &SparseIndex,
    query: &SparseQuery,
    scoring: &Scoring,
) -> Result<Vec<Hit>, toller_sparse::SparseError> {
    let (terms, prepared) = index.prepare(query, scoring)?;
    let mut sums = BTreeMap::new();
    for (term, scorer) in terms.iter().zip(&prepared.scorers) {
        term.for_each_posting(|posting| {
            let length = index.length(DocOrd(posting.doc), scoring.lengths);
            *sums.entry(posting.doc).or_insert(0_u32) += scorer.part(posting.tf, length);
        })?;
    }
    let hit = |(doc, sum)| Hit::new(DocOrd(doc), prepared.score(sum));
    let mut hits: Vec<Hit> = sums.into_iter().map(hit).collect();
    hits.sort_unstable();
    Ok(hits)
}

/// The documents and the bits of their scores.
pub(crate) fn bits(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.doc.0, hit.score.to_bits())).collect()
}

/// Compares searches with and without pruning.
pub(crate) fn compare(
    index: &SparseIndex,
    query: &SparseQuery,
    scoring: &Scoring,
    k: usize,
) -> Result<(), TestCaseError> {
    let fail = |error: toller_sparse::SparseError| TestCaseError::fail(error.to_string());
    let pruned = index.search(query, scoring, k).map_err(fail)?;
    let mut all = all_hits(index, query, scoring).map_err(fail)?;
    prop_assert_eq!(bits(&pruned.hits), bits(&all[..k.min(all.len())]), "{:?} {:?} k {}", scoring, query, k);
    let first: Vec<DocOrd> = pruned.hits.iter().map(|hit| hit.doc).take(3).collect();
    let explained = index.explain(query, scoring, &first).map_err(fail)?;
    for (hit, explanation) in pruned.hits.iter().zip(&explained) {
        prop_assert_eq!((hit.doc, hit.score.to_bits()), (explanation.doc, explanation.score.to_bits()));
        let sum: f64 = explanation.terms.iter().map(|term| f64::from(term.score)).sum();
        prop_assert!((sum - f64::from(hit.score)).abs() <= 1e-5 * sum.abs(), "{} {}", sum, hit.score);
        prop_assert!(explanation.terms.iter().all(|term| (term.tf == 0) <= (term.score == 0.0)));
    }
    let admits = |doc: DocOrd| !doc.0.is_multiple_of(3);
    let among = index.search_among(query, scoring, k, admits).map_err(fail)?;
    all.retain(|hit| admits(hit.doc));
    all.truncate(k);
    prop_assert_eq!(bits(&among.hits), bits(&all), "among some: {:?} {:?} k {}", scoring, query, k);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn pruned_equals_exhaustive(
        texts in texts(),
        searches in prop::collection::vec((query(), scoring()), 1..12),
        k in prop_oneof![1..20_usize, 1..2000_usize],
    ) {
        let index = index_of(&texts, PLAIN).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (terms, scoring) in searches {
            let terms = terms.into_iter().map(|(word, weight)| (format!("w{word}"), weight));
            let query = SparseQuery::weighted(terms).map_err(|error| TestCaseError::fail(error.to_string()))?;
            for k in [1, k, texts.len(), usize::MAX] {
                compare(&index, &query, &scoring, k)?;
            }
        }
    }
}

#[test]
fn many_queries_are_searched_as_each_alone() -> Outcome {
    let index = index_of(&random_texts(9000, 500, 30, 5), PLAIN)?;
    let scoring = Scoring::default();
    let queries: Vec<SparseQuery> = (0..200)
        .map(|i| SparseQuery::weighted([(format!("w{i}"), 1.0), (format!("w{}", i * 2 % 77), 2.0)]))
        .collect::<Result<_, _>>()?;
    let all = index.search_each(&queries, &scoring, |search, query| search.run(query, 20, &|_| true))?;
    for (query, ranking) in queries.iter().zip(all) {
        assert_eq!(ranking, index.search(query, &scoring, 20)?);
    }
    Ok(())
}

#[test]
fn a_search_that_scores_in_another_way_has_no_trace_of_the_first() -> Outcome {
    let index = index_of(&random_texts(5000, 50, 30, 6), PLAIN)?;
    let query = SparseQuery::weighted((0..6).map(|word| (format!("w{word}"), 1.0)))?;
    let mut search = Search::new(&index, Scoring::default());
    let variant = Bm25Variant::Lucene;
    for lengths in [Lengths::Encoded, Lengths::Exact] {
        for ranker in
            [Ranker::Bm25 { k1: 0.4, b: 1.0, variant }, Ranker::QlDirichlet { mu: 10.0 }, Ranker::BM25]
        {
            let scoring = Scoring { ranker, lengths };
            search.set_scoring(scoring);
            assert_eq!(
                search.run(&query, 20, &|_| true)?,
                index.search(&query, &scoring, 20)?,
                "{scoring:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn parameters_out_of_range_are_refused() -> Outcome {
    let index = index_of(&["a b".to_owned()], PLAIN)?;
    let query = SparseQuery::weighted([("a", 1.0)])?;
    let bm25 = |k1, b| Ranker::Bm25 { k1, b, variant: Bm25Variant::Lucene };
    let wrong = [
        bm25(-0.1, 0.4),
        bm25(f32::NAN, 0.4),
        bm25(f32::INFINITY, 0.4),
        bm25(0.9, 1.1),
        Ranker::QlDirichlet { mu: 0.0 },
        Ranker::QlJelinekMercer { lambda: 0.0 },
        Ranker::QlJelinekMercer { lambda: 1.5 },
    ];
    for ranker in wrong {
        let scoring = Scoring { ranker, ..Scoring::default() };
        assert!(index.search(&query, &scoring, 1).is_err(), "{ranker:?}");
        let each = index.search_each(&[&query], &scoring, |search, query| search.run(query, 1, &|_| true));
        assert!(each.is_err(), "{ranker:?}");
    }
    Ok(())
}

/// Values computed by hand from Lucene's formulas.
#[test]
fn scores_are_lucenes() -> Outcome {
    let texts = ["a b a", "b c", "a", ""].map(str::to_owned);
    let index = index_of(&texts, PLAIN)?;
    let query = SparseQuery::weighted([("a", 1.0), ("b", 2.0)])?;
    // Three documents have terms, two of them a, two b; the mean length is 2.
    let idf = (1.0 + 1.5 / 2.5_f64).ln();
    let part = |tf: f64, length: f64| idf * tf / (tf + 0.9 * (0.6 + 0.4 * length / 2.0));
    let expected =
        [(0, part(2.0, 3.0) + 2.0 * part(1.0, 3.0)), (1, 2.0 * part(1.0, 2.0)), (2, part(1.0, 1.0))];
    let found = index.search(&query, &Scoring::default(), 10)?;
    assert_eq!(found.hits.len(), expected.len());
    for (hit, (doc, score)) in found.hits.iter().zip(expected) {
        assert_eq!(hit.doc.0, doc);
        assert!((f64::from(hit.score) - score).abs() < 1e-6 * score, "{hit:?} {score}");
    }
    Ok(())
}
