//! What is searched, and for which queries.

use std::sync::Arc;

use toller_corpus::read_queries;
use toller_files::Input;
use toller_ir::{Query, Searcher};
use toller_pipeline::Nominated;

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
    pub(super) fn open(args: &SearchArgs, ui: &Ui) -> anyhow::Result<Self> {
        let queries = args.queries.as_ref().map(|_| read(args, ui)).transpose()?;
        let lists = args.filter.read()?;
        let OpenedStore { searcher, query_ids } = args.dense.open(ui)?;
        let filter = lists.in_collection(&searcher, "the store", ui);
        let searcher = searcher.with_filter(filter);
        let queries = queries.unwrap_or_else(|| query_ids.into_iter().map(query_of_id).collect());
        let nominated = Some(searcher.nominated());
        Ok(Self { searcher: Box::new(searcher), queries, nominated })
    }
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
