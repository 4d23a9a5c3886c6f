//! Patterns of keys, as a shell has them for files: `*` is any characters but a slash.

/// Whether a key matches a pattern.
pub(crate) fn matches(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == key,
        Some((start, rest)) => key.strip_prefix(start).is_some_and(|key| {
            let ends = key.char_indices().map(|(at, _)| at).chain([key.len()]);
            let within = ends.take_while(|&at| !key[..at].contains('/'));
            within.into_iter().any(|at| matches(rest, &key[at..]))
        }),
    }
}

/// The folder in which every match is: the part of the pattern up to the last slash before a `*`.
pub(crate) fn folder(pattern: &str) -> &str {
    let literal = pattern.split('*').next().unwrap_or_default();
    literal.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::{folder, matches};

    #[test]
    fn a_star_stays_within_its_folder() {
        assert!(matches("a/*.jsonl.gz", "a/part-0.jsonl.gz"));
        assert!(matches("a/*/p*t.tsv", "a/b/part.tsv"));
        assert!(matches("a/*", "a/"));
        assert!(matches("a/é*", "a/éü"));
        for (pattern, key) in [("a/*", "a/b/c"), ("a/*.gz", "a/b.gz.old"), ("a/*b", "b/ab"), ("a", "ab")] {
            assert!(!matches(pattern, key), "{pattern} {key}");
        }
        assert_eq!(["a/b*/c", "*.gz", "a/b/c"].map(folder), ["a", "", "a/b"]);
    }
}
