//! Hybrid retrieval: several searchers as one.

use std::sync::Arc;

use toller_ir::Searcher;
use toller_pipeline::fusion::{Collections, Fusion, Hybrid};

use crate::threads::Pooled;
use crate::{Engine, EngineError};

impl Engine {
    /// Searches several searchers together and fuses the best `depth` hits of each.
    ///
    /// # Errors
    /// A fusion that does not fit, and collections that differ but must not.
    pub fn hybrid(
        &self,
        searchers: Vec<Arc<dyn Searcher>>,
        fusion: Fusion,
        depth: usize,
        collections: Collections,
    ) -> Result<Arc<Pooled<Hybrid>>, EngineError> {
        Ok(Pooled::new(Hybrid::new(searchers, fusion, depth, collections)?, &self.threads))
    }
}
