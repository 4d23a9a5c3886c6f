//! Text of others, as a terminal may show it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

/// `text` with its control characters written as escapes, so that the text of a file cannot command the
/// terminal. Line feeds and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let commands = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if commands(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Writes what `text` writes, as a terminal may show it.
pub fn write_printable(
    out: &mut (impl Write + ?Sized),
    text: impl FnOnce(&mut Vec<u8>) -> crate::Result<()>,
) -> crate::Result<()> {
    let mut shown = Vec::new();
    text(&mut shown)?;
    Ok(out.write_all(printable(&String::from_utf8_lossy(&shown)).as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn terminals_get_no_commands() {
        assert_eq!(printable("plain é 漢\n\ttext"), "plain é 漢\n\ttext");
        assert_eq!(printable("\x1b]0;pwn\x07\u{9b}31m\r"), "\\u{1b}]0;pwn\\u{7}\\u{9b}31m\\r");
    }
}
