//! The methods of the literature, by name.

use std::fmt;
use std::str::FromStr;

use super::options::{Combination, Fusion, Missing, Normalization, RRF_K};

/// A method of fusion: a name for a [`Fusion`].
#[derive(Debug)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that it is known by.
    pub aliases: &'static [&'static str],
    /// What it does, in a line.
    pub summary: &'static str,
    normalization: Normalization,
    missing: Missing,
    combination: Combination,
}

/// Every method.
pub static METHODS: [Method; 12] = {
    use Combination::{Anz, Max, Mean, Med, Min, Mnz, Sum};
    use Missing::{LeftOut, Minimum, Zero};
    use Normalization::{Borda, Centred, MinMax, None, ReciprocalRank, ZScore};

    const fn method(
        (name, aliases): (&'static str, &'static [&'static str]),
        (normalization, missing, combination): (Normalization, Missing, Combination),
        summary: &'static str,
    ) -> Method {
        Method { name, aliases, summary, normalization, missing, combination }
    }
    [
        method(
            ("interpolate", &["interpolation"]),
            (MinMax, Zero, Sum),
            "weighted sum of scores in [0, 1], a missing document 0 (the paper of Mr. TyDi)",
        ),
        method(
            ("mr-tydi-script", &[]),
            (Centred, Minimum, Sum),
            "weighted sum of centred scores, a missing document the run's minimum (the script of Mr. TyDi's authors, and Pyserini)",
        ),
        method(
            ("z-score", &["zscore"]),
            (ZScore, Minimum, Sum),
            "weighted sum of standard scores, a missing document the run's minimum",
        ),
        method(
            ("rrf", &[]),
            (ReciprocalRank { k: RRF_K }, Zero, Sum),
            "reciprocal rank fusion: sum of 1 / (k + rank)",
        ),
        method(("combsum", &[]), (MinMax, LeftOut, Sum), "sum of scores in [0, 1]"),
        method(
            ("combmnz", &[]),
            (MinMax, LeftOut, Mnz),
            "CombSUM times the number of runs that have the document",
        ),
        method(
            ("combanz", &[]),
            (MinMax, LeftOut, Anz),
            "CombSUM over the number of runs that have the document",
        ),
        method(("combmax", &[]), (MinMax, LeftOut, Max), "largest of the scores in [0, 1]"),
        method(("combmin", &[]), (MinMax, LeftOut, Min), "smallest of the scores in [0, 1]"),
        method(("combmed", &[]), (MinMax, LeftOut, Med), "median of the scores in [0, 1]"),
        method(
            ("borda", &[]),
            (Borda, LeftOut, Sum),
            "points by rank, those left over shared by the missing",
        ),
        method(
            ("mean", &[]),
            (None, Minimum, Mean),
            "weighted mean of the scores as they are (ensembles), a missing document the run's minimum",
        ),
    ]
};

impl Method {
    /// The method as a fusion, with weights of 1.
    #[must_use]
    pub fn fusion(&self) -> Fusion {
        Fusion {
            normalization: self.normalization,
            missing: self.missing,
            combination: self.combination,
            weights: Vec::new(),
        }
    }

    /// Whether it looks at ranks alone, so that there is nothing to normalize and nothing to fill in.
    #[must_use]
    pub fn is_by_rank(&self) -> bool {
        matches!(self.normalization, Normalization::ReciprocalRank { .. } | Normalization::Borda)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// A name that no method of fusion has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no method of fusion is named {0:?}; there are {names}", names = names())]
pub struct UnknownMethod(pub String);

fn names() -> String {
    METHODS.iter().map(|method| method.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for &'static Method {
    type Err = UnknownMethod;

    /// In any case, with hyphens or underscores or without.
    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_'], "");
        let wanted = plain(text);
        METHODS
            .iter()
            .find(|method| [method.name].iter().chain(method.aliases).any(|name| plain(name) == wanted))
            .ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{METHODS, Method};

    #[test]
    fn names_are_read_in_any_spelling_and_are_unique() {
        for method in &METHODS {
            for name in [method.name].iter().chain(method.aliases) {
                assert_eq!(name.parse::<&Method>(), Ok(method));
                assert_eq!(name.to_uppercase().replace('-', "_").parse::<&Method>(), Ok(method));
            }
        }
        assert_eq!("Comb_SUM".parse::<&Method>().map(|method| method.name), Ok("combsum"));
        assert!("".parse::<&Method>().is_err());
        assert!("sum".parse::<&Method>().is_err_and(|error| error.to_string().contains("rrf, combsum")));
    }
}
