//! The lengths of the documents: Lucene's one-byte codes, and what these round away.
//!
//! ```text
//! lengths.bin := code (u8) * documents, zeros up to a multiple of WINDOW, remainder * documents (a `Table`)
//! ```
//!
//! A length is the decoded length of its code plus the remainder.

use crate::coding::packed::Table;
use crate::length::{decoded, encoded};
use crate::search::WINDOW;

/// The codes of `lengths`, and the bytes that follow them in the file.
pub(crate) fn encode_lengths(lengths: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let codes: Vec<u8> = lengths.iter().map(|&length| encoded(length)).collect();
    let mut behind = vec![0; codes.len().next_multiple_of(WINDOW) - codes.len()];
    let remainders = lengths.iter().zip(&codes).map(|(length, &code)| u64::from(length - decoded(code)));
    Table::write(remainders, &mut behind);
    (codes, behind)
}

/// Whether `file` can be the file of `docs` documents.
pub(super) fn is_sound(file: &[u8], docs: usize) -> bool {
    Table::split(file, docs).is_some_and(|(codes, _)| codes.len() == docs.next_multiple_of(WINDOW))
}

/// The codes, padded to a multiple of [`WINDOW`].
pub(super) fn codes(file: &[u8], docs: usize) -> &[u8] {
    file.get(..docs.next_multiple_of(WINDOW)).unwrap_or_default()
}

/// The length of the document `index`.
#[inline]
pub(super) fn exact(file: &[u8], docs: usize, index: usize) -> Option<u32> {
    let (codes, remainders) = Table::split(file, docs)?;
    Some(decoded(*codes.get(index)?).saturating_add(remainders.get(index) as u32))
}

#[cfg(test)]
mod tests {
    use super::{encode_lengths, exact, is_sound};

    #[test]
    fn round_trip() {
        for longest in [0, 39, 41, 1000, 100_000, i32::MAX as u32] {
            let lengths: Vec<u32> = (0..5000).map(|i| i.min(longest)).chain([longest]).collect();
            let (mut file, behind) = encode_lengths(&lengths);
            file.extend(behind);
            assert!(is_sound(&file, lengths.len()) && !is_sound(&file[1..], lengths.len()));
            for (index, &length) in lengths.iter().enumerate() {
                assert_eq!(exact(&file, lengths.len(), index), Some(length));
            }
        }
    }
}
