//! Numbers in seven bits a byte, the lowest first. All bytes but the last have their highest bit set.

/// Appends `value`.
#[inline]
pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `bytes`; `None` if they end within it or it has more than ten bytes.
#[inline]
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{read_varint, write_varint};

    #[test]
    fn round_trip() {
        let values = [0, 1, 127, 128, 300, 1 << 32, u64::MAX];
        let mut bytes = Vec::new();
        values.iter().for_each(|&value| write_varint(value, &mut bytes));
        let mut rest = bytes.as_slice();
        for value in values {
            assert_eq!(read_varint(&mut rest), Some(value));
        }
        assert!(rest.is_empty() && read_varint(&mut rest).is_none());
        assert_eq!(read_varint(&mut [0xff; 20].as_slice()), None);
    }
}
