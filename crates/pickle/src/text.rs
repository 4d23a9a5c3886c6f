//! The arguments that protocol 0 writes as text.

use std::borrow::Cow;

/// `-12`, `12L`, or, for the instruction INT, `00` and `01`, which are `False` and `True`.
pub(crate) fn integer(line: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(line).ok()?.trim_ascii();
    text.strip_suffix('L').unwrap_or(text).parse().ok()
}

/// The value of Python's `repr` of a float.
pub(crate) fn float(line: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(line).ok()?.trim_ascii();
    text.parse().ok()
}

/// A quoted string with Python's escapes.
pub(crate) fn quoted(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    let line = line.trim_ascii();
    let (&quote, rest) = line.split_first()?;
    let (&last, content) = rest.split_last()?;
    if !matches!(quote, b'\'' | b'"') || last != quote {
        return None;
    }
    if !content.contains(&b'\\') {
        return Some(Cow::Borrowed(content));
    }
    let mut decoded = Vec::with_capacity(content.len());
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            decoded.push(byte);
            continue;
        }
        match bytes.next()? {
            escaped @ (b'\\' | b'\'' | b'"') => decoded.push(escaped),
            b'n' => decoded.push(b'\n'),
            b'r' => decoded.push(b'\r'),
            b't' => decoded.push(b'\t'),
            b'a' => decoded.push(0x07),
            b'b' => decoded.push(0x08),
            b'f' => decoded.push(0x0c),
            b'v' => decoded.push(0x0b),
            b'x' => {
                let digits = hex(&[bytes.next()?, bytes.next()?])?;
                decoded.push(u8::try_from(digits).ok()?);
            }
            // `repr` writes no other escapes.
            _ => return None,
        }
    }
    Some(Cow::Owned(decoded))
}

/// Python's raw-unicode-escape: Latin-1, with `\uXXXX` and `\UXXXXXXXX`.
pub(crate) fn raw_unicode(line: &[u8]) -> Option<Cow<'_, str>> {
    if line.is_ascii() && !line.contains(&b'\\') {
        return std::str::from_utf8(line).ok().map(Cow::Borrowed);
    }
    let mut decoded = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                decoded.push(char::from(byte));
                rest = after;
                continue;
            }
        };
        decoded.push(char::from_u32(hex(after.get(1..=digits)?)?)?);
        rest = after.get(1 + digits..)?;
    }
    Some(Cow::Owned(decoded))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        value.checked_mul(16)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::{float, integer, quoted, raw_unicode};

    #[test]
    fn numbers() {
        assert_eq!(integer(b"-12"), Some(-12));
        assert_eq!(integer(b"123456789012345678901L"), Some(123_456_789_012_345_678_901));
        assert_eq!(integer(b"twelve"), None);
        assert_eq!(float(b"-1.5e-07"), Some(-1.5e-7));
        assert_eq!(float(b"inf"), Some(f64::INFINITY));
    }

    #[test]
    fn strings() {
        assert_eq!(quoted(b"'plain'").as_deref(), Some(&b"plain"[..]));
        assert_eq!(quoted(br#""it's\x00\n\\\xff""#).as_deref(), Some(&b"it's\0\n\\\xff"[..]));
        for wrong in [&b"'open"[..], b"'", b"", b"none", br"'\q'", br"'\x4'"] {
            assert_eq!(quoted(wrong), None, "{wrong:?}");
        }
        assert_eq!(raw_unicode(b"plain").as_deref(), Some("plain"));
        assert_eq!(raw_unicode(b"\\u00e9\xe9\\U0001f415\\n").as_deref(), Some("éé🐕\\n"));
        for wrong in [&b"\\u12"[..], b"\\ud800", b"\\U00110000", b"\\u00g0"] {
            assert_eq!(raw_unicode(wrong), None, "{wrong:?}");
        }
    }
}
