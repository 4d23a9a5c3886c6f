//! Writes a small store, opens it as an index, and searches it: `cargo run --example search`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use toller_index::FlatIndex;
use toller_ir::Filter;
use toller_store::{DType, Encoding, ModelInfo, OpenOptions, Role, Source, Store, StoreSpec, StoreWriter};
use toller_topk::Scan;

fn main() -> Result<(), Box<dyn Error>> {
    // What the encoder would write: three passages as vectors of four numbers.
    let passages =
        [("cats", [0.9, 0.1, 0.0, 0.1]), ("dogs", [0.8, 0.3, 0.1, 0.0]), ("ships", [0.0, 0.1, 0.9, 0.4])];
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    let spec = StoreSpec {
        model: ModelInfo::new("by hand", "by-hand"),
        encoding: Encoding::unknown(Role::Passage, false),
        dim: 4,
        content: DType::F32.into(),
        rows_per_shard: 2,
        source: Source { fingerprint: "three passages".to_owned(), passages: 3 },
        part: None,
    };
    let mut writer = StoreWriter::create_or_resume(&path, spec)?;
    for (id, vector) in &passages {
        writer.push(id, vector)?;
    }
    writer.finish()?;

    let index = FlatIndex::new(Store::open(&[path], &OpenOptions::default())?, Scan::Auto);
    let queries = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]; // [2, dim]
    for (query, ranking) in index.search(&queries, 2, &Filter::default())?.rankings.iter().enumerate() {
        for hit in &ranking.hits {
            println!("query {query}: {} {:.2}", index.doc_id(hit.doc), hit.score);
        }
    }
    Ok(())
}
