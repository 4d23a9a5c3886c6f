//! The known name that was probably meant.

use strsim::levenshtein;

/// The one of `known` with the fewest edits from `name`, if they are few.
pub(super) fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &str| levenshtein(name, other);
    let best = known.into_iter().min_by_key(|other| distance(other))?;
    (distance(best) <= name.chars().count().div_ceil(3).max(1)).then_some(best)
}

/// A hint with the closest name, or else all names.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match closest(name, known.clone()) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None if known.clone().into_iter().next().is_none() => "there is none".to_owned(),
        None => format!("known are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn few_edits_are_close() {
        assert_eq!(closest("quries", ["query", "queries", "qrels"]), Some("queries"));
        assert_eq!(closest("banana", ["query", "queries", "qrels"]), None);
    }
}
