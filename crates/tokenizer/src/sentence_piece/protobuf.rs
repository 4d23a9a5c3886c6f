//! The fields of a Protocol Buffers message, as far as SentencePiece's models need them.

/// A field's value in its encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// A string, bytes, or a message.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value of a field of bytes, a string or a message.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of an integer or a boolean.
    pub(super) fn integer(self) -> Option<u64> {
        match self {
            Self::Varint(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a float.
    pub(super) fn float(self) -> Option<f32> {
        match self {
            Self::Fixed32(bytes) => Some(f32::from_le_bytes(bytes)),
            _ => None,
        }
    }
}

/// The fields of a message in their order, each with its number; the last item is `None` where the bytes are no message.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Option<(u64, Value<'_>)>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_none() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Value::Varint(varint(rest)?),
        1 => Value::Fixed64(take(rest, 8)?.try_into().ok()?),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Value::Bytes(take(rest, length)?)
        }
        5 => Value::Fixed32(take(rest, 4)?.try_into().ok()?),
        _ => return None,
    };
    Some((key >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Value, fields};

    #[test]
    fn fields_are_read_as_they_are_written() {
        let message =
            [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let found: Option<Vec<_>> = fields(&message).collect();
        let one = [1, 0, 0, 0, 0, 0, 0, 0];
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed32(1f32.to_le_bytes())),
            (4, Value::Fixed64(one)),
        ];
        assert_eq!(found, Some(expected.to_vec()));
        for end in [1, 2, 5, 8, 15] {
            assert_eq!(fields(&message[..end]).last(), Some(None), "{end} bytes");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_go_on_for_ever(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(fields(&bytes).count() <= bytes.len());
        }
    }
}
