//! Every measure, declared once: its names, its parameters, how it is computed and aggregated.

use crate::measures::{average_precision, bpref, counts, interpolated, ndcg, precision, sets};
use crate::parameters::{Parameter, Parameters};
use crate::ranking::JudgedRanking;

/// How the values of the queries become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregation {
    /// The arithmetic mean.
    Mean,
    /// The sum.
    Sum,
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
    pub(crate) aggregation: Aggregation,
    /// The value on one query, given the parameters and the lowest relevant grade.
    pub(crate) compute: fn(&JudgedRanking, &Parameters, u32) -> f64,
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

/// All measures, in the order of the documentation.
pub(crate) static DECLARATIONS: &[Declaration] = &[
    Declaration {
        name: "nDCG",
        aliases: &[],
        trec_eval: both("ndcg", "ndcg_cut", Parameter::Cutoff),
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Dcg, Parameter::Gains, Parameter::JudgedOnly],
        aggregation: Aggregation::Mean,
        compute: ndcg::ndcg,
        summary: "discounted cumulative gain of the ranking over that of the ideal ranking",
    },
    Declaration {
        name: "RR",
        aliases: &["MRR"],
        trec_eval: plain("recip_rank"),
        at: At::Optional(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: precision::reciprocal_rank,
        summary: "one over the rank of the first relevant document",
    },
    Declaration {
        name: "AP",
        aliases: &["MAP"],
        trec_eval: both("map", "map_cut", Parameter::Cutoff),
        at: At::Optional(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: average_precision::average_precision,
        summary: "precision at each relevant document, averaged over all relevant documents",
    },
    Declaration {
        name: "R",
        aliases: &["Recall"],
        trec_eval: family("recall", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: precision::recall,
        summary: "share of the relevant documents that are among the first k",
    },
    Declaration {
        name: "P",
        aliases: &["Precision"],
        trec_eval: family("P", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: precision::precision,
        summary: "share of the first k documents that are relevant",
    },
    Declaration {
        name: "Success",
        aliases: &[],
        trec_eval: family("success", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: precision::success,
        summary: "whether a relevant document is among the first k",
    },
    Declaration {
        name: "Judged",
        aliases: &[],
        trec_eval: TrecName { plain: None, family: None },
        at: At::Optional(Parameter::Cutoff),
        parameters: &[],
        aggregation: Aggregation::Mean,
        compute: precision::judged,
        summary: "share of the first k documents that are in the qrels",
    },
    Declaration {
        name: "Rprec",
        aliases: &[],
        trec_eval: plain("Rprec"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: precision::r_precision,
        summary: "precision among the first R documents, R being the number of relevant ones",
    },
    Declaration {
        name: "Bpref",
        aliases: &[],
        trec_eval: plain("bpref"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Mean,
        compute: bpref::bpref,
        summary: "how rarely judged non-relevant documents rank above relevant ones",
    },
    Declaration {
        name: "infAP",
        aliases: &[],
        trec_eval: plain("infAP"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Mean,
        compute: average_precision::inferred_average_precision,
        summary: "average precision estimated from a pool that was judged in part",
    },
    Declaration {
        name: "IPrec",
        aliases: &[],
        trec_eval: family("iprec_at_recall", Parameter::Recall),
        at: At::Required(Parameter::Recall),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: interpolated::interpolated_precision,
        summary: "highest precision at this level of recall or beyond",
    },
    Declaration {
        name: "SetP",
        aliases: &[],
        trec_eval: plain("set_P"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: sets::precision,
        summary: "share of the retrieved documents that are relevant",
    },
    Declaration {
        name: "SetRelP",
        aliases: &[],
        trec_eval: plain("set_relative_P"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: sets::relative_precision,
        summary: "SetP over the highest that this many retrieved documents allow",
    },
    Declaration {
        name: "SetR",
        aliases: &[],
        trec_eval: plain("set_recall"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Mean,
        compute: sets::recall,
        summary: "share of the relevant documents that were retrieved",
    },
    Declaration {
        name: "SetF",
        aliases: &[],
        trec_eval: both("set_F", "set_F", Parameter::Beta),
        at: At::Nothing,
        parameters: &[Parameter::Beta, Parameter::Rel, Parameter::JudgedOnly],
        aggregation: Aggregation::Mean,
        compute: sets::f_measure,
        summary: "weighted harmonic mean of SetP and SetR",
    },
    Declaration {
        name: "SetAP",
        aliases: &[],
        trec_eval: plain("set_map"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::Mean,
        compute: sets::average_precision,
        summary: "SetP times SetR",
    },
    Declaration {
        name: "NumQ",
        aliases: &[],
        trec_eval: plain("num_q"),
        at: At::Nothing,
        parameters: &[],
        aggregation: Aggregation::Sum,
        compute: counts::queries,
        summary: "number of queries evaluated",
    },
    Declaration {
        name: "NumRet",
        aliases: &[],
        trec_eval: plain("num_ret"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::retrieved,
        summary: "number of documents retrieved, or of those with at least the grade rel",
    },
    Declaration {
        name: "NumRel",
        aliases: &[],
        trec_eval: plain("num_rel"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::relevant,
        summary: "number of relevant documents",
    },
    Declaration {
        name: "NumRelRet",
        aliases: &[],
        trec_eval: plain("num_rel_ret"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::relevant_retrieved,
        summary: "number of relevant documents retrieved",
    },
];

#[cfg(test)]
mod tests {
    use super::{At, DECLARATIONS};

    #[test]
    fn every_measure_is_documented() {
        let documentation = include_str!("../../../docs/measures.md");
        for declaration in DECLARATIONS {
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
