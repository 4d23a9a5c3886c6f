//! The methods of the literature, by name.

use std::fmt;
use std::str::FromStr;

use toller_ir::Setting;

use super::error::FusionError;
use super::options::{Combination, Fusion, Missing, Normalization, RRF_K, Scale};

/// A method of fusion: a name for a [`Fusion`].
#[derive(Debug, PartialEq)]
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

/// Every method. docs/fusion.md says what each does.
pub static METHODS: [Method; 12] = {
    use Combination::{Anz, Max, Mean, Med, Min, Mnz, Sum};
    use Missing::{LeftOut, Minimum, Zero};
    use Normalization::{Borda, ReciprocalRank, Scale as Scaled};
    use Scale::{Centred, MinMax, None, ZScore};

    const fn method(
        name: &'static str,
        aliases: &'static [&'static str],
        summary: &'static str,
        (normalization, missing, combination): (Normalization, Missing, Combination),
    ) -> Method {
        Method { name, aliases, summary, normalization, missing, combination }
    }
    [
        method(
            "interpolate",
            &["interpolation"],
            "Scores from 0 to 1, and 0 for a document that a run does not have: the paper of Mr. TyDi",
            (Scaled(MinMax), Zero, Sum),
        ),
        method(
            "mr-tydi-script",
            &[],
            "Scores from -1/2 to 1/2: the script of Mr. TyDi's authors, and Pyserini's normalization",
            (Scaled(Centred), Minimum, Sum),
        ),
        method("z-score", &["zscore"], "Scores with mean 0 and deviation 1", (Scaled(ZScore), Minimum, Sum)),
        method(
            "rrf",
            &[],
            "Reciprocal ranks, 1 / (60 + rank): reciprocal rank fusion",
            (ReciprocalRank { k: RRF_K }, Zero, Sum),
        ),
        method("combsum", &[], "The sum of scores from 0 to 1", (Scaled(MinMax), LeftOut, Sum)),
        method(
            "combmnz",
            &[],
            "The sum times the number of runs that have the document",
            (Scaled(MinMax), LeftOut, Mnz),
        ),
        method(
            "combanz",
            &[],
            "The sum divided by the number of runs that have the document",
            (Scaled(MinMax), LeftOut, Anz),
        ),
        method("combmax", &[], "The largest of scores from 0 to 1", (Scaled(MinMax), LeftOut, Max)),
        method("combmin", &[], "The smallest of scores from 0 to 1", (Scaled(MinMax), LeftOut, Min)),
        method("combmed", &[], "The median of scores from 0 to 1", (Scaled(MinMax), LeftOut, Med)),
        method("borda", &[], "Points by rank, as in an election", (Borda, LeftOut, Sum)),
        method(
            "mean",
            &[],
            "The mean of the scores as they are: ensembles of models with one scale",
            (Scaled(None), Minimum, Mean),
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

    /// The method with another scale, another value of missing documents, and another constant of reciprocal
    /// rank fusion.
    ///
    /// # Errors
    /// One of them has no meaning for the method: one that looks only at ranks has nothing to normalize and
    /// nothing to fill in.
    pub fn with(
        &self,
        normalize: Option<Scale>,
        missing: Option<Missing>,
        rrf_k: Option<f64>,
    ) -> Result<Fusion, FusionError> {
        let is_by_rank = !matches!(self.normalization, Normalization::Scale(_));
        let is_rrf = matches!(self.normalization, Normalization::ReciprocalRank { .. });
        for (setting, is_vain) in [
            (Setting::Normalize, normalize.is_some() && is_by_rank),
            (Setting::Missing, missing.is_some() && is_by_rank),
            (Setting::RrfK, rrf_k.is_some() && !is_rrf),
        ] {
            if is_vain {
                return Err(FusionError::NoMeaning { setting, method: self.name });
            }
        }
        let rrf = rrf_k.map(|k| Normalization::ReciprocalRank { k });
        Ok(Fusion {
            normalization: normalize.map(Normalization::from).or(rrf).unwrap_or(self.normalization),
            missing: missing.unwrap_or(self.missing),
            ..self.fusion()
        })
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
    use toller_ir::{Explain, Setting};

    use super::{METHODS, Method};
    use crate::fusion::{FusionError, Missing, Normalization, Scale};

    #[test]
    fn a_method_takes_what_has_a_meaning_for_it() -> Result<(), Box<dyn std::error::Error>> {
        let method = |name: &str| name.parse::<&Method>();
        let fusion = method("interpolate")?.with(Some(Scale::ZScore), Some(Missing::Minimum), None)?;
        assert_eq!((fusion.normalization, fusion.missing), (Scale::ZScore.into(), Missing::Minimum));
        assert_eq!(fusion.combination, method("interpolate")?.fusion().combination);
        let rrf = method("rrf")?.with(None, None, Some(1.0))?;
        assert_eq!(rrf.normalization, Normalization::ReciprocalRank { k: 1.0 });
        for method in &METHODS {
            assert_eq!(method.with(None, None, None)?, method.fusion());
        }
        for (name, normalize, missing, rrf_k, refused) in [
            ("rrf", Some(Scale::None), None, None, Setting::Normalize),
            ("borda", None, Some(Missing::Zero), None, Setting::Missing),
            ("borda", None, None, Some(1.0), Setting::RrfK),
            ("combsum", None, None, Some(1.0), Setting::RrfK),
        ] {
            let Err(error) = method(name)?.with(normalize, missing, rrf_k) else { return Err(name.into()) };
            let is_it = matches!(error, FusionError::NoMeaning { setting, method } if setting == refused && method == name);
            let names_it = error.remedy().is_some_and(|remedy| remedy.to_string().contains(refused.name()));
            assert!(is_it && names_it, "{error}");
        }
        Ok(())
    }

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
