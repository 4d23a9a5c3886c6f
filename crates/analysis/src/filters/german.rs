//! Normalisation of German umlauts.

/// The kind of the letter before, as far as it decides about an `e`.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Other,
    /// A vowel or `q`, after which `ue` is not an umlaut.
    Vowel,
    /// `a`, `o` or `u`: with an `e` after it, an umlaut.
    Umlaut,
}

/// `ä`, `ö`, `ü`, and `ae`, `oe`, `ue` where they mean these, become `a`, `o`, `u`; `ß` becomes `ss`.
pub(in super::super) fn german_normal(term: &mut String) {
    if term.is_ascii() && !term.contains('e') {
        return;
    }
    let mut normal = String::with_capacity(term.len());
    let mut before = Before::Other;
    for letter in term.chars() {
        before = match letter {
            'a' | 'o' => Before::Umlaut,
            'u' if before == Before::Other => Before::Umlaut,
            'e' if before == Before::Umlaut => {
                before = Before::Vowel;
                continue;
            }
            'u' | 'e' | 'i' | 'q' | 'y' | 'ä' | 'ö' | 'ü' => Before::Vowel,
            _ => Before::Other,
        };
        match letter {
            'ä' => normal.push('a'),
            'ö' => normal.push('o'),
            'ü' => normal.push('u'),
            'ß' => normal.push_str("ss"),
            other => normal.push(other),
        }
    }
    *term = normal;
}
