//! Dense retrieval: query texts to rankings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use toller_encoder::{DualEncoder, Role};
use toller_index::FlatIndex;
use toller_ir::{DocOrd, Query, Ranking, SearchError, Searcher};
use toller_topk::{Filter, IpTopkOptions, Scan};

use crate::{PipelineError, QueryFilter};

/// Queries that a thread encodes at a time: enough for a full batch of short ones.
const QUERIES_PER_CHUNK: usize = 32;

/// A flat index, and where the vectors of queries come from.
pub struct DenseSearcher {
    index: FlatIndex,
    vectors: QueryVectors,
    scan: Scan,
    filter: QueryFilter,
    nominated: Arc<Nominated>,
}

/// Where the vectors of queries come from.
enum QueryVectors {
    /// The model that the index's vectors were made with.
    Model(Box<DualEncoder>),
    /// Made before: `[rows, dim]`, and the row of each query by its identifier.
    Given { rows: HashMap<String, usize>, vectors: Vec<f32> },
}

/// How many vectors the scans of a searcher nominated; it says what a scan costs, not what it finds.
#[derive(Debug, Default)]
pub struct Nominated {
    total: AtomicUsize,
    most: AtomicUsize,
}

impl Nominated {
    /// For all queries together.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// For one query, at most.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl DenseSearcher {
    /// Searches `index` with the texts of queries, encoded by `encoder`.
    #[must_use]
    pub fn new(index: FlatIndex, encoder: DualEncoder) -> Self {
        Self::with(index, QueryVectors::Model(Box::new(encoder)))
    }

    /// Searches `index` with vectors that were made before, `[ids, dim]`, found by the queries' identifiers.
    ///
    /// # Errors
    /// [`PipelineError::Index`] if the vectors are not as many as identifiers, or of another dimension than the index.
    pub fn of_vectors(index: FlatIndex, ids: Vec<String>, vectors: Vec<f32>) -> Result<Self, PipelineError> {
        index.check_dim(vectors.len().checked_div(ids.len()).unwrap_or(index.dim()))?;
        let rows = ids.into_iter().zip(0..).collect();
        Ok(Self::with(index, QueryVectors::Given { rows, vectors }))
    }

    fn with(index: FlatIndex, vectors: QueryVectors) -> Self {
        Self { index, vectors, scan: Scan::Auto, filter: QueryFilter::default(), nominated: Arc::default() }
    }

    /// How the vectors are scanned; every way gives the same hits.
    #[must_use]
    pub fn with_scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Leaves documents out.
    #[must_use]
    pub fn with_filter(mut self, filter: QueryFilter) -> Self {
        self.filter = filter;
        self
    }

    /// What its searches nominate, from now on too.
    #[must_use]
    pub fn nominated(&self) -> Arc<Nominated> {
        self.nominated.clone()
    }

    /// The vectors of queries, `[queries, dim]`.
    fn vectors_of(&self, queries: &[Query]) -> Result<Vec<f32>, PipelineError> {
        match &self.vectors {
            QueryVectors::Model(encoder) => encode_queries(encoder, queries),
            QueryVectors::Given { rows, vectors } => {
                let mut wanted = Vec::with_capacity(queries.len() * self.index.dim());
                for query in queries {
                    let row = rows.get(&query.id);
                    let row = row.ok_or_else(|| PipelineError::NoVector { id: query.id.clone() })?;
                    wanted.extend_from_slice(&vectors[row * self.index.dim()..(row + 1) * self.index.dim()]);
                }
                Ok(wanted)
            }
        }
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &FlatIndex {
        &self.index
    }
}

impl Searcher for DenseSearcher {
    fn search(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>, SearchError> {
        let vectors = self.vectors_of(queries)?;
        let excluded = self.filter.excluded_of(queries);
        let filter = Filter { allowed: self.filter.allowed(), excluded: &excluded };
        let options = IpTopkOptions { scan: self.scan, filter, ..IpTopkOptions::default() };
        let found = self.index.search_with(&vectors, k, &options)?;
        self.nominated.total.fetch_add(found.nominated.iter().sum(), Ordering::Relaxed);
        let most = found.nominated.into_iter().max().unwrap_or(0);
        self.nominated.most.fetch_max(most, Ordering::Relaxed);
        Ok(found.rankings)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.index.doc_id(doc).into()
    }

    fn doc_count(&self) -> usize {
        self.index.doc_count()
    }
}

/// The vectors of queries: `[queries, dim]`.
///
/// # Errors
/// When a query cannot be tokenized or encoded; the error names it.
pub fn encode_queries(encoder: &DualEncoder, queries: &[Query]) -> Result<Vec<f32>, PipelineError> {
    let tower = encoder.tower(Role::Query);
    let chunks: Vec<Vec<f32>> = queries
        .par_chunks(QUERIES_PER_CHUNK)
        .map(|queries| {
            let tokens = queries
                .iter()
                .map(|query| {
                    tower
                        .tokenize(&query.text)
                        .map_err(|source| PipelineError::Text { id: query.id.clone(), source })
                })
                .collect::<Result<Vec<_>, _>>()?;
            Ok::<_, PipelineError>(tower.encode(&tokens)?)
        })
        .collect::<Result<_, _>>()?;
    Ok(chunks.concat())
}
