//! Where a long text may be cut before it is tokenized.
//!
//! Tokenizing costs a hundred bytes of memory and a microsecond for every few bytes of text, and most tokens
//! of a text that is too long are cut off afterwards. So a long text is tokenized in segments until there are
//! enough tokens. The tokens are the same only if a cut does not change its surroundings. This file says
//! where that holds.

use serde_json::Value;
use tokenizers::AddedToken;

/// Bytes of the first segment for each wanted token: words of most languages have fewer.
const BYTES_PER_TOKEN: usize = 6;

/// The longest segment, if there is a place to cut: some megabytes of the library's memory.
const LONGEST_SEGMENT: usize = 1 << 16;

/// The places at which a tokenizer's texts may be cut: the tokens of the parts, concatenated, are the tokens
/// of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    /// Before a blank (U+0020) between two letters or digits for which [`is_plain`] holds.
    ///
    /// 1. *Added tokens* are searched for in the text before all else. None spans the cut, since none has a
    ///    blank after another character; none takes the blank after it (`rstrip`) or looks at its neighbours
    ///    (`single_word`); one that takes the blank before it (`lstrip`) has the blank in its own segment.
    /// 2. *Normalizers*: those of [`normalizes_locally`] map characters or grapheme clusters one by one, or
    ///    reorder and compose marks. The blank is a starter that composes with nothing before it, and a
    ///    cluster never continues from a plain letter to a blank. The letter before it does not become white
    ///    space, so no run of white space spans the cut.
    /// 3. *Pre-tokenizers*: those of [`splits_at_blanks`] always split there, whether they look at the text
    ///    or, like GPT-2's pattern, only at what follows; and a segment that begins with a blank gets no
    ///    prefix of its own.
    /// 4. *Models* see one pre-token at a time.
    blanks: bool,
    /// Between two Chinese characters: BERT's normalizer puts blanks around each. No added token contains
    /// one.
    ideographs: bool,
}

impl Cuts {
    /// The cuts of a tokenizer. None if its kind is not known to allow cuts.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Self {
        let json = |part: Option<serde_json::Result<Value>>| part.and_then(Result::ok).unwrap_or_default();
        let normalizer = json(tokenizer.get_normalizer().map(serde_json::to_value));
        let pre_tokenizer = json(tokenizer.get_pre_tokenizer().map(serde_json::to_value));
        let added = tokenizer.get_added_tokens_decoder();
        let is_bert = kind(&normalizer) == "BertNormalizer" && kind(&pre_tokenizer) == "BertPreTokenizer";
        let local = is_bert || (normalizes_locally(&normalizer) && splits_at_blanks(&pre_tokenizer));
        Self {
            blanks: local && added.values().all(stays_off_blanks),
            ideographs: is_bert
                && normalizer.get("handle_chinese_chars") == Some(&Value::Bool(true))
                && added.values().all(|token| token.content.is_ascii()),
        }
    }

    /// `text` in segments that may be tokenized one by one, the first long enough for `tokens` tokens of
    /// usual length.
    pub(super) fn segments(self, text: &str, tokens: usize) -> impl Iterator<Item = &str> {
        let mut rest = Some(text);
        let mut length = tokens.saturating_mul(BYTES_PER_TOKEN).clamp(64, LONGEST_SEGMENT);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let Some(cut) = self.find(text, length) else { return Some(text) };
            let (segment, after) = text.split_at(cut);
            rest = Some(after);
            length = (2 * length).min(LONGEST_SEGMENT);
            Some(segment)
        })
    }

    /// The first place after `from` bytes at which `text` may be cut.
    fn find(self, text: &str, from: usize) -> Option<usize> {
        if !(self.blanks || self.ideographs) || from >= text.len() {
            return None;
        }
        let from = text.ceil_char_boundary(from);
        let mut before = ['\0'; 2];
        for (at, c) in text[from..].char_indices() {
            let at = from + at;
            let [first, second] = before;
            if self.blanks && second == ' ' && is_plain(first) && is_plain(c) {
                return Some(at - 1);
            }
            if self.ideographs && is_ideograph(second) && is_ideograph(c) {
                return Some(at);
            }
            before = [second, c];
        }
        None
    }
}

/// Whether a letter or digit neither joins a blank in a grapheme cluster (the letters of the property
/// `Prepend`) nor has a compatibility decomposition that contains a blank.
fn is_plain(c: char) -> bool {
    let unusual = matches!(c, '\u{37a}' | '\u{d4e}' | '\u{fb50}'..='\u{feff}' | '\u{11000}'..='\u{11fff}');
    c.is_alphanumeric() && !unusual
}

/// What BERT calls a Chinese character: ideographs, neither kana nor hangul (Devlin et al.'s
/// `_is_chinese_char`).
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}

fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn holds_blank_after_other(text: &str) -> bool {
    text.chars().zip(text.chars().skip(1)).any(|(one, next)| !one.is_whitespace() && next.is_whitespace())
}

fn stays_off_blanks(token: &AddedToken) -> bool {
    // A normalizer may put blanks into a content that is not ASCII.
    let normalizes_to_itself = !token.normalized || token.content.is_ascii();
    !(token.rstrip || token.single_word || holds_blank_after_other(&token.content)) && normalizes_to_itself
}

/// Patterns of words that look, like GPT-2's, only at what follows: those of Qwen2 and of LLaMA 3, after
/// GPT-4's. None has a blank after a letter or digit; with a letter or digit behind it, a blank begins a word
/// or is one.
const WORD_PATTERNS: [&str; 2] = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

fn normalizes_locally(normalizer: &Value) -> bool {
    match kind(normalizer) {
        "" => normalizer.is_null(),
        "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "Nmt" | "Precompiled" => true,
        // A segment ends in a letter: there is nothing to strip at the end.
        "Strip" => normalizer.get("strip_left") == Some(&Value::Bool(false)),
        "Replace" => {
            let pattern = |kind| normalizer.get("pattern")?.get(kind)?.as_str();
            match (pattern("Regex"), pattern("String")) {
                // Runs of blanks: none spans the cut.
                (Some(regex), _) => regex == " {2,}",
                // Neither spans the cut nor ends in the letter before it.
                (None, Some(text)) => {
                    !holds_blank_after_other(text)
                        && !text.chars().next_back().is_some_and(char::is_alphanumeric)
                }
                (None, None) => false,
            }
        }
        "Sequence" => normalizer
            .get("normalizers")
            .and_then(Value::as_array)
            .is_some_and(|parts| parts.iter().all(normalizes_locally)),
        _ => false,
    }
}

fn splits_at_blanks(pre_tokenizer: &Value) -> bool {
    match kind(pre_tokenizer) {
        "BertPreTokenizer" | "WhitespaceSplit" | "Whitespace" => true,
        "ByteLevel" => pre_tokenizer.get("use_regex") == Some(&Value::Bool(true)),
        "Metaspace" => pre_tokenizer.get("split") == Some(&Value::Bool(true)),
        "Split" => {
            let pattern = || pre_tokenizer.get("pattern")?.get("Regex")?.as_str();
            let isolates = pre_tokenizer.get("behavior").and_then(Value::as_str) == Some("Isolated");
            let inverts = pre_tokenizer.get("invert") != Some(&Value::Bool(false));
            isolates && !inverts && pattern().is_some_and(|pattern| WORD_PATTERNS.contains(&pattern))
        }
        // The pre-tokenizers after a split see one part at a time.
        "Sequence" => pre_tokenizer.get("pretokenizers").and_then(Value::as_array).is_some_and(|parts| {
            let known = [
                "BertPreTokenizer", "WhitespaceSplit", "Whitespace", "ByteLevel", "Metaspace", "Punctuation",
                "Digits", "Split",
            ];
            parts.first().is_some_and(splits_at_blanks)
                && parts.iter().all(|part| known.contains(&kind(part)))
        }),
        _ => false,
    }
}
