//! Every measure, declared once: its names, its parameters, how it is computed and aggregated.

mod core;
mod trec;
mod user_models;

use crate::parameters::{Parameter, Parameters};
use crate::ranking::JudgedRanking;

/// How the values of the queries become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregation {
    /// The arithmetic mean.
    Mean,
    /// The sum.
    Sum,
    /// The geometric mean; a value below 0.00001 counts as that.
    GeometricMean,
}

/// What counts at least in a geometric mean.
const LEAST_FACTOR: f64 = 0.000_01;

impl Aggregation {
    /// What a query's value adds to the sum over the queries, without its weight.
    pub(crate) fn term(self, value: f64) -> f64 {
        match self {
            Self::Mean | Self::Sum => value,
            Self::GeometricMean => value.max(LEAST_FACTOR).ln(),
        }
    }

    /// The value over all queries, given the sums of the terms and of the weights.
    pub(crate) fn of_sum(self, sum: f64, weights: f64) -> f64 {
        match self {
            Self::Sum => sum,
            // No query has a weight: nothing is relevant, or the run has none of the queries.
            Self::Mean if weights == 0.0 => 0.0,
            Self::Mean => sum / weights,
            Self::GeometricMean => (sum / weights).exp(),
        }
    }
}

/// What a measure requires after `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Nothing.
    Nothing,
    /// This parameter may.
    Optional(Parameter),
    /// This parameter must.
    Required(Parameter),
}

/// trec_eval's names of a measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrecName {
    /// The measure without a parameter, `recip_rank`.
    pub(crate) plain: Option<&'static str>,
    /// The measure with one, `P` in `P_10`.
    pub(crate) family: Option<(&'static str, Parameter)>,
}

/// How a measure is computed from a ranking, given the parameters and the lowest relevant grade.
pub(crate) type Compute = fn(&JudgedRanking, &Parameters, u32) -> f64;

/// A measure's declaration.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// The canonical name.
    pub(crate) name: &'static str,
    /// Other names that are read.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) trec_eval: TrecName,
    pub(crate) at: At,
    /// The named parameters, without that of `at`.
    pub(crate) parameters: &'static [Parameter],
    /// `p`, where it is not given, of measures that have it.
    pub(crate) persistence: Option<f64>,
    pub(crate) aggregation: Aggregation,
    /// The value on one query.
    pub(crate) compute: Compute,
    /// What the value is divided by, if `micro` may divide sums instead.
    pub(crate) denominator: Option<Compute>,
    /// The value by the rank of the first relevant document, if that decides.
    pub(crate) of_first_rank: Option<fn(Option<f64>, &Parameters) -> f64>,
    /// Whether the value says how much is judged, and not how good the order is.
    pub(crate) of_judging: bool,
    /// One line on what is measured.
    pub(crate) summary: &'static str,
}

const REL: &[Parameter] = &[Parameter::Rel];
const REL_AND_JUDGED: &[Parameter] = &[Parameter::Rel, Parameter::JudgedOnly];

/// Only a plain name.
const fn plain(name: &'static str) -> TrecName {
    TrecName { plain: Some(name), family: None }
}

/// Only a family of names.
const fn family(name: &'static str, parameter: Parameter) -> TrecName {
    TrecName { plain: None, family: Some((name, parameter)) }
}

/// A plain name and a family of names.
const fn both(name: &'static str, of: &'static str, parameter: Parameter) -> TrecName {
    TrecName { plain: Some(name), family: Some((of, parameter)) }
}

/// What most declarations have in common.
const COMMON: Declaration = Declaration {
    name: "",
    aliases: &[],
    trec_eval: TrecName { plain: None, family: None },
    at: At::Nothing,
    parameters: &[],
    persistence: None,
    aggregation: Aggregation::Mean,
    compute: |_, _, _| 0.0,
    denominator: None,
    of_first_rank: None,
    of_judging: false,
    summary: "",
};

/// All measures, in the order of the documentation.
pub(crate) fn declarations() -> impl Iterator<Item = &'static Declaration> {
    core::DECLARATIONS.iter().chain(user_models::DECLARATIONS).chain(trec::DECLARATIONS)
}

#[cfg(test)]
mod tests {
    use super::{At, declarations};

    #[test]
    fn every_measure_is_documented() {
        let documentation = include_str!("../../../../docs/measures.md");
        for declaration in declarations() {
            let shown = match declaration.at {
                At::Nothing => format!("| `{}` |", declaration.name),
                At::Optional(_) => format!("| `{}[@k]` |", declaration.name),
                At::Required(_) => format!("| `{}@", declaration.name),
            };
            let row = documentation.lines().find(|line| line.starts_with(&shown));
            let row = row.unwrap_or_else(|| panic!("docs/measures.md has no row of {}", declaration.name));
            for parameter in declaration.parameters {
                assert!(
                    row.contains(&format!("`{}`", parameter.name())),
                    "{}: {}",
                    declaration.name,
                    parameter.name()
                );
            }
            let family = declaration.trec_eval.family.map(|(family, _)| family);
            for name in declaration.trec_eval.plain.iter().chain(&family) {
                assert!(row.contains(&format!("`{name}`")), "{}: {name}", declaration.name);
            }
        }
    }
}
