//! From a source to a store.

use toller_store::{
    DEFAULT_ROWS_PER_SHARD, DType, Encoding, Manifest, ModelInfo, Role, Source as StoreSource, StoreSpec,
    StoreWriter,
};

use crate::progress::{Progress, report_sometimes};
use crate::{ExchangeError, Row, Source, Survey};

/// The spec of the store that `source` is imported to, with an unknown model: see [`ModelInfo::unknown`]. A
/// caller that knows how the vectors were made fills in [`StoreSpec::model`] and [`StoreSpec::encoding`].
#[must_use]
pub fn store_spec(source: &Source, survey: &Survey, role: Role, dtype: DType) -> StoreSpec {
    StoreSpec {
        model: ModelInfo::unknown(&survey.fingerprint),
        encoding: Encoding::unknown(role, survey.normalized),
        dim: source.dim(),
        content: dtype.into(),
        rows_per_shard: DEFAULT_ROWS_PER_SHARD,
        source: StoreSource { fingerprint: survey.fingerprint.clone(), passages: survey.rows },
        part: None,
    }
}

/// Writes the missing rows of `writer` and finishes the store. `progress` gets the number of rows read.
///
/// # Errors
/// Those of [`Source::for_each`] and of the writer, and [`ExchangeError::Stopped`], after which the same
/// import continues where this one stopped.
pub fn import(
    source: &Source,
    mut writer: StoreWriter,
    progress: &mut Progress<'_>,
) -> Result<Manifest, ExchangeError> {
    let missing = writer.missing_rows();
    let mut missing = missing.iter().peekable();
    let mut read = 0;
    source.for_each(&mut |row: Row<'_>| {
        while missing.next_if(|range| range.end <= read).is_some() {}
        if missing.peek().is_some_and(|range| range.contains(&read)) {
            writer.push(row.id, row.vector)?;
        }
        read += 1;
        report_sometimes(progress, read)
    })?;
    Ok(writer.finish()?)
}
