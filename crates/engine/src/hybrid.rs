//! Hybrid retrieval: several searchers as one.

use std::sync::Arc;

use toller_ir::Searcher;
use toller_pipeline::fusion::{Collections, Fusion, Hybrid};

use crate::threads::Pooled;
use crate::{Engine, EngineError};

/// How the hits of several searchers are fused.
#[derive(Clone, Debug)]
pub struct HybridOptions {
    /// The method, as of `"rrf".parse::<&Method>()`.
    pub fusion: Fusion,
    /// Hits of each searcher that are fused.
    pub depth: usize,
    /// Whether all must have the same documents.
    pub collections: Collections,
}

impl Engine {
    /// Searches several searchers together and fuses what they find.
    ///
    /// # Errors
    /// A fusion that does not fit, and collections that differ but must not.
    pub fn hybrid(
        &self,
        searchers: Vec<Arc<dyn Searcher>>,
        options: HybridOptions,
    ) -> Result<Arc<Pooled<Hybrid>>, EngineError> {
        let HybridOptions { fusion, depth, collections } = options;
        Ok(Pooled::new(Hybrid::new(searchers, fusion, depth, collections)?, &self.threads))
    }
}
