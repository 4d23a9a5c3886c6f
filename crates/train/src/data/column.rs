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
}

/// The names of columns. What follows a name's first underscore does not count: `negative_1`.
const NAMES: [(&str, Column); 15] = [
    ("anchor", Column::Query),
    ("query", Column::Query),
    ("question", Column::Query),
    ("sentence1", Column::Query),
    ("positive", Column::Text),
    ("passage", Column::Text),
    ("text", Column::Text),
    ("sentence2", Column::Text),
    ("negative", Column::Negative),
    ("negatives", Column::Negative),
    ("title", Column::Title),
    ("label", Column::Label),
    ("labels", Column::Label),
    ("score", Column::Label),
    ("scores", Column::Label),
];

impl Column {
    /// The column of a name, if it is a known one.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let name = name.split('_').next().unwrap_or_default();
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, column)| *column)
    }
}
