//! The identifiers of the documents, by ordinal.
//!
//! ```text
//! ids.bin := (length (varint), bytes) * documents, place of every 16th (u64) * ceil(documents / 16)
//! ```

use std::io::{self, Write};

use crate::postings::{read_varint, write_varint};

/// Identifiers between two whose places are written.
const STRIDE: usize = 16;

/// Writes identifiers one after another. It keeps half a byte for each in memory.
pub(crate) struct IdsWriter<W> {
    out: W,
    written: u64,
    count: usize,
    places: Vec<u64>,
    buffer: Vec<u8>,
}

impl<W: Write> IdsWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, written: 0, count: 0, places: Vec::new(), buffer: Vec::new() }
    }

    /// The file.
    pub(crate) fn out(&self) -> &W {
        &self.out
    }

    pub(crate) fn push(&mut self, id: &str) -> io::Result<()> {
        if self.count.is_multiple_of(STRIDE) {
            self.places.push(self.written);
        }
        self.count += 1;
        self.buffer.clear();
        write_varint(id.len() as u64, &mut self.buffer);
        self.buffer.extend_from_slice(id.as_bytes());
        self.written += self.buffer.len() as u64;
        self.out.write_all(&self.buffer)
    }

    /// Writes what follows the last identifier.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.places.iter().try_for_each(|place| self.out.write_all(&place.to_le_bytes()))
    }

    /// The file, once it is finished.
    pub(crate) fn into_out(self) -> W {
        self.out
    }
}

/// Whether `file` can be that of `count` identifiers.
pub(super) fn is_sound(file: &[u8], count: usize) -> bool {
    file.len() >= 8 * count.div_ceil(STRIDE) + count
}

/// The identifier `index` of `count`; `None` when the file is damaged.
pub(super) fn id(file: &[u8], count: usize, index: usize) -> Option<&str> {
    let (records, places) = file.split_at_checked(file.len().checked_sub(8 * count.div_ceil(STRIDE))?)?;
    let (places, _) = places.as_chunks::<8>();
    let place = u64::from_le_bytes(*places.get(index / STRIDE)?);
    let mut records = records.get(usize::try_from(place).ok()?..)?;
    for _ in 0..index % STRIDE {
        let length = usize::try_from(read_varint(&mut records)?).ok()?;
        records = records.get(length..)?;
    }
    let length = usize::try_from(read_varint(&mut records)?).ok()?;
    std::str::from_utf8(records.get(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{IdsWriter, id};

    #[test]
    fn round_trip() -> Result<(), Box<dyn std::error::Error>> {
        let ids: Vec<String> = (0..100).map(|i| "ä".repeat(i * 3) + &i.to_string()).collect();
        let mut writer = IdsWriter::new(Vec::new());
        for id in &ids {
            writer.push(id)?;
        }
        writer.finish()?;
        let file = writer.into_out();
        for (index, expected) in ids.iter().enumerate() {
            assert_eq!(id(&file, ids.len(), index), Some(expected.as_str()));
        }
        assert_eq!(id(&[0xff; 40], 3, 2), None);
        Ok(())
    }
}
