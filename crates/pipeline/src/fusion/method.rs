//! The methods of the literature, by name.

use std::fmt;
use std::str::FromStr;

use super::options::{Combination, Fusion, Missing, Normalization, RRF_K};

/// A method of fusion: a name for a [`Fusion`].
#[derive(Debug, PartialEq)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that it is known by.
    pub aliases: &'static [&'static str],
    normalization: Normalization,
    missing: Missing,
    combination: Combination,
}

/// Every method. docs/fusion.md says what each does.
pub static METHODS: [Method; 12] = {
    use Combination::{Anz, Max, Mean, Med, Min, Mnz, Sum};
    use Missing::{LeftOut, Minimum, Zero};
    use Normalization::{Borda, Centred, MinMax, None, ReciprocalRank, ZScore};

    const fn method(
        name: &'static str,
        aliases: &'static [&'static str],
        (normalization, missing, combination): (Normalization, Missing, Combination),
    ) -> Method {
        Method { name, aliases, normalization, missing, combination }
    }
    [
        // The paper of Mr. TyDi: a document that is missing from a run has 0.
        method("interpolate", &["interpolation"], (MinMax, Zero, Sum)),
        // The script of Mr. TyDi's authors, and Pyserini.
        method("mr-tydi-script", &[], (Centred, Minimum, Sum)),
        method("z-score", &["zscore"], (ZScore, Minimum, Sum)),
        method("rrf", &[], (ReciprocalRank { k: RRF_K }, Zero, Sum)),
        method("combsum", &[], (MinMax, LeftOut, Sum)),
        method("combmnz", &[], (MinMax, LeftOut, Mnz)),
        method("combanz", &[], (MinMax, LeftOut, Anz)),
        method("combmax", &[], (MinMax, LeftOut, Max)),
        method("combmin", &[], (MinMax, LeftOut, Min)),
        method("combmed", &[], (MinMax, LeftOut, Med)),
        method("borda", &[], (Borda, LeftOut, Sum)),
        // Ensembles.
        method("mean", &[], (None, Minimum, Mean)),
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
