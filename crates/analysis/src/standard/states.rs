//! The rules of UAX #29 for words as a state machine.

use super::Kind;
use super::classes::Class;

listed! {
    /// What has been read of a token. Marks and format characters change no state.
    enum State {
        /// No token begins or continues like this.
        Dead,
        Start,
        /// Connectors (`_`) and nothing else: not yet a token.
        Connectors,
        /// Only Hangul.
        Hangul,
        /// Only Katakana.
        Katakana,
        /// The last character is a letter.
        Letter,
        Hebrew,
        Number,
        /// Katakana after connectors.
        MoreKatakana,
        /// Connectors after any of the states above.
        Connected,
        /// A character that may be between two letters (`:`, `.`), after a letter: a token only if another
        /// letter follows.
        BetweenLetters,
        BetweenNumbers,
        /// A single quote after Hebrew. It may end a token.
        HebrewQuote,
        /// A double quote after Hebrew. It may not end a token.
        HebrewDoubleQuote,
        /// The Hebrew letter after a double quote. A character that may be between two letters may not
        /// follow.
        HebrewQuoted,
        Complex,
        Ideograph,
        Hiragana,
    }
}

impl State {
    /// The state after one more character.
    pub(super) fn after(self, class: Class) -> Self {
        NEXT[self as usize][class as usize]
    }

    /// The kind of the token, if it may end here.
    pub(super) fn accepts(self) -> Option<Kind> {
        match self {
            Self::Dead
            | Self::Start
            | Self::Connectors
            | Self::BetweenLetters
            | Self::BetweenNumbers
            | Self::HebrewDoubleQuote => None,
            Self::Hangul => Some(Kind::Hangul),
            Self::Katakana => Some(Kind::Katakana),
            Self::Letter
            | Self::Hebrew
            | Self::Number
            | Self::MoreKatakana
            | Self::Connected
            | Self::HebrewQuote
            | Self::HebrewQuoted
            | Self::Complex => Some(Kind::Word),
            Self::Ideograph => Some(Kind::Ideograph),
            Self::Hiragana => Some(Kind::Hiragana),
        }
    }
}

static NEXT: [[State; Class::ALL.len()]; State::ALL.len()] = {
    let mut table = [[State::Dead; Class::ALL.len()]; State::ALL.len()];
    let mut state = 0;
    while state < State::ALL.len() {
        let mut class = 0;
        while class < Class::ALL.len() {
            table[state][class] = next(State::ALL[state], Class::ALL[class]);
            class += 1;
        }
        state += 1;
    }
    table
};

const fn next(state: State, class: Class) -> State {
    use State::*;
    match (state, class) {
        (Start, Class::Extend | Class::Modifier) | (Dead, _) => Dead,
        (Start | Complex, Class::Complex | Class::ComplexExtend) => Complex,
        (_, Class::Extend | Class::ComplexExtend | Class::Modifier) => state,

        (Start, Class::Hangul) => Hangul,
        (Start, Class::Katakana) => Katakana,
        (Start, Class::Han) => Ideograph,
        (Start, Class::Hiragana) => Hiragana,
        (Start | Connectors, Class::ExtendNumLet) => Connectors,
        (Hangul, Class::Hangul) => Hangul,
        (Katakana, Class::Katakana) => Katakana,
        (Connectors | Connected | MoreKatakana, Class::Katakana) => MoreKatakana,
        (Katakana | MoreKatakana, Class::ExtendNumLet) => Connected,

        (HebrewDoubleQuote, Class::Hebrew) => HebrewQuoted,
        (Katakana | MoreKatakana | HebrewDoubleQuote | Complex | Ideograph | Hiragana, _) => Dead,

        (BetweenNumbers, Class::Numeric) => Number,
        (BetweenNumbers, _) | (BetweenLetters, Class::Numeric | Class::ExtendNumLet) => Dead,
        // After a character between two letters, a letter of Hebrew counts as any letter: no quote may
        // follow.
        (BetweenLetters, Class::Hebrew) => Letter,
        (_, Class::Letter | Class::LetterEmoji | Class::Hangul) => Letter,
        (_, Class::Hebrew) => Hebrew,
        (_, Class::Numeric) => Number,
        (BetweenLetters, _) => Dead,
        (_, Class::ExtendNumLet) => Connected,

        (Hebrew, Class::SingleQuote) => HebrewQuote,
        (Hebrew, Class::DoubleQuote) => HebrewDoubleQuote,
        (Letter | Hebrew | Hangul, Class::MidLetter | Class::MidNumLet | Class::SingleQuote) => {
            BetweenLetters
        }
        (Number, Class::MidNum | Class::MidNumLet | Class::SingleQuote) => BetweenNumbers,
        _ => Dead,
    }
}
