//! A position in the input. Every read is checked against the input's end.

use crate::PickleError;

/// A position in the input.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: u64) -> Result<&'a [u8], PickleError> {
        let end = usize::try_from(length).ok().and_then(|length| self.offset.checked_add(length));
        let taken = end.and_then(|end| self.bytes.get(self.offset..end)).ok_or_else(|| self.truncated())?;
        self.offset += taken.len();
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, PickleError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// A little-endian number of `width` bytes, at most eight.
    pub(crate) fn number(&mut self, width: usize) -> Result<u64, PickleError> {
        let mut bytes = [0; size_of::<u64>()];
        bytes[..width].copy_from_slice(self.take(width as u64)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// The bytes that follow their own number, which takes `width` bytes.
    pub(crate) fn counted(&mut self, width: usize) -> Result<&'a [u8], PickleError> {
        let length = self.number(width)?;
        self.take(length)
    }

    /// The bytes up to the next line feed, which is skipped.
    pub(crate) fn line(&mut self) -> Result<&'a [u8], PickleError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| self.truncated())?;
        let line = self.take(length as u64)?;
        self.offset += 1;
        Ok(line)
    }

    fn truncated(&self) -> PickleError {
        PickleError::Truncated { offset: self.bytes.len() }
    }
}
