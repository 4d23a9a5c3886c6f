//! Measures that trec_eval has and few others report.

use super::{Aggregation, At, COMMON, Declaration, REL, REL_AND_JUDGED, family, plain};
use crate::measures::{average_precision, bpref, counts, gains, interpolated, ndcg, precision};
use crate::parameters::Parameter;

const GAINS: &[Parameter] = &[Parameter::Dcg, Parameter::Gains, Parameter::JudgedOnly];

/// Measures that trec_eval has and few others report.
pub(super) static DECLARATIONS: &[Declaration] = &[
    Declaration {
        name: "GMAP",
        trec_eval: plain("gm_map"),
        parameters: REL_AND_JUDGED,
        aggregation: Aggregation::GeometricMean,
        compute: average_precision::average_precision,
        summary: "average precision, with the geometric mean over the queries",
        ..COMMON
    },
    Declaration {
        name: "GMBpref",
        trec_eval: plain("gm_bpref"),
        parameters: REL,
        aggregation: Aggregation::GeometricMean,
        compute: bpref::bpref,
        summary: "Bpref, with the geometric mean over the queries",
        ..COMMON
    },
    Declaration {
        name: "IPrecAvg",
        trec_eval: plain("11pt_avg"),
        parameters: REL_AND_JUDGED,
        compute: interpolated::eleven_point_average,
        summary: "mean of IPrec at recall 0, 0.1, ..., 1",
        ..COMMON
    },
    Declaration {
        name: "RprecMult",
        trec_eval: family("Rprec_mult", Parameter::Multiple),
        at: At::Required(Parameter::Multiple),
        parameters: REL_AND_JUDGED,
        compute: precision::r_precision_multiple,
        summary: "precision at this multiple of R documents, R being the number of relevant ones",
        ..COMMON
    },
    Declaration {
        name: "RelP",
        // BEIR's capped recall.
        aliases: &["R_cap"],
        trec_eval: family("relative_P", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        parameters: REL_AND_JUDGED,
        compute: precision::relative_precision,
        summary: "precision over the highest that is possible at this cutoff",
        ..COMMON
    },
    Declaration {
        name: "DCG",
        trec_eval: plain("dcg"),
        at: At::Optional(Parameter::Cutoff),
        parameters: GAINS,
        compute: ndcg::dcg_of_ranking,
        summary: "discounted cumulative gain of the ranking",
        ..COMMON
    },
    Declaration {
        name: "IDCG",
        trec_eval: plain("ideal_dcg"),
        at: At::Optional(Parameter::Cutoff),
        parameters: GAINS,
        compute: ndcg::ideal_dcg,
        summary: "discounted cumulative gain of the ideal ranking",
        ..COMMON
    },
    Declaration {
        name: "nDCGRel",
        trec_eval: plain("ndcg_rel"),
        parameters: GAINS,
        compute: gains::ndcg_at_relevant,
        summary: "nDCG at the rank of each relevant document, averaged over all relevant documents",
        ..COMMON
    },
    Declaration {
        name: "RnDCG",
        trec_eval: plain("Rndcg"),
        parameters: &[Parameter::Dcg, Parameter::Gains, Parameter::Rel, Parameter::JudgedOnly],
        compute: gains::ndcg_at_levels,
        summary: "nDCG at the ranks where the ideal ranking goes on to a lower gain, averaged",
        ..COMMON
    },
    Declaration {
        name: "BinG",
        trec_eval: plain("binG"),
        parameters: REL_AND_JUDGED,
        compute: gains::binary_gain,
        summary: "one over the logarithm of the non-relevant documents above each relevant one, averaged",
        ..COMMON
    },
    Declaration {
        name: "G",
        trec_eval: plain("G"),
        parameters: GAINS,
        compute: gains::normalized_gain,
        summary: "gains discounted by the gain that was missed above, over the sum of all gains",
        ..COMMON
    },
    Declaration {
        name: "YAAP",
        trec_eval: plain("yaap"),
        parameters: REL_AND_JUDGED,
        compute: average_precision::smoothed_average_precision,
        summary: "average precision on a scale without ends",
        ..COMMON
    },
    Declaration {
        name: "Unjudged",
        trec_eval: family("unj", Parameter::Cutoff),
        at: At::Required(Parameter::Cutoff),
        compute: precision::unjudged,
        of_judging: true,
        summary: "share of the first k documents that have no grade",
        ..COMMON
    },
    Declaration {
        name: "NumNonrelJudgedRet",
        trec_eval: plain("num_nonrel_judged_ret"),
        parameters: REL,
        aggregation: Aggregation::Sum,
        compute: counts::nonrelevant_retrieved,
        summary: "number of documents retrieved that are judged non-relevant",
        ..COMMON
    },
];
