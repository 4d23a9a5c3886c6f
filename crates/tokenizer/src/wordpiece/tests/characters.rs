//! Every single character.

use super::{CASED, Pair, UNCASED, all_flags, of_all_characters};

/// A text with the character in a word, between spaces, and next to itself.
fn around(c: char) -> String {
    format!("a{c}b {c}{c} ")
}

/// Compares every character, page by page. Returns the number of characters that are left to the reference.
fn compare_all(pair: &Pair) -> usize {
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    let left =
        all.chunks(256).filter(|page| !pair.check(&page.iter().map(|&c| around(c)).collect::<String>()));
    left.flatten().filter(|&&c| !pair.check(&around(c))).count()
}

#[test]
fn every_character_becomes_the_same() {
    for flags in [UNCASED, CASED] {
        let left = compare_all(&of_all_characters(flags));
        // Marks that are not accents for the reference, so that their order matters: 96 with Unicode 9.
        assert!(left < 200, "{left} characters are left to the reference with {flags:?}");
    }
}

#[test]
#[ignore = "minutes; for other versions of the reference"]
fn every_character_becomes_the_same_with_every_setting() {
    for flags in all_flags() {
        compare_all(&of_all_characters(flags));
    }
}
