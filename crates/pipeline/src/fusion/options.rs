//! What a fusion is made of.

use toller_ir::named;

use super::error::FusionError;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).
pub const RRF_K: f64 = 60.0;

/// How rankings become one.
#[derive(Clone, Debug, PartialEq)]
pub struct Fusion {
    /// What each list's scores become.
    pub normalization: Normalization,
    /// The value of a document that is missing from a list.
    pub missing: Missing,
    /// How the numbers of a document become one.
    pub combination: Combination,
    /// The weight of each list: finite, at least 0, and one of them above 0. Empty for 1 each.
    pub weights: Vec<f64>,
}

named! {
    /// A scale for the scores of one list, for one query.
    pub enum Scale: "a scale" {
        /// The scores as they are.
        None = "none",
        /// `(score - min) / (max - min)`, in [0, 1]; 1 for each where all are equal, for they are the best
        /// the list has.
        MinMax = "min-max",
        /// `(score - (min + max) / 2) / (max - min)`, in [-1/2, 1/2]; 0 where all are equal. The script of
        /// Mr. TyDi's authors does this.
        Centred = "centred",
        /// `(score - mean) / deviation`, the deviation being that of the list itself; 0 where all are equal.
        ZScore = "z-score",
    }
}

/// The numbers that the scores of one list, for one query, become.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Normalization {
    /// The scores on a scale.
    Scale(Scale),
    /// `1 / (k + rank)`, ranks from 1.
    ReciprocalRank {
        /// What is added to the rank.
        k: f64,
    },
    /// Points: of c documents that any list has, the first gets c, the next c - 1 and so on; those that are
    /// missing from a list share its remaining points (Aslam and Montague 2001).
    Borda,
}

impl From<Scale> for Normalization {
    fn from(scale: Scale) -> Self {
        Self::Scale(scale)
    }
}

named! {
    /// The value that a list gives to a document that another list has.
    pub enum Missing: "a value of missing documents" {
        /// Nothing: it does not take part.
        LeftOut = "left-out",
        /// 0, on the normalized scale.
        Zero = "zero",
        /// The least value of the list. A list without the query gives none (where centred: -1/2, as in the
        /// script).
        Minimum = "minimum",
    }
}

/// How the numbers of a document, one a list that says something of it, become one. The number of lists that
/// *have* it counts only those that retrieved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// Their sum.
    Sum,
    /// The sum times the number of lists that have it.
    Mnz,
    /// The sum over the number of lists that have it.
    Anz,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The middle one, or the mean of the two in the middle.
    Med,
    /// Their sum over the sum of those lists' weights.
    Mean,
}

impl Fusion {
    /// Checks that this many lists can be fused.
    ///
    /// # Errors
    /// No lists, a constant of reciprocal rank fusion or weights that cannot be used.
    pub fn check(&self, lists: usize) -> Result<(), FusionError> {
        if lists == 0 {
            return Err(FusionError::NoLists);
        }
        if let Normalization::ReciprocalRank { k } = self.normalization
            && !(k.is_finite() && k >= 0.0)
        {
            return Err(FusionError::ReciprocalRankConstant(k));
        }
        check_weights(&self.weights_of(lists), lists)
    }

    /// The weight of each list.
    pub(crate) fn weights_of(&self, lists: usize) -> Vec<f64> {
        if self.weights.is_empty() { vec![1.0; lists] } else { self.weights.clone() }
    }
}

/// Checks the weights of this many lists.
pub(crate) fn check_weights(weights: &[f64], lists: usize) -> Result<(), FusionError> {
    if weights.len() != lists {
        return Err(FusionError::WeightCount { weights: weights.len(), lists });
    }
    if let Some(bad) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        return Err(FusionError::Weight(*bad));
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        return Err(FusionError::ZeroWeights);
    }
    Ok(())
}
