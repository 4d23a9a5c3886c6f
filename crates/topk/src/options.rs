//! How a search is made, and what it may return.

use std::fmt;
use std::str::FromStr;

use toller_ir::Filter;

/// The precision in which vectors are nominated. It decides the time that a search takes, never what it
/// returns: the nominated are scored again, from the stored vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scan {
    /// Whichever of the others is quickest on the first blocks of vectors.
    #[default]
    Auto,
    /// Multiplies in f32.
    F32,
    /// Rounds queries and vectors to f16 and multiplies those: what half-precision hardware does. On a CPU
    /// they are multiplied in f32 registers, so that only f16 stores gain, by the bytes they save.
    F16,
    /// Rounds queries and vectors to one byte a number: reads the codes of the store where it has them,
    /// else makes them as it goes.
    Int8,
}

/// What is not the name of a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scan: expected auto, f32, f16 or int8")]
pub struct UnknownScan(String);

impl Scan {
    /// All of them, with the names that the command line has for them.
    pub const NAMES: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("f32", Self::F32), ("f16", Self::F16), ("int8", Self::Int8)];
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

/// What is called with bytes that will be read soon.
pub type ReadAhead<'a> = &'a (dyn Fn(&[u8]) + Sync);

/// How a search is made.
#[derive(Clone, Copy, Default)]
pub struct IpTopkOptions<'a> {
    /// The precision in which vectors are nominated.
    pub scan: Scan,
    /// What is left out.
    pub filter: Filter<'a>,
    /// Told of bytes of the collection that will be read soon, a few blocks ahead of the scan: for vectors
    /// that lie in a memory map, to ask the system for them.
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
