//! Terms between white space, unchanged.

use super::Tokenize;

/// A longer term is cut into pieces of this many UTF-16 code units, or one more.
const LONGEST: usize = 255;

/// Splits at white space where a line may break, and changes nothing.
pub(super) struct Whitespace;

impl Tokenize for Whitespace {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        text.split(is_white_space).for_each(|term| pieces(term, each));
    }
}

/// White space as in Java: the separators of ASCII too, but neither the spaces that keep words together nor
/// the control character "next line".
fn is_white_space(char: char) -> bool {
    match char {
        '\u{85}' | '\u{A0}' | '\u{2007}' | '\u{202F}' => false,
        '\u{1C}'..='\u{1F}' => true,
        other => other.is_whitespace(),
    }
}

fn pieces(mut term: &str, each: &mut dyn FnMut(&str)) {
    while term.len() > LONGEST {
        let mut units = 0;
        let end = term.char_indices().find(|(_, char)| {
            let full = units >= LONGEST;
            units += char.len_utf16();
            full
        });
        let Some((end, _)) = end else { break };
        each(&term[..end]);
        term = &term[end..];
    }
    if !term.is_empty() {
        each(term);
    }
}
