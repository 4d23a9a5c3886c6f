//! The lengths of the documents: Lucene's codes, and what they leave out.
//!
//! ```text
//! lengths.bin := code (u8) * documents, zeros up to a multiple of WINDOW, rest (0, 1, 2 or 4 bytes) * documents
//! ```
//!
//! A length is that of its code and the rest. The width of the rests is that of the largest.

use std::io::{self, Write};

use crate::length::{decoded, encoded};
use crate::search::WINDOW;

/// Writes the lengths; returns their codes.
pub(crate) fn write_lengths(lengths: &[u32], mut out: impl Write) -> io::Result<Vec<u8>> {
    let codes: Vec<u8> = lengths.iter().map(|&length| encoded(length)).collect();
    out.write_all(&codes)?;
    out.write_all(&vec![0; codes.len().next_multiple_of(WINDOW) - codes.len()])?;
    let rests = || lengths.iter().zip(&codes).map(|(length, &code)| length - decoded(code));
    let width = match rests().max() {
        None | Some(0) => 0,
        Some(1..=0xff) => 1,
        Some(0x100..=0xffff) => 2,
        Some(_) => 4,
    };
    let mut bytes = Vec::with_capacity(codes.len() * width);
    rests().for_each(|rest| bytes.extend_from_slice(&rest.to_le_bytes()[..width]));
    out.write_all(&bytes)?;
    Ok(codes)
}

/// The width of the rests of `docs` documents in a file of `bytes`; `None` if it cannot be theirs.
pub(super) fn rest_width(bytes: usize, docs: usize) -> Option<usize> {
    let rests = bytes.checked_sub(docs.next_multiple_of(WINDOW))?;
    [0, 1, 2, 4].into_iter().find(|width| width * docs == rests)
}

/// The codes, up to a multiple of [`WINDOW`].
pub(super) fn codes(file: &[u8], docs: usize) -> &[u8] {
    file.get(..docs.next_multiple_of(WINDOW)).unwrap_or_default()
}

/// The length of the document `index`.
#[inline]
pub(super) fn exact(file: &[u8], docs: usize, width: usize, index: usize) -> Option<u32> {
    let place = docs.next_multiple_of(WINDOW) + index * width;
    let mut rest = [0; 4];
    rest.get_mut(..width)?.copy_from_slice(file.get(place..place + width)?);
    Some(decoded(*file.get(index)?).saturating_add(u32::from_le_bytes(rest)))
}

#[cfg(test)]
mod tests {
    use super::{exact, rest_width, write_lengths};

    #[test]
    fn round_trip() -> Result<(), Box<dyn std::error::Error>> {
        for longest in [0, 39, 41, 1000, 100_000, i32::MAX as u32] {
            let lengths: Vec<u32> = (0..5000).map(|i| i.min(longest)).chain([longest]).collect();
            let mut file = Vec::new();
            write_lengths(&lengths, &mut file)?;
            let width = rest_width(file.len(), lengths.len()).ok_or("a width")?;
            for (index, &length) in lengths.iter().enumerate() {
                assert_eq!(exact(&file, lengths.len(), width, index), Some(length));
            }
        }
        Ok(())
    }
}
