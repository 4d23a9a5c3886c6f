//! The length of a document in one byte: Lucene's `SmallFloat.intToByte4`.
//!
//! Lengths below 40 are exact; longer ones are rounded down to four significant bits above an offset of 24.

/// Smaller lengths are their own codes: these codes are left over when the largest length has its own.
const EXACT: u32 = 24;

/// The code of a length: the largest code whose [`decoded`] length is not above it.
#[must_use]
pub fn encoded(length: u32) -> u8 {
    let length = length.min(i32::MAX as u32);
    let Some(rest) = length.checked_sub(EXACT) else { return length as u8 };
    let bits = u32::BITS - rest.leading_zeros();
    let code = match bits.checked_sub(4) {
        None => rest,
        // The leading one is implied, three bits follow it, and the exponent is counted from one.
        Some(shift) => (rest >> shift) & 7 | (shift + 1) << 3,
    };
    (EXACT + code) as u8
}

/// The length of a code.
#[must_use]
pub fn decoded(code: u8) -> u32 {
    let Some(code) = u32::from(code).checked_sub(EXACT) else { return u32::from(code) };
    let bits = code & 7;
    match (code >> 3).checked_sub(1) {
        None => EXACT + bits,
        Some(shift) => EXACT + ((bits | 8) << shift),
    }
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    #[test]
    fn codes_are_lucenes() {
        for (length, code) in
            [(0, 0), (23, 23), (24, 24), (39, 39), (40, 40), (41, 40), (42, 41), (100, 57), (1000, 87)]
        {
            assert_eq!(encoded(length), code, "{length}");
        }
        assert_eq!(encoded(u32::MAX), 255);
        assert_eq!(decoded(255), 2_013_265_944);
    }

    #[test]
    fn a_code_is_the_largest_that_fits() {
        for code in 0..=255_u8 {
            let length = decoded(code);
            assert_eq!(encoded(length), code);
            if let Some(next) = code.checked_add(1) {
                assert!(decoded(next) > length);
                assert_eq!(encoded(decoded(next) - 1), code);
            }
        }
    }
}
