//! The lengths of the documents: Lucene's codes, and what they leave out.
//!
//! ```text
//! lengths.bin := code (u8) * documents, zeros up to a multiple of WINDOW, rest * documents (a `Table`)
//! ```
//!
//! A length is that of its code and the rest.

use std::io::{self, Write};

use crate::coding::packed::Table;
use crate::length::{decoded, encoded};
use crate::search::WINDOW;

/// Writes the lengths; returns their codes.
pub(crate) fn write_lengths(lengths: &[u32], mut out: impl Write) -> io::Result<Vec<u8>> {
    let codes: Vec<u8> = lengths.iter().map(|&length| encoded(length)).collect();
    out.write_all(&codes)?;
    out.write_all(&vec![0; codes.len().next_multiple_of(WINDOW) - codes.len()])?;
    let rests = lengths.iter().zip(&codes).map(|(length, &code)| u64::from(length - decoded(code)));
    let mut table = Vec::new();
    Table::write(rests, &mut table);
    out.write_all(&table)?;
    Ok(codes)
}

/// Whether `file` can be that of `docs` documents.
pub(super) fn is_sound(file: &[u8], docs: usize) -> bool {
    Table::split(file, docs).is_some_and(|(codes, _)| codes.len() == docs.next_multiple_of(WINDOW))
}

/// The codes, up to a multiple of [`WINDOW`].
pub(super) fn codes(file: &[u8], docs: usize) -> &[u8] {
    file.get(..docs.next_multiple_of(WINDOW)).unwrap_or_default()
}

/// The length of the document `index`.
#[inline]
pub(super) fn exact(file: &[u8], docs: usize, index: usize) -> Option<u32> {
    let (codes, rests) = Table::split(file, docs)?;
    Some(decoded(*codes.get(index)?).saturating_add(rests.get(index) as u32))
}

#[cfg(test)]
mod tests {
    use super::{exact, is_sound, write_lengths};

    #[test]
    fn round_trip() -> Result<(), Box<dyn std::error::Error>> {
        for longest in [0, 39, 41, 1000, 100_000, i32::MAX as u32] {
            let lengths: Vec<u32> = (0..5000).map(|i| i.min(longest)).chain([longest]).collect();
            let mut file = Vec::new();
            write_lengths(&lengths, &mut file)?;
            assert!(is_sound(&file, lengths.len()) && !is_sound(&file[1..], lengths.len()));
            for (index, &length) in lengths.iter().enumerate() {
                assert_eq!(exact(&file, lengths.len(), index), Some(length));
            }
        }
        Ok(())
    }
}
