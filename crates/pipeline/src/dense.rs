//! Dense retrieval: query texts to rankings.

use rayon::prelude::*;
use toller_encoder::{DualEncoder, Role};
use toller_index::FlatIndex;
use toller_ir::{DocOrd, Query, Ranking, SearchError, Searcher};

use crate::PipelineError;

/// Queries that a thread encodes at a time: enough for a full batch of short ones.
const QUERIES_PER_CHUNK: usize = 32;

/// A flat index and the model that its vectors were made with.
pub struct DenseSearcher {
    index: FlatIndex,
    encoder: DualEncoder,
    prompt: String,
}

impl DenseSearcher {
    /// Searches `index` with `encoder`; `prompt` is put before every query.
    #[must_use]
    pub fn new(index: FlatIndex, encoder: DualEncoder, prompt: String) -> Self {
        Self { index, encoder, prompt }
    }

    /// The vectors of queries, `[queries, dim]`.
    ///
    /// # Errors
    /// As [`encode_queries`].
    pub fn encode(&self, queries: &[Query]) -> Result<Vec<f32>, PipelineError> {
        encode_queries(&self.encoder, &self.prompt, queries)
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &FlatIndex {
        &self.index
    }
}

impl Searcher for DenseSearcher {
    fn search(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>, SearchError> {
        let vectors = self.encode(queries)?;
        Ok(self.index.search(&vectors, k)?)
    }

    fn doc_id(&self, doc: DocOrd) -> &str {
        self.index.doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        self.index.doc_count()
    }
}

/// The vectors of queries: `[queries, dim]`, with `prompt` before each.
///
/// # Errors
/// When a query cannot be tokenized or encoded; the error names it.
pub fn encode_queries(
    encoder: &DualEncoder,
    prompt: &str,
    queries: &[Query],
) -> Result<Vec<f32>, PipelineError> {
    let tower = encoder.tower(Role::Query);
    let chunks: Vec<Vec<f32>> = queries
        .par_chunks(QUERIES_PER_CHUNK)
        .map(|queries| {
            let tokens = queries
                .iter()
                .map(|query| {
                    tower
                        .tokenize(&format!("{prompt}{}", query.text))
                        .map_err(|source| PipelineError::Text { id: query.id.clone(), source })
                })
                .collect::<Result<Vec<_>, _>>()?;
            Ok::<_, PipelineError>(tower.encode(&tokens)?)
        })
        .collect::<Result<_, _>>()?;
    Ok(chunks.concat())
}
