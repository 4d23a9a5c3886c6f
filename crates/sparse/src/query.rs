//! A query as weighted terms.

use std::collections::HashMap;

use ahash::RandomState;
use toller_analysis::Analyzer;

use crate::SparseError;

/// The largest weight of a term: with the largest idf and parameters, scores still fit in f32.
const MAX_WEIGHT: f32 = 1e20;

/// The distinct terms of a query, each with a weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseQuery {
    terms: Vec<(String, f32)>,
}

impl SparseQuery {
    /// The terms of a text in the order of their first occurrence, weighted by how often they occur, as in
    /// Anserini's bag-of-words queries, or by their impacts if the analyzer is that of impacts.
    #[must_use]
    pub fn of_text(analyzer: &Analyzer, text: &str) -> Self {
        let mut builder = Builder::default();
        analyzer.weigh(text, &mut |term, weight| {
            builder.add(term, weight as f32);
        });
        builder.query
    }

    /// Terms with given weights, for example of an expanded query. The weights of repeated terms are added
    /// up.
    ///
    /// # Errors
    /// [`SparseError::Weight`] when a weight is negative, not finite, or above 1e20, where scores would
    /// overflow.
    pub fn weighted<T: AsRef<str>>(terms: impl IntoIterator<Item = (T, f32)>) -> Result<Self, SparseError> {
        let mut builder = Builder::default();
        for (term, weight) in terms {
            let term = term.as_ref();
            if !(0.0..=MAX_WEIGHT).contains(&builder.add(term, weight)) || weight < 0.0 {
                return Err(SparseError::Weight { term: term.to_owned(), weight });
            }
        }
        Ok(builder.query)
    }

    /// The distinct terms and their weights.
    #[must_use]
    pub fn terms(&self) -> &[(String, f32)] {
        &self.terms
    }
}

/// A query that is being put together. The map is for documents that serve as queries: without it, a million
/// terms would take quadratic time.
#[derive(Default)]
struct Builder {
    query: SparseQuery,
    places: HashMap<String, usize, RandomState>,
}

impl Builder {
    /// Adds to the weight of a term, and returns the new weight.
    fn add(&mut self, term: &str, weight: f32) -> f32 {
        let terms = &mut self.query.terms;
        if let Some((_, sum)) = self.places.get(term).and_then(|&place| terms.get_mut(place)) {
            *sum += weight;
            return *sum;
        }
        self.places.insert(term.to_owned(), terms.len());
        terms.push((term.to_owned(), weight));
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::SparseQuery;
    use toller_analysis::Analyzer;

    #[test]
    fn repeated_terms_weigh_more() -> Result<(), Box<dyn std::error::Error>> {
        let analyzer = Analyzer::by_name("whitespace")?;
        let query = SparseQuery::of_text(&analyzer, "b a b c b");
        let expected = [("b", 3.0), ("a", 1.0), ("c", 1.0)];
        assert_eq!(query, SparseQuery::weighted(expected)?);
        let many: Vec<String> = (0..300_000).chain(0..300_000).map(|term| term.to_string()).collect();
        let query = SparseQuery::of_text(&analyzer, &many.join(" "));
        assert!(query.terms().len() == 300_000 && query.terms().iter().all(|(_, weight)| *weight == 2.0));
        for wrong in [-1.0, f32::NAN, f32::INFINITY, 2e20] {
            assert!(SparseQuery::weighted([("a", wrong)]).is_err());
        }
        Ok(())
    }
}
