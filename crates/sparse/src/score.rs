//! What a term adds to a document's score.
//!
//! A score is a sum over the query's terms. Each term's part is computed in f32 as Lucene computes it, and then counted in
//! units of a power of two that is chosen for the query, so that the largest sum that could be fits in 30 bits. Sums are
//! thus sums of integers: exact, whatever their order. So the score of a document is the same whichever terms and blocks are
//! looked at first, on any number of threads, with or without pruning. What is cut off (less than one unit a term) is
//! at most 2^-29 of the largest possible sum; the sum, rounded to f32, is the score.

use serde::{Deserialize, Serialize};

use crate::length;
use crate::{Bm25Variant, Lengths, Ranker, Scoring};

/// Bits of the largest sum.
const SUM_BITS: i32 = 30;

/// The largest exponent of a unit: beyond it, scores are too small to be told from zero anyway.
const MAX_EXPONENT: i32 = 120;

/// What scores depend on beside a term and a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents, those without terms included.
    pub docs: u64,
    /// Documents that have terms: what Lucene counts.
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
    /// Its most occurrences in one document.
    pub max_freq: u32,
}

/// A ranker bound to a collection.
#[derive(Clone, Copy, Debug)]
enum Formula {
    Bm25 { k1: f32, b: f32, average: f32 },
    Dirichlet { mu: f64 },
    JelinekMercer { lambda: f64 },
}

/// What a document's length means to a formula; see [`Formula::norm`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Norm(f64);

impl Formula {
    fn norm(self, length: u32) -> Norm {
        match self {
            // f32 as in Lucene; widening is exact.
            Self::Bm25 { k1, b, average } => {
                Norm(f64::from(1.0 / (k1 * ((1.0 - b) + b * length as f32 / average))))
            }
            Self::Dirichlet { mu } => Norm(libm::log(mu / (f64::from(length) + mu))),
            Self::JelinekMercer { .. } => Norm(f64::from(length)),
        }
    }
}

/// A term of a query, ready to score documents.
#[derive(Clone, Copy, Debug)]
pub struct TermScorer {
    formula: Formula,
    /// BM25: the weight and idf, in f32. Others: the weight.
    weight: f64,
    /// Dirichlet: `mu * p`; Jelinek-Mercer: `lambda * p`.
    background: f64,
    /// Units of a score of one: a power of two.
    units: f32,
    /// At least every part.
    most: u32,
}

impl TermScorer {
    /// What the term adds, in units, to the score of a document of `length` terms (as the chosen [`Lengths`] have it), of which it is
    /// `tf`.
    #[must_use]
    pub fn part(&self, tf: u32, length: u32) -> u32 {
        self.part_by_norm(tf, self.norm(length))
    }

    /// What [`TermScorer::part_by_norm`] takes of a length.
    #[inline]
    pub(crate) fn norm(&self, length: u32) -> Norm {
        self.formula.norm(length)
    }

    /// [`TermScorer::part`] of a length whose norm is known.
    #[inline]
    pub(crate) fn part_by_norm(&self, tf: u32, norm: Norm) -> u32 {
        self.in_units(self.score(tf, norm, 0.0))
    }

    /// [`TermScorer::part_by_norm`] of sixteen postings. BM25's division is what costs, and the compiler makes vectors of it here.
    #[inline]
    pub(crate) fn parts_by_norm(&self, tfs: &[u32; 16], norms: &[Norm; 16]) -> [u32; 16] {
        match self.formula {
            Formula::Bm25 { .. } => {
                let weight = self.weight as f32;
                // Below 2^31, so that it may be cast as a signed number, which every vector unit can.
                std::array::from_fn(|i| (bm25(weight, tfs[i], norms[i]) * self.units) as i32 as u32)
            }
            _ => std::array::from_fn(|i| self.part_by_norm(tfs[i], norms[i])),
        }
    }

    /// At least [`TermScorer::part`] of any `tf` and length that are not above and not below these.
    ///
    /// BM25 is a chain of operations, each of which is monotone in the real numbers, and rounding is monotone too, so the part
    /// itself is a bound. The logarithms of the others err by less than 2^-50 in a value below 80; so 1e-12 of the weight
    /// is more than the error of both sums, and what follows (rounding to f32, cutting off to units) is monotone.
    #[inline]
    pub(crate) fn bound(&self, tf: u32, norm: Norm) -> u32 {
        self.in_units(self.score(tf, norm, 1e-12)).min(self.most)
    }

    /// At least every part of any document. For all terms of a query these add up to 2^30, and one for each.
    #[inline]
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    #[inline]
    fn in_units(&self, score: f32) -> u32 {
        // Exact, but for the cut: `units` is a power of two. The cast saturates, so nothing is undefined.
        (score * self.units) as u32
    }

    #[inline]
    fn score(&self, tf: u32, norm: Norm, slack: f64) -> f32 {
        let Norm(of_length) = norm;
        match self.formula {
            Formula::Bm25 { .. } => bm25(self.weight as f32, tf, norm),
            Formula::Dirichlet { .. } => {
                let seen = libm::log(1.0 + f64::from(tf) / self.background);
                (self.weight * (seen + of_length + slack)).max(0.0) as f32
            }
            Formula::JelinekMercer { lambda } => {
                let share = (1.0 - lambda) * f64::from(tf) / of_length;
                (self.weight * (libm::log(1.0 + share / self.background) + slack)) as f32
            }
        }
    }

    /// At least the score of the term in any document.
    fn score_bound(&self, term: &TermStatistics) -> f64 {
        let bound = match self.formula {
            Formula::Bm25 { .. } => self.weight,
            Formula::Dirichlet { .. } => {
                self.weight * libm::log(1.0 + f64::from(term.max_freq) / self.background)
            }
            // Encoded lengths are at least 8/9 of the exact ones, which are at least the frequency.
            Formula::JelinekMercer { lambda } => {
                self.weight * libm::log(1.0 + (1.0 - lambda) * 1.125 / self.background)
            }
        };
        // More than all roundings of a part together.
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
    /// As they were given.
    pub scorers: Vec<TermScorer>,
    unit: f64,
}

impl PreparedTerms {
    /// Prepares terms with their weights for a collection. The scoring was checked ([`Ranker::check`]).
    pub(crate) fn new(
        scoring: &Scoring,
        collection: &Statistics,
        terms: impl Iterator<Item = (TermStatistics, f32)>,
    ) -> Self {
        let formula = match scoring.ranker {
            Ranker::Bm25 { k1, b, .. } => Formula::Bm25 { k1, b, average: collection.average_length() },
            Ranker::QlDirichlet { mu } => Formula::Dirichlet { mu: f64::from(mu) },
            Ranker::QlJelinekMercer { lambda } => Formula::JelinekMercer { lambda: f64::from(lambda) },
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
                };
                let scorer = TermScorer { formula, weight, background, units: 1.0, most: 0 };
                (scorer, scorer.score_bound(&term))
            })
            .unzip();
        let exponent = unit_exponent(bounds.iter().sum());
        for (scorer, bound) in scorers.iter_mut().zip(bounds) {
            scorer.units = exp2(exponent) as f32;
            scorer.most = scorer.in_units(bound as f32) + 1;
        }
        Self { scorers, unit: exp2(-exponent) }
    }

    /// The score of a document whose parts add up to `sum`.
    #[inline]
    #[must_use]
    pub fn score(&self, sum: u32) -> f32 {
        (f64::from(sum) * self.unit) as f32
    }

    /// A sum such that every smaller one has a lower score than `score`, which is that of a sum.
    ///
    /// Scores are sums rounded to 24 bits. Sums have at most 31, so that rounding moves them by at most 64, and two of the
    /// same score are at most 128 apart.
    pub(crate) fn least_sum(&self, score: f32) -> u32 {
        ((f64::from(score) / self.unit) as u32).saturating_sub(128)
    }
}

/// BM25's weight of a term, with the constant factor of its form.
fn idf(variant: Bm25Variant, k1: f32, collection: &Statistics, term: &TermStatistics) -> f32 {
    let docs = collection.docs_with_terms as f64;
    let odds = (docs - f64::from(term.doc_freq) + 0.5) / (f64::from(term.doc_freq) + 0.5);
    match variant {
        Bm25Variant::Lucene => libm::log(1.0 + odds) as f32,
        Bm25Variant::Robertson => libm::log(odds).max(0.0) as f32 * (k1 + 1.0),
    }
}

/// The largest exponent such that `bound` is at most 2^SUM_BITS units of 2^-exponent.
fn unit_exponent(bound: f64) -> i32 {
    // 2^power is above a normal number whose biased exponent is power + 1022.
    let power = (bound.to_bits() >> 52) as i32 - 1022;
    (SUM_BITS - power).clamp(-MAX_EXPONENT, MAX_EXPONENT)
}

/// 2 to the power of an exponent of a normal number.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The length of a document that a ranker sees.
pub(crate) fn seen_length(lengths: Lengths, exact: u32) -> u32 {
    match lengths {
        Lengths::Exact => exact,
        Lengths::Encoded => length::decoded(length::encoded(exact)),
    }
}
