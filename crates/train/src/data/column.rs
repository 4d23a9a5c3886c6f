//! What the name of a column says of it.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Query,
    Title,
    /// The positive; after it, a negative.
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
}
