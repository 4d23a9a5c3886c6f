//! Patterns of keys, as a shell has them for files: `*` is any characters but a slash.

/// Whether a key matches a pattern.
pub(crate) fn matches(pattern: &str, key: &str) -> bool {
    let (mut patterns, mut names) = (pattern.split('/'), key.split('/'));
    loop {
        match (patterns.next(), names.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if matches_name(pattern, name) => {}
            _ => return false,
        }
    }
}

/// Whether a name without slashes matches. The first part is at its start, the last at its end, and each
/// part between them where it first occurs after the one before.
fn matches_name(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut left) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else {
        return false;
    };
    for part in between.split('*') {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    true
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
        assert!(matches("*ab*ab", "abab") && matches("a**b", "ab") && matches("*", ""));
        assert!(!matches("ab*ab", "ab") && !matches("*ab*ab", "ab"));
        // To try every place for every star would take longer than anyone waits.
        assert!(!matches(&"*a".repeat(40), &format!("{}b", "a".repeat(200))));
        for (pattern, key) in [("a/*", "a/b/c"), ("a/*.gz", "a/b.gz.old"), ("a/*b", "b/ab"), ("a", "ab")] {
            assert!(!matches(pattern, key), "{pattern} {key}");
        }
        assert_eq!(["a/b*/c", "*.gz", "a/b/c"].map(folder), ["a", "", "a/b"]);
    }
}
