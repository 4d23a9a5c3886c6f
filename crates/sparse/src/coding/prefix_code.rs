//! Codes of bytes in whole bits, short for those that are frequent, none the beginning of another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{BitReader, BitWriter};

/// The longest code, so that a table of all that may begin with it stays small.
const MOST_BITS: u8 = 12;

/// The bytes of a written code: the lengths of two symbols' codes each.
const BYTES: usize = SYMBOLS / 2;

const SYMBOLS: usize = 256;

/// The code of each symbol.
#[derive(Clone, Debug)]
pub(crate) struct PrefixCode {
    /// The lengths of the codes; 0 if the symbol has none.
    lengths: [u8; SYMBOLS],
    /// The codes, the first bit lowest.
    codes: [u16; SYMBOLS],
}

impl PrefixCode {
    /// The code that needs the fewest bits for symbols of these counts (Huffman, 1952), if no code is very long. Symbols that
    /// never come have none.
    pub(crate) fn of_counts(counts: &[u64; SYMBOLS]) -> Self {
        let mut counts = *counts;
        loop {
            let lengths = code_lengths(&counts);
            if lengths.iter().all(|&length| length <= MOST_BITS) {
                let codes = canonical(&lengths).unwrap_or([0; SYMBOLS]);
                return Self { lengths, codes };
            }
            // Less rare is less long. They end at 1 each, where no code has more than 8 bits.
            counts.iter_mut().for_each(|count| *count = count.div_ceil(2));
        }
    }

    pub(crate) fn write(&self, symbol: u8, out: &mut BitWriter<'_>) {
        let symbol = usize::from(symbol);
        debug_assert!(self.lengths[symbol] > 0, "symbol {symbol} was not counted");
        out.bits(self.codes[symbol].into(), self.lengths[symbol].into());
    }

    /// What [`PrefixDecoder::read`] takes.
    pub(crate) fn describe(&self) -> [u8; BYTES] {
        std::array::from_fn(|pair| self.lengths[2 * pair] | self.lengths[2 * pair + 1] << 4)
    }
}

/// The length of each symbol's code.
fn code_lengths(counts: &[u64; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut lengths = [0_u8; SYMBOLS];
    // A node's parent is made after it, and of nodes with equal counts the first is taken first.
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = counts
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
        .map(|(s, &count)| Reverse((count, s)))
        .collect();
    let mut parents = vec![0; SYMBOLS];
    let used: Vec<usize> = heap.iter().map(|Reverse((_, symbol))| *symbol).collect();
    if let [only] = used[..] {
        lengths[only] = 1;
        return lengths;
    }
    while let (Some(Reverse((a, left))), Some(Reverse((b, right)))) = (heap.pop(), heap.pop()) {
        let parent = parents.len();
        parents.push(parent);
        (parents[left], parents[right]) = (parent, parent);
        if heap.is_empty() {
            break;
        }
        heap.push(Reverse((a.saturating_add(b), parent)));
    }
    let root = parents.len() - 1;
    for symbol in used {
        let mut node = symbol;
        while node != root {
            node = parents[node];
            lengths[symbol] = lengths[symbol].saturating_add(1);
        }
    }
    lengths
}

/// The codes that lengths stand for: of shorter ones first, of equal ones in the order of their symbols. `None` if there are no such.
fn canonical(lengths: &[u8; SYMBOLS]) -> Option<[u16; SYMBOLS]> {
    let mut codes = [0_u16; SYMBOLS];
    let mut next = 0_u32;
    for length in 1..=MOST_BITS {
        next <<= 1;
        for (symbol, _) in lengths.iter().enumerate().filter(|&(_, &of)| of == length) {
            if next >> length > 0 {
                return None;
            }
            codes[symbol] = (next as u16).reverse_bits() >> (16 - length);
            next += 1;
        }
    }
    lengths.iter().all(|&length| length <= MOST_BITS).then_some(codes)
}

/// Reads what [`PrefixCode::write`] wrote.
#[derive(Clone, Debug)]
pub(crate) struct PrefixDecoder {
    /// The symbol, and the length of its code, by the bits ahead; no length where no code begins so.
    table: Box<[(u8, u8); 1 << MOST_BITS]>,
}

impl PrefixDecoder {
    /// Takes a code off the front of `bytes`.
    pub(crate) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (described, rest) = bytes.split_first_chunk::<BYTES>()?;
        *bytes = rest;
        let lengths = std::array::from_fn(|symbol| described[symbol / 2] >> (symbol % 2 * 4) & 15);
        let codes = canonical(&lengths)?;
        let mut table = Box::new([(0, 0); 1 << MOST_BITS]);
        for (symbol, (&length, &code)) in (0_u8..=u8::MAX).zip(lengths.iter().zip(&codes)) {
            if length > 0 {
                table
                    .iter_mut()
                    .skip(code.into())
                    .step_by(1 << length)
                    .for_each(|place| *place = (symbol, length));
            }
        }
        Some(Self { table })
    }

    /// What passes symbols up to `end`, several at a time.
    pub(crate) fn passer(&self, end: u8) -> PrefixPasser {
        let passed = |ahead: usize| {
            let mut bits = 0;
            loop {
                let (symbol, length) = self.table[ahead >> bits];
                // What does not fit was read with bits that are not there.
                if length == 0 || bits + length > MOST_BITS {
                    return bits;
                }
                bits += length;
                if symbol == end {
                    return bits | AT_END;
                }
            }
        };
        PrefixPasser { table: Box::new(std::array::from_fn(passed)) }
    }

    /// The next symbol; `None` if no code begins so.
    #[inline(always)]
    pub(crate) fn next(&self, bits: &mut BitReader<'_>) -> Option<u8> {
        let (symbol, length) = self.table[bits.see(MOST_BITS.into())? as usize % (1 << MOST_BITS)];
        bits.pass(length.into());
        (length > 0).then_some(symbol)
    }
}

/// In the table of a [`PrefixPasser`]: the last symbol is the one that is looked for.
const AT_END: u8 = 16;

/// Passes symbols without telling which.
#[derive(Clone, Debug)]
pub(crate) struct PrefixPasser {
    /// By the bits ahead: the bits of the whole codes that they begin with, up to that of the end; and [`AT_END`], if it is among them.
    table: Box<[u8; 1 << MOST_BITS]>,
}

impl PrefixPasser {
    /// Goes behind the next end; `None` if there is none.
    #[inline(always)]
    pub(crate) fn pass(&self, bits: &mut BitReader<'_>) -> Option<()> {
        loop {
            let passed = self.table[bits.see(MOST_BITS.into())? as usize % (1 << MOST_BITS)];
            bits.pass((passed % AT_END).into());
            match passed {
                0 => return None,
                AT_END.. => return Some(()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BYTES, BitReader, BitWriter, MOST_BITS, PrefixCode, PrefixDecoder, SYMBOLS};

    fn counted(symbols: &[u8]) -> [u64; SYMBOLS] {
        let mut counts = [0; SYMBOLS];
        symbols.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
        counts
    }

    proptest! {
        #[test]
        fn round_trip(symbols in prop::collection::vec(prop_oneof![Just(3_u8), 0..5_u8, any::<u8>()], 0..700)) {
            let code = PrefixCode::of_counts(&counted(&symbols));
            let mut bytes = code.describe().to_vec();
            let mut writer = BitWriter::new(&mut bytes);
            symbols.iter().for_each(|&symbol| code.write(symbol, &mut writer));
            writer.finish();
            let mut rest = bytes.as_slice();
            let decoder = PrefixDecoder::read(&mut rest).ok_or_else(|| TestCaseError::fail("no code"))?;
            let (passer, mut passing) = (decoder.passer(3), BitReader::new(rest));
            let mut reader = BitReader::new(rest);
            for &symbol in &symbols {
                prop_assert_eq!(decoder.next(&mut reader), Some(symbol));
                if symbol == 3 {
                    prop_assert!(passer.pass(&mut passing).is_some());
                    prop_assert_eq!(passing.position(), reader.position());
                }
            }
            prop_assert_eq!(reader.position().map(|position| position.div_ceil(8)), Some(rest.len()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(code in prop::collection::vec(0..4_u8, BYTES), bytes in any::<[u8; 20]>()) {
            if let Some(decoder) = PrefixDecoder::read(&mut code.as_slice()) {
                let mut reader = BitReader::new(&bytes);
                while reader.position().is_some() && decoder.next(&mut reader).is_some() {}
                let mut reader = BitReader::new(&bytes);
                while decoder.passer(0).pass(&mut reader).is_some() {}
            }
        }
    }

    #[test]
    fn frequent_symbols_have_short_codes_and_none_is_too_long() {
        let mut counts = [0; SYMBOLS];
        // Without a limit, the code of the first would have 39 bits.
        let (mut a, mut b) = (1, 1);
        for count in &mut counts[..40] {
            *count = a;
            (a, b) = (b, a + b);
        }
        let code = PrefixCode::of_counts(&counts);
        assert!(code.lengths[..40].iter().all(|length| (1..=MOST_BITS).contains(length)));
        assert!(code.lengths[..40].is_sorted_by(|a, b| a >= b) && code.lengths[39] < 4);
        assert!(code.lengths[40..].iter().all(|&length| length == 0));
        // Huffman's own example of a complete code: no bits are left over.
        let spent: f64 = code.lengths[..40].iter().map(|&length| 0.5_f64.powi(length.into())).sum();
        assert_eq!(spent, 1.0);
        let code = PrefixCode::of_counts(&counted(b"aaaabbcd"));
        assert_eq!(b"abcd".map(|symbol| code.lengths[usize::from(symbol)]), [1, 2, 3, 3]);
        assert_eq!(PrefixCode::of_counts(&counted(b"zz")).lengths[usize::from(b'z')], 1);
    }

    #[test]
    fn lengths_that_no_code_has_are_refused() {
        let mut described = [0; BYTES];
        assert!(PrefixDecoder::read(&mut described.as_slice()).is_some());
        described[0] = 0x11;
        assert!(PrefixDecoder::read(&mut described.as_slice()).is_some());
        described[1] = 1;
        assert!(PrefixDecoder::read(&mut described.as_slice()).is_none(), "three codes of one bit");
        described[0..2].copy_from_slice(&[13, 0]);
        assert!(PrefixDecoder::read(&mut described.as_slice()).is_none(), "thirteen bits");
        assert!(PrefixDecoder::read(&mut &described[1..]).is_none());
    }
}
