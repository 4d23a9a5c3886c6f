//! How a search is made, and what it may return.

use std::fmt;

use toller_ir::{Filter, named};

use crate::error::IpTopkError;

/// The most numbers that a vector can have for the int8 scan: 255 * 127 times as many fit in 31 bits.
pub(crate) const MAX_INT8_DIM: usize = 65_536;

named! {
    /// The precision in which vectors are nominated. It decides how long a search takes, never what the
    /// search returns: nominated vectors are scored again, from the stored vectors.
    #[derive(Default)]
    pub enum Scan: "a scan" {
        /// Whichever of f32 and int8 is quicker on the first blocks of vectors.
        #[default]
        Auto = "auto",
        /// Multiplies in f32.
        F32 = "f32",
        /// Rounds queries and vectors to f16 before it multiplies, as half-precision hardware does. A CPU
        /// multiplies them in f32 registers: only f16 stores gain, by the bytes they save.
        F16 = "f16",
        /// Rounds queries and vectors to one byte a number: reads the store's codes where there are any, else
        /// makes codes during the scan.
        Int8 = "int8",
    }
}

impl Scan {
    /// Refuses vectors of more numbers than the scan can add up.
    pub(crate) fn check_dim(self, dim: usize) -> Result<(), IpTopkError> {
        if self == Self::Int8 && dim > MAX_INT8_DIM {
            return Err(IpTopkError::DimTooLarge { dim, max: MAX_INT8_DIM });
        }
        Ok(())
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
