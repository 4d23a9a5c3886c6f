//! Where the record of each identifier is: sorted hashes in a memory map.

use toller_files::{SortEntry, SortedEntries, hash_of_id};

/// The bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = size_of::<SortEntry>();

/// The bits of a place that hold the position in a file; the others hold the number of the file.
const POSITION_BITS: u32 = 48;

/// The most files that a place can name.
pub(crate) const MOST_FILES: usize = 1 << (u64::BITS - POSITION_BITS);

/// Where a record is. Places are ordered as the collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Which of the collection's files.
    pub(crate) file: u32,
    /// The offset in the file, or the position of a frame and an offset in it (see [`crate::frames`]).
    pub(crate) position: u64,
    /// The length in bytes.
    pub(crate) length: u32,
}

/// The first 96 bits of an identifier's hash. The odds that two of 60 million identifiers share them are
/// below 1 to 10^13.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdHash(u64, u32);

impl IdHash {
    pub(crate) fn of(id: &str) -> Self {
        let [high, low] = hash_of_id(id);
        Self(high, (low >> 32) as u32)
    }

    /// What an entry begins with.
    pub(crate) fn of_entry(entry: &SortEntry) -> Self {
        Self(entry[0], (entry[1] >> 32) as u32)
    }
}

/// The entry of an identifier.
pub(crate) fn entry(id: &str, place: Place) -> SortEntry {
    let IdHash(high, low) = IdHash::of(id);
    let Place { file, position, length } = place;
    [high, u64::from(low) << 32 | u64::from(length), u64::from(file) << POSITION_BITS | position]
}

/// The place that an entry names.
pub(crate) fn place_of(entry: &SortEntry) -> Place {
    Place {
        file: (entry[2] >> POSITION_BITS) as u32,
        position: entry[2] & ((1 << POSITION_BITS) - 1),
        length: entry[1] as u32,
    }
}

/// Finds the place of an identifier.
pub(crate) fn find(entries: SortedEntries<'_>, id: &str) -> Option<Place> {
    let wanted = IdHash::of(id);
    let found = entries.first_from([wanted.0, u64::from(wanted.1) << 32])?;
    (IdHash::of_entry(&found) == wanted).then(|| place_of(&found))
}

#[cfg(test)]
mod tests {
    use toller_files::SortedEntries;

    use super::{Place, entry, find};

    fn entries(ids: impl Iterator<Item = String>) -> Vec<u8> {
        let place =
            |number: usize| Place { file: 65_535, position: (1 << 47) + number as u64, length: u32::MAX };
        let mut entries: Vec<_> = ids.enumerate().map(|(number, id)| entry(&id, place(number))).collect();
        entries.sort_unstable();
        entries.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn every_identifier_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 10, 5_000] {
            let bytes = entries((0..count).map(|number| format!("d{number}")));
            let entries = SortedEntries::new(&bytes);
            for number in 0..count {
                let place = find(entries, &format!("d{number}"));
                assert_eq!(place.map(|place| place.position), Some((1 << 47) + number as u64));
                assert_eq!(place.map(|place| (place.file, place.length)), Some((65_535, u32::MAX)));
                assert_eq!(find(entries, &format!("e{number}")), None);
            }
        }
    }
}
