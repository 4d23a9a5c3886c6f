//! How a search is made, and what it may return.

use std::fmt;
use std::str::FromStr;

use toller_ir::Filter;

use crate::error::IpTopkError;

/// The most numbers that a vector can have for the int8 scan: 255 * 127 times as many fit in 31 bits.
pub(crate) const MAX_INT8_DIM: usize = 65_536;

/// The precision in which vectors are nominated. It decides how long a search takes, never what it returns:
/// nominated vectors are scored again, from the stored vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scan {
    /// Whichever of f32 and int8 is quicker on the first blocks of vectors.
    #[default]
    Auto,
    /// Multiplies in f32.
    F32,
    /// Rounds queries and vectors to f16 before it multiplies, as half-precision hardware does. A CPU
    /// multiplies them in f32 registers: only f16 stores gain, by the bytes they save.
    F16,
    /// Rounds queries and vectors to one byte a number: reads the store's codes where there are any, else
    /// makes codes during the scan.
    Int8,
}

/// The error for text that does not name a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scan: expected auto, f32, f16 or int8")]
pub struct UnknownScan(String);

impl Scan {
    /// All scans with their names.
    pub const NAMES: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("f32", Self::F32), ("f16", Self::F16), ("int8", Self::Int8)];

    /// Refuses vectors of more numbers than the scan can add up.
    pub(crate) fn check_dim(self, dim: usize) -> Result<(), IpTopkError> {
        if self == Self::Int8 && dim > MAX_INT8_DIM {
            return Err(IpTopkError::DimTooLarge { dim, max: MAX_INT8_DIM });
        }
        Ok(())
    }
}

impl FromStr for Scan {
    type Err = UnknownScan;

    fn from_str(text: &str) -> Result<Self, UnknownScan> {
        let named = Self::NAMES.into_iter().find(|(name, _)| *name == text);
        named.map(|(_, scan)| scan).ok_or_else(|| UnknownScan(text.to_owned()))
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMES.into_iter().find(|(_, scan)| scan == self);
        f.pad(named.map_or("", |(name, _)| name))
    }
}

/// A function that is given bytes that will be read soon.
pub type ReadAhead<'a> = &'a (dyn Fn(&[u8]) + Sync);

/// How a search is made.
#[derive(Clone, Copy, Default)]
pub struct IpTopkOptions<'a> {
    /// The precision in which vectors are nominated.
    pub scan: Scan,
    /// Which documents may be hits.
    pub filter: Filter<'a>,
    /// Called with bytes of the collection that will be read soon, a few blocks ahead of the scan, so that
    /// the system can be asked for vectors in a memory map.
    pub read_ahead: Option<ReadAhead<'a>>,
}

impl fmt::Debug for IpTopkOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scan, filter, read_ahead } = self;
        let read_ahead = read_ahead.is_some();
        f.debug_struct("IpTopkOptions")
            .field("scan", scan)
            .field("filter", filter)
            .field("read_ahead", &read_ahead)
            .finish()
    }
}
