//! Passages that cannot be read in place: copied into frames, which are compressed separately.

use std::fs::File;
use std::io::{self, Read, Write};

use toller_ir::Passage;

use crate::read_at::read_exact_at;

/// A frame is closed when it has this many bytes: enough to compress well, few enough to read one passage of
/// it.
const FRAME_BYTES: usize = 1 << 16;

/// The bits of a position that are the offset in a frame; no passage begins after [`FRAME_BYTES`].
const OFFSET_BITS: u32 = 17;

/// zstd's fastest level, except the negative ones.
const LEVEL: i32 = 1;

/// The length of a missing title.
const NO_TITLE: u32 = u32::MAX;

/// Writes frames, one after the other.
pub(crate) struct FrameWriter<W> {
    out: W,
    frame: Vec<u8>,
    /// Where each frame begins, and the last one ends.
    offsets: Vec<u64>,
}

impl<W: Write> FrameWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, frame: Vec::with_capacity(2 * FRAME_BYTES), offsets: vec![0] }
    }

    /// Adds a passage; its position and its length.
    pub(crate) fn push(&mut self, passage: &Passage) -> io::Result<(u64, u32)> {
        let start = self.frame.len();
        let title = passage.title.as_deref();
        let lengths = [Some(passage.id.as_str()), title, Some(passage.text.as_str())];
        for part in lengths {
            let length = part.map_or(Ok(NO_TITLE), |part| u32::try_from(part.len()));
            self.frame.extend(length.map_err(io::Error::other)?.to_le_bytes());
        }
        lengths.into_iter().flatten().for_each(|part| self.frame.extend_from_slice(part.as_bytes()));
        let position = (self.offsets.len() as u64 - 1) << OFFSET_BITS | start as u64;
        let length = u32::try_from(self.frame.len() - start).map_err(io::Error::other)?;
        if self.frame.len() >= FRAME_BYTES {
            self.close()?;
        }
        Ok((position, length))
    }

    fn close(&mut self) -> io::Result<()> {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(self.frame.len() as u64))?;
        encoder.write_all(&self.frame)?;
        let compressed = encoder.finish()?;
        self.out.write_all(&compressed)?;
        self.offsets.push(self.offsets.last().copied().unwrap_or_default() + compressed.len() as u64);
        self.frame.clear();
        Ok(())
    }

    /// Closes the last frame. Returns the writer, and where each frame begins and the last one ends.
    pub(crate) fn finish(mut self) -> io::Result<(W, Vec<u64>)> {
        if !self.frame.is_empty() {
            self.close()?;
        }
        Ok((self.out, self.offsets))
    }
}

/// Frames that were written.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) file: File,
    pub(crate) offsets: Vec<u64>,
}

/// The frame that was read last.
#[derive(Default)]
pub(crate) struct LastFrame {
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl Frames {
    /// The passage at a position. Passages of one frame, read one after the other, cost one decompression.
    pub(crate) fn passage(&self, position: u64, length: u32, last: &mut LastFrame) -> io::Result<Passage> {
        let number = position >> OFFSET_BITS;
        if last.number != Some(number) {
            last.number = None;
            self.read(number, &mut last.bytes)?;
            last.number = Some(number);
        }
        let start = (position & ((1 << OFFSET_BITS) - 1)) as usize;
        let record = last.bytes.get(start..start + length as usize);
        record.and_then(parse).ok_or_else(|| damaged("a passage is not where it was written"))
    }

    fn read(&self, number: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let offset = |number: u64| usize::try_from(number).ok().and_then(|number| self.offsets.get(number));
        let (Some(&start), Some(&end)) = (offset(number), offset(number + 1)) else {
            return Err(damaged("it has fewer frames than places"));
        };
        let mut compressed = vec![0; end.saturating_sub(start) as usize];
        read_exact_at(&self.file, &mut compressed, start)?;
        bytes.clear();
        zstd::Decoder::with_buffer(compressed.as_slice())?.read_to_end(bytes)?;
        Ok(())
    }
}

fn damaged(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The passage of a record.
fn parse(record: &[u8]) -> Option<Passage> {
    let (lengths, mut rest) = record.split_at_checked(12)?;
    let mut parts = lengths.as_chunks::<4>().0.iter().map(|length| {
        let length = u32::from_le_bytes(*length);
        if length == NO_TITLE {
            return Some(None);
        }
        let (part, after) = rest.split_at_checked(length as usize)?;
        rest = after;
        Some(Some(std::str::from_utf8(part).ok()?.to_owned()))
    });
    let mut next = || parts.next().flatten();
    Some(Passage { id: next()??, title: next()?, text: next()??, context: None })
}

#[cfg(test)]
mod tests {
    use toller_ir::Passage;

    use super::{FRAME_BYTES, FrameWriter, Frames, LastFrame};

    #[test]
    fn passages_come_back_from_their_frames() -> std::io::Result<()> {
        let lengths = [0, 10, FRAME_BYTES - 40, 1, 3 * FRAME_BYTES, 5, 70_000, 2];
        let passages: Vec<Passage> = lengths
            .iter()
            .zip(0..)
            .map(|(&length, number)| Passage {
                id: format!("d{number}"),
                title: (number % 2 == 0).then(|| format!("Titel {number} 维")),
                text: "x".repeat(length),
                context: None,
            })
            .collect();
        let mut writer = FrameWriter::new(tempfile::tempfile()?);
        let places = passages.iter().map(|passage| writer.push(passage)).collect::<Result<Vec<_>, _>>()?;
        let (file, offsets) = writer.finish()?;
        assert!(offsets.len() > 3, "several frames");
        let frames = Frames { file, offsets };
        let mut last = LastFrame::default();
        for (passage, &(position, length)) in passages.iter().zip(&places).rev() {
            assert_eq!(frames.passage(position, length, &mut last)?, *passage);
        }
        let (position, length) = places[0];
        assert!(frames.passage(position + 1, length, &mut last).is_err());
        assert!(frames.passage(1 << 40, length, &mut last).is_err());
        Ok(())
    }
}
