//! A decompressing reader that counts what it reads.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compression::MAGIC_BYTES;
use crate::{Compression, FileError, Input, WatchedFile};

/// The size of the buffers on both sides of the decoder: large enough that one system call and one virtual
/// call per buffer cost nothing.
const BUFFER_BYTES: usize = 1 << 17;

/// A decompressing, buffering reader of an [`Input`].
///
/// The compression (gzip, zstd, xz; several members or frames) is detected from the first bytes, not from the
/// name. A stream that ends early or is corrupt, or a file that is written while it is read, gives an
/// [`io::Error`], never an early end; [`InputReader::error`] adds the file's name.
pub struct InputReader {
    input: Input,
    compression: Compression,
    decoded: Box<dyn BufRead + Send>,
    /// Decoded bytes that [`InputReader::peek`] returned and that are not consumed yet.
    head: Vec<u8>,
    head_consumed: usize,
    /// An error found by peeking, returned after the good bytes before it.
    deferred: Option<io::Error>,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    file: Option<WatchedFile>,
}

impl InputReader {
    /// Opens an input.
    ///
    /// # Errors
    /// When the file cannot be opened, is a directory, or is an archive that cannot be read.
    pub fn open(input: &Input) -> Result<Self, FileError> {
        Self::open_counted(input, Arc::default())
    }

    /// Opens an input and adds the raw bytes that are read (compressed, as stored) to `bytes_read`: one
    /// counter over several inputs drives one progress bar.
    ///
    /// # Errors
    /// As [`InputReader::open`].
    pub fn open_counted(input: &Input, bytes_read: Arc<AtomicU64>) -> Result<Self, FileError> {
        let (raw, file) = input.open()?;
        Self::over(input.clone(), raw, file, bytes_read)
    }

    /// Reads from any reader as if it were the content of `input` (whose name errors then carry).
    ///
    /// # Errors
    /// As [`InputReader::open`].
    pub fn from_reader(input: Input, raw: impl Read + Send + 'static) -> Result<Self, FileError> {
        Self::over(input, raw, None, Arc::default())
    }

    fn over(
        input: Input,
        raw: impl Read + Send + 'static,
        file: Option<WatchedFile>,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, FileError> {
        let mut raw = Counted { inner: raw, count: Arc::clone(&bytes_read) };
        let mut magic = Vec::with_capacity(MAGIC_BYTES);
        raw.by_ref()
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut magic)
            .map_err(|error| input.error("read", error))?;
        let compression =
            Compression::detect(&magic, input.file_name()).map_err(|error| input.error("read", error))?;
        let whole = Cursor::new(magic).chain(raw);
        let decoded: Box<dyn BufRead + Send> = match compression {
            Compression::Plain => Box::new(BufReader::with_capacity(BUFFER_BYTES, whole)),
            _ => {
                let decoder = compression
                    .decode(BufReader::with_capacity(BUFFER_BYTES, whole))
                    .map_err(|error| input.error("read", error))?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
            }
        };
        let total_bytes = input.size_bytes();
        Ok(Self {
            input,
            compression,
            decoded,
            head: Vec::new(),
            head_consumed: 0,
            deferred: None,
            bytes_read,
            total_bytes,
            file,
        })
    }

    /// What is being read.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The compression that was found.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Raw bytes (compressed, as stored) read so far; with [`InputReader::open_counted`], by all readers
    /// of the counter.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// The size in raw bytes of a regular file or an object.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// The file that is read, if it is a regular one.
    #[must_use]
    pub fn file(&self) -> Option<&WatchedFile> {
        self.file.as_ref()
    }

    /// The next `bytes` decoded bytes without consuming them; fewer if the input ends or fails earlier. (The
    /// failure is returned when reading reaches it.)
    pub fn peek(&mut self, bytes: usize) -> &[u8] {
        while self.head.len() - self.head_consumed < bytes && self.deferred.is_none() {
            match self.decoded.fill_buf() {
                Ok([]) => break,
                Ok(available) => {
                    let length = available.len();
                    self.head.extend_from_slice(available);
                    self.decoded.consume(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.deferred = Some(error),
            }
        }
        let unread = self.head.get(self.head_consumed..).unwrap_or_default();
        unread.get(..bytes).unwrap_or(unread)
    }

    /// The error of reading this input, with its name.
    #[must_use]
    pub fn error(&self, source: io::Error) -> FileError {
        self.input.error("read", source)
    }
}

impl BufRead for InputReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.head_consumed < self.head.len() {
            return Ok(self.head.get(self.head_consumed..).unwrap_or_default());
        }
        if let Some(error) = self.deferred.take() {
            return Err(error);
        }
        self.decoded.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if self.head_consumed < self.head.len() {
            self.head_consumed += amount;
            if self.head_consumed >= self.head.len() {
                self.head = Vec::new();
                self.head_consumed = 0;
            }
        } else {
            self.decoded.consume(amount);
        }
    }
}

impl Read for InputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Counts the bytes that pass.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
