//! What a normalizer and the pre-tokenizer make of each character.

use std::sync::OnceLock;

use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};
use unicode_normalization_alignments::char::canonical_combining_class;

use super::vocabulary::Vocabulary;

/// Characters of a page: the table is filled page by page, as texts need them.
const PAGE: u32 = 256;
const PAGES: usize = (char::MAX as u32 / PAGE) as usize + 1;

/// No normalizer changes it, it joins no neighbour in the normal form, and nothing becomes it but itself.
const SEPARATOR: char = '0';

/// The most bytes that a character can become. Characters of more bytes go to the reference. A Hangul
/// syllable's three letters take nine.
const MAX_BYTES: usize = 13;

/// What becomes of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is part of a word, as the bytes of the entry.
    Word,
    /// It ends a word.
    Space,
    /// It is a word, with the id of the entry.
    Alone,
    /// It vanishes.
    Removed,
    /// It depends on its neighbours, or is several of the above.
    Reference,
}

/// A character's entry in the table.
#[derive(Clone, Copy)]
pub(super) struct Character {
    pub(super) kind: Kind,
    len: u8,
    chars: u8,
    bytes: [u8; MAX_BYTES],
}

impl Character {
    const REFERENCE: Self = Self { kind: Kind::Reference, len: 0, chars: 0, bytes: [0; MAX_BYTES] };

    fn of_kind(kind: Kind) -> Self {
        Self { kind, ..Self::REFERENCE }
    }

    fn word(text: &str) -> Self {
        let mut bytes = [0; MAX_BYTES];
        let Some(start) = bytes.get_mut(..text.len()) else { return Self::REFERENCE };
        start.copy_from_slice(text.as_bytes());
        Self { kind: Kind::Word, len: text.len() as u8, chars: text.chars().count() as u8, bytes }
    }

    fn alone(id: u32) -> Self {
        let mut character = Self::of_kind(Kind::Alone);
        character.bytes[..4].copy_from_slice(&id.to_le_bytes());
        character
    }

    /// The id of a character that is a word.
    pub(super) fn id(&self) -> u32 {
        let [a, b, c, d, ..] = self.bytes;
        u32::from_le_bytes([a, b, c, d])
    }

    /// What a character becomes in a word: bytes, the number of bytes that count, and the number of
    /// characters.
    pub(super) fn text(&self) -> ([u8; MAX_BYTES], usize, usize) {
        (self.bytes, usize::from(self.len), usize::from(self.chars))
    }
}

type Page = [Character; PAGE as usize];

/// The table of all characters.
pub(super) struct Characters {
    normalizer: Option<BertNormalizer>,
    pages: Box<[OnceLock<Box<Page>>]>,
    /// By byte: what becomes of ASCII. The bytes of other characters are [`Kind::Reference`].
    ascii: Box<Page>,
    /// Whether ASCII letters are lower-cased.
    pub(super) lowercase: bool,
}

impl Characters {
    /// The table for a normalizer, or for texts that are normalized already. `None` if ASCII letters and
    /// digits are not parts of words, as they are for every normalizer today.
    pub(super) fn new(normalizer: Option<BertNormalizer>, vocabulary: &Vocabulary) -> Option<Self> {
        let pages = (0..PAGES).map(|_| OnceLock::new()).collect();
        let ascii = Box::new([Character::REFERENCE; PAGE as usize]);
        let mut table = Self { normalizer, pages, ascii, lowercase: false };
        for byte in 0..128 {
            table.ascii[usize::from(byte)] = table.get(char::from(byte), vocabulary);
        }
        table.lowercase = table.ascii(b'A').text() == Character::word("a").text();
        let as_expected = (0..128_u8).filter(u8::is_ascii_alphanumeric).all(|byte| {
            let expected = if table.lowercase { byte.to_ascii_lowercase() } else { byte };
            let character = table.ascii(byte);
            character.kind == Kind::Word
                && character.text() == Character::word(char::from(expected).encode_utf8(&mut [0; 4])).text()
        });
        as_expected.then_some(table)
    }

    /// What becomes of an ASCII character; for other bytes [`Kind::Reference`].
    #[inline]
    pub(super) fn ascii(&self, byte: u8) -> &Character {
        &self.ascii[usize::from(byte)]
    }

    /// What becomes of a character.
    #[inline]
    pub(super) fn get(&self, c: char, vocabulary: &Vocabulary) -> Character {
        let (page, place) = (c as u32 / PAGE, c as u32 % PAGE);
        self.pages[page as usize].get_or_init(|| self.page(page, vocabulary))[place as usize]
    }

    /// A page of the table. Characters that could not be understood are left to the reference.
    fn page(&self, page: u32, vocabulary: &Vocabulary) -> Box<Page> {
        let mut characters = Box::new([Character::REFERENCE; PAGE as usize]);
        // No step of this fails. If one did, the reference would tokenize these characters.
        let _ = self.fill(page, vocabulary, &mut characters);
        characters
    }

    /// Asks the reference what it makes of all characters of a page, with separators between them.
    fn fill(&self, page: u32, vocabulary: &Vocabulary, characters: &mut Page) -> Option<()> {
        let of_page = || (page * PAGE..(page + 1) * PAGE).map(char::from_u32);
        let mut text = String::from(SEPARATOR);
        for c in of_page().flatten() {
            text.extend([c, SEPARATOR]);
        }
        let mut decomposes = false;
        if let Some(normalizer) = &self.normalizer {
            let mut normalized = NormalizedString::from(text);
            normalizer.normalize(&mut normalized).ok()?;
            text = normalized.get().to_owned();
            decomposes = normalizer.strip_accents.unwrap_or(normalizer.lowercase);
        }
        let mut words = PreTokenizedString::from(text.as_str());
        BertPreTokenizer.pre_tokenize(&mut words).ok()?;
        let words: Vec<(usize, usize)> = words
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .into_iter()
            .map(|(_, offsets, _)| offsets)
            .collect();

        let mut begin = SEPARATOR.len_utf8();
        for (c, character) in of_page().zip(characters) {
            let Some(c) = c else { continue };
            let rest = text.get(begin..)?;
            let len = if c == SEPARATOR { c.len_utf8() } else { rest.find(SEPARATOR)? };
            let (normal, end) = (rest.get(..len)?, begin + len);
            let first = words.partition_point(|&(_, word_end)| word_end <= begin);
            let inside = words[first..].iter().take_while(|&&(word_begin, _)| word_begin < end).count();
            *character = match &words[first..first + inside] {
                _ if normal.is_empty() => Character::of_kind(Kind::Removed),
                // The canonical order of marks depends on the marks around them.
                _ if decomposes && normal.chars().any(|c| canonical_combining_class(c) != 0) => {
                    Character::REFERENCE
                }
                [] => Character::of_kind(Kind::Space),
                &[(word_begin, word_end)] if word_begin < begin && word_end > end => Character::word(normal),
                &[(word_begin, word_end)] if word_begin >= begin && word_end <= end => {
                    let id = vocabulary.single(text.get(word_begin..word_end)?);
                    id.map_or(Character::REFERENCE, Character::alone)
                }
                _ => Character::REFERENCE,
            };
            begin = end + SEPARATOR.len_utf8();
        }
        Some(())
    }
}
