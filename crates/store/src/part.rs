//! A collection that is encoded in parts, each by its own process.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The most parts: their number is written with five digits.
const MAX_PARTS: u32 = 99_999;

/// One of the contiguous parts that a collection is divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which part, counted from one.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
    /// The part's first passage, counted from zero in the whole collection.
    pub first_row: u64,
}

impl Part {
    /// Part `index` (from one) of `of`, for a collection of `passages` passages. The parts' sizes differ
    /// by at most one; parts of a collection smaller than `of` may be empty.
    ///
    /// # Errors
    /// [`StoreError::InvalidPart`] unless 1 <= `index` <= `of` <= 99999.
    pub fn new(index: u32, of: u32, passages: u64) -> Result<Self, StoreError> {
        if index == 0 || index > of || of > MAX_PARTS {
            return Err(StoreError::InvalidPart { index, of });
        }
        Ok(Self { index, of, first_row: boundary(index - 1, of, passages) })
    }

    /// The passages of this part in a collection of `passages`.
    #[must_use]
    pub fn rows(&self, passages: u64) -> Range<u64> {
        boundary(self.index.saturating_sub(1), self.of, passages)..boundary(self.index, self.of, passages)
    }

    /// The name of the part's directory in the store's: `part-00003-of-00008`.
    #[must_use]
    pub fn directory_name(&self) -> String {
        directory_name(self.index, self.of)
    }

    /// The index and the number of parts in a directory's name, or `None` if it is not a part's.
    #[must_use]
    pub fn parse_directory_name(name: &str) -> Option<(u32, u32)> {
        parse_directory_name(name)
    }
}

/// The first passage after part `index`: `passages * index / of`, without overflow.
fn boundary(index: u32, of: u32, passages: u64) -> u64 {
    let boundary = u128::from(passages) * u128::from(index) / u128::from(of.max(1));
    u64::try_from(boundary).unwrap_or(u64::MAX)
}

pub(crate) fn directory_name(index: u32, of: u32) -> String {
    format!("part-{index:05}-of-{of:05}")
}

/// The index and number of parts in a directory's name, or `None` if it is not a part's.
pub(crate) fn parse_directory_name(name: &str) -> Option<(u32, u32)> {
    let (index, of) = name.strip_prefix("part-")?.split_once("-of-")?;
    let (index, of) = (index.parse().ok()?, of.parse().ok()?);
    let valid = (1..=of).contains(&index) && of <= MAX_PARTS && directory_name(index, of) == name;
    valid.then_some((index, of))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Part, parse_directory_name};

    proptest! {
        #[test]
        fn parts_tile_the_collection(passages in 0..u64::MAX, of in 1_u32..200) {
            let mut next = 0;
            let mut sizes = Vec::new();
            for index in 1..=of {
                let part = Part::new(index, of, passages)?;
                let rows = part.rows(passages);
                prop_assert_eq!(rows.start, next);
                prop_assert_eq!(part.first_row, next);
                sizes.push(rows.end - rows.start);
                next = rows.end;
                prop_assert_eq!(parse_directory_name(&part.directory_name()), Some((index, of)));
            }
            prop_assert_eq!(next, passages);
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
        }
    }

    #[test]
    fn what_is_no_part() {
        for (index, of) in [(0, 0), (0, 4), (5, 4), (1, 100_000)] {
            assert!(Part::new(index, of, 10).is_err(), "{index}/{of}");
        }
        for name in
            ["part-1-of-2", "part-00003-of-00002", "part-00000-of-00002", "part-00001-of-00002.old", "part"]
        {
            assert_eq!(parse_directory_name(name), None, "{name}");
        }
    }
}
