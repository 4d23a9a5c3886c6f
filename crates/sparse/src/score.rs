//! What a term adds to a document's score.
//!
//! A score is a sum over the query's terms. Each term's part is computed in f32 as Lucene computes it, and
//! then cut to an integer number of units. The unit is a power of two, chosen for the query so that the
//! largest possible sum fits in 30 bits. Sums of integers are exact in any order, so a document has the same
//! score whichever terms and blocks come first, on any number of threads, with or without pruning. What is
//! cut off, less than a unit for each term, is at most 2^-29 of the largest possible sum. The score is the
//! sum, rounded to f32.
//!
//! Impacts are integers, and so are their products with a query's weights. If these add up to less than 10^9
//! at most, a unit is at most 1, and nothing is cut off.

use serde::{Deserialize, Serialize};

use crate::length;
use crate::{Bm25Variant, Lengths, Ranker, Scoring};

/// The bits of the largest sum.
const SUM_BITS: i32 = 30;

/// The largest exponent of a unit. Beyond it, scores are practically zero.
const MAX_EXPONENT: i32 = 120;

/// What scores depend on in addition to a term and a document: the collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents, including those without terms.
    pub docs: u64,
    /// Documents that have terms. Lucene counts these.
    pub docs_with_terms: u64,
    /// Occurrences of terms in all documents.
    pub tokens: u64,
    /// Distinct terms.
    pub terms: u64,
    /// Distinct pairs of a term and a document.
    pub postings: u64,
}

impl Statistics {
    /// The mean number of terms of a document that has any.
    #[must_use]
    pub fn average_length(&self) -> f32 {
        (self.tokens as f64 / self.docs_with_terms.max(1) as f64) as f32
    }
}

/// What scores depend on of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermStatistics {
    /// Documents that have the term.
    pub doc_freq: u32,
    /// Its occurrences in all documents.
    pub collection_freq: u64,
    /// The most occurrences in one document.
    pub max_freq: u32,
}

/// A ranker with the statistics of a collection.
#[derive(Clone, Copy, Debug)]
enum Formula {
    Bm25 { k1: f32, b: f32, average: f32 },
    Dirichlet { mu: f64 },
    JelinekMercer { lambda: f64 },
    Impact,
}

/// What a formula needs of a document's length; see [`Formula::norm`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Norm(f64);

impl Formula {
    fn norm(self, length: u32) -> Norm {
        match self {
            // In f32, as in Lucene; widening is exact.
            Self::Bm25 { k1, b, average } => {
                Norm(f64::from(1.0 / (k1 * ((1.0 - b) + b * length as f32 / average))))
            }
            Self::Dirichlet { mu } => Norm(libm::log(mu / (f64::from(length) + mu))),
            Self::JelinekMercer { .. } => Norm(f64::from(length)),
            Self::Impact => Norm::default(),
        }
    }
}

/// A term of a query, ready to score documents.
#[derive(Clone, Copy, Debug)]
pub struct TermScorer {
    formula: Formula,
    /// BM25: the weight times idf, in f32. Others: the query's weight.
    weight: f64,
    /// Dirichlet: `mu * p`; Jelinek-Mercer: `lambda * p`.
    background: f64,
    /// The units of a score of 1: a power of two.
    units: f32,
    /// Every part is at most this.
    most: u32,
}

impl TermScorer {
    /// What the term adds, in units, to the score of a document in which it occurs `tf` times and that has
    /// `length` terms, encoded or exact as [`Lengths`] says.
    #[must_use]
    pub fn part(&self, tf: u32, length: u32) -> u32 {
        self.part_by_norm(tf, self.norm(length))
    }

    /// The norm of a length, for [`TermScorer::part_by_norm`].
    #[inline]
    pub(crate) fn norm(&self, length: u32) -> Norm {
        self.formula.norm(length)
    }

    /// [`TermScorer::part`] for a length with this norm.
    #[inline]
    pub(crate) fn part_by_norm(&self, tf: u32, norm: Norm) -> u32 {
        self.in_units(self.score(tf, norm, 0.0))
    }

    /// [`TermScorer::part_by_norm`] of sixteen postings. The compiler vectorizes BM25's division here, which
    /// costs most.
    #[inline]
    pub(crate) fn parts_by_norm(&self, tfs: &[u32; 16], norms: &[Norm; 16]) -> [u32; 16] {
        match self.formula {
            Formula::Bm25 { .. } => {
                let weight = self.weight as f32;
                // Below 2^31: cast as a signed number, which every vector unit can do.
                std::array::from_fn(|i| (bm25(weight, tfs[i], norms[i]) * self.units) as i32 as u32)
            }
            _ => std::array::from_fn(|i| self.part_by_norm(tfs[i], norms[i])),
        }
    }

    /// A bound of [`TermScorer::part`] for all lower or equal `tf` and all longer or equal lengths.
    ///
    /// BM25 is a chain of operations that are monotone in the real numbers, and so is rounding: the part
    /// itself is a bound. The logarithms of the others have errors below 2^-50 in values below 80. So 1e-12
    /// of the weight is more than the error of both sums, and the later steps (rounding to f32, cutting to
    /// units) are monotone. The products of impacts are exact.
    #[inline]
    pub(crate) fn bound(&self, tf: u32, norm: Norm) -> u32 {
        self.in_units(self.score(tf, norm, 1e-12)).min(self.most)
    }

    /// The most that the term can add to a score. These bounds of a query's terms add up to 2^30 and 1 for
    /// each term.
    #[inline]
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    #[inline]
    fn in_units(&self, score: f64) -> u32 {
        // Exact except for the cut, since `units` is a power of two. The cast saturates.
        (score * f64::from(self.units)) as u32
    }

    /// The term's part before it is cut: an f32, or the product of two integers.
    #[inline]
    fn score(&self, tf: u32, norm: Norm, slack: f64) -> f64 {
        let Norm(of_length) = norm;
        let score = match self.formula {
            Formula::Bm25 { .. } => bm25(self.weight as f32, tf, norm),
            Formula::Dirichlet { .. } => {
                let seen = libm::log(1.0 + f64::from(tf) / self.background);
                (self.weight * (seen + of_length + slack)).max(0.0) as f32
            }
            Formula::JelinekMercer { lambda } => {
                let share = (1.0 - lambda) * f64::from(tf) / of_length;
                (self.weight * (libm::log(1.0 + share / self.background) + slack)) as f32
            }
            Formula::Impact => return self.weight * f64::from(tf),
        };
        f64::from(score)
    }

    /// A bound of the term's score in any document.
    fn score_bound(&self, term: &TermStatistics) -> f64 {
        let bound = match self.formula {
            Formula::Bm25 { .. } => self.weight,
            Formula::Dirichlet { .. } => {
                self.weight * libm::log(1.0 + f64::from(term.max_freq) / self.background)
            }
            // Encoded lengths are at least 8/9 of the exact ones, and these at least the frequency.
            Formula::JelinekMercer { lambda } => {
                self.weight * libm::log(1.0 + (1.0 - lambda) * 1.125 / self.background)
            }
            Formula::Impact => self.weight * f64::from(term.max_freq),
        };
        // This is more than all roundings of a part together.
        bound * (1.0 + 1e-6)
    }
}

/// Lucene's BM25 of one term, in its order of operations.
#[inline]
fn bm25(weight: f32, tf: u32, Norm(norm): Norm) -> f32 {
    weight - weight / (1.0 + tf as f32 * norm as f32)
}

/// The terms of a query, ready to score documents.
#[derive(Clone, Debug)]
pub struct PreparedTerms {
    /// The scorers of the terms, in their order.
    pub scorers: Vec<TermScorer>,
    unit: f64,
}

impl PreparedTerms {
    /// Prepares terms with their weights for a collection. The parameters have been checked
    /// ([`Ranker::check`]).
    pub(crate) fn new(
        scoring: &Scoring,
        collection: &Statistics,
        terms: impl Iterator<Item = (TermStatistics, f32)>,
    ) -> Self {
        let formula = match scoring.ranker {
            Ranker::Bm25 { k1, b, .. } => Formula::Bm25 { k1, b, average: collection.average_length() },
            Ranker::QlDirichlet { mu } => Formula::Dirichlet { mu: f64::from(mu) },
            Ranker::QlJelinekMercer { lambda } => Formula::JelinekMercer { lambda: f64::from(lambda) },
            Ranker::Impact => Formula::Impact,
        };
        let (mut scorers, bounds): (Vec<TermScorer>, Vec<f64>) = terms
            .map(|(term, weight)| {
                let probability = (term.collection_freq as f64 + 1.0) / (collection.tokens as f64 + 1.0);
                let (weight, background) = match scoring.ranker {
                    Ranker::Bm25 { k1, variant, .. } => {
                        (f64::from(weight * idf(variant, k1, collection, &term)), 0.0)
                    }
                    Ranker::QlDirichlet { mu } => (f64::from(weight), f64::from(mu) * probability),
                    Ranker::QlJelinekMercer { lambda } => {
                        (f64::from(weight), f64::from(lambda) * probability)
                    }
                    Ranker::Impact => (f64::from(weight), 0.0),
                };
                let scorer = TermScorer { formula, weight, background, units: 1.0, most: 0 };
                (scorer, scorer.score_bound(&term))
            })
            .unzip();
        let exponent = unit_exponent(bounds.iter().sum());
        for (scorer, bound) in scorers.iter_mut().zip(bounds) {
            scorer.units = exp2(exponent) as f32;
            scorer.most = scorer.in_units(f64::from(bound as f32)) + 1;
        }
        Self { scorers, unit: exp2(-exponent) }
    }

    /// The score of a document whose parts add up to `sum`.
    #[inline]
    #[must_use]
    pub fn score(&self, sum: u32) -> f32 {
        (f64::from(sum) * self.unit) as f32
    }

    /// A sum below which every sum has a lower score than `score`, which is the score of a sum.
    ///
    /// Scores are sums rounded to 24 bits. Sums have at most 31 bits, so rounding moves them by at most 64,
    /// and two sums of the same score are at most 128 apart.
    pub(crate) fn least_sum(&self, score: f32) -> u32 {
        ((f64::from(score) / self.unit) as u32).saturating_sub(128)
    }
}

/// BM25's idf of a term, with the constant factor of the variant.
fn idf(variant: Bm25Variant, k1: f32, collection: &Statistics, term: &TermStatistics) -> f32 {
    let docs = collection.docs_with_terms as f64;
    let odds = (docs - f64::from(term.doc_freq) + 0.5) / (f64::from(term.doc_freq) + 0.5);
    match variant {
        Bm25Variant::Lucene => libm::log(1.0 + odds) as f32,
        Bm25Variant::Robertson => libm::log(odds).max(0.0) as f32 * (k1 + 1.0),
    }
}

/// The largest exponent with which `bound` is at most 2^SUM_BITS units of 2^-exponent.
fn unit_exponent(bound: f64) -> i32 {
    // A normal number with the biased exponent power + 1022 is below 2^power.
    let power = (bound.to_bits() >> 52) as i32 - 1022;
    (SUM_BITS - power).clamp(-MAX_EXPONENT, MAX_EXPONENT)
}

/// 2 to the power of the exponent of a normal number.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The length of a document that rankers use.
pub(crate) fn seen_length(lengths: Lengths, exact: u32) -> u32 {
    match lengths {
        Lengths::Exact => exact,
        Lengths::Encoded => length::decoded(length::encoded(exact)),
    }
}
