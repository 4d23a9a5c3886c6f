//! The measures that most papers report.

use super::{Aggregation, At, COMMON, Declaration, REL, REL_AND_JUDGED, TrecName, both, family, plain};
use crate::measures::{average_precision, bpref, counts, interpolated, ndcg, precision, sets};
use crate::parameters::Parameter;

/// The measures that most papers report.
pub(super) static DECLARATIONS: &[Declaration] = &[
    Declaration {
        name: "nDCG",
        trec_eval: both("ndcg", "ndcg_cut", Parameter::Cutoff),
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Dcg, Parameter::Gains, Parameter::JudgedOnly, Parameter::Micro],
        compute: ndcg::ndcg,
        denominator: Some(ndcg::ideal_dcg),
        summary: "discounted cumulative gain of the ranking over that of the ideal ranking",
        ..COMMON
    },
    Declaration {
        name: "RR",
        aliases: &["MRR"],
        trec_eval: plain("recip_rank"),
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Rel, Parameter::JudgedOnly, Parameter::Missing, Parameter::Ties],
        compute: precision::reciprocal_rank,
        of_first_rank: Some(precision::reciprocal_of),
        summary: "one over the rank of the first relevant document",
        ..COMMON
    },
    Declaration {
        name: "AP",
        aliases: &["MAP"],
        trec_eval: both("map", "map_cut", Parameter::Cutoff),
        at: At::Optional(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        compute: average_precision::average_precision,
        summary: "precision at each relevant document, averaged over all relevant documents",
        ..COMMON
    },
    Declaration {
        name: "R",
        aliases: &["Recall"],
        trec_eval: family("recall", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: &[Parameter::Rel, Parameter::JudgedOnly, Parameter::Micro],
        compute: precision::recall,
        denominator: Some(counts::relevant),
        summary: "share of the relevant documents that are among the first k",
        ..COMMON
    },
    Declaration {
        name: "P",
        aliases: &["Precision"],
        trec_eval: family("P", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        compute: precision::precision,
        summary: "share of the first k documents that are relevant",
        ..COMMON
    },
    Declaration {
        name: "Success",
        aliases: &["Hits", "Hit", "HitRate", "hit_rate"],
        trec_eval: family("success", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: &[Parameter::Rel, Parameter::JudgedOnly, Parameter::Ties],
        compute: precision::success,
        of_first_rank: Some(precision::success_of),
        summary: "whether a relevant document is among the first k",
        ..COMMON
    },
    Declaration {
        name: "Judged",
        trec_eval: TrecName { plain: None, family: None },
        at: At::Optional(Parameter::Cutoff),
        parameters: &[],
        compute: precision::judged,
        of_judging: true,
        summary: "share of the first k documents that are in the qrels",
        ..COMMON
    },
    Declaration {
        name: "Rprec",
        aliases: &["r-precision"],
        trec_eval: plain("Rprec"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        compute: precision::r_precision,
        summary: "precision among the first R documents, R being the number of relevant ones",
        ..COMMON
    },
    Declaration {
        name: "Bpref",
        trec_eval: plain("bpref"),
        at: At::Nothing,
        parameters: REL,
        compute: bpref::bpref,
        summary: "how rarely judged non-relevant documents rank above relevant ones",
        ..COMMON
    },
    Declaration {
        name: "infAP",
        trec_eval: plain("infAP"),
        at: At::Nothing,
        parameters: REL,
        compute: average_precision::inferred_average_precision,
        summary: "average precision estimated from a pool that was judged in part",
        ..COMMON
    },
    Declaration {
        name: "IPrec",
        trec_eval: family("iprec_at_recall", Parameter::Recall),
        at: At::Required(Parameter::Recall),
        parameters: REL_AND_JUDGED,
        compute: interpolated::interpolated_precision,
        summary: "highest precision at this level of recall or beyond",
        ..COMMON
    },
    Declaration {
        name: "SetP",
        trec_eval: plain("set_P"),
        at: At::Nothing,
        parameters: &[Parameter::Rel, Parameter::JudgedOnly, Parameter::Relative],
        compute: sets::precision,
        summary: "share of the retrieved documents that are relevant",
        ..COMMON
    },
    Declaration {
        name: "SetRelP",
        trec_eval: plain("set_relative_P"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        compute: sets::relative_precision,
        summary: "SetP over the highest that this many retrieved documents allow",
        ..COMMON
    },
    Declaration {
        name: "SetR",
        trec_eval: plain("set_recall"),
        at: At::Nothing,
        parameters: REL,
        compute: sets::recall,
        summary: "share of the relevant documents that were retrieved",
        ..COMMON
    },
    Declaration {
        name: "SetF",
        aliases: &["f1"],
        trec_eval: both("set_F", "set_F", Parameter::Beta),
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Beta, Parameter::Rel, Parameter::JudgedOnly],
        compute: sets::f_measure,
        summary: "weighted harmonic mean of precision and recall, of all documents or the first k",
        ..COMMON
    },
    Declaration {
        name: "SetAP",
        trec_eval: plain("set_map"),
        at: At::Nothing,
        parameters: REL_AND_JUDGED,
        compute: sets::average_precision,
        summary: "SetP times SetR",
        ..COMMON
    },
    Declaration {
        name: "NumQ",
        trec_eval: plain("num_q"),
        at: At::Nothing,
        parameters: &[],
        aggregation: Aggregation::Sum,
        compute: counts::queries,
        summary: "number of queries evaluated",
        ..COMMON
    },
    Declaration {
        name: "NumRet",
        trec_eval: plain("num_ret"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::retrieved,
        summary: "number of documents retrieved, or of those with at least the grade rel",
        ..COMMON
    },
    Declaration {
        name: "NumRel",
        trec_eval: plain("num_rel"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::relevant,
        summary: "number of relevant documents",
        ..COMMON
    },
    Declaration {
        name: "NumRelRet",
        trec_eval: plain("num_rel_ret"),
        at: At::Nothing,
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::relevant_retrieved,
        summary: "number of relevant documents retrieved",
        ..COMMON
    },
];
