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
    /// Whether every vector has length one, up to rounding.
    pub normalized: bool,
}

/// Reads a source from beginning to end, and checks that every number is finite and that no id occurs twice.
///
/// # Errors
/// Those of [`Source::for_each`], [`ExchangeError::NotFinite`], [`ExchangeError::DuplicateId`],
/// [`ExchangeError::Empty`] and [`ExchangeError::Stopped`].
pub fn survey(source: &Source, progress: &mut Progress<'_>) -> Result<Survey, ExchangeError> {
    let mut surveyor = Surveyor::default();
    let mut ids = DuplicateIds::new();
    source.for_each(&mut |row: Row<'_>| {
        check_finite(source, &row)?;
        ids.push(row.id, location(&row))?;
        surveyor.push(row.id, row.vector);
        report_sometimes(progress, surveyor.rows)
    })?;
    if surveyor.rows == 0 {
        return Err(ExchangeError::Empty(source.path(0).to_owned()));
    }
    if let Some(duplicate) = ids.finish()?.earliest {
        let (path, row) = (source.path(duplicate.first.input as usize).to_owned(), duplicate.first.number);
        let (again_path, again_row) =
            (source.path(duplicate.again.input as usize).to_owned(), duplicate.again.number);
        let id = id_at(source, duplicate.again)?;
        return Err(ExchangeError::DuplicateId { id, path, row, again_path, again_row });
    }
    Ok(surveyor.finish())
}

/// Makes a [`Survey`] of rows that come one after the other.
#[derive(Default)]
pub struct Surveyor {
    hash: Xxh3,
    rows: u64,
    /// Rows whose length is one, up to rounding.
    unit_rows: u64,
    bytes: Vec<u8>,
}

impl Surveyor {
    /// Looks at the next row.
    pub fn push(&mut self, id: &str, vector: &[f32]) {
        let square: f64 = vector.iter().map(|&number| f64::from(number) * f64::from(number)).sum();
        self.unit_rows += u64::from((square - 1.0).abs() <= UNIT_TOLERANCE);
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(&(id.len() as u64).to_le_bytes());
        bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        self.hash.update(bytes);
        self.rows += 1;
    }

    /// What was seen.
    #[must_use]
    pub fn finish(self) -> Survey {
        let fingerprint = format!("{:032x}", self.hash.digest128());
        Survey { rows: self.rows, fingerprint, normalized: self.unit_rows == self.rows }
    }
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
