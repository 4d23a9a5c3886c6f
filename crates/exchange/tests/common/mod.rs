//! What the tests of the crate share.

#![allow(dead_code, reason = "each test uses some of it")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use toller_exchange::{ExchangeError, Source, import, store_spec, survey};
use toller_store::{DType, OpenOptions, Role, Store, StoreWriter};

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

pub(crate) fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("crates/exchange/tests/fixtures").join(name)
}

/// The error of a call that must fail.
pub(crate) fn error<T, E>(result: Result<T, E>) -> Result<E, Box<dyn Error>> {
    result.err().ok_or_else(|| "no error".into())
}

/// The ids and vectors of a source.
pub(crate) fn read(source: &Source) -> Result<(Vec<String>, Vec<Vec<f32>>), ExchangeError> {
    let (mut ids, mut vectors) = (Vec::new(), Vec::new());
    source.for_each(&mut |row| {
        ids.push(row.id.to_owned());
        vectors.push(row.vector.to_vec());
        Ok(())
    })?;
    Ok((ids, vectors))
}

/// Imports a source into a new store in `path`, in shards of four rows.
pub(crate) fn import_to(path: &Path, source: &Source, dtype: DType) -> Result<Store, Box<dyn Error>> {
    let go_on = &mut |_| ControlFlow::Continue(());
    let surveyed = survey(source, go_on)?;
    let mut spec = store_spec(source, &surveyed, Role::Passage, dtype);
    spec.rows_per_shard = 4;
    import(source, StoreWriter::create_or_resume(path, spec)?, go_on)?;
    Ok(Store::open(&[path.to_owned()], &OpenOptions::default())?)
}

/// The ids and vectors of a store.
pub(crate) fn rows_of(store: &Store) -> (Vec<String>, Vec<Vec<f32>>) {
    let (mut ids, mut vectors) = (Vec::new(), Vec::new());
    for shard in store.shards() {
        let mut numbers = vec![0.0; shard.rows() * store.dim()];
        shard.embeddings().widen(0..numbers.len(), &mut numbers);
        vectors.extend(numbers.chunks(store.dim()).map(<[f32]>::to_vec));
        ids.extend((0..shard.rows()).map(|row| shard.id(row).to_owned()));
    }
    (ids, vectors)
}
