//! The light stemmers of J. Savoy for Spanish, Italian and Portuguese (CLEF 2001; UniNE). French has its own
//! file.

use super::suffixes::{Replacement, ends, replace_first};
use crate::chars::edit;

/// Spanish: plurals, then the vowel of gender.
pub(in super::super) fn spanish_light(term: &mut String) {
    edit(term, |word| {
        if word.len() < 5 {
            return;
        }
        without_accents(word);
        let length = word.len();
        if ends(word, "ces") {
            word.truncate(length - 3);
            word.push('z');
        } else if ["os", "as", "es"].iter().any(|ending| ends(word, ending)) {
            word.truncate(length - 2);
        } else if ["o", "a", "e"].iter().any(|ending| ends(word, ending)) {
            word.truncate(length - 1);
        }
    });
}

/// Italian: the final vowel, and an `h` or `i` before it.
pub(in super::super) fn italian_light(term: &mut String) {
    edit(term, |word| {
        if word.len() < 6 {
            return;
        }
        without_accents(word);
        let length = word.len();
        if ["ie", "he", "hi", "ii", "ia", "io"].iter().any(|ending| ends(word, ending)) {
            word.truncate(length - 2);
        } else if matches!(word[length - 1], 'e' | 'i' | 'a' | 'o') {
            word.truncate(length - 1);
        }
    });
}

/// Portuguese: plurals and adverbs, feminine forms, the final vowel.
pub(in super::super) fn portuguese_light(term: &mut String) {
    edit(term, |word| {
        if word.len() < 4 {
            return;
        }
        portuguese_suffix(word);
        if word.len() > 3 && ends(word, "a") {
            portuguese_feminine(word);
        }
        if word.len() > 4 && matches!(word[word.len() - 1], 'e' | 'a' | 'o') {
            word.pop();
        }
        without_accents(word);
        for letter in word.iter_mut() {
            *letter = match *letter {
                'ã' => 'a',
                'õ' => 'o',
                'ç' => 'c',
                other => other,
            };
        }
    });
}

/// Replaces the ending of a plural, or `-mente`.
fn portuguese_suffix(word: &mut Vec<char>) {
    const ENDINGS: &[Replacement] = &[
        (5, "res", "r"),
        (5, "ses", "s"),
        (5, "les", "l"),
        (5, "zes", "z"),
        (4, "ns", "m"),
        (5, "eis", "el"),
        (5, "éis", "el"),
        (5, "ais", "al"),
        (5, "óis", "ol"),
        (5, "is", "il"),
        (4, "ões", "ão"),
        (4, "ães", "ão"),
        (7, "mente", ""),
        (4, "s", ""),
    ];
    replace_first(word, ENDINGS);
}

fn portuguese_feminine(word: &mut Vec<char>) {
    const ENDINGS: &[Replacement] = &[
        (8, "inha", "inho"),
        (8, "iaca", "iaco"),
        (8, "eira", "eiro"),
        (7, "osa", "oso"),
        (7, "ica", "ico"),
        (7, "ida", "ido"),
        (7, "ada", "ado"),
        (7, "iva", "ivo"),
        (7, "ama", "amo"),
        (7, "ona", "ão"),
        (7, "ora", "or"),
        (7, "esa", "ês"),
        (7, "na", "no"),
    ];
    replace_first(word, ENDINGS);
}

fn without_accents(word: &mut [char]) {
    for letter in word {
        *letter = match *letter {
            'à' | 'á' | 'â' | 'ä' => 'a',
            'ò' | 'ó' | 'ô' | 'ö' => 'o',
            'è' | 'é' | 'ê' | 'ë' => 'e',
            'ù' | 'ú' | 'û' | 'ü' => 'u',
            'ì' | 'í' | 'î' | 'ï' => 'i',
            other => other,
        };
    }
}
