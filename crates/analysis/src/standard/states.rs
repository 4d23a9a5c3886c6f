//! The rules of UAX #29 for words as a state machine.

use super::Kind;
use super::classes::Class;

/// What has been read of a token. Marks and format characters change none of these.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// No token begins, or goes on, like this.
    Dead,
    Start,
    /// Connectors (`_`) and nothing else, which is no token yet.
    Connectors,
    /// Hangul alone.
    Hangul,
    /// Katakana alone.
    Katakana,
    /// ... and a letter at last.
    Letter,
    Hebrew,
    Number,
    /// Katakana after connectors.
    MoreKatakana,
    /// Connectors after any of these.
    Connected,
    /// What may stand between two letters (`:`, `.`) after a letter: a token only if another letter follows.
    BetweenLetters,
    BetweenNumbers,
    /// A single quote after Hebrew, which may end a token.
    HebrewQuote,
    /// A double quote after Hebrew, which may not.
    HebrewDoubleQuote,
    /// The Hebrew letter after a double quote: what may stand between letters may not follow it.
    HebrewQuoted,
    Complex,
    Ideograph,
    Hiragana,
}

impl State {
    const COUNT: usize = Self::Hiragana as usize + 1;

    /// The state after another character.
    pub(super) fn after(self, class: Class) -> Self {
        NEXT[self as usize][class as usize]
    }

    /// What the token is, if it may end here.
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

const STATES: [State; State::COUNT] = [
    State::Dead,
    State::Start,
    State::Connectors,
    State::Hangul,
    State::Katakana,
    State::Letter,
    State::Hebrew,
    State::Number,
    State::MoreKatakana,
    State::Connected,
    State::BetweenLetters,
    State::BetweenNumbers,
    State::HebrewQuote,
    State::HebrewDoubleQuote,
    State::HebrewQuoted,
    State::Complex,
    State::Ideograph,
    State::Hiragana,
];

const CLASSES: [Class; Class::COUNT] = [
    Class::Other,
    Class::Letter,
    Class::Hebrew,
    Class::Hangul,
    Class::Numeric,
    Class::Katakana,
    Class::MidLetter,
    Class::MidNum,
    Class::MidNumLet,
    Class::SingleQuote,
    Class::DoubleQuote,
    Class::ExtendNumLet,
    Class::Extend,
    Class::Complex,
    Class::ComplexExtend,
    Class::Han,
    Class::Hiragana,
    Class::Emoji,
    Class::LetterEmoji,
    Class::Modifier,
    Class::Regional,
];

static NEXT: [[State; Class::COUNT]; State::COUNT] = {
    let mut table = [[State::Dead; Class::COUNT]; State::COUNT];
    let mut state = 0;
    while state < State::COUNT {
        let mut class = 0;
        while class < Class::COUNT {
            table[STATES[state] as usize][CLASSES[class] as usize] = next(STATES[state], CLASSES[class]);
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
        // No quote may follow a letter of Hebrew that what stands between letters needs.
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
