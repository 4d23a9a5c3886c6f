//! The light stemmer of J. Savoy for French (UniNE).

use super::suffixes::{Replacement, ends, replace_first};
use crate::chars::edit;
use crate::letters::is_letter;

/// Takes plurals and derivations off, then accents and doubled letters.
pub(in super::super) fn french_light(term: &mut String) {
    edit(term, |word| {
        plural(word);
        derivation(word);
        normalize(word);
    });
}

fn plural(word: &mut Vec<char>) {
    if word.len() > 5 && ends(word, "x") {
        let length = word.len();
        if ends(word, "aux") && word[length - 4] != 'e' {
            word[length - 2] = 'l';
        }
        word.pop();
    }
    for letter in ["x", "s"] {
        if word.len() > 3 && ends(word, letter) {
            word.pop();
        }
    }
}

/// The first of these endings that is found is replaced, and no other ending is.
const LONG: &[Replacement] = &[
    (10, "issement", "ir"),
    (9, "issant", "ir"),
    (8, "ivement", "if"),
    (7, "ement", "e"),
    (12, "ficatrice", "fier"),
    (11, "ficateur", "fier"),
    (10, "catrice", "quer"),
    (9, "cateur", "quer"),
    (9, "atrice", "er"),
    (8, "ateur", "er"),
];

/// The same, for the endings after `-trice`.
const MIDDLE: &[Replacement] = &[
    (6, "ième", ""),
    (8, "teuse", "ter"),
    (7, "teur", "ter"),
    (6, "euse", "eu"),
    (9, "ère", "er"),
    (8, "ive", "if"),
    (5, "folle", "fou"),
    (5, "molle", "mou"),
    (10, "nnelle", "n"),
    (10, "nnel", "n"),
];

/// Endings that are replaced after `-ète` and `-ique`.
const SHORT: &[Replacement] = &[
    (9, "esse", "e"),
    (8, "inage", "in"),
    (10, "isation", ""),
    (10, "isateur", ""),
    (9, "ation", ""),
    (9, "ition", ""),
];

fn derivation(word: &mut Vec<char>) {
    if replace_first(word, LONG) {
        return;
    }
    replace_first(word, &[(7, "trice", "teur")]);
    if replace_first(word, MIDDLE) {
        return;
    }
    replace_first(word, &[(5, "ète", "et")]);
    replace_first(word, &[(9, "ique", "")]);
    let nominal = word.len() > 9 && ends(word, "isation");
    replace_first(word, SHORT);
    if nominal && word.len() > 5 && ends(word, "ual") {
        let length = word.len();
        word[length - 2] = 'e';
    }
}

fn normalize(word: &mut Vec<char>) {
    if word.len() > 4 {
        for letter in word.iter_mut() {
            *letter = match *letter {
                'à' | 'á' | 'â' => 'a',
                'ô' => 'o',
                'è' | 'é' | 'ê' => 'e',
                'ù' | 'û' => 'u',
                'î' => 'i',
                'ç' => 'c',
                other => other,
            };
        }
        word.dedup_by(|next, last| next == last && is_bmp_letter(*last));
    }
    if word.len() > 4 && ends(word, "ie") {
        word.truncate(word.len() - 2);
    }
    if word.len() > 4 {
        for letter in ["r", "e", "e"] {
            if ends(word, letter) {
                word.pop();
            }
        }
        if let [.., before, last] = word[..]
            && before == last
            && is_bmp_letter(last)
        {
            word.pop();
        }
    }
}

/// A letter that is one code unit of UTF-16.
fn is_bmp_letter(char: char) -> bool {
    char.len_utf16() == 1 && is_letter(char)
}
