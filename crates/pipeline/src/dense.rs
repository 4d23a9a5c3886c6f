//! Dense retrieval: query texts to rankings.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use toller_encoder::{DualEncoder, Role, TextEncoder};
use toller_files::{Checksum, ChecksumHasher};
use toller_index::FlatIndex;
use toller_ir::{DocOrd, Filter, Query, SearchError, SearchRequest, SearchResponse, Searcher, Timing};
use toller_store::Store;
use toller_tokenizer::Tokens;
use toller_topk::FirstRank;

use crate::feedback::VectorFeedback;
use crate::{Ordinals, PipelineError};

/// A flat index, and where the vectors of queries come from.
pub struct DenseSearcher {
    index: FlatIndex,
    vectors: QueryVectors,
    feedback: Option<VectorFeedback>,
}

/// Where the vectors of queries come from.
enum QueryVectors {
    /// The model that the index's vectors were made with.
    Encoder(Arc<DualEncoder>),
    /// Made before, and the row of each query by its identifier.
    Given { store: Store, rows: Ordinals },
}

impl DenseSearcher {
    /// Searches `index` with the texts of queries, encoded by `encoder`.
    ///
    /// # Errors
    /// [`PipelineError::Index`] if the encoder makes vectors of another dimension than the index's.
    pub fn new(index: FlatIndex, encoder: Arc<DualEncoder>) -> Result<Self, PipelineError> {
        index.check_dim(encoder.tower(Role::Query).dim())?;
        Ok(Self { index, vectors: QueryVectors::Encoder(encoder), feedback: None })
    }

    /// Searches `index` with the vectors of `queries`, found by the queries' identifiers. They stay in the
    /// store's files until a query needs them.
    ///
    /// # Errors
    /// [`PipelineError::Index`] if the vectors have another dimension than the index's, and
    /// [`PipelineError::File`] if a temporary file cannot be written.
    pub fn of_store(index: FlatIndex, queries: Store) -> Result<Self, PipelineError> {
        index.check_dim(queries.dim())?;
        let rows = Ordinals::of_ids(ids(&queries))?;
        Ok(Self { index, vectors: QueryVectors::Given { store: queries, rows }, feedback: None })
    }

    /// The same searcher, which moves queries towards their best hits and searches again.
    #[must_use]
    pub fn with_feedback(self, feedback: Option<VectorFeedback>) -> Self {
        Self { feedback, ..self }
    }

    /// Moves `vectors`, `[queries, dim]`, if that is asked for.
    fn expand(&self, vectors: &mut [f32], filter: &Filter<'_>) -> Result<(), PipelineError> {
        let Some(feedback) = self.feedback else { return Ok(()) };
        let dim = self.index.dim();
        let found = self.index.search(vectors, feedback.documents(), filter)?;
        let queries = vectors.par_chunks_exact_mut(dim).zip(&found.rankings);
        queries.try_for_each_init(
            || (vec![0.0_f32; dim], vec![0.0_f64; dim]),
            |(vector, sum), (query, ranking)| {
                sum.fill(0.0);
                for hit in &ranking.hits {
                    read_vector(self.index.store(), hit.doc, vector);
                    sum.iter_mut().zip(&*vector).for_each(|(sum, value)| *sum += f64::from(*value));
                }
                feedback.expand(query, sum, ranking.hits.len());
                let is_finite = query.iter().all(|value| value.is_finite());
                if is_finite { Ok(()) } else { Err(PipelineError::FeedbackOverflow) }
            },
        )?;
        Ok(())
    }

    /// The vectors of queries, `[queries, dim]`.
    fn vectors_of(&self, queries: &[Query]) -> Result<Vec<f32>, PipelineError> {
        match &self.vectors {
            QueryVectors::Encoder(encoder) => {
                encode_texts(encoder, Role::Query, queries, |query| (&query.id, &query.text))
            }
            QueryVectors::Given { store, rows } => {
                let dim = store.dim();
                let mut vectors = vec![0.0; queries.len() * dim];
                for (query, vector) in queries.iter().zip(vectors.chunks_exact_mut(dim)) {
                    let row = rows.find(&query.id, |row| store.id(row) == query.id);
                    let row = row.ok_or_else(|| PipelineError::NoVector(query.id.clone()))?;
                    read_vector(store, row, vector);
                }
                Ok(vectors)
            }
        }
    }

    /// As [`Searcher::search`]; and for each query a checksum of all that decides its hits except the index
    /// and k: the bits of its vector, and the documents that are left out.
    ///
    /// # Errors
    /// As those of [`Searcher::search`].
    pub fn search_identified(
        &self,
        request: &SearchRequest<'_>,
    ) -> Result<(SearchResponse, Vec<Checksum>), PipelineError> {
        let (response, vectors) = self.respond(request)?;
        Ok((response, identities(&vectors, self.index.dim(), &request.filter)))
    }

    /// The response, and the queries' vectors.
    fn respond(&self, request: &SearchRequest<'_>) -> Result<(SearchResponse, Vec<f32>), PipelineError> {
        let started = Instant::now();
        let mut vectors = self.vectors_of(request.queries)?;
        let encode = Timing { stage: "encode", duration: started.elapsed() };
        let started = Instant::now();
        self.expand(&mut vectors, &request.filter)?;
        let found = self.index.search(&vectors, request.k, &request.filter)?;
        let scan = Timing { stage: "scan", duration: started.elapsed() };
        let response = SearchResponse {
            rankings: found.rankings,
            nominated: found.nominated,
            timings: vec![encode, scan],
            ..SearchResponse::default()
        };
        Ok((response, vectors))
    }

    /// The rank of the best of each query's `relevant` documents among all, or among all `groups`; see
    /// [`FlatIndex::first_ranks`].
    ///
    /// # Errors
    /// When a query has no vector or cannot be encoded.
    pub fn first_ranks(
        &self,
        queries: &[Query],
        relevant: &[Vec<DocOrd>],
        groups: Option<&[u32]>,
    ) -> Result<Vec<Option<FirstRank>>, PipelineError> {
        let mut vectors = self.vectors_of(queries)?;
        self.expand(&mut vectors, &Filter::default())?;
        Ok(self.index.first_ranks(&vectors, relevant, groups)?)
    }

    /// The stores that are searched.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.index.store()
    }

    /// The identifiers of the queries whose vectors were given, in their order; empty with an encoder.
    pub fn query_ids(&self) -> impl Iterator<Item = &str> {
        let given = match &self.vectors {
            QueryVectors::Encoder(_) => None,
            QueryVectors::Given { store, .. } => Some(store),
        };
        given.into_iter().flat_map(ids)
    }
}

impl Searcher for DenseSearcher {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        Ok(self.respond(request)?.0)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.index.doc_id(doc).into()
    }

    fn doc_count(&self) -> usize {
        self.index.doc_count()
    }

    fn queries_at_once(&self) -> Option<usize> {
        self.index.queries_at_once()
    }
}

/// Reads the vector of a row.
fn read_vector(store: &Store, row: DocOrd, vector: &mut [f32]) {
    let (shard, row) = store.locate(row);
    shard.embeddings().widen(row * vector.len()..(row + 1) * vector.len(), vector);
}

/// The identifiers of a store's rows, in their order.
fn ids(store: &Store) -> impl Iterator<Item = &str> {
    store.shards().iter().flat_map(|shard| (0..shard.rows()).map(|row| shard.id(row)))
}

/// A checksum of each query's vector, of `dim` numbers, and of what `filter` leaves out for the query.
fn identities(vectors: &[f32], dim: usize, filter: &Filter<'_>) -> Vec<Checksum> {
    let allowed = filter.allowed.map(|allowed| {
        let mut hasher = ChecksumHasher::default();
        allowed.words().iter().for_each(|word| hasher.update(&word.to_le_bytes()));
        hasher.finish()
    });
    let identity = |(query, vector): (usize, &[f32])| {
        let mut hasher = ChecksumHasher::default();
        vector.iter().for_each(|number| hasher.update(&number.to_le_bytes()));
        if let Some(allowed) = allowed {
            hasher.update(&allowed.to_bytes());
        }
        let excluded = filter.excluded.get(query).into_iter().flatten();
        excluded.for_each(|doc| hasher.update(&doc.0.to_le_bytes()));
        hasher.finish()
    };
    vectors.chunks_exact(dim).enumerate().map(identity).collect()
}

/// The vectors of the texts of `items`, in one of the encoder's roles: `[items, dim]`. `named` gives the name
/// of an item, for errors, and its text. Computes in rayon's current pool.
///
/// # Errors
/// When a text cannot be tokenized or encoded; the error names it where it is known.
pub fn encode_texts<T: Sync>(
    encoder: &DualEncoder,
    role: Role,
    items: &[T],
    named: impl Fn(&T) -> (&str, &str) + Sync,
) -> Result<Vec<f32>, PipelineError> {
    let tower = encoder.tower(role);
    Ok(tower.encode_in_parallel(&tokenize(tower, items, named)?)?)
}

/// The same for a sparse encoder: each text as a text with impacts.
///
/// # Errors
/// As [`encode_texts`].
pub fn weigh_texts<T: Sync>(
    encoder: &DualEncoder,
    role: Role,
    items: &[T],
    named: impl Fn(&T) -> (&str, &str) + Sync,
) -> Result<Vec<String>, PipelineError> {
    let tower = encoder.tower(role);
    Ok(tower.impacts_in_parallel(&tokenize(tower, items, named)?)?)
}

/// The tokens of items' texts; an error names the item.
fn tokenize<T: Sync>(
    tower: &TextEncoder,
    items: &[T],
    named: impl Fn(&T) -> (&str, &str) + Sync,
) -> Result<Vec<Tokens>, PipelineError> {
    let tokenize = |item: &T| {
        let (name, text) = named(item);
        tower.tokenize(text).map_err(|source| PipelineError::Text { id: name.to_owned(), source })
    };
    items.par_iter().map(tokenize).collect()
}
