//! The lengths of the documents: Lucene's codes, and what they leave out.
//!
//! ```text
//! lengths.bin := code (u8) * documents, zeros up to a multiple of WINDOW, rest (w bits) * documents, zeros up to a byte, w (u8)
//! ```
//!
//! A length is that of its code and the rest. The width w of the rests is that of the largest.

use std::io::{self, Write};

use crate::length::{decoded, encoded};
use crate::postings::bits;
use crate::search::WINDOW;

/// Writes the lengths; returns their codes.
pub(crate) fn write_lengths(lengths: &[u32], mut out: impl Write) -> io::Result<Vec<u8>> {
    let codes: Vec<u8> = lengths.iter().map(|&length| encoded(length)).collect();
    out.write_all(&codes)?;
    out.write_all(&vec![0; codes.len().next_multiple_of(WINDOW) - codes.len()])?;
    let rests: Vec<u32> = lengths.iter().zip(&codes).map(|(length, &code)| length - decoded(code)).collect();
    let width = bits::bits_of(&rests);
    let mut packed = Vec::with_capacity(bits::packed_bytes(rests.len(), width) + 1);
    bits::pack(&rests, width, &mut packed);
    packed.push(width);
    out.write_all(&packed)?;
    Ok(codes)
}

/// The width of the rests of `docs` documents; `None` if the file cannot be theirs.
pub(super) fn rest_width(file: &[u8], docs: usize) -> Option<u8> {
    let (&width, others) = file.split_last()?;
    let expected = docs.next_multiple_of(WINDOW).checked_add(bits::packed_bytes(docs, width))?;
    (width <= 32 && others.len() == expected).then_some(width)
}

/// The codes, up to a multiple of [`WINDOW`].
pub(super) fn codes(file: &[u8], docs: usize) -> &[u8] {
    file.get(..docs.next_multiple_of(WINDOW)).unwrap_or_default()
}

/// The length of the document `index`.
#[inline]
pub(super) fn exact(file: &[u8], docs: usize, width: u8, index: usize) -> Option<u32> {
    let rests = file.get(docs.next_multiple_of(WINDOW)..)?;
    Some(decoded(*file.get(index)?).saturating_add(bits::get(rests, width, index)))
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
            let width = rest_width(&file, lengths.len()).ok_or("a width")?;
            for (index, &length) in lengths.iter().enumerate() {
                assert_eq!(exact(&file, lengths.len(), width, index), Some(length));
            }
        }
        Ok(())
    }
}
