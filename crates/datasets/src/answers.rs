//! Whether a passage contains an answer, by the rules of DPR (Karpukhin et al. 2020), which EntityQuestions
//! uses too, or as a sequence of characters.

use std::sync::LazyLock;

use rayon::prelude::*;
use regex::{Regex, RegexBuilder};
use toller_ir::Query;
use unicode_normalization::UnicodeNormalization;

/// What a token is: letters, digits and marks together, or one other character that is neither a separator
/// nor a control character.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]").ok());

/// A character of a script without spaces between words.
static UNSPACED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]").ok()
});

/// How the answers of a question are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchMode {
    /// As a sequence of tokens, in any case.
    #[default]
    Tokens,
    /// As regular expressions of Python, in any case; `^` and `$` are the ends of lines. CuratedTREC's
    /// answers are some.
    Patterns,
    /// As a sequence of characters, in any case and compatible form (NFKC), whatever the spaces. In scripts
    /// without spaces between words, an answer is seldom a token.
    Characters,
}

/// Finds the answers of one question in passages.
#[derive(Clone, Debug)]
pub struct AnswerMatcher {
    answers: Answers,
}

#[derive(Clone, Debug)]
enum Answers {
    Tokens(Vec<Vec<String>>),
    Patterns(Vec<Pattern>),
    Characters(Vec<String>),
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Takes a time that grows only with the text.
    Regular(Regex),
    /// With look-around or back-references, which take trials.
    Backtracking(fancy_regex::Regex),
}

impl AnswerMatcher {
    /// For a question with these answers. Tokens and patterns are compared in decomposed form (NFD). A
    /// pattern that is not a regular expression never matches ([`refused_patterns`] finds it), and an answer
    /// without a token or a character matches every passage: both as in DPR's script.
    pub fn new<'a>(answers: impl IntoIterator<Item = &'a str>, mode: MatchMode) -> Self {
        let answers = answers.into_iter();
        let answers = match mode {
            MatchMode::Tokens => Answers::Tokens(answers.map(word_tokens).collect()),
            MatchMode::Patterns => {
                Answers::Patterns(answers.filter_map(|answer| Pattern::new(&decomposed(answer))).collect())
            }
            MatchMode::Characters => Answers::Characters(answers.map(characters).collect()),
        };
        Self { answers }
    }

    /// Whether `text` contains one of the answers.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_prepared(&PreparedText::new(text, self.mode()))
    }

    /// As [`AnswerMatcher::is_in`], for a text in which several questions' answers are looked for. A text
    /// that was prepared for another mode contains no answer.
    #[must_use]
    pub fn is_in_prepared(&self, text: &PreparedText) -> bool {
        match (&self.answers, text) {
            (Answers::Patterns(patterns), PreparedText::Patterns(text)) => {
                patterns.iter().any(|pattern| pattern.is_match(text))
            }
            (Answers::Tokens(answers), PreparedText::Tokens(tokens)) => answers.iter().any(|answer| {
                answer.is_empty() || tokens.windows(answer.len()).any(|window| window == answer)
            }),
            (Answers::Characters(answers), PreparedText::Characters(text)) => {
                answers.iter().any(|answer| text.contains(&**answer))
            }
            _ => false,
        }
    }

    fn mode(&self) -> MatchMode {
        match self.answers {
            Answers::Tokens(_) => MatchMode::Tokens,
            Answers::Patterns(_) => MatchMode::Patterns,
            Answers::Characters(_) => MatchMode::Characters,
        }
    }
}

/// A text in the form in which a mode looks for answers.
#[derive(Clone, Debug)]
pub enum PreparedText {
    /// Decomposed, for [`MatchMode::Patterns`].
    Patterns(String),
    /// The tokens, for [`MatchMode::Tokens`].
    Tokens(Vec<String>),
    /// Without white space and control characters, for [`MatchMode::Characters`].
    Characters(String),
}

impl PreparedText {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str, mode: MatchMode) -> Self {
        match mode {
            MatchMode::Tokens => Self::Tokens(word_tokens(text)),
            MatchMode::Patterns => Self::Patterns(decomposed(text)),
            MatchMode::Characters => Self::Characters(characters(text)),
        }
    }
}

/// Whether a character is not seen: control characters and marks of direction and of joins.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The characters of a text that are compared.
fn characters(text: &str) -> String {
    let kept = text.nfkc().filter(|character| !character.is_whitespace() && !is_invisible(*character));
    // Not all at once: a sigma at the end of a word has a form of its own.
    kept.flat_map(char::to_lowercase)
        .map(|character| if character == 'ς' { 'σ' } else { character })
        .collect()
}

fn decomposed(text: &str) -> String {
    text.nfd().collect()
}

/// The tokens of a text: words and single other characters, in lower case.
pub(crate) fn word_tokens(text: &str) -> Vec<String> {
    let text = decomposed(text);
    let found = TOKEN.iter().flat_map(|token| token.find_iter(&text));
    found.map(|token| token.as_str().to_lowercase()).collect()
}

/// Whether an answer is in a script without spaces between words, so that [`MatchMode::Tokens`] seldom finds
/// it.
#[must_use]
pub fn is_unspaced(answer: &str) -> bool {
    UNSPACED.as_ref().is_some_and(|script| script.is_match(answer))
}

/// The answers of these questions that are not regular expressions, so that [`MatchMode::Patterns`] never
/// finds them.
#[must_use]
pub fn refused_patterns(questions: &[Query]) -> Vec<&str> {
    let answers: Vec<&str> = questions.iter().flat_map(|query| &query.answers).map(String::as_str).collect();
    let is_refused = |answer: &&str| Pattern::new(&decomposed(answer)).is_none();
    answers.into_par_iter().filter(is_refused).collect()
}

impl Pattern {
    fn new(answer: &str) -> Option<Self> {
        let pattern = of_python(answer)?;
        let regular = RegexBuilder::new(&pattern).case_insensitive(true).multi_line(true).build();
        regular.ok().map(Self::Regular).or_else(|| {
            let mut builder = fancy_regex::RegexBuilder::new(&pattern);
            builder.case_insensitive(true).multi_line(true).build().ok().map(Self::Backtracking)
        })
    }

    fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Regular(pattern) => pattern.is_match(text),
            // An error says that there were too many trials.
            Self::Backtracking(pattern) => pattern.is_match(text).unwrap_or_default(),
        }
    }
}

/// A pattern of Python as the crates here read it. In Python a backslash before a character that is not an
/// ASCII letter or digit stands for the character. Here it is wrong before characters outside ASCII, and `\<`
/// and `\>` are the ends of words. `None` for escapes that fancy-regex takes, and Python does not.
fn of_python(pattern: &str) -> Option<String> {
    let mut kept = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            kept.push(character);
            continue;
        }
        let escaped = characters.next();
        if matches!(escaped, Some('e' | 'h' | 'k' | 'H' | 'O')) {
            return None;
        }
        if escaped.is_none_or(|escaped| escaped.is_ascii() && !matches!(escaped, '<' | '>')) {
            kept.push(character);
        }
        kept.extend(escaped);
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use toller_ir::Query;

    use super::{AnswerMatcher, MatchMode, is_unspaced, refused_patterns};

    fn by_tokens(answer: &str, text: &str) -> bool {
        AnswerMatcher::new([answer], MatchMode::Tokens).is_in(text)
    }

    fn by_pattern(answer: &str, text: &str) -> bool {
        AnswerMatcher::new([answer], MatchMode::Patterns).is_in(text)
    }

    #[test]
    fn tokens_are_matched_whole_and_in_order() {
        assert!(by_tokens("Paris", "She lives in PARIS."));
        assert!(!by_tokens("Paris", "Parisian cafés"));
        assert!(by_tokens("New York City", "new  york\tcity"));
        assert!(!by_tokens("New York", "York, New Jersey: new-york"));
        assert!(by_tokens("New-York", "new - york"));
        assert!(!by_tokens("New York", "New-York"));
        assert!(by_tokens("U.S.", "the u . s . army"));
        assert!(!by_tokens("U.S.", "the US army"));
        assert!(by_tokens("$5", "costs $5, or 5 $") && !by_tokens("$5", "costs 5 $"));
    }

    #[test]
    fn characters_are_decomposed() {
        // Composed and decomposed, with a mark as a part of the word.
        assert!(by_tokens("caf\u{e9}", "the cafe\u{301} there"));
        assert!(by_tokens("cafe\u{301}", "THE CAF\u{c9} THERE"));
        assert!(!by_tokens("cafe", "caf\u{e9}"));
        // Hangul syllables and their letters; a ligature stays, since NFD is canonical.
        assert!(by_tokens("\u{d55c}", "\u{1112}\u{1161}\u{11ab}"));
        assert!(!by_tokens("fi", "\u{fb01}"));
        // An invisible character separates words, as a separator does.
        assert!(!by_tokens("zerowidth", "zero\u{200b}width"));
        assert!(by_tokens("zero width", "zero\u{200b}width"));
    }

    #[test]
    fn patterns() {
        assert!(by_pattern(r"^\d{4}$", "born in\n1984\nin May"));
        assert!(!by_pattern(r"^\d{4}$", "born in 1984"));
        assert!(by_pattern("long|wide (river|lake)", "a WIDE LAKE"));
        assert!(by_pattern("par", "Parisian"));
        assert!(by_pattern("caf\u{e9}", "cafe\u{301}"));
        // No regular expression, so it never matches, not even itself.
        assert!(!by_pattern("(unclosed", "(unclosed"));
    }

    #[test]
    fn patterns_are_those_of_python() {
        // Of CuratedTREC.
        assert!(by_pattern("cinnabar|mercury|\\\u{2022} DJ Quicksilver", "found in Mercury"));
        assert!(by_pattern("10\\\u{2013}14 months", "after 10\u{2013}14 months"));
        assert!(by_pattern("yeasts|\\\u{2c8}fungus", "a \u{2c8}fungus"));
        assert!(by_pattern(r"\<b\>|x", "in <b>bold</b>") && !by_pattern(r"\<b\>", "a b c"));
        assert!(by_pattern(r"a\\b\.\-\ \d", r"a\b.- 7") && !by_pattern(r"a\.b", "acb"));
        // Decomposed, it has `\e`, with which Python refuses the whole pattern.
        assert!(!by_pattern("tea|caf\\\u{e9}", "tea"));
        // Look-around and back-references.
        assert!(by_pattern(r"(?<!Mc)Donald", "by DONALD") && !by_pattern(r"(?<!Mc)Donald", "McDonald"));
        assert!(by_pattern(r"^(\w+) \1$", "x\nNew new\ny") && !by_pattern(r"(\w+) \1", "New York"));
    }

    #[test]
    fn characters_are_found_where_words_have_no_spaces() {
        let is_in =
            |answer: &str, text: &str| AnswerMatcher::new([answer], MatchMode::Characters).is_in(text);
        let text = "1964年\u{ff11}\u{ff10}月、第18回夏季オリンピックが東京で開催された。";
        assert!(is_in("東京", text) && is_in("10月", text) && is_in("夏季 オリンピック", text));
        assert!(!is_in("大阪", text) && !by_tokens("東京", text));
        // A letter is not a part of another.
        assert!(!is_in("はし", "はじめ") && !is_in("서우", "서울") && !is_in("cafe", "caf\u{e9}"));
        assert!(is_in("ΟΔΟΣ", "οδος αβγ") && is_in("Οδός", "\u{202a}ΟΔΌΣ\u{202c}ΑΒΓ"));
        assert!(is_in("\u{e9}tat", "l'E\u{301}TAT") && is_in("\u{200b}", "text"));
        assert!(
            is_unspaced("東京") && is_unspaced("กรุงเทพ") && !is_unspaced("Paris") && !is_unspaced("서울")
        );
    }

    #[test]
    fn refused_patterns_are_found() {
        let question = |answers: &[&str]| Query {
            answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
            ..Query::default()
        };
        let questions = [question(&["a|b", "(unclosed"]), question(&[]), question(&["\\", r"(\w+) \1"])];
        assert_eq!(refused_patterns(&questions), ["(unclosed", "\\"]);
    }

    #[test]
    fn any_answer_counts() {
        let matcher = AnswerMatcher::new(["Bonn", "Berlin"], MatchMode::Tokens);
        assert!(matcher.is_in("in Berlin") && matcher.is_in("Bonn") && !matcher.is_in("London"));
        assert!(!AnswerMatcher::new([], MatchMode::Tokens).is_in("text"));
        assert!(by_tokens(" \u{200b}", "text"));
    }
}
