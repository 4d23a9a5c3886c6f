//! Normalisation of spelling in Hindi and Telugu.

use crate::chars::{edit, replace_or_remove};

/// Hindi: no nukta, no virama, no joiners; bindu for marks that sound like it; short vowels for long ones (P.
/// Pingali and V. Varma; L. S. Larkey, M. E. Connell and N. Abduljaleel).
pub(in super::super) fn hindi_normal(term: &mut String) {
    if term.contains("\u{928}\u{94D}") {
        *term = term.replace("\u{928}\u{94D}", "\u{902}");
    }
    replace_or_remove(term, |char| {
        Some(match char {
            '\u{93C}' | '\u{94D}' | '\u{200C}' | '\u{200D}' => return None,
            '\u{901}' => '\u{902}',
            '\u{929}' => '\u{928}',
            '\u{931}' => '\u{930}',
            '\u{934}' => '\u{933}',
            '\u{958}' => '\u{915}',
            '\u{959}' => '\u{916}',
            '\u{95A}' => '\u{917}',
            '\u{95B}' => '\u{91C}',
            '\u{95C}' => '\u{921}',
            '\u{95D}' => '\u{922}',
            '\u{95E}' => '\u{92B}',
            '\u{95F}' => '\u{92F}',
            '\u{945}' | '\u{946}' | '\u{948}' => '\u{947}',
            '\u{949}' | '\u{94A}' | '\u{94C}' => '\u{94B}',
            '\u{90D}' | '\u{90E}' | '\u{910}' => '\u{90F}',
            '\u{911}' | '\u{912}' | '\u{914}' => '\u{913}',
            '\u{972}' | '\u{906}' => '\u{905}',
            '\u{908}' => '\u{907}',
            '\u{90A}' => '\u{909}',
            '\u{960}' => '\u{90B}',
            '\u{961}' => '\u{90C}',
            '\u{940}' => '\u{93F}',
            '\u{942}' => '\u{941}',
            '\u{944}' => '\u{943}',
            '\u{963}' => '\u{962}',
            other => other,
        })
    });
}

/// Telugu: short vowels for long ones, one bindu, no visarga, no joiners.
pub(in super::super) fn telugu_normal(term: &mut String) {
    edit(term, |word| {
        let mut normal = Vec::with_capacity(word.len());
        let mut chars = word.iter().copied().peekable();
        while let Some(char) = chars.next() {
            let composed = match (char, chars.peek()) {
                ('\u{C46}', Some('\u{C56}')) => Some('\u{C48}'),
                ('\u{C12}', Some('\u{C55}')) => Some('\u{C13}'),
                ('\u{C12}', Some('\u{C4C}')) => Some('\u{C14}'),
                _ => None,
            };
            if composed.is_some() {
                chars.next();
            }
            normal.extend(composed.or_else(|| telugu_letter(char)));
        }
        *word = normal;
    });
}

fn telugu_letter(char: char) -> Option<char> {
    match char {
        '\u{C03}' | '\u{200C}' | '\u{200D}' => None,
        '\u{C00}' | '\u{C01}' => Some('\u{C02}'),
        '\u{C14}' => Some('\u{C13}'),
        '\u{C10}' => Some('\u{C0F}'),
        '\u{C06}' => Some('\u{C05}'),
        '\u{C08}' => Some('\u{C07}'),
        '\u{C0A}' => Some('\u{C09}'),
        '\u{C40}' => Some('\u{C3F}'),
        '\u{C42}' => Some('\u{C41}'),
        '\u{C47}' => Some('\u{C46}'),
        '\u{C4B}' => Some('\u{C4A}'),
        other => Some(other),
    }
}
