//! Counts in messages.

use std::fmt::Display;

/// `1 query`, `2 queries`: how many, with the noun in the right number. The noun is regular.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") => {
            format!("{count} {noun}es")
        }
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_noun_has_the_number_of_its_count() {
        let nouns = ["query", "day", "batch", "index", "hit", "paragraph", "hash"];
        assert_eq!(nouns.map(|noun| counted(1_usize, noun)), nouns.map(|noun| format!("1 {noun}")));
        let many = ["2 queries", "2 days", "2 batches", "2 indexes", "2 hits", "2 paragraphs", "2 hashes"];
        assert_eq!(nouns.map(|noun| counted(2_u32, noun)), many);
        assert_eq!(counted(0_u64, "query"), "0 queries");
    }
}
