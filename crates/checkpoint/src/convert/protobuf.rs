//! The wire format of protocol buffers, as far as Paddle's descriptions of variables need it.

/// A field's value: a number, or the bytes of a text, a message or packed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers, in order.
pub(super) fn fields(bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, String> {
    let mut fields = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut rest)?),
            1 => Value::Bytes(take(&mut rest, 8)?),
            2 => {
                let length = varint(&mut rest)?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => Value::Bytes(take(&mut rest, 4)?),
            kind => return Err(format!("a field of the unknown kind {kind}")),
        };
        fields.push((key >> 3, value));
    }
    Ok(fields)
}

/// The numbers of a repeated field, packed or not.
pub(super) fn numbers(fields: &[(u64, Value<'_>)], number: u64) -> Result<Vec<u64>, String> {
    let mut numbers = Vec::new();
    for (_, value) in fields.iter().filter(|(found, _)| *found == number) {
        match value {
            Value::Number(number) => numbers.push(*number),
            Value::Bytes(packed) => {
                let mut packed = *packed;
                while !packed.is_empty() {
                    numbers.push(varint(&mut packed)?);
                }
            }
        }
    }
    Ok(numbers)
}

/// The last value of a field of bytes.
pub(super) fn bytes<'a>(fields: &[(u64, Value<'a>)], number: u64) -> Option<&'a [u8]> {
    fields.iter().rev().find_map(|(found, value)| match value {
        Value::Bytes(bytes) if *found == number => Some(*bytes),
        _ => None,
    })
}

fn take<'a>(rest: &mut &'a [u8], count: u64) -> Result<&'a [u8], String> {
    let split = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
    let (taken, after) = split.ok_or("a message that ends early")?;
    *rest = after;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number of more than 64 bits".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Value, bytes, fields, numbers};

    #[test]
    fn a_tensors_description() -> Result<(), String> {
        let message = fields(&[0x08, 5, 0x10, 0xac, 0x02, 0x10, 3])?;
        assert_eq!(message, [(1, Value::Number(5)), (2, Value::Number(300)), (2, Value::Number(3))]);
        assert_eq!(numbers(&message, 2)?, [300, 3]);
        assert_eq!(numbers(&fields(&[0x12, 3, 0xac, 0x02, 3])?, 2)?, [300, 3]);
        assert_eq!(bytes(&fields(&[0x0a, 1, b'x'])?, 1), Some(&b"x"[..]));
        assert!(fields(&[0x0a, 2, b'x']).is_err());
        assert!(fields(&[0xff; 11]).is_err());
        Ok(())
    }

    proptest! {
        #[test]
        fn no_bytes_panic(message in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(fields) = fields(&message) {
                let _ = numbers(&fields, 2);
            }
        }
    }
}
