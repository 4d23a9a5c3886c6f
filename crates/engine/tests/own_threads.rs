//! An engine with threads of its own computes in these. One test, since rayon's own pool is the process's.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use toller_engine::{
    DenseOptions, Device, EncodeOptions, EncoderOptions, Engine, EngineError, Query, ReadOptions,
    SearchRequest, Searcher,
};

#[test]
fn an_encode_and_a_search_start_no_other_pool() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let (collection, store) = (folder.path().join("collection.tsv"), folder.path().join("store"));
    std::fs::write(&collection, "d0\tTollers lure ducks.\nd1\tShards keep vectors.\n")?;
    let engine = Engine::builder().threads(2).build()?;
    let model = toller_testing::repository("tests/fixtures/tiny-bert").display().to_string();
    // What opens models and collections may use rayon's own pool.
    let (encoder, source) = engine.in_threads(|| {
        let files = engine.collection_files(&[collection])?;
        let source = engine.collection(&files, &store, &ReadOptions::default())?;
        Ok::<_, EngineError>((engine.encoder(&model, &EncoderOptions::default())?, source))
    })?;
    let encode =
        || engine.encode(&encoder, &source, &store, &EncodeOptions::default(), &AtomicBool::new(false));
    let (report, again) = (encode()?, encode()?);
    assert_eq!((report.rows, report.was_complete), (2, false));
    assert_eq!((again.rows, again.was_complete), (0, true));
    // On the stand-in for a GPU, if this build has it.
    let device = "shim".parse().unwrap_or(Device::Cpu);
    let searcher = engine.dense(&[&store], encoder, &DenseOptions { device, ..DenseOptions::default() })?;
    let queries = [Query { id: "q".to_owned(), text: "ducks".to_owned(), ..Query::default() }];
    assert_eq!(searcher.search(&SearchRequest::new(&queries, 2))?.rankings[0].hits.len(), 2);
    assert_eq!(searcher.queries_at_once().is_some(), device != Device::Cpu, "devices are given many queries");
    assert!(rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_ok(), "it was started");
    Ok(())
}
