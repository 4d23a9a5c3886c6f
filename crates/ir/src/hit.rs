//! A hit and the one order of hits.

use std::cmp::Ordering;

/// The position of a document in a collection, counted from zero in the collection's own order.
///
/// Thirty-two bits: a collection holds at most 4,294,967,295 documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocOrd(pub u32);

impl DocOrd {
    /// The ordinal as an index into a slice.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A retrieved document and its score.
///
/// `Hit`s are ordered best first: `a < b` means that `a` ranks before `b`, by score descending, then
/// by ordinal ascending. This is the only tie rule of the engine (promise 1 of docs/ARCHITECTURE.md).
/// Scores are compared with [`f32::total_cmp`] after `-0.0` is taken for `0.0`, so the order is total.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Which document.
    pub doc: DocOrd,
    /// Its score; larger is better.
    pub score: f32,
}

impl Hit {
    /// A hit on `doc` with `score`.
    #[must_use]
    pub fn new(doc: DocOrd, score: f32) -> Self {
        Self { doc, score }
    }
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        // Adding 0.0 turns -0.0 into 0.0 and leaves every other value as it is.
        (other.score + 0.0).total_cmp(&(self.score + 0.0)).then(self.doc.cmp(&other.doc))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hit {}

#[cfg(test)]
mod tests {
    use super::{DocOrd, Hit};

    #[test]
    fn best_first_then_lowest_ordinal() {
        let mut hits = [(3, 1.0), (1, 2.0), (0, 1.0), (2, -0.0), (4, 0.0), (5, -1.0)]
            .map(|(doc, score)| Hit::new(DocOrd(doc), score));
        hits.sort_unstable();
        assert_eq!(hits.map(|hit| hit.doc.0), [1, 0, 3, 2, 4, 5]);
    }
}
