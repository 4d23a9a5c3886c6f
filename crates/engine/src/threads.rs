//! The threads of an engine.

use std::borrow::Cow;
use std::num::NonZero;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::available_parallelism;

use rayon::ThreadPool;
use toller_ir::{DocOrd, SearchError, SearchRequest, SearchResponse, Searcher};

use crate::EngineError;

/// Checks a number of threads that a user asks for.
///
/// Threads without work look for it with all the others. So thousands of them on a few processors do nothing
/// else: they would not end.
///
/// # Errors
/// [`EngineError::TooManyThreads`] for more than 64, and more than four for each processor.
pub fn check_threads(threads: usize) -> Result<(), EngineError> {
    let most = available_parallelism().map_or(1, NonZero::get).saturating_mul(4).max(64);
    if threads <= most { Ok(()) } else { Err(EngineError::TooManyThreads { threads, most }) }
}

/// A pool of threads, or rayon's current one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads(pub(crate) Option<Arc<ThreadPool>>);

impl Threads {
    /// Does `work` in the pool.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads())
    }
}

/// A searcher that computes in the threads of the engine that opened it.
#[derive(Debug)]
pub struct Pooled<S> {
    searcher: S,
    threads: Threads,
}

impl<S> Pooled<S> {
    pub(crate) fn new(searcher: S, threads: &Threads) -> Arc<Self> {
        Arc::new(Self { searcher, threads: threads.clone() })
    }
}

impl<S: Sync> Pooled<S> {
    /// Does `work` with the searcher in the engine's threads.
    pub(crate) fn in_threads<T: Send>(&self, work: impl FnOnce(&S) -> T + Send) -> T {
        self.threads.run(|| work(&self.searcher))
    }
}

impl<S> Deref for Pooled<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.searcher
    }
}

impl<S: Searcher> Searcher for Pooled<S> {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        self.in_threads(|searcher| searcher.search(request))
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.searcher.doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        self.searcher.doc_count()
    }

    fn queries_at_once(&self) -> Option<usize> {
        self.searcher.queries_at_once()
    }
}
