//! What a search needs, and opening it.

use std::slice;
use std::sync::Arc;

use toller_engine::{Engine, Pooled};
use toller_ir::{DocOrd, Filter, Query, SearchRequest, SearchResponse, Searcher};
use toller_pipeline::fusion::Fusion;
use toller_pipeline::{QueryFilter, SearchJob, SparseSearcher};
use toller_sparse::Explanation;

use super::kept::{AnySearcher, DENSE_RUN, FIRST_STAGE_RUN, KeptRuns, SPARSE_RUN};
use crate::args::sources::SourceArgs;
use crate::ui::Ui;

/// The searcher that was asked for, its queries, and what it leaves out.
pub(in crate::commands) struct Sources {
    pub(in crate::commands) searcher: AnySearcher,
    /// The inverted index among what is searched.
    pub(super) sparse: Option<Arc<Pooled<SparseSearcher>>>,
    pub(in crate::commands) queries: Vec<Query>,
    filter: QueryFilter,
}

impl Sources {
    /// Reads queries and filters first, because that is cheap, then opens what is searched.
    pub(in crate::commands) fn open(
        args: &SourceArgs,
        fusion: Option<Fusion>,
        kept: &mut KeptRuns<'_>,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Self> {
        Self::open_for(args, args.read_queries(ui)?, fusion, kept, engine, ui)
    }

    /// Opens what is searched for `queries`, or for vectors if they are given. `kept` keeps the hits of each
    /// searcher and of the fusion.
    pub(super) fn open_for(
        args: &SourceArgs,
        queries: Option<Vec<Query>>,
        fusion: Option<Fusion>,
        kept: &mut KeptRuns<'_>,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Self> {
        let lists = args.filter.read()?;
        let queries = queries.map(|queries| lists.queries(queries, ui)).transpose()?;
        let mut searchers: Vec<(&str, AnySearcher)> = Vec::new();
        let (read, verify) = (queries.as_deref().unwrap_or_default(), !args.dense.store_args.no_verify);
        let sparse = args.sparse.open(read, verify, Some(&args.dense.model_args.compute), engine)?;
        if let Some(searcher) = &sparse {
            if let Some(model) = args.sparse.own_model().filter(|_| searcher.encoder().is_some()) {
                ui.status(format!("queries are weighed by the model of the index, {model}"));
            }
            searchers.push((SPARSE_RUN, searcher.clone()));
        }
        let mut given: Vec<Query> = Vec::new();
        if !args.dense.dense.is_empty() {
            let searcher = args.dense.open(engine, ui)?;
            if queries.is_none() {
                given.extend(searcher.query_ids().map(query_of_id));
            }
            searchers.push((DENSE_RUN, searcher));
        }
        let queries = match queries {
            Some(queries) => queries,
            None => lists.queries(given, ui)?,
        };
        let (searcher, place) = match fusion {
            // Sparse, then dense, so that --alpha weighs the dense scores as in Mr. TyDi's paper.
            Some(fusion) => {
                let searchers = searchers.into_iter().map(|(file, searcher)| kept.keep(file, searcher));
                let searchers = searchers.collect::<Result<_, _>>()?;
                let depth = args.hybrid.fusion_depth as usize;
                let hybrid: AnySearcher = engine.hybrid(searchers, fusion, depth, args.collections())?;
                (hybrid, "the index or the store")
            }
            // Without a fusion there is one searcher.
            None => (searchers.swap_remove(0).1, if sparse.is_some() { "the index" } else { "the store" }),
        };
        let filter = lists.in_collection(&queries, &*searcher, place, ui);
        Ok(Self { searcher: kept.keep(FIRST_STAGE_RUN, searcher)?, sparse, queries, filter })
    }

    /// The search for all queries.
    pub(in crate::commands) fn job(&self, k: usize) -> SearchJob<'_> {
        SearchJob { searcher: &*self.searcher, queries: &self.queries, k, filter: &self.filter }
    }

    /// The `k` best hits of a single query.
    pub(super) fn search_one(&self, query: &Query, k: usize) -> crate::Result<SearchResponse> {
        let queries = slice::from_ref(query);
        let search = |filter: Filter<'_>| self.searcher.search(&SearchRequest { queries, k, filter });
        Ok(self.filter.with(queries, search)?)
    }

    /// Why `docs` have the scores of [`Sources::search_one`], if only an inverted index is searched.
    pub(super) fn explain(
        &self,
        query: &Query,
        k: usize,
        docs: &[DocOrd],
    ) -> crate::Result<Option<Vec<Explanation>>> {
        let Some(sparse) = &self.sparse else { return Ok(None) };
        let explain = |filter: Filter<'_>| sparse.explain(query, k, &filter, docs);
        Ok(Some(self.filter.with(slice::from_ref(query), explain)?))
    }
}

/// A query that is given by its vector.
pub(super) fn query_of_id(id: &str) -> Query {
    Query { id: id.to_owned(), ..Query::default() }
}
