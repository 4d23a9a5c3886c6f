//! Whether a passage contains an answer, by the rules of DPR (Karpukhin et al. 2020), which EntityQuestions
//! uses too.

use std::sync::LazyLock;

use rayon::prelude::*;
use regex::{Regex, RegexBuilder};
use toller_ir::Query;
use unicode_normalization::UnicodeNormalization;

/// What a token is: letters, digits and marks together, or one other character that is neither a separator
/// nor a control character.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]").ok());

/// How the answers of a question are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchMode {
    /// As a sequence of tokens, in any case.
    #[default]
    Tokens,
    /// As regular expressions of Python, in any case; `^` and `$` are the ends of lines. CuratedTREC's
    /// answers are some.
    Patterns,
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
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Takes a time that grows only with the text.
    Regular(Regex),
    /// With look-around or back-references, which take trials.
    Backtracking(fancy_regex::Regex),
}

impl AnswerMatcher {
    /// For a question with these answers, in decomposed form (NFD). A pattern that is not a regular
    /// expression never matches ([`refused_patterns`] finds it), and an answer without a token matches every
    /// passage: both as in DPR's script.
    pub fn new<'a>(answers: impl IntoIterator<Item = &'a str>, mode: MatchMode) -> Self {
        let answers = answers.into_iter().map(decomposed);
        let answers = match mode {
            MatchMode::Tokens => Answers::Tokens(answers.map(|answer| tokens(&answer)).collect()),
            MatchMode::Patterns => {
                Answers::Patterns(answers.filter_map(|answer| Pattern::new(&answer)).collect())
            }
        };
        Self { answers }
    }

    /// Whether `text` contains one of the answers.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_prepared(&PreparedText::new(text, self.mode()))
    }

    /// As [`AnswerMatcher::is_in`], for a text in which several questions' answers are looked for. A text
    /// that was prepared for the other mode contains no answer.
    #[must_use]
    pub fn is_in_prepared(&self, text: &PreparedText) -> bool {
        match (&self.answers, text) {
            (Answers::Patterns(patterns), PreparedText::Patterns(text)) => {
                patterns.iter().any(|pattern| pattern.is_match(text))
            }
            (Answers::Tokens(answers), PreparedText::Tokens(tokens)) => answers.iter().any(|answer| {
                answer.is_empty() || tokens.windows(answer.len()).any(|window| window == answer)
            }),
            _ => false,
        }
    }

    fn mode(&self) -> MatchMode {
        match self.answers {
            Answers::Tokens(_) => MatchMode::Tokens,
            Answers::Patterns(_) => MatchMode::Patterns,
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
}

impl PreparedText {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str, mode: MatchMode) -> Self {
        let text = decomposed(text);
        match mode {
            MatchMode::Tokens => Self::Tokens(tokens(&text)),
            MatchMode::Patterns => Self::Patterns(text),
        }
    }
}

fn decomposed(text: &str) -> String {
    text.nfd().collect()
}

/// The tokens of a text: words and single other characters, in lower case.
pub(crate) fn word_tokens(text: &str) -> Vec<String> {
    tokens(&decomposed(text))
}

/// The tokens of a decomposed text, lowercased.
fn tokens(text: &str) -> Vec<String> {
    let found = TOKEN.iter().flat_map(|token| token.find_iter(text));
    found.map(|token| token.as_str().to_lowercase()).collect()
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

    use super::{AnswerMatcher, MatchMode, refused_patterns};

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
