//! Normalisation of Bengali by sound (N. UzZaman and M. Khan, A double metaphone encoding for Bangla).

use crate::chars::edit;

const VIRAMA: char = '\u{9CD}';

/// One letter for letters that sound alike, and conjuncts by their sound.
pub(in super::super) fn bengali_normal(term: &mut String) {
    edit(term, |word| {
        let mut at = 0;
        while at < word.len() {
            at = normalize_at(word, at);
        }
    });
}

/// Normalises at one place. Returns the next place.
fn normalize_at(word: &mut Vec<char>, at: usize) -> usize {
    let after_virama = at >= 1 && word[at - 1] == VIRAMA;
    let simple = match word[at] {
        '\u{981}' => {
            word.remove(at);
            return at;
        }
        // Ka, virama and the vowel i: kha at the beginning, elsewhere kha after ka.
        '\u{995}' if word[at + 1..].starts_with(&[VIRAMA, '\u{9BF}']) => {
            if at == 0 {
                word.splice(0..3, ['\u{996}']);
            } else {
                word.splice(at + 1..at + 3, ['\u{996}']);
            }
            return at + 1;
        }
        // Ya after a virama is the vowel e after one letter, and silent further on.
        '\u{9AF}' if after_virama && at == 2 => {
            let vowel = usize::from(word.get(3) == Some(&'\u{9BE}'));
            word.splice(1..3 + vowel, ['\u{9C7}']);
            return at;
        }
        // Ba after a virama is silent after one letter. Else it doubles the letter before, unless that is a
        // conjunct.
        '\u{9AF}' if after_virama => {
            word.drain(at - 1..=at);
            return at - 1;
        }
        '\u{9AC}' if after_virama && (at == 2 || at >= 5 && word[at - 3] == VIRAMA) => {
            word.drain(at - 1..=at);
            return at - 1;
        }
        '\u{9AC}' if after_virama && at >= 2 => {
            word[at - 1] = word[at - 2];
            word.remove(at);
            return at;
        }
        // Visarga at the end of a short word is ha. Within a word it is the letter that follows.
        '\u{983}' if at + 1 < word.len() => word[at + 1],
        '\u{983}' if word.len() <= 3 => '\u{9B9}',
        '\u{983}' => {
            word.remove(at);
            return at;
        }
        '\u{9C0}' => '\u{9BF}',
        '\u{9C2}' => '\u{9C1}',
        '\u{999}' => '\u{982}',
        '\u{9B6}' | '\u{9B7}' => '\u{9B8}',
        '\u{9A3}' => '\u{9A8}',
        '\u{9DC}' | '\u{9DD}' => '\u{9B0}',
        '\u{9CE}' => '\u{9A4}',
        other => other,
    };
    word[at] = simple;
    at + 1
}
