//! Tuning finds what as many separate searches and evaluations would.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use toller_analysis::Analyzer;
use toller_eval::{EvalOptions, Measure, evaluate};
use toller_files::OpenOptions;
use toller_ir::{Qrels, Query, Run, SearchRequest, Searcher};
use toller_pipeline::tune::{Bm25Grid, Grid, Judging, TuneError, tune_bm25};
use toller_pipeline::{SparseSearcher, as_run};
use toller_sparse::{
    Bm25Variant, BuildJob, Lengths, Ranker, Scoring, Source, SparseError, SparseIndex, build,
};

type Tested = Result<(), Box<dyn Error + Send + Sync>>;

/// Numbers that look random, and are the same every time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// An index of documents of 0 to 60 words. A few words are frequent, and many documents are equal.
fn index(directory: &Path) -> Result<SparseIndex, SparseError> {
    let mut number = numbers(7);
    let documents: Vec<(String, String)> = (0..400)
        .map(|doc| {
            let words = number(4) * number(20);
            let words: Vec<String> = (0..words).map(|_| format!("w{}", number(5) * number(40))).collect();
            // Identifiers are in another order than the documents.
            (format!("d{}", (doc * 7919) % 1000), words.join(" "))
        })
        .collect();
    let analyzer = Analyzer::by_name("whitespace").map_err(|_| SparseError::Interrupted)?;
    let stop = AtomicBool::new(false);
    let source = Source {
        fingerprint: "test".to_owned(),
        passages: 400,
        title_separator: Some(" ".to_owned()),
        model: None,
    };
    let job = BuildJob {
        analyzer: &analyzer,
        source,
        doc_vectors: true,
        memory_bytes: 64 << 20,
        threads: 2,
        overwrite: false,
        stop: &stop,
    };
    build::<SparseError>(directory, &job, documents.into_iter().map(Ok), |_| {})?;
    SparseIndex::open(directory, &OpenOptions::default())
}

fn queries_and_judgments() -> (Vec<Query>, Qrels) {
    let mut number = numbers(11);
    let mut qrels = Qrels::new();
    let queries = (0..30)
        .map(|query| {
            let id = format!("q{query}");
            for _ in 0..number(6) {
                qrels.insert(&id, &format!("d{}", number(1000)), number(4) as i32 - 1);
            }
            let words: Vec<String> =
                (0..=number(5)).map(|_| format!("w{}", number(6) * number(40))).collect();
            Query { id, text: words.join(" "), ..Query::default() }
        })
        .collect();
    // Judged, and not among the queries.
    qrels.insert("missing", "d1", 1);
    (queries, qrels)
}

/// The run of a search, as it is read from its file.
fn run(searcher: &SparseSearcher, queries: &[Query], k: usize) -> Result<Run, Box<dyn Error + Send + Sync>> {
    Ok(as_run(searcher, queries, &searcher.search(&SearchRequest::new(queries, k))?.rankings))
}

#[test]
fn every_point_is_worth_what_a_search_with_it_is() -> Tested {
    let directory = tempfile::tempdir()?;
    let index = index(directory.path())?;
    let analyzer = Analyzer::by_name("whitespace")?;
    let (queries, qrels) = queries_and_judgments();
    let (k1, b): (Grid, Grid) = ("0:1.6:0.4".parse()?, "0,0.5,0.75,1".parse()?);
    for (variant, lengths) in
        [(Bm25Variant::Lucene, Lengths::Encoded), (Bm25Variant::Robertson, Lengths::Exact)]
    {
        let grid = Bm25Grid { k1: &k1, b: &b, variant, lengths };
        // Shallow rankings cut through ties; with other measures all hits count.
        for (measure, k) in
            [("nDCG@5", 1000), ("nDCG@5", 6), ("RR@10", 3), ("AP", 50), ("R(rel=2)@20", 1000), ("Bpref", 7)]
        {
            let measure: Measure = measure.parse()?;
            let judging = Judging { qrels: &qrels, measure: &measure, relevance_level: 1, k };
            let done = AtomicU64::new(0);
            let on_progress = |queries| {
                done.fetch_max(queries, Ordering::Relaxed);
            };
            let tuned = tune_bm25(&index, &analyzer, &queries, &grid, &judging, &on_progress)?;
            assert_eq!(done.into_inner(), qrels.len() as u64);
            let mut best: Option<(usize, f64)> = None;
            assert_eq!(tuned.values.len(), 20);
            for (at, (k1, b)) in grid.points().into_iter().enumerate() {
                let ranker = Ranker::Bm25 { k1: k1 as f32, b: b as f32, variant };
                let opened = SparseIndex::open(directory.path(), &OpenOptions::default())?;
                let searcher =
                    SparseSearcher::new(opened, analyzer.clone(), Scoring { ranker, lengths }, None)?;
                let run = run(&searcher, &queries, k)?;
                let evaluated =
                    evaluate(&qrels, &run, std::slice::from_ref(&measure), &EvalOptions::default())?;
                let expected = evaluated.aggregates[0];
                assert_eq!(tuned.values[at], expected, "{measure} at {k1}, {b}, {k} hits");
                if best.is_none_or(|(_, highest)| expected > highest) {
                    best = Some((at, expected));
                }
            }
            assert_eq!(Some(tuned.best), best.map(|(at, _)| at));
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_tuned_is_an_error() -> Tested {
    let directory = tempfile::tempdir()?;
    let index = index(directory.path())?;
    let (queries, qrels) = queries_and_judgments();
    let measure: Measure = "AP".parse()?;
    let tune = |analyzer: &str, queries: &[Query], b: &str| -> Result<(), Box<dyn Error + Send + Sync>> {
        let (k1, b): (Grid, Grid) = ("0.9".parse()?, b.parse()?);
        let grid = Bm25Grid { k1: &k1, b: &b, variant: Bm25Variant::Lucene, lengths: Lengths::Encoded };
        let judging = Judging { qrels: &qrels, measure: &measure, relevance_level: 1, k: 10 };
        tune_bm25(&index, &Analyzer::by_name(analyzer)?, queries, &grid, &judging, &|_| ())?;
        Ok(())
    };
    tune("whitespace", &queries, "0.4")?;
    let error = |result: Result<(), Box<dyn Error + Send + Sync>>| {
        result.err().and_then(|error| error.downcast::<TuneError>().ok())
    };
    let is_sparse = |error: Option<Box<TuneError>>| matches!(error.as_deref(), Some(TuneError::Sparse(_)));
    assert!(is_sparse(error(tune("en", &queries, "0.4"))));
    assert!(is_sparse(error(tune("whitespace", &queries, "1.5"))));
    let unjudged = [Query { id: "other".to_owned(), ..Query::default() }];
    let none = error(tune("whitespace", &unjudged, "0.4"));
    assert!(matches!(none.as_deref(), Some(TuneError::NoJudgedQuery { queries: 1, .. })));
    Ok(())
}
