//! Looking at every row before the first is written.

use toller_corpus::{DuplicateIds, Location};
use xxhash_rust::xxh3::Xxh3;

use crate::progress::{Progress, report_sometimes};
use crate::{ExchangeError, Row, Source};

/// How far the square of a vector's length may be from one for the vector to count as normalised: twice the
/// effect of rounding to f16.
const UNIT_TOLERANCE: f64 = 2e-3;

/// What a [`Source`] holds, every row of it seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The number of rows.
    pub rows: u64,
    /// XXH3-128 of the rows in order: of each, the bytes of its id, their number as u64, and its numbers as
    /// f32, all little-endian; 32 hexadecimal digits. It does not depend on the format.
    pub fingerprint: String,
    /// Whether every vector has length one, but for rounding.
    pub normalized: bool,
}

/// Reads a source from beginning to end, and checks that every number is finite and that no id occurs twice.
///
/// # Errors
/// Those of [`Source::for_each`], [`ExchangeError::NotFinite`], [`ExchangeError::DuplicateId`],
/// [`ExchangeError::Empty`] and [`ExchangeError::Stopped`].
pub fn survey(source: &Source, progress: &mut Progress<'_>) -> Result<Survey, ExchangeError> {
    let mut hash = Xxh3::new();
    let mut ids = DuplicateIds::new();
    let (mut rows, mut normalized) = (0, true);
    let mut bytes = Vec::new();
    source.for_each(&mut |row: Row<'_>| {
        check_finite(source, &row)?;
        let square: f64 = row.vector.iter().map(|&number| f64::from(number) * f64::from(number)).sum();
        normalized &= (square - 1.0).abs() <= UNIT_TOLERANCE;
        ids.push(row.id, location(&row))?;
        bytes.clear();
        bytes.extend_from_slice(row.id.as_bytes());
        bytes.extend_from_slice(&(row.id.len() as u64).to_le_bytes());
        bytes.extend(row.vector.iter().flat_map(|number| number.to_le_bytes()));
        hash.update(&bytes);
        rows += 1;
        report_sometimes(progress, rows)
    })?;
    if rows == 0 {
        return Err(ExchangeError::Empty(source.path(0).to_owned()));
    }
    if let Some(duplicate) = ids.finish()?.earliest {
        let (path, row) = (source.path(duplicate.first.input as usize).to_owned(), duplicate.first.number);
        let (again_path, again_row) =
            (source.path(duplicate.again.input as usize).to_owned(), duplicate.again.number);
        let id = id_at(source, duplicate.again)?;
        return Err(ExchangeError::DuplicateId { id, path, row, again_path, again_row });
    }
    Ok(Survey { rows, fingerprint: format!("{:032x}", hash.digest128()), normalized })
}

fn check_finite(source: &Source, row: &Row<'_>) -> Result<(), ExchangeError> {
    match row.vector.iter().copied().enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((column, value)) => Err(ExchangeError::NotFinite {
            path: source.path(row.file).to_owned(),
            row: row.row + 1,
            id: row.id.to_owned(),
            column,
            value,
        }),
    }
}

fn location(row: &Row<'_>) -> Location {
    Location { input: row.file as u32, number: row.row + 1 }
}

/// The id at a place, for an error.
fn id_at(source: &Source, place: Location) -> Result<String, ExchangeError> {
    let mut found = String::new();
    source.for_each(&mut |row: Row<'_>| {
        if location(&row) == place {
            row.id.clone_into(&mut found);
        }
        Ok(())
    })?;
    Ok(found)
}
