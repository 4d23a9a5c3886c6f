//! How numbers are written in few bits. Every reader takes any bytes: what cannot be is `None`, and numbers behind the end are zeros.

mod bit_stream;
pub(crate) mod packed;
mod prefix_code;
mod varint;

pub(crate) use bit_stream::{BitReader, BitWriter, SLACK, word_at};
pub(crate) use prefix_code::{PrefixCode, PrefixDecoder, PrefixPasser};
pub(crate) use varint::{read_varint, write_varint};
