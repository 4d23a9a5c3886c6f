//! The ranking functions and their parameters. All of these are chosen when searching.

use crate::SparseError;

/// A ranking function.
///
/// In the formulas, a term occurs `tf` times in a document of `len` terms. In the collection, it occurs `cf`
/// times in `df` documents; `N` documents have terms, on average `avg`. A document's score is the sum over
/// the query's terms, each times its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranker {
    /// Okapi BM25 (Robertson et al., 1995).
    Bm25 {
        /// Saturation of the term frequency, at least 0.
        k1: f32,
        /// Normalisation by length, 0 to 1.
        b: f32,
        /// Which form of it.
        variant: Bm25Variant,
    },
    /// Query likelihood with Dirichlet smoothing (Zhai & Lafferty, 2001), as Lucene's
    /// `LMDirichletSimilarity`: `max(0, ln(1 + tf / (mu * p)) + ln(mu / (len + mu)))`, where `p = (cf + 1) /
    /// (terms in the collection + 1)`.
    QlDirichlet {
        /// The weight of the collection's model as a number of terms, above 0.
        mu: f32,
    },
    /// Query likelihood with Jelinek-Mercer smoothing (the same), as Lucene's `LMJelinekMercerSimilarity`:
    /// `ln(1 + (1 - lambda) * tf / len / (lambda * p))`.
    QlJelinekMercer {
        /// The share of the collection's model, above 0 and at most 1.
        lambda: f32,
    },
    /// `tf`, which is the impact that a learned sparse model gives to the term in the document. Only for an
    /// index of impacts.
    Impact,
}

/// A form of BM25.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bm25Variant {
    /// Lucene's: `ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * len / avg))`.
    #[default]
    Lucene,
    /// Robertson's: `ln((N - df + 0.5) / (df + 0.5))`, zero for a term of more than half of the documents,
    /// times `(k1 + 1) * tf / (tf + ...)`.
    Robertson,
}

impl Ranker {
    /// Anserini's default: Lucene's BM25 with k1 0.9 and b 0.4.
    pub const BM25: Self = Self::Bm25 { k1: 0.9, b: 0.4, variant: Bm25Variant::Lucene };

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`SparseError::Parameter`] when one is out of its range.
    pub fn check(&self) -> Result<(), SparseError> {
        let wrong = |name, value, range| Err(SparseError::Parameter { name, value, range });
        match *self {
            Self::Bm25 { k1, .. } if !(0.0..=MAX_PARAMETER).contains(&k1) => {
                wrong("k1", k1, "a number from 0 to 1e9")
            }
            Self::Bm25 { b, .. } if !(0.0..=1.0).contains(&b) => wrong("b", b, "a number from 0 to 1"),
            Self::QlDirichlet { mu } if !(MIN_PARAMETER..=MAX_PARAMETER).contains(&mu) => {
                wrong("mu", mu, "a number from 1e-6 to 1e9")
            }
            Self::QlJelinekMercer { lambda } if !(MIN_PARAMETER..=1.0).contains(&lambda) => {
                wrong("lambda", lambda, "a number from 1e-6 to 1")
            }
            _ => Ok(()),
        }
    }
}

/// Beyond these, a score differs from its limit by less than its rounding.
const MAX_PARAMETER: f32 = 1e9;
const MIN_PARAMETER: f32 = 1e-6;

/// Which length of a document its scores depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths {
    /// Rounded to Lucene's one byte: see [`length`](crate::length).
    #[default]
    Encoded,
    /// As counted.
    Exact,
}

/// How documents are scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    /// The ranking function.
    pub ranker: Ranker,
    /// The lengths that it uses.
    pub lengths: Lengths,
}

impl Default for Scoring {
    /// Anserini's: [`Ranker::BM25`] and encoded lengths.
    fn default() -> Self {
        Self { ranker: Ranker::BM25, lengths: Lengths::Encoded }
    }
}
