//! How a stream is compressed: by its first bytes when it is read, by its name when it is written.

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use liblzma::bufread::XzDecoder;
use liblzma::write::XzEncoder;
use toller_ir::{AnyError, named};

named! {
    /// The compression of a stream.
    pub enum Compression: "a compression" {
        /// None: the bytes are the data.
        Plain = "uncompressed",
        /// gzip (RFC 1952), one member or several.
        Gzip = "gzip",
        /// Zstandard (RFC 8878), one frame or several.
        Zstd = "zstd",
        /// xz, one stream or several.
        Xz = "xz",
    }
}

/// The level of the tool `xz`.
const XZ_LEVEL: u32 = 6;

/// The largest window that a Zstandard file may ask for, as a power of two: the most of the tool `zstd`, with
/// `--long=31`. Memory is used as far as the window is filled.
const ZSTD_WINDOW_LOG: u32 = 31;

/// How many bytes [`Compression::detect`] needs.
pub(crate) const MAGIC_BYTES: usize = 10;

/// The first bytes of each compression. A Zstandard file may also begin with a skippable frame.
const MAGIC: [(Compression, &[u8]); 3] = [
    (Compression::Gzip, &[0x1f, 0x8b, 0x08]),
    (Compression::Zstd, &[0x28, 0xb5, 0x2f, 0xfd]),
    (Compression::Xz, &[0xfd, b'7', b'z', b'X', b'Z', 0x00]),
];

/// The endings of compressions and archives that are not written.
const OTHERS: [&str; 10] = ["7z", "br", "bz2", "lz4", "lzma", "rar", "tar", "tgz", "z", "zip"];

/// Files that users pass by mistake, and how to get the data out.
fn unsupported(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'K', 3, 4, ..] => Some("it is a zip archive: unpack it first (unzip)"),
        // "BZh", a level, and the magic of a block: pi in decimal.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
            Some("it is compressed by bzip2: decompress it (bunzip2), or recompress it as gzip, zstd or xz")
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            Some("it is compressed by lz4: decompress it (lz4 -d), or recompress it as gzip, zstd or xz")
        }
        [0x1f, 0x9d, ..] => Some("it is compressed by compress: decompress it (uncompress, or gzip -d)"),
        _ => None,
    }
}

impl Compression {
    /// The compression of a stream that begins with `head` (at least [`MAGIC_BYTES`] bytes, or the whole
    /// stream) and whose file has the name `name`. The bytes decide. The name only distinguishes a truncated
    /// compressed file from a short plain one.
    ///
    /// # Errors
    /// For archives that cannot be read, and for a file whose name promises a compression but which
    /// ends before it can begin.
    pub(crate) fn detect(head: &[u8], name: Option<&str>) -> io::Result<Self> {
        let skippable = matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        if skippable {
            return Ok(Self::Zstd);
        }
        let promised = name.map_or(Self::Plain, Self::of_name);
        for (compression, magic) in MAGIC {
            if head.starts_with(magic) {
                return Ok(compression);
            }
            if compression == promised && magic.starts_with(head) {
                return Err(compression.truncated());
            }
        }
        if let Some(advice) = unsupported(head) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, advice));
        }
        Ok(Self::Plain)
    }

    /// What the names of such files end in, after a dot; `None` for plain ones.
    #[must_use]
    pub fn ending(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gz"),
            Self::Zstd => Some("zst"),
            Self::Xz => Some("xz"),
        }
    }

    /// The compression that a file of that name should have.
    pub(crate) fn of_name(name: &str) -> Self {
        let found = name.rsplit_once('.').map_or("", |(_, found)| found);
        let is_found = |one: &Self| one.ending().is_some_and(|ending| found.eq_ignore_ascii_case(ending));
        Self::ALL.into_iter().find(is_found).unwrap_or(Self::Plain)
    }

    /// How a file that will have this name is to be compressed.
    ///
    /// # Errors
    /// For a name that ends as files of another compression do.
    pub(crate) fn named(path: &Path) -> io::Result<Self> {
        let name = path.file_name().and_then(OsStr::to_str);
        let known = name.map_or(Self::Plain, Self::of_name);
        if known != Self::Plain {
            return Ok(known);
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if OTHERS.contains(&&*ending) {
            let message = format!("its name ends in .{ending}, which is a compression that is not written");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        Ok(Self::Plain)
    }

    /// A stream of its own with these bytes. Streams one after the other are read as one.
    pub(crate) fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(bytes.to_vec()),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Zstd => zstd::bulk::compress(bytes, zstd::DEFAULT_COMPRESSION_LEVEL),
            Self::Xz => {
                let mut encoder = XzEncoder::new(Vec::new(), XZ_LEVEL);
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }

    /// A reader of the decompressed bytes of `raw`.
    pub(crate) fn decode(self, raw: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Plain => Box::new(raw),
            Self::Gzip => Box::new(Decoder { compression: self, inner: GzipMembers::new(raw) }),
            Self::Zstd => {
                let mut inner = zstd::stream::read::Decoder::with_buffer(raw)?;
                inner.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(Decoder { compression: self, inner })
            }
            Self::Xz => Box::new(Decoder { compression: self, inner: XzDecoder::new_multi_decoder(raw) }),
        })
    }

    fn truncated(self) -> io::Error {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the {self} data end early: the file is incomplete"),
        )
    }
}

/// Gzip's members, one after the other. Zeros behind the last one are padding, as for gzip itself.
struct GzipMembers<R>(Option<GzDecoder<R>>);

impl<R: BufRead> GzipMembers<R> {
    fn new(raw: R) -> Self {
        Self(Some(GzDecoder::new(raw)))
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.0.take().map(GzDecoder::into_inner) else { break };
            match first_but_zeros(&mut rest)? {
                None => break,
                Some(GZIP_FIRST) => self.0 = Some(GzDecoder::new(rest)),
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes follow them")),
            }
        }
        Ok(0)
    }
}

/// The first byte of gzip's data.
const GZIP_FIRST: u8 = 0x1f;

/// The next byte that is not zero, which is not taken.
fn first_but_zeros(raw: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let bytes = match raw.fill_buf() {
            // The caller would take the end of a member for that of the file.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let (next, is_end) = (bytes.get(zeros).copied(), bytes.is_empty());
        raw.consume(zeros);
        if next.is_some() || is_end {
            return Ok(next);
        }
    }
}

/// A decoder whose errors say what is wrong with the file.
struct Decoder<D> {
    compression: Compression,
    inner: D,
}

impl<D: Read> Read for Decoder<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| match error.kind() {
            // An error of the disk or of the server, not of the data.
            _ if error.raw_os_error().is_some() => error,
            _ if error.get_ref().is_some_and(|inner| inner.is::<AnyError>()) => error,
            io::ErrorKind::Interrupted => error,
            io::ErrorKind::UnexpectedEof => self.compression.truncated(),
            _ => {
                let message = format!("the {} data are corrupt: {error}", self.compression);
                io::Error::new(io::ErrorKind::InvalidData, message)
            }
        })
    }
}
