//! What is searched, and for which queries.

use std::sync::Arc;

use toller_corpus::read_queries;
use toller_files::Input;
use toller_ir::{Query, Searcher};
use toller_pipeline::Nominated;
use toller_pipeline::fusion::{Collections, Fusion, Hybrid};

use super::SearchArgs;
use super::dense::OpenedStore;
use crate::ui::Ui;

/// The searcher that was asked for, and its queries.
pub(super) struct Sources {
    pub(super) searcher: Box<dyn Searcher>,
    pub(super) queries: Vec<Query>,
    /// Where vectors are scanned: how many were nominated.
    pub(super) nominated: Option<Arc<Nominated>>,
}

impl Sources {
    /// Reads what is cheap to read first: queries and filters, then what is searched.
    pub(super) fn open(args: &SearchArgs, fusion: Option<Fusion>, ui: &Ui) -> anyhow::Result<Self> {
        let queries = args.queries.as_ref().map(|_| read(args, ui)).transpose()?;
        let lists = args.filter.read()?;
        let verify = !args.dense.no_verify;
        let mut searchers: Vec<Box<dyn Searcher>> = Vec::new();
        if let Some(searcher) = args.sparse.open(verify, ui)? {
            let filter = lists.in_collection(&searcher, "the index", ui);
            searchers.push(Box::new(searcher.with_filter(filter)));
        }
        let (mut nominated, mut ids) = (None, Vec::new());
        if !args.dense.dense.is_empty() {
            let OpenedStore { searcher, query_ids } = args.dense.open(ui)?;
            let filter = lists.in_collection(&searcher, "the store", ui);
            let searcher = searcher.with_filter(filter);
            nominated = Some(searcher.nominated());
            searchers.push(Box::new(searcher));
            ids = query_ids;
        }
        let queries = queries.unwrap_or_else(|| ids.into_iter().map(query_of_id).collect());
        let searcher = match fusion {
            Some(fusion) => Box::new(hybrid(args, searchers, fusion)?),
            // Without a fusion there is one.
            None => searchers.swap_remove(0),
        };
        Ok(Self { searcher, queries, nominated })
    }
}

/// Sparse, then dense: so a weight of the second is that of Mr. TyDi's paper.
fn hybrid(args: &SearchArgs, searchers: Vec<Box<dyn Searcher>>, fusion: Fusion) -> anyhow::Result<Hybrid> {
    let collections = if args.different_collections { Collections::MayDiffer } else { Collections::Same };
    Ok(Hybrid::new(searchers, fusion, args.depth as usize, collections)?)
}

/// A query that is known by its vector.
fn query_of_id(id: String) -> Query {
    Query { id, ..Query::default() }
}

fn read(args: &SearchArgs, ui: &Ui) -> anyhow::Result<Vec<Query>> {
    let inputs: Vec<Input> = args.queries.iter().map(Input::parse).collect();
    let (queries, skipped) = read_queries(&inputs, &args.input.options()?)?;
    if skipped.total() > 0 {
        ui.warning(skipped.to_string());
    }
    Ok(queries)
}
