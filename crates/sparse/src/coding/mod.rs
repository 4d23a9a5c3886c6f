//! Compact encodings of numbers and strings.
//!
//! Every decoder takes any bytes: it returns `None` for what no encoder writes, or reads zeros after the
//! end.

mod bit_stream;
pub(crate) mod interleaved;
pub(crate) mod packed;
mod strings;
mod varint;

pub(crate) use bit_stream::{BitReader, BitWriter, SLACK, word_at};
pub(crate) use strings::{BLOCK_STRINGS, Strings, StringsEncoder, next_string, read_string, write_string};
pub(crate) use varint::{read_varint, write_varint};
