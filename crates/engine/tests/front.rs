//! The library front alone: no command line, no environment, no global state.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use toller_engine::{
    Collections, CrossEncoderOptions, DenseOptions, EncodeOptions, Encoder, EncoderOptions, Engine,
    EngineError, EvalOptions, Event, IndexOptions, Method, Qrels, Query, QuerySource, ReadOptions,
    RerankOptions, Role, SearchRequest, Searcher, SparseOptions, TextsOptions, as_run, evaluate,
    parse_measures,
};
use toller_ir::{ErrorPlace, Explain};
use toller_pipeline::PipelineError;
use toller_store::{ShardEntry, inspect};

type Tested = Result<(), Box<dyn Error + Send + Sync>>;

const PASSAGES: [&str; 6] = [
    "Tollers lure ducks within reach of hunters.",
    "A store keeps vectors in shards.",
    "An inverted index keeps a list of documents for each term.",
    "Cross-encoders read a query and a passage together.",
    "The inner product of two vectors is a sum of products.",
    "Reciprocal ranks are added when rankings are fused.",
];

fn fixture(name: &str) -> String {
    toller_testing::repository("tests/fixtures").join(name).display().to_string()
}

/// A collection of the passages in a folder.
fn write_collection(folder: &Path) -> std::io::Result<PathBuf> {
    let line = |(number, text): (usize, &&str)| format!("{{\"_id\": \"d{number}\", \"text\": \"{text}\"}}\n");
    let path = folder.join("collection.jsonl");
    std::fs::write(&path, PASSAGES.iter().enumerate().map(line).collect::<String>())?;
    Ok(path)
}

/// Encodes the collection in a folder into a store of this name.
fn encode(engine: &Engine, encoder: &Encoder, folder: &Path, store: &str) -> Result<PathBuf, EngineError> {
    let (corpus, store) = (engine.collection_files(&[folder.join("collection.jsonl")])?, folder.join(store));
    let source = engine.collection(&corpus, &store, &ReadOptions::default())?;
    engine.encode(encoder, &source, &store, &EncodeOptions::default(), &AtomicBool::new(false))?;
    Ok(store)
}

fn query(id: &str, text: &str) -> Query {
    Query { id: id.to_owned(), text: text.to_owned(), ..Query::default() }
}

#[test]
fn encode_search_hybrid_rerank_and_evaluate() -> Tested {
    let folder = tempfile::tempdir()?;
    let (store, index) = (folder.path().join("store"), folder.path().join("index"));
    let stop = AtomicBool::new(false);
    let engine = Engine::builder().threads(2).build()?;

    let corpus = engine.collection_files(&[write_collection(folder.path())?])?;
    let source = engine.collection(&corpus, &store, &ReadOptions::default())?;
    let encoder = engine.encoder(&fixture("tiny-bert"), &EncoderOptions::default())?;
    engine.encode(&encoder, &source, &store, &EncodeOptions::default(), &stop)?;
    engine.index(&source, &engine.analyzer("en")?, &index, &IndexOptions::default(), &stop)?;

    let dense = engine.dense(&[store], encoder, &DenseOptions::default())?;
    let sparse = engine.sparse(&index, &SparseOptions::default())?;
    let fusion = "rrf".parse::<&Method>()?.fusion();
    let hybrid = engine.hybrid(vec![sparse, dense], fusion, 100, Collections::Same)?;
    let model = engine.cross_encoder(&fixture("cross-encoders/roberta"), &CrossEncoderOptions::default())?;
    let texts = engine.texts(&corpus, &TextsOptions::default())?;
    let reranker =
        engine.reranker(vec![model], texts, RerankOptions { depth: 3, ..RerankOptions::default() })?;
    let searcher = engine.reranked(hybrid, reranker);

    let queries = [query("1", "who lures ducks?"), query("2", "lists of documents")];
    let found = searcher.search(&SearchRequest::new(&queries, 10))?;
    assert_eq!(found.nominated.len(), queries.len());
    let stages: Vec<&str> = found.timings.iter().map(|timing| timing.stage).collect();
    assert_eq!(stages, ["postings", "encode", "scan", "fuse", "rerank"]);

    let mut qrels = Qrels::new();
    qrels.insert("1", "d0", 1);
    qrels.insert("2", "d2", 1);
    let run = as_run(&*searcher, &queries, &found.rankings);
    let measured = evaluate(&qrels, &run, &parse_measures("R@10 Success@3")?, &EvalOptions::default())?;
    // Reranking leaves the best three of the hybrid, which the sparse hits lead, among the first three.
    assert_eq!(measured.aggregates, [1.0, 1.0]);
    Ok(())
}

#[test]
fn no_row_of_a_file_that_was_replaced_stays_in_a_store() -> Tested {
    let folder = tempfile::tempdir()?;
    let [first, second] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    let line = |id: &str, text: &str| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
    std::fs::write(
        &first,
        (0..38_usize).map(|id| line(&id.to_string(), PASSAGES[id % 6])).collect::<String>(),
    )?;
    let write_second = |texts: [&str; 2]| std::fs::write(&second, line("x", texts[0]) + &line("y", texts[1]));
    write_second(["ducks", "shards"])?;

    let engine = Engine::builder().threads(1).build()?;
    let encoder = engine.encoder(&fixture("tiny-bert"), &EncoderOptions::default())?;
    let corpus = engine.collection_files(&[&first, &second])?;
    let encode = |store: &Path, part, meanwhile: &dyn Fn() -> std::io::Result<()>| {
        let source = engine.collection(&corpus, store, &ReadOptions::default())?;
        meanwhile()?;
        let options = EncodeOptions { part, rows_per_shard: Some(2), ..EncodeOptions::default() };
        let report = engine.encode(&encoder, &source, store, &options, &AtomicBool::new(false))?;
        Ok::<_, Box<dyn Error + Send + Sync>>(report.manifest.shards)
    };
    let changed = |refused: Result<_, Box<dyn Error + Send + Sync>>| {
        let error = refused.err().ok_or("a file has changed")?;
        error.downcast::<EngineError>()
    };
    let [whole, parts, odd] = ["whole", "parts", "odd"].map(|name| folder.path().join(name));
    let part = Some((2, 2));
    let expected = encode(&whole, None, &|| Ok(()))?;

    // A part has no fingerprint to compare with.
    let error = changed(encode(&parts, part, &|| write_second(["hunters", "shards"])))?;
    assert!(error.to_string().contains("b.jsonl: it has changed"), "{error}");
    assert!(error.remedy().is_some());
    write_second(["ducks", "shards"])?;
    let last = |shards: &[ShardEntry]| shards.last().map(|shard| shard.checksum);
    assert_eq!(last(&encode(&parts, part, &|| Ok(()))?), last(&expected));

    // Only the fingerprint shows it, after the last row.
    let written = std::fs::metadata(&second)?.modified()?;
    let replace = || {
        write_second(["geese", "shards"])?;
        std::fs::File::options().write(true).open(&second)?.set_modified(written)
    };
    let error = changed(encode(&odd, None, &replace))?;
    assert!(matches!(*error, EngineError::Pipeline(PipelineError::CollectionChanged)), "{error}");
    assert_eq!(inspect(&odd)?[0].manifest.count, 0, "nobody knows which rows are right");
    write_second(["ducks", "shards"])?;
    assert_eq!(encode(&odd, None, &|| Ok(()))?, expected);
    Ok(())
}

#[test]
fn engines_of_different_models_and_threads_do_not_meet() -> Tested {
    let folder = tempfile::tempdir()?;
    write_collection(folder.path())?;
    let queries: Vec<Query> = PASSAGES.iter().map(|text| query(text, text)).collect();
    let search = |model: &str, threads: usize, store: &str| {
        let engine = Engine::builder().threads(threads).build()?;
        assert_eq!(engine.threads(), threads);
        let encoder = engine.encoder(&fixture(model), &EncoderOptions::default())?;
        let store = encode(&engine, &encoder, folder.path(), store)?;
        let searcher = engine.dense(&[store], encoder, &DenseOptions::default())?;
        let found = searcher.search(&SearchRequest::new(&queries, PASSAGES.len()))?;
        Ok::<_, Box<dyn Error + Send + Sync>>(as_run(&*searcher, &queries, &found.rankings))
    };
    let alone = [search("tiny-bert", 1, "a")?, search("models/bert-pooler", 1, "b")?];
    assert_ne!(alone[0], alone[1]);
    let together = thread::scope(|scope| {
        let [one, other] = [("tiny-bert", 2, "c"), ("models/bert-pooler", 3, "d")]
            .map(|(model, threads, store)| scope.spawn(move || search(model, threads, store)));
        [one, other].map(|thread| thread.join().expect("a search panicked"))
    });
    for (alone, together) in alone.into_iter().zip(together) {
        assert_eq!(alone, together?);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_together_is_refused_and_what_happens_is_reported() -> Tested {
    let folder = tempfile::tempdir()?;
    write_collection(folder.path())?;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let engine = Engine::builder().observer({
        let heard = heard.clone();
        move |event| {
            heard.lock().expect("the observer panicked").extend(match event {
                Event::ModelFound(_) => Some("model"),
                Event::PoolingAssumed { .. } => Some("pooling"),
                Event::IndexOpened(_) => Some("index"),
                _ => None,
            });
        }
    });
    let engine = engine.build()?;
    let tiny = engine.encoder(&fixture("tiny-bert"), &EncoderOptions::default())?;
    let other = engine.encoder(&fixture("models/bert-pooler"), &EncoderOptions::default())?;
    let store = encode(&engine, &tiny, folder.path(), "store")?;
    let open = |queries: QuerySource, options: &DenseOptions| {
        engine.dense(std::slice::from_ref(&store), queries, options).map(|searcher| searcher.doc_count())
    };
    let options = DenseOptions::default();
    assert!(matches!(open(other.into(), &options), Err(EngineError::Store(_))));
    let passages_as_queries = || QuerySource::Store(store.clone());
    let refused = open(passages_as_queries(), &options);
    let Err(error @ EngineError::Role { expected: Role::Query, found: Role::Passage, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.place(), Some(ErrorPlace::of_file(&store)));
    assert_eq!(
        open(passages_as_queries(), &DenseOptions { any_role: true, ..options.clone() })?,
        PASSAGES.len()
    );
    assert_eq!(open(tiny.into(), &options)?, PASSAGES.len());
    assert!(matches!(engine.resolve("org/name"), Err(EngineError::NoHub(_))));
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build()?);
    let both = Engine::builder().threads(1).pool(pool).build();
    assert!(matches!(both, Err(EngineError::TwoPools)));
    assert_eq!(
        *heard.lock().expect("the observer panicked"),
        ["model", "model", "pooling", "index", "index"]
    );
    Ok(())
}
