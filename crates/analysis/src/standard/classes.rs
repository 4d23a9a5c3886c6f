//! The class of each character for the tokenizer: `classes.txt`, read at compile time.

/// A table has every character below this one. Above are few ranges of ideographs and tags.
const LOW: usize = 0x2_0000;
/// There are at most this many ranges above.
const HIGH: usize = 16;

listed! {
    /// The word break classes of UAX #29 (Unicode 9), and classes for what it does not cover: ideographs,
    /// scripts written without spaces, emoji (Unicode 11).
    enum Class {
        Other,
        Letter,
        /// A letter of Hebrew, after which quotes may belong to the word.
        Hebrew,
        /// A letter of Hangul.
        Hangul,
        Numeric,
        Katakana,
        MidLetter,
        MidNum,
        MidNumLet,
        SingleQuote,
        DoubleQuote,
        ExtendNumLet,
        /// A mark, a format character or a zero width joiner: part of the character before.
        Extend,
        /// A letter of a script of South East Asia.
        Complex,
        /// A mark of such a script.
        ComplexExtend,
        Han,
        Hiragana,
        Emoji,
        /// Both a letter and an emoji.
        LetterEmoji,
        /// A skin tone: an emoji by itself, a mark after other characters.
        Modifier,
        Regional,
    }
}

impl Class {
    const fn named(name: &[u8]) -> Self {
        match name {
            b"Letter" => Self::Letter,
            b"Hebrew" => Self::Hebrew,
            b"Hangul" => Self::Hangul,
            b"Numeric" => Self::Numeric,
            b"Katakana" => Self::Katakana,
            b"MidLetter" => Self::MidLetter,
            b"MidNum" => Self::MidNum,
            b"MidNumLet" => Self::MidNumLet,
            b"SingleQuote" => Self::SingleQuote,
            b"DoubleQuote" => Self::DoubleQuote,
            b"ExtendNumLet" => Self::ExtendNumLet,
            b"Extend" => Self::Extend,
            b"Complex" => Self::Complex,
            b"ComplexExtend" => Self::ComplexExtend,
            b"Han" => Self::Han,
            b"Hiragana" => Self::Hiragana,
            b"Emoji" => Self::Emoji,
            b"LetterEmoji" => Self::LetterEmoji,
            b"Modifier" => Self::Modifier,
            b"Regional" => Self::Regional,
            _ => panic!("classes.txt names a class that there is not"),
        }
    }

    /// The class of a character.
    pub(super) fn of(char: char) -> Self {
        let point = char as usize;
        match CLASSES.low.get(point) {
            Some(&class) => class,
            None => CLASSES
                .high
                .iter()
                .find(|(first, last, _)| (*first..=*last).contains(&point))
                .map_or(Self::Other, |&(_, _, class)| class),
        }
    }
}

struct Classes {
    low: [Class; LOW],
    high: [(usize, usize, Class); HIGH],
}

static CLASSES: Classes = read(include_bytes!("classes.txt"));

/// Reads lines of `FIRST LAST CLASS`, the characters in hexadecimal.
const fn read(text: &[u8]) -> Classes {
    let mut classes = Classes { low: [Class::Other; LOW], high: [(0, 0, Class::Other); HIGH] };
    let (mut at, mut high) = (0, 0);
    while at < text.len() {
        let (first, after) = hexadecimal(text, at);
        let (last, after) = hexadecimal(text, after);
        let mut end = after;
        while text[end] != b'\n' {
            end += 1;
        }
        let class = Class::named(text.split_at(end).0.split_at(after).1);
        if last < LOW {
            let mut point = first;
            while point <= last {
                classes.low[point] = class;
                point += 1;
            }
        } else {
            classes.high[high] = (first, last, class);
            high += 1;
        }
        at = end + 1;
    }
    classes
}

/// The number at `at`, and where the next field begins.
const fn hexadecimal(text: &[u8], mut at: usize) -> (usize, usize) {
    let mut number = 0;
    while text[at] != b' ' {
        let digit = match text[at] {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'A'..=b'F' => digit - b'A' + 10,
            _ => panic!("classes.txt has a number that is none"),
        };
        number = number * 16 + digit as usize;
        at += 1;
    }
    (number, at + 1)
}
