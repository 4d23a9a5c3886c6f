//! Normalisation of the scripts of India: letters that can be written as several characters become one.
//!
//! The letters of all scripts have the same order in Unicode, so a rule holds for several scripts (The
//! Unicode Standard 5.2, chapter 9; M. Liberman's list of graphical decompositions).

use crate::chars::edit;

const DEVANAGARI: u16 = 1;
const BENGALI: u16 = 1 << 1;
const GURMUKHI: u16 = 1 << 2;
const GUJARATI: u16 = 1 << 3;
const ORIYA: u16 = 1 << 4;
const TAMIL: u16 = 1 << 5;
const TELUGU: u16 = 1 << 6;
const KANNADA: u16 = 1 << 7;
const MALAYALAM: u16 = 1 << 8;

/// No third character.
const NONE: u8 = 0x80;
/// A zero width joiner, which belongs to no script.
const JOINER: u8 = 0x81;

/// The characters of a sequence (places within a script), what they become, and in which scripts.
type Composition = (u8, u8, u8, u8, u16);

/// Composes letters of nine scripts.
pub(in super::super) fn indic_normal(term: &mut String) {
    if !term.chars().any(|char| script(char).is_some()) {
        return;
    }
    edit(term, |word| {
        let mut composed = Vec::with_capacity(word.len());
        let mut rest = word.as_slice();
        while let [first, after @ ..] = rest {
            let (char, length) = compose(*first, after).unwrap_or((*first, 1));
            composed.push(char);
            rest = &rest[length..];
        }
        *word = composed;
    });
}

/// The script of a character, by its number from Devanagari on.
fn script(char: char) -> Option<u32> {
    matches!(char, '\u{900}'..='\u{D7F}').then(|| (char as u32 - 0x900) / 0x80)
}

/// The character that a character and the next one or two make, and how many there are.
fn compose(first: char, after: &[char]) -> Option<(char, usize)> {
    let script = script(first)?;
    let base = 0x900 + script * 0x80;
    let place =
        |char: char| u8::try_from((char as u32).checked_sub(base)?).ok().filter(|&place| place < 0x80);
    let (one, two) = (place(first)?, place(*after.first()?)?);
    let three = after
        .get(1)
        .map_or(NONE, |&char| if char == '\u{200D}' { JOINER } else { place(char).unwrap_or(NONE) });
    COMPOSITIONS
        .iter()
        .find(|rule| {
            rule.0 == one
                && rule.1 == two
                && (rule.2 == NONE || rule.2 == three)
                && rule.4 & (1 << script) != 0
        })
        .and_then(|rule| {
            Some((char::from_u32(base + u32::from(rule.3))?, if rule.2 == NONE { 2 } else { 3 }))
        })
}

#[rustfmt::skip]
const COMPOSITIONS: &[Composition] = &[
    (0x05, 0x3E, 0x45, 0x11, DEVANAGARI | GUJARATI),
    (0x05, 0x3E, 0x46, 0x12, DEVANAGARI),
    (0x05, 0x3E, 0x47, 0x13, DEVANAGARI | GUJARATI),
    (0x05, 0x3E, 0x48, 0x14, DEVANAGARI | GUJARATI),
    (0x05, 0x3E, NONE, 0x06, DEVANAGARI | BENGALI | GURMUKHI | GUJARATI | ORIYA),
    (0x05, 0x45, NONE, 0x72, DEVANAGARI),
    (0x05, 0x45, NONE, 0x0D, GUJARATI),
    (0x05, 0x46, NONE, 0x04, DEVANAGARI),
    (0x05, 0x47, NONE, 0x0F, GUJARATI),
    (0x05, 0x48, NONE, 0x10, GURMUKHI | GUJARATI),
    (0x05, 0x49, NONE, 0x11, DEVANAGARI | GUJARATI),
    (0x05, 0x4A, NONE, 0x12, DEVANAGARI),
    (0x05, 0x4B, NONE, 0x13, DEVANAGARI | GUJARATI),
    (0x05, 0x4C, NONE, 0x14, DEVANAGARI | GURMUKHI | GUJARATI),
    (0x06, 0x45, NONE, 0x11, DEVANAGARI | GUJARATI),
    (0x06, 0x46, NONE, 0x12, DEVANAGARI),
    (0x06, 0x47, NONE, 0x13, DEVANAGARI | GUJARATI),
    (0x06, 0x48, NONE, 0x14, DEVANAGARI | GUJARATI),
    (0x07, 0x57, NONE, 0x08, MALAYALAM),
    (0x09, 0x41, NONE, 0x0A, DEVANAGARI),
    (0x09, 0x57, NONE, 0x0A, TAMIL | MALAYALAM),
    (0x0E, 0x46, NONE, 0x10, MALAYALAM),
    (0x0F, 0x45, NONE, 0x0D, DEVANAGARI),
    (0x0F, 0x46, NONE, 0x0E, DEVANAGARI),
    (0x0F, 0x47, NONE, 0x10, DEVANAGARI),
    (0x0F, 0x57, NONE, 0x10, ORIYA),
    (0x12, 0x3E, NONE, 0x13, MALAYALAM),
    (0x12, 0x4C, NONE, 0x14, TELUGU | KANNADA),
    (0x12, 0x55, NONE, 0x13, TELUGU),
    (0x12, 0x57, NONE, 0x14, TAMIL | MALAYALAM),
    (0x13, 0x57, NONE, 0x14, ORIYA),
    (0x15, 0x3C, NONE, 0x58, DEVANAGARI),
    (0x16, 0x3C, NONE, 0x59, DEVANAGARI | GURMUKHI),
    (0x17, 0x3C, NONE, 0x5A, DEVANAGARI | GURMUKHI),
    (0x1C, 0x3C, NONE, 0x5B, DEVANAGARI | GURMUKHI),
    (0x21, 0x3C, NONE, 0x5C, DEVANAGARI | BENGALI | ORIYA),
    (0x22, 0x3C, NONE, 0x5D, DEVANAGARI | BENGALI | ORIYA),
    (0x23, 0x4D, JOINER, 0x7A, MALAYALAM),
    (0x24, 0x4D, JOINER, 0x4E, BENGALI),
    (0x28, 0x3C, NONE, 0x29, DEVANAGARI),
    (0x28, 0x4D, JOINER, 0x7B, MALAYALAM),
    (0x2B, 0x3C, NONE, 0x5E, DEVANAGARI | GURMUKHI),
    (0x2F, 0x3C, NONE, 0x5F, DEVANAGARI | BENGALI),
    (0x2C, 0x41, 0x41, 0x0B, TELUGU),
    (0x30, 0x3C, NONE, 0x31, DEVANAGARI),
    (0x30, 0x4D, JOINER, 0x7C, MALAYALAM),
    (0x32, 0x4D, JOINER, 0x7D, MALAYALAM),
    (0x33, 0x3C, NONE, 0x34, DEVANAGARI),
    (0x33, 0x4D, JOINER, 0x7E, MALAYALAM),
    (0x35, 0x41, NONE, 0x2E, TELUGU),
    (0x3E, 0x45, NONE, 0x49, DEVANAGARI | GUJARATI),
    (0x3E, 0x46, NONE, 0x4A, DEVANAGARI),
    (0x3E, 0x47, NONE, 0x4B, DEVANAGARI | GUJARATI),
    (0x3E, 0x48, NONE, 0x4C, DEVANAGARI | GUJARATI),
    (0x3F, 0x55, NONE, 0x40, KANNADA),
    (0x41, 0x41, NONE, 0x42, GURMUKHI),
    (0x46, 0x3E, NONE, 0x4A, TAMIL | MALAYALAM),
    (0x46, 0x42, 0x55, 0x4B, KANNADA),
    (0x46, 0x42, NONE, 0x4A, KANNADA),
    (0x46, 0x46, NONE, 0x48, MALAYALAM),
    (0x46, 0x55, NONE, 0x47, TELUGU | KANNADA),
    (0x46, 0x56, NONE, 0x48, TELUGU | KANNADA),
    (0x46, 0x57, NONE, 0x4C, TAMIL | MALAYALAM),
    (0x47, 0x3E, NONE, 0x4B, BENGALI | ORIYA | TAMIL | MALAYALAM),
    (0x47, 0x57, NONE, 0x4C, BENGALI | ORIYA),
    (0x4A, 0x55, NONE, 0x4B, KANNADA),
    (0x72, 0x3F, NONE, 0x07, GURMUKHI),
    (0x72, 0x40, NONE, 0x08, GURMUKHI),
    (0x72, 0x47, NONE, 0x0F, GURMUKHI),
    (0x73, 0x41, NONE, 0x09, GURMUKHI),
    (0x73, 0x42, NONE, 0x0A, GURMUKHI),
    (0x73, 0x4B, NONE, 0x13, GURMUKHI),
];
