//! Pseudo-relevance feedback: a query is expanded by terms of its best hits, as Anserini does it, or its
//! vector is moved towards theirs.
//!
//! The arithmetic of terms is Anserini's, in f32 with norms in f64. Where terms of equal weight compete for
//! the last places, Anserini takes those that its hash tables happen to list first; here they are taken in
//! the order of their bytes.

mod dense;
mod rm3;
mod rocchio;
mod terms;

pub use dense::{VectorFeedback, VectorFeedbackError, VectorFeedbackName};
pub use rm3::Rm3;
pub use rocchio::Rocchio;
pub use terms::{FeedbackDocument, TermVector};

/// How queries are expanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// A relevance model, mixed with the query.
    Rm3(Rm3),
    /// The query moved towards the mean of the best documents, and away from that of the last ones.
    Rocchio(Rocchio),
}

impl Feedback {
    /// How many of the best hits are looked at, and how many of the last ones.
    #[must_use]
    pub fn documents(&self) -> (usize, usize) {
        match self {
            Self::Rm3(rm3) => (rm3.documents, 0),
            Self::Rocchio(rocchio) => (rocchio.top_documents, rocchio.bottom_documents_used()),
        }
    }

    /// Whether a term of a document may expand a query. Words of one letter or of more than 20 may not, nor
    /// stop words: terms that more than a tenth of the `documents` have. These are the documents with terms;
    /// `document_frequency` of them have this term.
    #[must_use]
    pub fn admits(&self, term: &str, document_frequency: u32, documents: u64) -> bool {
        // Java's lengths: units of UTF-16.
        let length = term.encode_utf16().take(21).count();
        let plain = || term.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let filtered = matches!(self, Self::Rm3(rm3) if rm3.filter_terms);
        (2..=20).contains(&length)
            && (!filtered || plain())
            && document_frequency as f32 / documents as f32 <= 0.1
    }

    /// The same without RM3's filter of terms.
    #[must_use]
    pub fn without_term_filter(self) -> Self {
        match self {
            Self::Rm3(rm3) => Self::Rm3(Rm3 { filter_terms: false, ..rm3 }),
            Self::Rocchio(_) => self,
        }
    }

    /// The expanded query: terms, each once, and their weights, which are above 0, in the order of their
    /// bytes. `query` has the terms of the original query with their frequencies, `top` the best documents,
    /// best first, and `bottom` the last ones, last first. Of the documents, only admitted terms are given.
    #[must_use]
    pub fn expand(
        &self,
        query: &TermVector,
        top: &[FeedbackDocument],
        bottom: &[FeedbackDocument],
    ) -> TermVector {
        match self {
            Self::Rm3(rm3) => rm3.expand(query, top),
            Self::Rocchio(rocchio) => rocchio.expand(query, top, bottom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Feedback, Rm3, Rocchio};

    #[test]
    fn stop_words_and_oddities_do_not_expand() {
        let rm3 = Feedback::Rm3(Rm3::default());
        let unfiltered = Feedback::Rm3(Rm3 { filter_terms: false, ..Rm3::default() });
        let rocchio = Feedback::Rocchio(Rocchio::default());
        for (term, frequency, by_rm3, by_others) in [
            ("term", 100, true, true),
            ("term", 101, false, false),
            ("x", 1, false, false),
            ("x1", 1, true, true),
            ("abcdefghijklmnopqrst", 1, true, true),
            ("abcdefghijklmnopqrstu", 1, false, false),
            ("größe", 1, false, true),
            ("1.5", 1, false, true),
            ("\u{1f600}", 1, false, true),
        ] {
            assert_eq!(rm3.admits(term, frequency, 1000), by_rm3, "{term}");
            assert_eq!(unfiltered.admits(term, frequency, 1000), by_others, "{term}");
            assert_eq!(rm3.without_term_filter().admits(term, frequency, 1000), by_others, "{term}");
            assert_eq!(rocchio.admits(term, frequency, 1000), by_others, "{term}");
        }
    }
}
