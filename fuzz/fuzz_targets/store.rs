//! Stores whose checksums are not verified: no change makes a reader panic.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use toller_files::OpenOptions;
use toller_fuzz::Whole;
use toller_ir::{DocOrd, impacts as impacts_of};
use toller_store::{
    Content, DType, Encoding, ImpactStore, ModelInfo, Role, Source, Store, StoreSpec, StoreWriter,
};

fn make(directory: &Path, content: Content) {
    let spec = StoreSpec {
        model: ModelInfo::new("m", "m"),
        encoding: Encoding::unknown(Role::Passage, false),
        dim: 3,
        content,
        rows_per_shard: 4,
        source: Source { fingerprint: "s".to_owned(), passages: 6 },
        part: None,
    };
    let mut writer = StoreWriter::create_or_resume(directory, spec).expect("a store");
    for row in 0..6 {
        let id = format!("id {row}");
        let pushed = match content {
            Content::Vectors(_) => writer.push(&id, &[row as f32, 0.5, -1.0]),
            Content::Impacts => writer.push_impacts(&id, &"a\u{1F}7 ".repeat(row)),
        };
        pushed.expect("a row");
    }
    writer.finish().expect("a store");
}

fuzz_target!(|bytes: &[u8]| {
    static VECTORS: OnceLock<Whole> = OnceLock::new();
    static IMPACTS: OnceLock<Whole> = OnceLock::new();
    let options = OpenOptions { verify: false, progress: None };
    let impacts = || Whole::new(|directory| make(directory, Content::Impacts));
    IMPACTS.get_or_init(impacts).changed(bytes, |path| {
        let Ok(store) = ImpactStore::open(path, &options) else { return };
        let _ = store.check_unique_ids();
        assert!(store.rows().all(|(id, text)| id.len() < 1 << 20 && impacts_of(text).count() < 1 << 20));
    });
    let vectors = || Whole::new(|directory| make(directory, DType::F16.into()));
    VECTORS.get_or_init(vectors).changed(bytes, |path| {
        let Ok(store) = Store::open(&[path], &options) else { return };
        let _ = (store.verify(&|_| ()), store.check_unique_ids());
        for shard in store.shards() {
            let mut numbers = vec![0.0; shard.rows() * shard.dim()];
            shard.embeddings().widen(0..numbers.len(), &mut numbers);
        }
        assert!((0..store.count() as u32).all(|row| store.id(DocOrd(row)).len() < 1 << 20));
    });
});
