//! The known name that was probably meant.

/// The one of `known` with the fewest edits from `name`, if they are few.
pub(super) fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &str| edits(name, other);
    let best = known.into_iter().min_by_key(|other| distance(other))?;
    (distance(best) <= name.chars().count().div_ceil(3).max(1)).then_some(best)
}

/// A hint with the closest name, or else all names.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match closest(name, known.clone()) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("known are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// Levenshtein's distance in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{closest, edits};

    #[test]
    fn few_edits_are_close() {
        for (a, b, distance) in [("", "", 0), ("kitten", "sitting", 3), ("", "abc", 3), ("dense", "dense", 0)]
        {
            assert_eq!(edits(a, b), distance, "{a} {b}");
            assert_eq!(edits(b, a), distance, "{b} {a}");
        }
        assert_eq!(closest("quries", ["query", "queries", "qrels"]), Some("queries"));
        assert_eq!(closest("banana", ["query", "queries", "qrels"]), None);
    }
}
