//! A query with its passages.

use std::hash::{DefaultHasher, Hash, Hasher};

use toller_ir::Passage;

/// A query with passages that answer it and passages that do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// The query.
    pub query: String,
    /// At least one.
    pub positives: Vec<Candidate>,
    /// Best first, where they were retrieved.
    pub negatives: Vec<Candidate>,
}

impl Example {
    /// The same without negatives that are empty, if there is something to learn from it.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn checked(mut self) -> Result<Self, String> {
        let is_empty = |passage: &Candidate| {
            let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
            is_blank(&passage.text) && passage.title.is_none()
        };
        self.negatives.retain(|negative| negative.id.is_some() || !is_empty(negative));
        match &self {
            Self { query, .. } if query.trim().is_empty() => Err("the query is empty".to_owned()),
            Self { positives, .. } if positives.is_empty() => Err("no positive passage".to_owned()),
            Self { positives, .. } if positives.iter().any(is_empty) => {
                Err("a positive passage is empty".to_owned())
            }
            _ => Ok(self),
        }
    }
}

/// A passage of an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its identifier in the collection, where it has one.
    pub id: Option<String>,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Its text; `None` for that of the collection.
    pub text: Option<String>,
    /// A teacher's score.
    pub score: Option<f64>,
    /// The label of a pair: what a loss over pairs learns for it, from 0 to 1.
    pub label: Option<f64>,
    /// How relevant it is among the passages of its query, by judgments or a list of labels: above 0 for a
    /// positive.
    pub grade: Option<f64>,
}

impl Example {
    /// Whether some positives are more relevant than others.
    pub(crate) fn has_grades(&self) -> bool {
        let mut all = self.positives.iter().map(Candidate::relevance);
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    /// Whether a negative is one of the positives: by its identifier, or by its text.
    pub(crate) fn contradicts_itself(&self) -> bool {
        let is_same = |one: &Candidate, other: &Candidate| {
            let has_id = one.id.is_some() && one.id == other.id;
            has_id || one.text.is_some() && (&one.title, &one.text) == (&other.title, &other.text)
        };
        self.negatives
            .iter()
            .any(|negative| self.positives.iter().any(|positive| is_same(negative, positive)))
    }
}

/// Identifies a passage: by its text if it is there, since a collection may have a text twice, else by its
/// identifier.
pub(crate) fn key(candidate: &Candidate) -> u64 {
    match &candidate.text {
        Some(text) => hash((1, &candidate.title, text)),
        None => hash((0, &candidate.id)),
    }
}

/// Identifies a query.
pub(crate) fn key_of_query(query: &str) -> u64 {
    hash((2, query))
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Candidate {
    /// Its label or grade, where it has one.
    pub(crate) fn relevance(&self) -> Option<f64> {
        self.label.or(self.grade)
    }

    /// As a passage without an identifier.
    pub(crate) fn passage(&self) -> Passage {
        let text = self.text.clone().unwrap_or_default();
        Passage { title: self.title.clone(), text, ..Passage::default() }
    }

    /// A text without a title.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Example};

    #[test]
    fn a_negative_may_be_a_positive() {
        let of = |id: &str, text: Option<&str>| Candidate {
            id: (!id.is_empty()).then(|| id.to_owned()),
            text: text.map(str::to_owned),
            ..Candidate::default()
        };
        let contradicts = |positive: Candidate, negative: Candidate| {
            let (positives, negatives) = (vec![of("z", None), positive], vec![of("y", None), negative]);
            Example { query: "q".to_owned(), positives, negatives }.contradicts_itself()
        };
        assert!(contradicts(of("a", None), of("a", Some("t"))));
        assert!(contradicts(of("", Some("t")), of("b", Some("t"))));
        assert!(!contradicts(of("a", None), of("b", None)));
        assert!(!contradicts(of("a", Some("t")), of("b", Some("u"))));
        let titled = Candidate { title: Some("T".to_owned()), ..of("", Some("t")) };
        assert!(!contradicts(of("", Some("t")), titled));
    }
}
