//! One pass over a text: words in, ids out.

use super::NeedsReference;
use super::characters::{Character, Characters, Kind};
use super::vocabulary::Vocabulary;
use super::whole_words::ShortWord;

/// Appends the ids of the words of `text`, until there are `end` or a few more.
pub(super) fn scan(
    text: &str,
    characters: &Characters,
    vocabulary: &Vocabulary,
    end: usize,
    ids: &mut Vec<u32>,
) -> Result<(), NeedsReference> {
    let bytes = text.as_bytes();
    // This bit lower-cases a letter and is set in every digit.
    let fold = if characters.lowercase { repeat(0x20) } else { 0 };
    let kind_at = |at: usize| bytes.get(at).map_or(Kind::Space, |&byte| characters.ascii(byte).kind);
    let mut word = Word { bytes: Vec::new(), chars: 0 };
    let mut at = 0;
    while at < bytes.len() && ids.len() < end {
        // Most words: a few letters, then a space or a punctuation mark.
        let block = eight_bytes(bytes, at);
        let run = alphanumeric_run(block);
        if run < 8 {
            match (run, kind_at(at + run)) {
                (0, Kind::Space) => {
                    at += 1;
                    continue;
                }
                (0, Kind::Alone) => {
                    ids.push(characters.ascii(bytes[at]).id());
                    at += 1;
                    continue;
                }
                (1.., Kind::Space | Kind::Alone) => {
                    vocabulary.short(ShortWord::of_low_bytes(block | fold, run), run, ids);
                    at += run;
                    continue;
                }
                _ => {}
            }
        }
        // All other words, up to where an ASCII character follows the end of a word.
        loop {
            let block = eight_bytes(bytes, at);
            let run = alphanumeric_run(block);
            word.push_ascii(block | fold, run, vocabulary);
            at += run;
            if run == 8 {
                continue;
            }
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                word.end(vocabulary, ids);
                break;
            };
            let character = characters.get(c, vocabulary);
            at += c.len_utf8();
            match character.kind {
                Kind::Word => {
                    word.push(&character, vocabulary);
                    continue;
                }
                Kind::Removed => continue,
                Kind::Space => word.end(vocabulary, ids),
                Kind::Alone => {
                    word.end(vocabulary, ids);
                    ids.push(character.id());
                }
                Kind::Reference => return Err(NeedsReference),
            }
            if bytes.get(at).is_none_or(u8::is_ascii) || ids.len() >= end {
                break;
            }
        }
    }
    Ok(())
}

/// A word that is being read.
struct Word {
    bytes: Vec<u8>,
    chars: usize,
}

impl Word {
    /// Appends the first `len` of eight ASCII characters.
    #[inline]
    fn push_ascii(&mut self, block: u64, len: usize, vocabulary: &Vocabulary) {
        self.append(&block.to_le_bytes(), len, len, vocabulary);
    }

    /// Appends what becomes of a character.
    #[inline]
    fn push(&mut self, character: &Character, vocabulary: &Vocabulary) {
        let (bytes, len, chars) = character.text();
        self.append(&bytes, len, chars, vocabulary);
    }

    /// Appends the first `len` bytes, which are `chars` characters. All `N` bytes are copied first, since a
    /// copy of fixed size is faster. Of a word that is too long only the characters are counted.
    #[inline]
    fn append<const N: usize>(&mut self, bytes: &[u8; N], len: usize, chars: usize, vocabulary: &Vocabulary) {
        self.chars = self.chars.saturating_add(chars);
        if self.chars <= vocabulary.max_chars() {
            let len = self.bytes.len() + len;
            self.bytes.extend_from_slice(bytes);
            self.bytes.truncate(len);
        }
    }

    /// Ends the word, if there is one: appends its ids.
    fn end(&mut self, vocabulary: &Vocabulary, ids: &mut Vec<u32>) {
        if self.chars == 0 {
            return;
        }
        let len = self.bytes.len();
        if len <= ShortWord::MAX_LEN && self.chars <= vocabulary.max_chars() {
            self.bytes.extend_from_slice(&[0; 16]);
            let word = self.bytes.first_chunk().map(|&bytes| ShortWord::of_first_bytes(bytes, len));
            word.into_iter().for_each(|word| vocabulary.short(word, self.chars, ids));
        } else {
            vocabulary.pieces(&self.bytes, self.chars, ids);
        }
        self.bytes.clear();
        self.chars = 0;
    }
}

/// Eight bytes at a place, the first in the lowest byte, with zeros after the end.
#[inline]
fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match (rest.first_chunk(), bytes.last_chunk()) {
        (Some(&chunk), _) => u64::from_le_bytes(chunk),
        (None, Some(&last)) if !rest.is_empty() => u64::from_le_bytes(last) >> (8 * (8 - rest.len())),
        _ => rest.iter().rev().fold(0, |block, &byte| block << 8 | u64::from(byte)),
    }
}

/// The number of ASCII letters and digits at the start of a block.
#[inline]
fn alphanumeric_run(block: u64) -> usize {
    let low_bits = block & repeat(0x7f);
    let lowered = low_bits | repeat(0x20);
    // The high bit of each byte that is at least `least` is set. No sum leaves its byte.
    let at_least = |bytes: u64, least: u8| bytes + repeat(0x80 - least);
    let letters = at_least(lowered, b'a') & !at_least(lowered, b'z' + 1);
    let digits = at_least(low_bits, b'0') & !at_least(low_bits, b'9' + 1);
    let others = !((letters | digits) & !block) & repeat(0x80);
    others.trailing_zeros() as usize / 8
}

/// A byte, eight times.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}
