//! Where Parquet files are read from: files, and objects of object stores block by block.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use toller_files::{FileError, InputReader, Object, WatchedFile};
use toller_ir::locked;

/// The bytes of an object that one request asks for.
const BLOCK_BYTES: u64 = 4 << 20;

/// The blocks that are kept: the columns of a row group are read alternately, each from a block of its own.
const KEPT_BLOCKS: usize = 8;

/// A Parquet file, or an object that is one.
pub enum ParquetSource {
    /// A file.
    File(WatchedFile),
    /// An object.
    Object(Arc<Blocks>),
}

/// An object, with the blocks that were read last.
pub struct Blocks {
    object: Arc<dyn Object>,
    kept: Mutex<VecDeque<(u64, Bytes)>>,
}

/// The bytes of an object from a position on.
struct BlocksFrom {
    blocks: Arc<Blocks>,
    position: u64,
}

impl ParquetSource {
    /// What `reader` has opened, and must not read from then on; `None` for what is neither a file, a spooled
    /// file nor an object.
    ///
    /// # Errors
    /// When the object cannot be opened.
    pub fn open(reader: &InputReader) -> std::result::Result<Option<Self>, FileError> {
        if let Some(object) = reader.input().object()? {
            return Ok(Some(Self::Object(Arc::new(Blocks { object, kept: Mutex::default() }))));
        }
        Ok(reader.file().cloned().map(Self::File))
    }
}

impl Blocks {
    /// The bytes from `position` to the end of their block; none at the end of the object.
    fn at(&self, position: u64) -> io::Result<Bytes> {
        let size = self.object.stamp().bytes;
        if position >= size {
            return Ok(Bytes::new());
        }
        let start = position - position % BLOCK_BYTES;
        let rest = (position - start) as usize;
        let kept = || locked(&self.kept);
        let found = kept().iter().find(|(at, _)| *at == start).map(|(_, block)| block.clone());
        if let Some(block) = found {
            return Ok(block.slice(rest..));
        }
        // Nothing is locked meanwhile: other readers do not wait for the answer.
        let block = Bytes::from(self.object.read_range(start..size.min(start + BLOCK_BYTES))?);
        let mut kept = kept();
        if kept.iter().all(|(at, _)| *at != start) {
            if kept.len() == KEPT_BLOCKS {
                kept.pop_front();
            }
            kept.push_back((start, block.clone()));
        }
        Ok(block.slice(rest..))
    }
}

impl Read for BlocksFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.blocks.at(self.position)?.as_ref().read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.file().len(),
            Self::Object(blocks) => blocks.object.stamp().bytes,
        }
    }
}

impl ChunkReader for ParquetSource {
    type T = BufReader<Box<dyn Read + Send>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(match self {
            Self::File(file) => {
                let mut place = file.file();
                place.seek(SeekFrom::Start(start))?;
                Box::new(file.clone())
            }
            Self::Object(blocks) => Box::new(BlocksFrom { blocks: Arc::clone(blocks), position: start }),
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let blocks = match self {
            Self::File(file) => {
                let bytes = file.file().get_bytes(start, length)?;
                file.check()?;
                return Ok(bytes);
            }
            Self::Object(blocks) => blocks,
        };
        let first = blocks.at(start)?;
        if first.len() >= length {
            return Ok(first.slice(..length));
        }
        let mut bytes = Vec::with_capacity(length);
        BlocksFrom { blocks: Arc::clone(blocks), position: start }
            .take(length as u64)
            .read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("expected {length} bytes, found {}", bytes.len())));
        }
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::ops::Range;
    use std::sync::{Arc, Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    use toller_files::{Object, Stamp};

    use super::{BLOCK_BYTES, Blocks};

    /// An object of two blocks. It answers no request before there are two.
    #[derive(Default)]
    struct Slow {
        requests: Mutex<usize>,
        asked: Condvar,
    }

    impl Object for Slow {
        fn stamp(&self) -> Stamp {
            Stamp { bytes: 2 * BLOCK_BYTES, modified: 0 }
        }

        fn reader(&self) -> Box<dyn Read + Send> {
            Box::new(io::empty())
        }

        fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
            let mut requests = self.requests.lock().unwrap();
            *requests += 1;
            self.asked.notify_all();
            let limit = Duration::from_secs(20);
            let (_requests, wait) =
                self.asked.wait_timeout_while(requests, limit, |requests| *requests < 2).unwrap();
            assert!(!wait.timed_out(), "the other request waits for the answer to this one");
            Ok(vec![(range.start / BLOCK_BYTES) as u8; (range.end - range.start) as usize])
        }
    }

    #[test]
    fn requests_do_not_wait_for_one_another() {
        let object = Arc::new(Slow::default());
        let blocks = Blocks { object: object.clone(), kept: Mutex::default() };
        let first_byte = |block: u64| blocks.at(block * BLOCK_BYTES).unwrap()[0];
        thread::scope(|scope| {
            let second = scope.spawn(|| first_byte(1));
            assert_eq!((first_byte(0), second.join().unwrap()), (0, 1));
        });
        // Both are kept.
        assert_eq!((first_byte(0), first_byte(1)), (0, 1));
        assert_eq!(*object.requests.lock().unwrap(), 2);
    }
}
