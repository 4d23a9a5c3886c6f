//! Feedback through an index.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use toller_analysis::Analyzer;
use toller_files::OpenOptions;
use toller_ir::{Query, Ranking, SearchRequest, Searcher};
use toller_pipeline::SparseSearcher;
use toller_pipeline::feedback::{Feedback, Rm3, Rocchio};
use toller_sparse::{BuildJob, Scoring, Source, SparseError, SparseIndex, build};

type Tested<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The hits of a query among `texts`, with feedback.
fn hits(texts: &[String], query: &str, feedback: Feedback) -> Tested<Ranking> {
    let directory = tempfile::tempdir()?;
    let analyzer = Analyzer::by_name("whitespace")?;
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: "test".to_owned(),
            passages: texts.len() as u64,
            title_separator: None,
            model: None,
        },
        doc_vectors: true,
        memory_bytes: 64 << 20,
        threads: 1,
        overwrite: false,
        stop: &AtomicBool::new(false),
    };
    let documents = texts.iter().enumerate().map(|(id, text)| Ok((format!("d{id}"), text.clone())));
    build::<SparseError>(directory.path(), &job, documents, |_| {})?;
    let index = SparseIndex::open(directory.path(), &OpenOptions::default())?;
    let searcher = SparseSearcher::new(index, analyzer, Scoring::default(), Some(feedback))?;
    let query = Query { id: "q".to_owned(), text: query.to_owned(), ..Query::default() };
    let mut found = searcher.search(&SearchRequest::new(&[query], 100))?;
    Ok(found.rankings.swap_remove(0))
}

#[test]
fn empty_documents_do_not_change_which_terms_expand() -> Tested {
    // "often" is in a quarter of the documents with terms: too many, however many are empty.
    let text = |doc: usize| {
        let often = if doc.is_multiple_of(4) { " often often" } else { "" };
        format!("w{} w{} x{doc}{often}", doc % 13, doc * 5 % 17)
    };
    let texts: Vec<String> = (0..40).map(text).collect();
    let with_empty: Vec<String> = texts.iter().cloned().chain(vec![String::new(); 400]).collect();
    for feedback in [Feedback::Rm3(Rm3::default()), Feedback::Rocchio(Rocchio::default())] {
        let found = hits(&texts, "w0 w4", feedback)?;
        assert!(found.hits.len() > 5, "{found:?}");
        assert_eq!(hits(&with_empty, "w0 w4", feedback)?, found, "{feedback:?}");
    }
    Ok(())
}
