//! Words as Lucene's `StandardTokenizer` finds them: UAX #29, with single ideographs and hiragana, whole runs
//! of Thai and similar scripts, and emoji.

/// Declares an enum of one byte, and the list of its variants.
macro_rules! listed {
    ($(#[$meta:meta])* enum $name:ident { $($(#[$doc:meta])* $variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All variants, in order.
            pub(super) const ALL: &[Self] = &[$(Self::$variant),+];
        }
    };
}

mod classes;
mod emoji;
mod states;

use classes::Class;
use states::State;

/// A longer token is cut into pieces of this many UTF-16 code units.
const LONGEST: usize = 255;

/// The kind of a token's characters, as far as a filter needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Emoji,
    Hangul,
    Katakana,
    Ideograph,
    Hiragana,
}

/// A token: `text[start..end]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// The tokens of a text, in order.
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let rest = &self.text[start..];
            let first = rest.chars().next()?;
            let (mut length, mut kind) = word(rest);
            if emoji::may_begin(first, Class::of(first)) {
                let emoji = emoji::length(longest(rest));
                if emoji > 0 && emoji >= length {
                    (length, kind) = (emoji, Kind::Emoji);
                }
            }
            if length > 0 {
                self.at += length;
                return Some(Token { start, end: self.at, kind });
            }
            self.at += first.len_utf8();
        }
    }
}

/// The bytes of the longest word that `text` begins with, or 0.
fn word(text: &str) -> (usize, Kind) {
    let mut state = State::Start;
    let mut found = (0, Kind::Word);
    let mut at = 0;
    // A code unit has at least one byte, so that short tokens need not count.
    let mut limit = LONGEST;
    let mut counted = false;
    while let Some(char) = text[at..].chars().next() {
        at += char.len_utf8();
        if at > limit {
            if counted {
                break;
            }
            limit = longest(text).len();
            counted = true;
            if at > limit {
                break;
            }
        }
        state = state.after(Class::of(char));
        if state == State::Dead {
            break;
        }
        if let Some(kind) = state.accepts() {
            found = (at, kind);
        }
    }
    found
}

/// The beginning of `text` that one token may have.
fn longest(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let mut units = 0;
    let end = text.char_indices().find(|(_, char)| {
        units += char.len_utf16();
        units > LONGEST
    });
    end.map_or(text, |(at, _)| &text[..at])
}
