//! The light stemmer of J. Savoy for German (UniNE).

use super::suffixes::ends;
use crate::chars::edit;

/// Takes accents, then up to two endings off.
pub(in super::super) fn german_light(term: &mut String) {
    edit(term, |word| {
        for letter in word.iter_mut() {
            *letter = match *letter {
                'ä' | 'à' | 'á' | 'â' => 'a',
                'ö' | 'ò' | 'ó' | 'ô' => 'o',
                'ï' | 'ì' | 'í' | 'î' => 'i',
                'ü' | 'ù' | 'ú' | 'û' => 'u',
                other => other,
            };
        }
        word.truncate(word.len() - inflection(word));
        word.truncate(word.len() - comparison(word));
    });
}

/// The letters of a case or number.
fn inflection(word: &[char]) -> usize {
    match word.len() {
        6.. if ends(word, "ern") => 3,
        5.. if ["em", "en", "er", "es"].iter().any(|ending| ends(word, ending)) => 2,
        4.. if ends(word, "e") => 1,
        4.. if ends(word, "s") && takes_s_or_st(word[word.len() - 2]) => 1,
        _ => 0,
    }
}

/// The letters of a comparative or superlative.
fn comparison(word: &[char]) -> usize {
    match word.len() {
        6.. if ends(word, "est") => 3,
        5.. if ends(word, "er") || ends(word, "en") => 2,
        5.. if ends(word, "st") && takes_s_or_st(word[word.len() - 3]) => 2,
        _ => 0,
    }
}

fn takes_s_or_st(letter: char) -> bool {
    matches!(letter, 'b' | 'd' | 'f' | 'g' | 'h' | 'k' | 'l' | 'm' | 'n' | 't')
}
