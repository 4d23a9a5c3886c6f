//! Stores of format version 1, kept in golden-v1/, are read forever and written the same.

use std::path::PathBuf;

use crate::common::{TestResult, check_content, files, open, part_of, spec, write};
use toller_store::{DType, StoreError, StoreSpec};

fn golden(name: &str) -> PathBuf {
    toller_testing::repository("crates/store/tests/golden-v1").join(name)
}

/// A golden store with the specs of its parts, or of itself.
type Golden = (&'static str, Vec<StoreSpec>);

fn golden_stores() -> Result<[Golden; 3], StoreError> {
    let parts = StoreSpec { content: DType::F16.into(), dim: 3, ..spec(7) };
    Ok([
        ("f32", vec![spec(5)]),
        ("bf16", vec![StoreSpec { content: DType::BF16.into(), dim: 5, ..spec(3) }]),
        ("f16-parts", vec![part_of(parts.clone(), 1, 2)?, part_of(parts, 2, 2)?]),
    ])
}

#[test]
fn version_1_is_read() -> TestResult {
    for (name, specs) in golden_stores()? {
        let store = open(&golden(name))?;
        let found: Vec<&StoreSpec> = store.manifests().iter().map(|manifest| &manifest.spec).collect();
        assert_eq!(found, specs.iter().collect::<Vec<_>>());
        assert_eq!(store.count() as u64, specs[0].source.passages);
        check_content(&store);
    }
    Ok(())
}

/// While version 1 is the one that is written: not a byte changes unnoticed.
#[test]
fn version_1_is_written() -> TestResult {
    for (name, specs) in golden_stores()? {
        let directory = tempfile::tempdir()?;
        for spec in specs {
            write(directory.path(), spec)?;
        }
        let mut written = files(directory.path())?;
        // An empty file, which readers do not need, is not kept.
        written.retain(|path, _| !path.ends_with(".lock"));
        assert_eq!(written, files(&golden(name))?, "{name}");
    }
    Ok(())
}
