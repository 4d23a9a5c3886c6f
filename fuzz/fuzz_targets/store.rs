//! Stores whose checksums are not verified: no change makes a reader panic.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use toller_files::OpenOptions;
use toller_fuzz::Whole;
use toller_ir::DocOrd;
use toller_store::{DType, Encoding, ModelInfo, Role, Source, Store, StoreSpec, StoreWriter};

fn make(directory: &Path) {
    let spec = StoreSpec {
        model: ModelInfo::new("m", "m"),
        encoding: Encoding::unknown(Role::Passage, false),
        dim: 3,
        content: DType::F16.into(),
        rows_per_shard: 4,
        source: Source { fingerprint: "s".to_owned(), passages: 6 },
        part: None,
    };
    let mut writer = StoreWriter::create_or_resume(directory, spec).expect("a store");
    for row in 0..6 {
        writer.push(&format!("id {row}"), &[row as f32, 0.5, -1.0]).expect("a row");
    }
    writer.finish().expect("a store");
}

fuzz_target!(|bytes: &[u8]| {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| Whole::new(make)).changed(bytes, |path| {
        let options = OpenOptions { verify: false, progress: None };
        let Ok(store) = Store::open(&[path], &options) else { return };
        let _ = (store.verify(&|_| ()), store.check_unique_ids());
        for shard in store.shards() {
            let mut numbers = vec![0.0; shard.rows() * shard.dim()];
            shard.embeddings().widen(0..numbers.len(), &mut numbers);
        }
        assert!((0..store.count() as u32).all(|row| store.id(DocOrd(row)).len() < 1 << 20));
    });
});
