//! Writing a compressed stream on all threads.

use std::io::{self, Write};
use std::path::Path;

use rayon::prelude::*;

use crate::{AtomicFile, Compression, FileError};

/// The bytes that are compressed as a stream of their own. A run gets larger by less than 1% than as one
/// stream.
const BLOCK: usize = 1 << 20;

/// Compresses what is written: in blocks, each a gzip member or a zstd or xz frame of its own, on the threads
/// of rayon's current pool. Every reader of these formats takes the blocks as one stream. The bytes do not
/// depend on the number of threads.
#[derive(Debug)]
pub struct CompressedWriter<W: Write> {
    to: W,
    compression: Compression,
    /// What is not compressed yet.
    pending: Vec<u8>,
    /// Whether a block was written: an empty stream has one, too.
    begun: bool,
}

impl CompressedWriter<AtomicFile> {
    /// Checks that a file may have this name, which need not be there.
    ///
    /// # Errors
    /// A name that promises a compression that is not written.
    pub fn check(path: &Path) -> Result<(), FileError> {
        Compression::named(path).map(|_| ()).map_err(FileError::on("write", path))
    }

    /// Starts writing a file, compressed as the end of its name says (.gz, .zst, .xz).
    ///
    /// # Errors
    /// Those of [`AtomicFile::create`], and a name that promises another compression.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let compression = Compression::named(path).map_err(FileError::on("write", path))?;
        Ok(Self::new(AtomicFile::create(path)?, compression))
    }
}

impl<W: Write> CompressedWriter<W> {
    /// Writes to `to`. [`Compression::Plain`] passes the bytes on.
    pub fn new(to: W, compression: Compression) -> Self {
        Self { to, compression, pending: Vec::new(), begun: false }
    }

    /// Writes what is left, and gives the inner writer back.
    ///
    /// # Errors
    /// When the inner writer fails.
    pub fn finish(mut self) -> io::Result<W> {
        if self.compression != Compression::Plain && (!self.pending.is_empty() || !self.begun) {
            self.write_blocks(self.pending.len())?;
        }
        self.to.flush()?;
        Ok(self.to)
    }

    /// Compresses the first `length` bytes that are pending.
    fn write_blocks(&mut self, length: usize) -> io::Result<()> {
        let encode = |block: &[u8]| self.compression.encode(block);
        let bytes = &self.pending[..length];
        let encoded: Vec<io::Result<Vec<u8>>> = match bytes {
            [] => vec![encode(bytes)],
            _ => bytes.par_chunks(BLOCK).map(encode).collect(),
        };
        encoded.into_iter().try_for_each(|block| self.to.write_all(&block?))?;
        self.pending.drain(..length);
        self.begun = true;
        Ok(())
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.compression == Compression::Plain {
            return self.to.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= BLOCK * rayon::current_num_threads() {
            self.write_blocks(self.pending.len() / BLOCK * BLOCK)?;
        }
        Ok(bytes.len())
    }

    /// Flushes what is compressed. A block that is not full waits for more bytes or the end.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use toller_ir::Explain;

    use super::{BLOCK, CompressedWriter};
    use crate::{Compression, Input, InputReader};

    const ALL: [Compression; 4] = [Compression::Plain, Compression::Gzip, Compression::Zstd, Compression::Xz];

    fn compressed(compression: Compression, bytes: &[u8], step: usize, threads: usize) -> Vec<u8> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut writer = CompressedWriter::new(Vec::new(), compression);
            bytes.chunks(step).for_each(|bytes| writer.write_all(bytes).unwrap());
            writer.finish().unwrap()
        })
    }

    #[test]
    fn reads_back_and_does_not_depend_on_threads() {
        let directory = tempfile::tempdir().unwrap();
        let all: Vec<u8> =
            (0..BLOCK as u32 * 3 / 8).flat_map(|at| (at / 7).to_le_bytes()).chain([1, 2]).collect();
        for compression in ALL {
            for length in [0, 1, BLOCK, all.len()] {
                let bytes = &all[..length];
                let one = compressed(compression, bytes, 999_999, 1);
                assert_eq!(one, compressed(compression, bytes, 65_537, 3), "{compression} {length}");
                let path = directory.path().join("stream");
                std::fs::write(&path, one).unwrap();
                let mut found = Vec::new();
                InputReader::open(&Input::File(path)).unwrap().read_to_end(&mut found).unwrap();
                assert!(found == bytes, "{compression} {length}");
            }
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for compression in ALL {
            let mut writer = CompressedWriter::new(Full, compression);
            let error = writer.write_all(b"line\n").and_then(|()| writer.finish().map(drop)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn the_name_decides() {
        for (name, compression) in ["run.txt", "a/RUN.GZ", "x.zst", "x.xz"].into_iter().zip(ALL) {
            assert_eq!(Compression::named(name.as_ref()).ok(), Some(compression));
        }
        assert_eq!(Compression::named("gz".as_ref()).ok(), Some(Compression::Plain));
    }

    #[test]
    fn a_name_of_another_compression_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["run.bz2", "run.LZ4", "run.zip"] {
            let error = CompressedWriter::create(&directory.path().join(name)).unwrap_err();
            let remedy = error.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
            assert!(remedy.contains(".gz, .xz or .zst"), "{error}: {remedy}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
