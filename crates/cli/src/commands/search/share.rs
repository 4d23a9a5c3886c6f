//! `toller search --shard`: a share of the rows in, a partial run out.

use std::time::Instant;

use toller_ir::{SearchRequest, SearchResponse, Searcher};
use toller_pipeline::SearchJob;
use toller_shares::{Header, PartialRunWriter};
use toller_store::Part;

use super::SearchArgs;
use super::report::{Found, Report};
use super::sources::query_of_id;
use crate::args::shard::ShardArg;
use crate::engine;
use crate::error::UsageError;
use crate::ui::Ui;

/// Refuses what is not divided into shares.
pub(super) fn check(args: &SearchArgs) -> Result<(), UsageError> {
    if args.sources.dense.store_args.feedback()?.is_some() {
        return Err(UsageError::new(
            "--vector-prf needs the best hits of the whole collection, and --shard searches a part of it",
            "search the whole collection, or divide the queries instead",
        ));
    }
    if args.sources.sparse.sparse.is_none() {
        return Ok(());
    }
    Err(UsageError::new(
        "--shard divides stores of vectors; an inverted index has the statistics of all its documents, and is searched as a \
         whole",
        "divide the queries instead: the runs of their pieces, one after the other, are the run of all queries; for a hybrid, \
         merge the dense shards and use `toller fuse`",
    ))
}

pub(super) fn run(args: &SearchArgs, shard: ShardArg, ui: &Ui) -> crate::Result<()> {
    check(args)?;
    let (index, of) = shard.resolve(ui)?;
    let output = args.output.part(index, of, &args.sources.inputs(), ui)?;
    output
        .write(ui, |to, name| {
            let started = Instant::now();
            let engine = engine::open(ui)?;
            let lists = args.sources.filter.read()?;
            let queries = args.sources.read_queries(ui)?;
            let searcher = args.sources.dense.open_part((index, of), &engine, ui)?;
            let given = || searcher.query_ids().map(query_of_id).collect();
            let queries = lists.queries(queries.unwrap_or_else(given), ui)?;
            let filter = lists.in_collection(&queries, &**searcher, "the store", ui);
            let prepare_secs = started.elapsed().as_secs_f64();

            let searching = Instant::now();
            let (k, documents) = (args.k(), searcher.doc_count());
            let header = Header {
                index,
                of,
                k: k as u64,
                queries: queries.len() as u64,
                documents: documents as u64,
                stores: searcher.store().fingerprint(),
            };
            let mut run = PartialRunWriter::new(to, name, &header)?;
            let bar = ui.progress("searching", "queries", queries.len() as u64);
            let mut found = Found::default();
            let job = SearchJob { searcher: &**searcher, queries: &queries, k, filter: &filter };
            job.each_block(job.at_once(SearchJob::QUERIES), |block, filter| -> crate::Result<()> {
                let request = SearchRequest { queries: block, k, filter };
                let (SearchResponse { rankings, nominated, .. }, identities) =
                    searcher.search_identified(&request)?;
                run.write_rankings(block, &identities, &rankings, &**searcher)?;
                found.add(block, &rankings, &nominated);
                bar.set(found.queries as u64);
                Ok(())
            })?;
            run.finish()?;
            let rows = Part::new(index, of, documents as u64)?.rows(documents as u64);
            Ok(Report {
                args,
                output: output.name(),
                documents: (rows.end - rows.start) as usize,
                found,
                prepare_secs,
                search_secs: searching.elapsed().as_secs_f64(),
            })
        })?
        .print(ui)
}
