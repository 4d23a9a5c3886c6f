//! The strings of a shard's rows, their ids for example: one after the other in one tensor (u8), and their
//! places in another, of shape `[rows + 1]` (u64).

use std::ops::Range;
use std::str;

use safetensors::Dtype;

use crate::tensors::{Tensor, Tensors};

/// The names of the two tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringTensors {
    text: &'static str,
    offsets: &'static str,
}

/// The ids of the rows.
pub(crate) const IDS: StringTensors = StringTensors { text: "ids", offsets: "id_offsets" };

/// The impacts of the rows' texts.
pub(crate) const IMPACTS: StringTensors = StringTensors { text: "impacts", offsets: "impact_offsets" };

/// Strings that are not in any file yet.
#[derive(Debug)]
pub(crate) struct StringBuffer {
    names: StringTensors,
    /// The strings, one after the other.
    text: Vec<u8>,
    /// Little-endian: where each string ends in `text`, after a leading 0.
    offsets: Vec<u8>,
}

impl StringBuffer {
    pub(crate) fn new(names: StringTensors) -> Self {
        Self { names, text: Vec::new(), offsets: 0_u64.to_le_bytes().to_vec() }
    }

    /// The number of strings.
    pub(crate) fn count(&self) -> usize {
        self.offsets.len() / size_of::<u64>() - 1
    }

    pub(crate) fn push(&mut self, string: &str) {
        self.text.extend_from_slice(string.as_bytes());
        self.offsets.extend_from_slice(&(self.text.len() as u64).to_le_bytes());
    }

    /// Forgets all strings, but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.offsets.truncate(size_of::<u64>());
    }

    /// The tensor of the strings.
    pub(crate) fn text(&self) -> Tensor<'_> {
        Tensor { name: self.names.text, dtype: Dtype::U8, shape: vec![self.text.len()], bytes: &self.text }
    }

    /// The tensor of their places.
    pub(crate) fn offsets(&self) -> Tensor<'_> {
        let shape = vec![self.count() + 1];
        Tensor { name: self.names.offsets, dtype: Dtype::U64, shape, bytes: &self.offsets }
    }
}

/// The places of the two tensors in a file.
#[derive(Debug)]
pub(crate) struct Strings {
    text: Range<usize>,
    offsets: Range<usize>,
}

impl Strings {
    /// Finds the strings of `rows` rows in `file`, and checks that each is a piece of the text and valid
    /// UTF-8. The error says what is wrong.
    pub(crate) fn find(
        file: &[u8],
        tensors: &Tensors<'_>,
        names: StringTensors,
        rows: usize,
    ) -> Result<Self, String> {
        let offsets = tensors.find(names.offsets, Dtype::U64, &[rows + 1], 1)?;
        let text = tensors.find(names.text, Dtype::U8, &[tensors.length(names.text)?], 1)?;
        check(names, &file[text.clone()], &file[offsets.clone()])?;
        Ok(Self { text, offsets })
    }

    /// The string of a row, from the file in which these were found. Panics if there is no such row.
    pub(crate) fn get<'a>(&self, file: &'a [u8], row: usize) -> &'a str {
        let (offsets, _) = file[self.offsets.clone()].as_chunks::<8>();
        let range = u64::from_le_bytes(offsets[row]) as usize..u64::from_le_bytes(offsets[row + 1]) as usize;
        // Checked when opened; checked again because it is cheap and `str` must never hold anything else.
        let string = file[self.text.clone()].get(range).and_then(|string| str::from_utf8(string).ok());
        string.unwrap_or("\u{fffd}")
    }
}

/// Checks that every string is a piece of `text` and valid UTF-8.
fn check(names: StringTensors, text: &[u8], offsets: &[u8]) -> Result<(), String> {
    let StringTensors { text: of_text, offsets: of_offsets } = names;
    let whole = str::from_utf8(text).map_err(|error| format!("{of_text}: {error}"))?;
    let (offsets, _) = offsets.as_chunks::<8>();
    let mut end = 0;
    for (row, offset) in offsets.iter().enumerate() {
        let offset = u64::from_le_bytes(*offset);
        let boundary = usize::try_from(offset).is_ok_and(|offset| whole.is_char_boundary(offset));
        if offset < end || (row == 0 && offset != 0) || !boundary {
            let bytes = text.len();
            return Err(format!(
                "{of_offsets}[{row}] is {offset}, after {end}, in {bytes} bytes of {of_text}"
            ));
        }
        end = offset;
    }
    if end != text.len() as u64 {
        return Err(format!("the last of {of_text} ends at byte {end} of {}", text.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{IMPACTS, check};

    #[test]
    fn damage_names_the_tensor() {
        let offsets = |ends: &[u64]| ends.iter().flat_map(|end| end.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(check(IMPACTS, b"ab", &offsets(&[0, 1, 1, 2])), Ok(()));
        assert_eq!(check(IMPACTS, b"", &offsets(&[0])), Ok(()));
        let damaged: [(&[u8], &[u64], &str); 5] = [
            (b"ab", &[1, 2], "impact_offsets[0] is 1, after 0, in 2 bytes of impacts"),
            (b"ab", &[0, 2, 1], "impact_offsets[2] is 1, after 2, in 2 bytes of impacts"),
            (b"ab", &[0, 3], "impact_offsets[1] is 3, after 0, in 2 bytes of impacts"),
            (b"ab", &[0, 1], "the last of impacts ends at byte 1 of 2"),
            (b"\xff", &[0, 1], "impacts: "),
        ];
        for (text, ends, reason) in damaged {
            let found = check(IMPACTS, text, &offsets(ends));
            assert!(found.as_ref().is_err_and(|found| found.starts_with(reason)), "{found:?}");
        }
    }
}
