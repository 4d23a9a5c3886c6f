//! Tokens that are found in a text before it is cut into words: special ones, and those that were added to a
//! vocabulary.

use tokenizers::AddedToken;

/// A set of added tokens. At each place the longest one is found, from left to right, none overlapping.
pub(super) struct AddedTokens {
    /// Those that begin with the same byte are together, longer ones first.
    tokens: Vec<Added>,
    /// For each byte, where in `tokens` those that begin with it are.
    begin_with: Box<[(u32, u32); 256]>,
}

struct Added {
    content: Box<[u8]>,
    id: u32,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// No token in it.
    Text(&'t str),
    /// A token.
    Token(u32),
}

impl AddedTokens {
    /// A set of tokens, each with the text to be found and its id; `None` if two are found by the same text,
    /// or one by an empty text.
    pub(super) fn new<'a>(tokens: impl IntoIterator<Item = (String, u32, &'a AddedToken)>) -> Option<Self> {
        let mut tokens: Vec<Added> = tokens
            .into_iter()
            .map(|(content, id, token)| Added {
                content: content.into_bytes().into(),
                id,
                single_word: token.single_word,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
            })
            .collect();
        tokens.sort_by(|a, b| {
            let key =
                |token: &Added| (token.content.first().copied(), std::cmp::Reverse(token.content.len()));
            key(a).cmp(&key(b)).then_with(|| a.content.cmp(&b.content))
        });
        if tokens.windows(2).any(|pair| pair[0].content == pair[1].content) {
            return None;
        }
        let mut begin_with = Box::new([(0, 0); 256]);
        for (index, token) in (0..).zip(&tokens) {
            let (begin, end) = &mut begin_with[usize::from(*token.content.first()?)];
            if *end == 0 {
                *begin = index;
            }
            *end = index + 1;
        }
        Some(Self { tokens, begin_with })
    }

    /// Whether there is no token.
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The parts of a text, in order. Those that are text are not empty.
    pub(super) fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = Part<'t>> {
        // Where the search continues, and the end of the parts so far. The two differ after a token that
        // takes the spaces after it.
        let (mut search_from, mut done) = (0, 0);
        let mut found = None;
        std::iter::from_fn(move || {
            if let Some(id) = found.take() {
                return Some(Part::Token(id));
            }
            if self.is_empty() && done == 0 && !text.is_empty() {
                done = text.len();
                return Some(Part::Text(text));
            }
            while let Some((at, token)) = self.next(text.as_bytes(), search_from) {
                search_from = at + token.content.len();
                let (before, behind) = (text.get(..at)?, text.get(search_from..)?);
                if token.single_word
                    && (before.chars().next_back().is_some_and(is_word)
                        || behind.chars().next().is_some_and(is_word))
                {
                    continue;
                }
                let mut begin = at;
                if token.lstrip {
                    begin = before.trim_end().len().max(done);
                }
                let mut end = search_from;
                if token.rstrip {
                    end += behind.len() - behind.trim_start().len();
                }
                let part = (done < begin).then(|| text.get(done..begin)).flatten();
                done = end;
                let Some(part) = part else { return Some(Part::Token(token.id)) };
                found = Some(token.id);
                return Some(Part::Text(part));
            }
            let rest = text.get(done..).filter(|rest| !rest.is_empty())?;
            (search_from, done) = (text.len(), text.len());
            Some(Part::Text(rest))
        })
    }

    /// The first token at or after a byte, and where it begins.
    fn next(&self, text: &[u8], from: usize) -> Option<(usize, &Added)> {
        (from..text.len()).find_map(|at| {
            let (begin, end) = self.begin_with[usize::from(text[at])];
            let tokens = self.tokens.get(begin as usize..end as usize)?;
            tokens.iter().find(|token| text[at..].starts_with(&token.content)).map(|token| (at, token))
        })
    }
}

/// `\w`, as regular expressions have it.
fn is_word(c: char) -> bool {
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}
