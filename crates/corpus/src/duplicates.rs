//! Duplicate identifiers, found in bounded memory.

use toller_files::{ExternalSort, FileError, hash_of_id};

use crate::{Location, Locations};

/// Finds identifiers that occur more than once among any number of them.
///
/// It keeps a 128-bit hash and the location of each, in an [`ExternalSort`], so that memory does not grow
/// with them. Two different identifiers with equal hashes would count as duplicates; among 60 million the
/// odds are below 1 to 10^22.
#[derive(Debug)]
pub struct DuplicateIds {
    /// An identifier's hash in two halves, and its location: the input in the upper 20 bits, the number in
    /// the others.
    entries: ExternalSort,
}

/// Where an identifier was first, and where it came again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Its first occurrence.
    pub first: Location,
    /// A later one.
    pub again: Location,
}

/// What [`DuplicateIds::finish`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundDuplicates {
    /// The duplicate that comes first in the order of the collection.
    pub earliest: Option<Duplicate>,
    /// The locations of the identifiers that equal an earlier one. Leaving these out keeps the first of each.
    pub again: Locations,
}

const NUMBER_BITS: u32 = 44;

impl DuplicateIds {
    /// The default capacity, of [`ExternalSort`].
    pub const CAPACITY: usize = ExternalSort::CAPACITY;

    /// A checker with the default capacity.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::CAPACITY)
    }

    /// A checker that keeps at most `capacity` identifiers in memory (at least one).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: ExternalSort::with_capacity(capacity) }
    }

    /// Adds the identifier at `location`.
    ///
    /// # Errors
    /// When the temporary file cannot be made or written.
    pub fn push(&mut self, id: &str, location: Location) -> Result<(), FileError> {
        let [high, low] = hash_of_id(id);
        self.entries.push([high, low, pack(location)])
    }

    /// The duplicates among all identifiers.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn finish(self) -> Result<FoundDuplicates, FileError> {
        let mut found = FoundDuplicates::default();
        // The last hash that was different from the one before, and where it was first.
        let mut first: Option<([u64; 2], u64)> = None;
        // The least pair of a later location and the first one.
        let mut earliest: Option<(u64, u64)> = None;
        self.entries.finish(|[high, low, location]| {
            match first {
                Some((hash, first)) if hash == [high, low] => {
                    let duplicate = (location, first);
                    earliest = Some(earliest.map_or(duplicate, |earliest| earliest.min(duplicate)));
                    found.again.insert(unpack(location));
                }
                _ => first = Some(([high, low], location)),
            }
            Ok::<_, FileError>(())
        })?;
        found.earliest =
            earliest.map(|(again, first)| Duplicate { first: unpack(first), again: unpack(again) });
        Ok(found)
    }
}

impl Default for DuplicateIds {
    fn default() -> Self {
        Self::new()
    }
}

fn pack(location: Location) -> u64 {
    // Wider inputs and numbers do not occur: a million files, 17 trillion lines in one.
    u64::from(location.input) << NUMBER_BITS | location.number & ((1 << NUMBER_BITS) - 1)
}

fn unpack(packed: u64) -> Location {
    Location { input: (packed >> NUMBER_BITS) as u32, number: packed & ((1 << NUMBER_BITS) - 1) }
}
