//! What the stemmers have in common.

/// The length of a term in code units of UTF-16, which is how Lucene's conditions count.
pub(super) fn units(term: &str) -> usize {
    if term.is_ascii() { term.len() } else { term.chars().map(char::len_utf16).sum() }
}

/// Takes this many characters off, at most all.
pub(super) fn remove_last(term: &mut String, count: usize) {
    for _ in 0..count {
        term.pop();
    }
}

pub(super) fn ends_with_one(term: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| term.ends_with(ending))
}

/// Endings of one length, and the number of characters that go if one is found.
pub(super) type Endings = (usize, &'static [&'static str]);

/// Takes off the first of the endings that leaves two characters or more.
pub(super) fn remove_one(term: &mut String, endings: &[Endings]) {
    let length = units(term);
    if let Some((count, _)) =
        endings.iter().find(|(count, endings)| length > count + 1 && ends_with_one(term, endings))
    {
        remove_last(term, *count);
    }
}

/// Whether the characters end with these.
pub(super) fn ends(chars: &[char], ending: &str) -> bool {
    let length = ending.chars().count();
    chars.len() >= length && chars[chars.len() - length..].iter().copied().eq(ending.chars())
}

/// The length of the shortest word whose ending is replaced, the ending, and the replacement.
pub(super) type Replacement = (usize, &'static str, &'static str);

/// Replaces the first of the endings that is found.
pub(super) fn replace_first(word: &mut Vec<char>, endings: &[Replacement]) -> bool {
    let found = endings.iter().find(|(shortest, ending, _)| word.len() >= *shortest && ends(word, ending));
    if let Some((_, ending, new)) = found {
        word.truncate(word.len() - ending.chars().count());
        word.extend(new.chars());
    }
    found.is_some()
}
