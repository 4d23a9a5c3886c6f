//! Streams of bits, the lowest bit of each byte first, and universal codes of numbers in them.
//!
//! ```text
//! unary(n)    := 0 * n, 1
//! gamma(n)    := unary(b), the b low bits of n + 1         n + 1 has b + 1 bits (Elias, 1975)
//! delta(n)    := gamma(b), the b low bits of n + 1
//! ```

/// The bits that [`word_at`] always has: up to seven of the 64 are before the position.
pub(super) const AHEAD: u32 = 57;

/// Slices for decoders keep up to this many bytes after the encoded data: whole words are read faster. They
/// do not keep more, so that a decoder of damaged data soon comes to the end.
pub(crate) const SLACK: usize = 8;

/// The most bits of a number that is written in binary.
const MOST_BITS: u32 = 56;

/// Appends bits to bytes.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl<'a> BitWriter<'a> {
    /// Appends to `out`.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, buffer: 0, filled: 0 }
    }

    /// Writes the `count` low bits of `value`, at most 56.
    pub(crate) fn bits(&mut self, value: u64, count: u32) {
        debug_assert!(count <= MOST_BITS);
        self.buffer |= (value & ((1 << count) - 1)) << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.out.push(self.buffer as u8);
            self.buffer >>= 8;
            self.filled -= 8;
        }
    }

    /// Writes any number of zeros.
    pub(crate) fn zeros(&mut self, mut count: u64) {
        while count > 0 {
            let some = count.min(MOST_BITS.into());
            self.bits(0, some as u32);
            count -= some;
        }
    }

    pub(crate) fn unary(&mut self, value: u64) {
        self.zeros(value);
        self.bits(1, 1);
    }

    /// `value` is below 2^56 - 1.
    pub(crate) fn gamma(&mut self, value: u64) {
        let bits = (value + 1).ilog2();
        self.unary(bits.into());
        self.bits(value + 1, bits);
    }

    /// `value` is below 2^56 - 1.
    pub(crate) fn delta(&mut self, value: u64) {
        let bits = (value + 1).ilog2();
        self.gamma(bits.into());
        self.bits(value + 1, bits);
    }

    /// Fills the last byte with zeros.
    pub(crate) fn finish(self) {
        if self.filled > 0 {
            self.out.push(self.buffer as u8);
        }
    }
}

/// The bits from position `at` on, at least [`AHEAD`] of them. After the end of `bytes` there are zeros.
#[inline(always)]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    let from = bytes.get(at / 8..).unwrap_or_default();
    let word = match from.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..from.len()].copy_from_slice(from);
            u64::from_le_bytes(word)
        }
    };
    word >> (at % 8)
}

/// Reads bits. It may read up to a word of zeros after the end of the bytes; [`BitReader::position`] reports
/// this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The position of the next bit.
    at: usize,
    /// The next bits; `held` of them are valid.
    ahead: u64,
    held: u32,
}

impl<'a> BitReader<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::from_bit(bytes, 0)
    }

    /// From the position `at` on.
    #[inline(always)]
    pub(crate) fn from_bit(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, ahead: 0, held: 0 }
    }

    /// The position of the next bit; `None` if it is after the end.
    #[inline(always)]
    pub(crate) fn position(&self) -> Option<usize> {
        (self.at <= self.bytes.len() * 8).then_some(self.at)
    }

    /// At least the next `count` bits, which are at most [`AHEAD`].
    #[inline(always)]
    fn see(&mut self, count: u32) -> Option<u64> {
        if self.held < count {
            self.position()?;
            self.ahead = word_at(self.bytes, self.at);
            self.held = AHEAD;
        }
        Some(self.ahead)
    }

    /// Skips bits that have been seen.
    #[inline(always)]
    fn pass(&mut self, count: u32) {
        self.ahead >>= count;
        self.held -= count;
        self.at += count as usize;
    }

    /// A number of `count` bits, at most 56.
    #[inline(always)]
    pub(crate) fn bits(&mut self, count: u32) -> Option<u64> {
        let value = self.see(count)? & ((1 << count) - 1);
        self.pass(count);
        Some(value)
    }

    #[inline(always)]
    pub(crate) fn unary(&mut self) -> Option<u64> {
        let zeros = self.ahead.trailing_zeros();
        if zeros < self.held {
            self.pass(zeros + 1);
            return Some(zeros.into());
        }
        self.long_unary()
    }

    /// [`BitReader::unary`] beyond the bits that are held.
    #[cold]
    fn long_unary(&mut self) -> Option<u64> {
        let mut value = 0;
        loop {
            let zeros = self.see(AHEAD)?.trailing_zeros();
            if zeros < AHEAD {
                self.pass(zeros + 1);
                return Some(value + u64::from(zeros));
            }
            self.pass(AHEAD);
            value += u64::from(AHEAD);
        }
    }

    #[inline(always)]
    pub(crate) fn gamma(&mut self) -> Option<u64> {
        let bits = self.unary()?;
        self.number(bits)
    }

    #[inline(always)]
    pub(crate) fn delta(&mut self) -> Option<u64> {
        let bits = self.gamma()?;
        self.number(bits)
    }

    /// A number of `bits` + 1 bits, less 1. The highest bit is implied.
    #[inline(always)]
    fn number(&mut self, bits: u64) -> Option<u64> {
        let bits = u32::try_from(bits).ok().filter(|&bits| bits < MOST_BITS)?;
        Some((1 << bits | self.bits(bits)?) - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BitReader, BitWriter};

    proptest! {
        #[test]
        fn round_trip(
            values in prop::collection::vec((any::<u32>(), 0..32_u32, 0..32_u8), 0..100),
            offset in 0..8_u32,
        ) {
            let shifted = |(value, shift, low)| (value >> shift, low);
            let values: Vec<(u32, u8)> = values.into_iter().map(shifted).collect();
            let unary = |value: u32, low: u8| value >> low.max(15);
            let mut bytes = vec![7];
            let mut writer = BitWriter::new(&mut bytes);
            writer.bits(0, offset);
            for &(value, low) in &values {
                writer.gamma(u64::from(value) << 16);
                writer.delta(value.into());
                writer.unary(unary(value, low).into());
                writer.bits(value.into(), 32);
            }
            writer.finish();
            let mut reader = BitReader::from_bit(&bytes, 8 + offset as usize);
            for &(value, low) in &values {
                prop_assert_eq!(reader.gamma(), Some(u64::from(value) << 16));
                prop_assert_eq!(reader.delta(), Some(value.into()));
                prop_assert_eq!(reader.unary(), Some(unary(value, low).into()));
                prop_assert_eq!(reader.bits(32), Some(value.into()));
            }
            prop_assert_eq!(reader.position().map(|position| position.div_ceil(8)), Some(bytes.len()));
            prop_assert!(reader.bits(8).is_none() || reader.position().is_none());
            prop_assert_eq!(reader.unary(), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..100),
            count in 0..57_u32,
        ) {
            let mut reader = BitReader::new(&bytes);
            for _ in 0..=8 * bytes.len() {
                let _ = (reader.bits(count), reader.gamma(), reader.delta(), reader.unary());
            }
            prop_assert_eq!(reader.unary(), None);
        }
    }
}
