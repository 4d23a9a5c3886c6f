//! What the name of a column says of it.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Query,
    Title,
    /// The positive.
    Text,
    Negative,
    Label,
    /// Of a query or a passage. Nothing is learned from it.
    Identifier,
}

/// The names of columns. A number after them does not count, nor does `_text`: `negative_1`, `query_text`.
const NAMES: [(&str, Column); 23] = [
    ("anchor", Column::Query),
    ("query", Column::Query),
    ("question", Column::Query),
    ("sentence1", Column::Query),
    ("positive", Column::Text),
    ("passage", Column::Text),
    ("text", Column::Text),
    ("answer", Column::Text),
    ("sentence2", Column::Text),
    ("docs", Column::Text),
    ("documents", Column::Text),
    ("negative", Column::Negative),
    ("negatives", Column::Negative),
    ("title", Column::Title),
    ("label", Column::Label),
    ("labels", Column::Label),
    ("score", Column::Label),
    ("scores", Column::Label),
    ("id", Column::Identifier),
    ("idx", Column::Identifier),
    ("qid", Column::Identifier),
    ("pid", Column::Identifier),
    ("docid", Column::Identifier),
];

impl Column {
    /// The column of a name, if it is a known one.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        if ["_id", "-id", "_ids"].iter().any(|suffix| name.ends_with(suffix)) {
            return Some(Self::Identifier);
        }
        let is_number = |suffix: &str| suffix.bytes().all(|byte| byte.is_ascii_digit());
        let name = match name.rsplit_once('_') {
            Some((name, suffix)) if suffix == "text" || is_number(suffix) => name,
            _ => name.as_str(),
        };
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, column)| *column)
    }

    /// Whether a column of this name holds negatives: also `hard_negatives` and `neg`.
    pub(super) fn is_negative(name: &str) -> bool {
        match Self::named(name) {
            Some(column) => column == Self::Negative,
            None => name.to_ascii_lowercase().contains("neg"),
        }
    }

    /// Refuses a column that comes with the column of the positive and is not one of negatives: by its name,
    /// or as the same neutral name with another number (`passage_1`, `passage_2`).
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn check_negative(name: &str, positive: &str) -> Result<(), String> {
        if Self::is_negative(name)
            || NUMBERED.iter().any(|of| is_numbered(positive, of, true) && is_numbered(name, of, false))
        {
            return Ok(());
        }
        Err(format!("{positive} and {name} are both passages; leave one of them out, or name it negative"))
    }
}

/// Names of passages of which those after the first are negatives, if numbers follow them.
const NUMBERED: [&str; 2] = ["passage", "text"];

/// Whether a column has this name with a number after it; the first may be without.
fn is_numbered(name: &str, of: &str, is_first: bool) -> bool {
    let name = name.trim().to_ascii_lowercase();
    match name.strip_prefix(of).map(|rest| rest.strip_prefix('_')) {
        Some(Some(number)) => !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()),
        Some(None) => is_first && name == of,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    #[test]
    fn only_numbers_and_text_may_follow_a_name() {
        for (name, column) in [
            ("Negative_1", Some(Column::Negative)),
            ("query_text", Some(Column::Query)),
            ("passage", Some(Column::Text)),
            ("passage_id", Some(Column::Identifier)),
            ("negative_ids", Some(Column::Identifier)),
            ("_id", Some(Column::Identifier)),
            ("query-id", Some(Column::Identifier)),
            ("qid", Some(Column::Identifier)),
            ("text_source", None),
            ("label_of", None),
            ("hard_negatives", None),
        ] {
            assert_eq!(Column::named(name), column, "{name}");
        }
        assert!(Column::is_negative("hard_negatives_2") && Column::is_negative("neg"));
        assert!(!Column::is_negative("negative_id") && !Column::is_negative("query"));
    }

    #[test]
    fn only_names_of_negatives_and_numbers_make_negatives() {
        for (name, positive) in [
            ("negative", "answer"),
            ("hard_negatives", "positive"),
            ("passage_2", "passage_1"),
            ("Text_2", "text"),
        ] {
            assert_eq!(Column::check_negative(name, positive), Ok(()), "{name} after {positive}");
        }
        for (name, positive) in [
            ("positive", "answer"),
            ("positive", "text"),
            ("passage", "answer"),
            ("passage", "passage_2"),
            ("passage_text", "passage"),
            ("text_2", "passage_1"),
            ("positive_2", "positive_1"),
            ("answer_2", "answer_1"),
        ] {
            let error = Column::check_negative(name, positive);
            assert!(error.is_err_and(|error| error.starts_with(&format!("{positive} and {name} are both"))));
        }
    }
}
