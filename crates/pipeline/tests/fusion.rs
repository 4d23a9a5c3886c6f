//! Laws of fusion, over random runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use proptest::prelude::*;
use toller_ir::{
    DocOrd, Explain, Hit, Query, Ranking, Run, RunEntry, SearchError, SearchRequest, SearchResponse, Searcher,
};
use toller_pipeline::fusion::{
    Collections, Combination, FusedQuery, Fusion, FusionError, Hybrid, METHODS, Missing, Normalization,
    Scale, fuse_runs,
};
use toller_pipeline::{DocumentLists, Ordinals, as_run};

type Tested = Result<(), Box<dyn Error + Send + Sync>>;

const ALL: usize = usize::MAX;

/// A run of documents and scores, in the order of a file, for each query.
fn run(queries: &[(&str, &[(&str, f64)])]) -> Run {
    let entries = |hits: &[(&str, f64)]| {
        hits.iter().map(|(doc, score)| RunEntry { doc_id: (*doc).to_owned(), score: *score }).collect()
    };
    let queries = queries.iter().map(|(query, hits)| ((*query).to_owned(), entries(hits))).collect();
    Run { tag: "t".to_owned(), queries }
}

/// Runs of up to 3 queries over 12 documents, with many equal scores.
fn any_run() -> impl Strategy<Value = Run> {
    let hits = proptest::collection::btree_map(0_u8..12, -4_i8..4, 0..9);
    proptest::collection::vec(hits, 1..4).prop_map(|queries| {
        let mut run = Run::default();
        for (query, hits) in queries.into_iter().enumerate().filter(|(_, hits)| !hits.is_empty()) {
            let mut entries: Vec<RunEntry> = hits
                .into_iter()
                .map(|(doc, score)| RunEntry { doc_id: format!("d{doc}"), score: f64::from(score) / 2.0 })
                .collect();
            entries.sort_by(|a, b| b.score.total_cmp(&a.score));
            run.queries.insert(format!("q{query}"), entries);
        }
        run
    })
}

fn any_fusion() -> impl Strategy<Value = Fusion> {
    use Combination::{Anz, Max, Mean, Med, Min, Mnz, Sum};
    let normalization = prop_oneof![
        4 => proptest::sample::select(Scale::ALL.to_vec()).prop_map(Normalization::Scale),
        1 => Just(Normalization::Borda),
        1 => (0_u8..100).prop_map(|k| Normalization::ReciprocalRank { k: f64::from(k) }),
    ];
    let missing = proptest::sample::select(vec![Missing::LeftOut, Missing::Zero, Missing::Minimum]);
    let combination = proptest::sample::select(vec![Sum, Mnz, Anz, Max, Min, Med, Mean]);
    (normalization, missing, combination).prop_map(|(normalization, missing, combination)| Fusion {
        normalization,
        missing,
        combination,
        weights: vec![],
    })
}

/// The scores of a fused run by query and document, as far as they were not lowered to fall.
fn by_document<'a>(fused: &'a [FusedQuery<'_>]) -> BTreeMap<(&'a str, &'a str), f32> {
    fused
        .iter()
        .flat_map(|query| query.hits.iter().map(|(doc, score)| ((query.query_id, *doc), *score)))
        .collect()
}

/// Two scores are the same, if one may have been lowered by as many steps as there are documents.
fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= a.abs().max(b.abs()) * 1e-5 + 1e-40
}

proptest! {
    #[test]
    fn a_fused_run_has_every_document_once_and_falls(
        runs in proptest::collection::vec(any_run(), 1..4),
        fusion in any_fusion(),
        k in 1_usize..15,
    ) {
        let all = fuse_runs(&runs, &fusion, ALL, ALL)?;
        let expected: BTreeSet<(&str, &str)> = runs
            .iter()
            .flat_map(|run| &run.queries)
            .flat_map(|(query, hits)| hits.iter().map(move |hit| (query.as_str(), hit.doc_id.as_str())))
            .collect();
        prop_assert_eq!(by_document(&all).keys().copied().collect::<BTreeSet<_>>(), expected.clone());
        prop_assert_eq!(all.iter().map(|query| query.hits.len()).sum::<usize>(), expected.len());
        for query in &all {
            prop_assert!(query.hits.windows(2).all(|pair| pair[0].1 > pair[1].1), "{:?}", query.hits);
        }
        // A shorter result is the beginning of a longer one.
        for (cut, whole) in fuse_runs(&runs, &fusion, ALL, k)?.iter().zip(&all) {
            prop_assert_eq!(&cut.hits[..], &whole.hits[..k.min(whole.hits.len())]);
        }
    }

    #[test]
    fn the_order_of_runs_shows_in_ties_alone(
        mut runs in proptest::collection::vec(any_run(), 2..5),
        weights in proptest::collection::vec(0.1_f64..3.0, 4),
        mut fusion in any_fusion(),
        by in 1_usize..4,
    ) {
        fusion.weights = weights[..runs.len()].to_vec();
        let before = fuse_runs(&runs, &fusion, ALL, ALL)?;
        let before: BTreeMap<_, _> =
            by_document(&before).into_iter().map(|((q, d), score)| ((q.to_owned(), d.to_owned()), score)).collect();
        let by = by % runs.len();
        runs.rotate_left(by);
        fusion.weights.rotate_left(by);
        let after = fuse_runs(&runs, &fusion, ALL, ALL)?;
        for ((query, doc), score) in by_document(&after) {
            let other = before[&(query.to_owned(), doc.to_owned())];
            prop_assert!(close(score, other), "{query} {doc}: {score} and {other}");
        }
    }

    #[test]
    fn normalized_scores_stay_in_their_range(runs in proptest::collection::vec(any_run(), 1..4)) {
        for method in METHODS.iter().filter(|method| method.name != "mean" && method.name != "z-score") {
            let most = match method.name {
                "rrf" => runs.len() as f32 / 61.0,
                "combmnz" => (runs.len() * runs.len()) as f32,
                "combanz" | "combmax" | "combmin" | "combmed" => 1.0,
                "borda" => (runs.len() * 12) as f32,
                _ => runs.len() as f32,
            };
            let least = if method.name == "mr-tydi-script" { -most / 2.0 - 1e-3 } else { -1e-40 };
            for query in fuse_runs(&runs, &method.fusion(), ALL, ALL)? {
                for (_, score) in &query.hits {
                    prop_assert!((least..=most).contains(score), "{method}: {score} is not in [{least}, {most}]");
                }
            }
        }
    }

    #[test]
    fn what_all_runs_rank_higher_is_ranked_higher(
        runs in proptest::collection::vec(any_run(), 1..4),
        fusion in any_fusion(),
        weights in proptest::collection::vec(0.0_f64..3.0, 3),
    ) {
        let mut fusion = fusion;
        // Counting lists, and leaving them out, can favour what fewer lists have.
        let counts = matches!(fusion.combination, Combination::Anz | Combination::Mnz);
        let leaves_out = fusion.missing == Missing::LeftOut && fusion.normalization != Normalization::Borda;
        let zero_is_no_minimum = fusion.missing == Missing::Zero
            && !matches!(fusion.normalization, Normalization::Scale(Scale::MinMax) | Normalization::ReciprocalRank { .. });
        prop_assume!(!counts && !leaves_out && !zero_is_no_minimum && weights[..runs.len()].iter().any(|weight| *weight > 0.0));
        fusion.weights = weights[..runs.len()].to_vec();
        for query in fuse_runs(&runs, &fusion, ALL, ALL)? {
            let rank_in = |run: &Run, doc: &str| {
                let entries = run.queries.get(query.query_id);
                entries.and_then(|entries| entries.iter().position(|entry| entry.doc_id == doc)).unwrap_or(ALL)
            };
            for (place, (doc, _)) in query.hits.iter().enumerate() {
                for (below, _) in &query.hits[place + 1..] {
                    let dominated = runs.iter().all(|run| rank_in(run, below) <= rank_in(run, doc));
                    prop_assert!(!dominated, "{below} is better than {doc} in every run, and ranked lower");
                }
            }
        }
    }

    #[test]
    fn a_hybrid_finds_what_its_runs_fuse_to(
        lists in proptest::collection::vec(proptest::collection::vec(any::<f32>().prop_filter("finite", |s| s.is_finite()), 12), 2..4),
        depth in 1_usize..14,
        k in 1_usize..14,
        method in 0..METHODS.len(),
        allowed in proptest::option::of(proptest::collection::hash_set(0..14, 0..12)),
        excluded in proptest::collection::vec(0..14, 0..4),
    ) {
        let fusion = METHODS[method].fusion();
        let queries = [Query { id: "q".to_owned(), ..Query::default() }];
        let id = |doc: i32| format!("d{doc}");
        let lists_of_docs = DocumentLists {
            allowed: allowed.map(|docs| docs.into_iter().map(id).collect()),
            excluded: excluded.into_iter().map(|doc| ("q".to_owned(), id(doc))).collect(),
        };
        // The first has its documents in another order.
        let searchers: Vec<Fixed> = lists.into_iter().enumerate().map(|(at, scores)| Fixed::new(scores, at == 0)).collect();
        let runs = searchers.iter().map(|searcher| found(searcher, &queries, &lists_of_docs, depth)).collect::<Result<Vec<_>, _>>();
        let runs = runs.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let shared = |searcher| Arc::new(searcher) as Arc<dyn Searcher>;
        let shared = searchers.into_iter().map(shared).collect();
        let hybrid = Hybrid::new(shared, fusion.clone(), depth, Collections::Same)?;
        match (fuse_runs(&runs, &fusion, ALL, k), search(&hybrid, &queries, &lists_of_docs, k)) {
            (Ok(fused), Ok(found)) => {
                let ids: Vec<_> = found[0].hits.iter().map(|hit| hybrid.doc_id(hit.doc)).collect();
                let scores = found[0].hits.iter().map(|hit| hit.score);
                let hits: Vec<(&str, f32)> = ids.iter().map(AsRef::as_ref).zip(scores).collect();
                prop_assert_eq!(fused.first().map_or(&[][..], |query| &query.hits), &hits);
                prop_assert!(found[0].hits.is_sorted());
            }
            (Err(fused), Err(found)) => prop_assert_eq!(fused.to_string(), found.to_string()),
            (fused, found) => prop_assert!(false, "{fused:?} and {found:?}"),
        }
    }
}

/// A searcher that gives each document the same score for every query.
struct Fixed {
    ids: Vec<String>,
    scores: Vec<f32>,
}

impl Fixed {
    fn new(scores: Vec<f32>, reversed: bool) -> Self {
        let mut ids: Vec<String> = (0..scores.len()).map(|doc| format!("d{doc}")).collect();
        if reversed {
            ids.reverse();
        }
        Self { ids, scores }
    }
}

/// The best of a searcher's documents that the lists leave.
fn search(
    searcher: &dyn Searcher,
    queries: &[Query],
    lists: &DocumentLists,
    k: usize,
) -> Result<Vec<Ranking>, SearchError> {
    let filter = lists.in_collection(searcher).0;
    let found = filter.with(queries, |filter| searcher.search(&SearchRequest { queries, k, filter }));
    Ok(found?.rankings)
}

/// The same as the run that would be read from its file.
fn found(
    searcher: &dyn Searcher,
    queries: &[Query],
    lists: &DocumentLists,
    k: usize,
) -> Result<Run, Box<dyn Error + Send + Sync>> {
    Ok(as_run(searcher, queries, &search(searcher, queries, lists, k)?))
}

impl Searcher for Fixed {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        let of_query = |query: usize| {
            let hits = (0..).map(DocOrd).zip(&self.scores).map(|(doc, score)| Hit::new(doc, *score));
            let mut hits: Vec<Hit> = hits.filter(|hit| request.filter.admits(query, hit.doc)).collect();
            hits.sort_unstable();
            hits.truncate(request.k);
            Ranking { hits }
        };
        let rankings = (0..request.queries.len()).map(of_query).collect();
        Ok(SearchResponse { rankings, ..SearchResponse::default() })
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.ids[doc.index()].as_str().into()
    }

    fn doc_count(&self) -> usize {
        self.ids.len()
    }
}

fn named(ids: &[&str]) -> Arc<dyn Searcher> {
    let scores = (0..ids.len()).map(|doc| 1.0 / (doc + 1) as f32).collect();
    Arc::new(Fixed { ids: ids.iter().map(|id| (*id).to_owned()).collect(), scores })
}

#[test]
fn collections_that_differ_are_refused_or_united() -> Tested {
    let fusion = METHODS[0].fusion();
    let hybrid = |first: &[&str], other: &[&str], collections| {
        Hybrid::new(vec![named(first), named(other)], fusion.clone(), ALL, collections)
    };
    for (first, other, document, present) in [
        (&["a", "b"][..], &["a", "c"][..], "c", "other"),
        (&["a", "b"], &["b"], "a", "first"),
        (&["a"], &["a", "b"], "b", "other"),
    ] {
        let error = hybrid(first, other, Collections::Same).err().ok_or("they differ")?;
        let says = format!("document {document:?} is in the {present} alone");
        assert!(error.to_string().contains(&says), "{error}");
        assert!(error.remedy().is_some());
        let united = hybrid(first, other, Collections::MayDiffer)?;
        let found = united.search(&SearchRequest::new(&[Query::default()], ALL))?.rankings;
        let ids: BTreeSet<Cow<'_, str>> = found[0].hits.iter().map(|hit| united.doc_id(hit.doc)).collect();
        let both: BTreeSet<Cow<'_, str>> = first.iter().chain(other).map(|&id| id.into()).collect();
        assert_eq!((&ids, ids.len()), (&both, united.doc_count()));
    }
    let twice = hybrid(&["a", "b"], &["a", "a"], Collections::MayDiffer);
    assert!(matches!(twice.err(), Some(FusionError::AmbiguousId { list: 2, .. })));
    Ok(())
}

#[test]
fn a_document_that_only_later_collections_have_is_one() -> Tested {
    // The third has the order of the first, and so no table of its own.
    let lists = [&["a", "b"][..], &["c", "b"], &["a", "b"], &["d", "c", "a", "e"]];
    let searchers = lists.map(named).to_vec();
    let hybrid = Hybrid::new(searchers, METHODS[0].fusion(), ALL, Collections::MayDiffer)?;
    let ids: Vec<_> = (0..hybrid.doc_count() as u32).map(|doc| hybrid.doc_id(DocOrd(doc))).collect();
    assert_eq!(ids, ["a", "b", "c", "d", "e"]);
    let found = hybrid.search(&SearchRequest::new(&[Query::default()], ALL))?;
    for (list, stage) in lists.iter().zip(&found.before) {
        let ids: Vec<_> = stage.rankings[0].hits.iter().map(|hit| hybrid.doc_id(hit.doc)).collect();
        assert_eq!(ids, *list);
    }
    let one = DocumentLists { allowed: Some(["c".to_owned()].into()), excluded: Vec::new() };
    let only = search(&hybrid, &[Query::default()], &one, ALL)?;
    assert_eq!(only[0].hits.iter().map(|hit| hybrid.doc_id(hit.doc)).collect::<Vec<_>>(), ["c"]);
    Ok(())
}

#[test]
fn a_fusion_says_what_each_searcher_found() -> Tested {
    // The second searcher has the documents in another order, so its ordinals are others.
    let searchers = [false, true]
        .map(|reversed| Arc::new(Fixed::new(vec![0.3, 0.2, 0.1], reversed)) as Arc<dyn Searcher>);
    let hybrid = Hybrid::new(searchers.to_vec(), METHODS[0].fusion(), 2, Collections::Same)?;
    let found = hybrid.search(&SearchRequest::new(&[Query::default()], 3))?;
    let ids = |ranking: &Ranking| -> Vec<String> {
        ranking.hits.iter().map(|hit| hybrid.doc_id(hit.doc).into_owned()).collect()
    };
    let before: Vec<_> = found.before.iter().map(|list| ids(&list.rankings[0])).collect();
    assert_eq!(before, [["d0", "d1"], ["d2", "d1"]]);
    Ok(())
}

#[test]
fn documents_have_their_ordinals_by_identifier() -> Tested {
    for count in [0, 1, 5_000] {
        let searcher = Fixed::new(vec![0.5; count], true);
        let ordinals = Ordinals::of(&searcher)?;
        for doc in (0..count as u32).map(DocOrd) {
            assert_eq!(ordinals.get(&searcher, &searcher.doc_id(doc)), Some(doc));
        }
        assert_eq!(ordinals.get(&searcher, "d"), None);
    }
    Ok(())
}

#[test]
fn the_paper_and_the_script_of_mr_tydi() -> Tested {
    let sparse = run(&[("q", &[("a", 10.0), ("b", 6.0), ("c", 2.0)]), ("r", &[("a", 1.0)])]);
    let dense = run(&[("q", &[("c", 0.9), ("d", 0.5)]), ("r", &[("a", 0.3)])]);
    let fused = |name: &str| -> Result<Vec<(String, f32)>, Box<dyn Error + Send + Sync>> {
        let method: &toller_pipeline::fusion::Method = name.parse()?;
        let fusion = Fusion { weights: vec![1.0, 0.5], ..method.fusion() };
        let runs = [sparse.clone(), dense.clone()];
        let fused = fuse_runs(&runs, &fusion, ALL, ALL)?;
        Ok(fused
            .iter()
            .flat_map(|query| &query.hits)
            .map(|(doc, score)| ((*doc).to_owned(), *score))
            .collect())
    };
    let below = f32::next_down;
    let expected = |hits: &[(&str, f32)]| {
        hits.iter().map(|(doc, score)| ((*doc).to_owned(), *score)).collect::<Vec<_>>()
    };
    // c is the last of the first run and the first of the second: 0 + 0.5 * 1.
    let paper = [("a", 1.0), ("b", 0.5), ("c", below(0.5)), ("d", 0.0), ("a", 1.5)];
    assert_eq!(fused("interpolate")?, expected(&paper));
    // a: 0.5 + 0.5 * -0.5; c: -0.5 + 0.5 * 0.5; what has no range is 0, also where the other run has one.
    let script = [("a", 0.25), ("b", -0.25), ("c", below(-0.25)), ("d", -0.75), ("a", 0.0)];
    assert_eq!(fused("mr-tydi-script")?, expected(&script));
    Ok(())
}

#[test]
fn what_cannot_be_fused_is_an_error() {
    let one = run(&[("q", &[("a", 1.0)])]);
    let fuse = |runs: &[Run], fusion: Fusion| fuse_runs(runs, &fusion, ALL, ALL).err();
    let sum = METHODS[0].fusion();
    assert!(matches!(fuse(&[], sum.clone()), Some(FusionError::NoLists)));
    let weigh = |weights: &[f64]| {
        fuse(&[one.clone(), one.clone()], Fusion { weights: weights.to_vec(), ..sum.clone() })
    };
    assert!(matches!(weigh(&[1.0]), Some(FusionError::WeightCount { weights: 1, lists: 2 })));
    assert!(matches!(weigh(&[1.0, f64::NAN]), Some(FusionError::Weight(_))));
    assert!(matches!(weigh(&[1.0, -0.5]), Some(FusionError::Weight(_))));
    assert!(matches!(weigh(&[0.0, 0.0]), Some(FusionError::ZeroWeights)));
    assert!(weigh(&[0.0, 1.0]).is_none());
    let rrf = |k: f64| Fusion { normalization: Normalization::ReciprocalRank { k }, ..sum.clone() };
    assert!(matches!(
        fuse(std::slice::from_ref(&one), rrf(-1.0)),
        Some(FusionError::ReciprocalRankConstant(_))
    ));
    let twice = run(&[("q", &[("a", 1.0), ("b", 0.5), ("a", 0.1)])]);
    let error = fuse(&[one.clone(), twice], sum.clone());
    assert!(
        matches!(&error, Some(FusionError::Duplicate { list: 2, document, .. }) if document == "a"),
        "{error:?}"
    );
    let nan = run(&[("q", &[("a", f64::NAN)])]);
    assert!(matches!(fuse(&[nan], sum.clone()), Some(FusionError::NotFinite { list: 1, .. })));
    let huge = run(&[("q", &[("a", 1e300)])]);
    let raw = Fusion { normalization: Scale::None.into(), ..sum };
    assert!(matches!(fuse(&[huge], raw), Some(FusionError::Overflow { .. })));
}

/// Its formulas, as docs/fusion.md puts them, on scores that f32 holds.
#[test]
fn pyserini_fuses_scores_as_they_are() -> Tested {
    let first = run(&[("q", &[("a", 10.0), ("b", 6.0), ("c", 4.0), ("e", 2.0)])]);
    let second = run(&[("q", &[("b", 0.5), ("e", 0.375), ("d", 0.25)])]);
    let runs = [first, second];
    for (name, weights, expected) in [
        ("interpolate", [0.25, 0.75], [("a", 2.5), ("b", 1.875), ("c", 1.0), ("e", 0.78125), ("d", 0.1875)]),
        ("mr-tydi-script", [0.25, 1.0], [("a", 2.75), ("b", 2.0), ("c", 1.25), ("e", 0.875), ("d", 0.75)]),
    ] {
        let method = METHODS.iter().find(|method| method.name == name).ok_or(name)?;
        let fusion = Fusion { weights: weights.to_vec(), ..method.with(Some(Scale::None), None, None)? };
        let fused = fuse_runs(&runs, &fusion, ALL, ALL)?;
        assert_eq!(fused[0].hits, expected, "{name}");
    }
    Ok(())
}
