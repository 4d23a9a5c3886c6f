//! Measures that model a user who stops somewhere in the ranking.

use super::{At, COMMON, Declaration};
use crate::measures::{compatibility, err, user_models};
use crate::parameters::Parameter;

const SCALE: &[Parameter] = &[Parameter::MinRel, Parameter::MaxRel];
const TARGET: &[Parameter] = &[Parameter::Target, Parameter::MinRel, Parameter::MaxRel];

/// Measures that model a user who stops somewhere in the ranking.
pub(super) static DECLARATIONS: &[Declaration] = &[
    Declaration {
        name: "ERR",
        at: At::Optional(Parameter::Cutoff),
        compute: err::expected_reciprocal_rank,
        summary: "one over the rank at which a user is expected to be satisfied",
        ..COMMON
    },
    Declaration {
        name: "RBP",
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Persistence, Parameter::Rel],
        persistence: Some(user_models::RBP_P),
        compute: user_models::rank_biased_precision,
        summary: "gain of a user who goes on to the next document with the probability p",
        ..COMMON
    },
    Declaration {
        name: "RBPResid",
        parameters: &[Parameter::Persistence],
        persistence: Some(user_models::RBP_P),
        compute: user_models::rank_biased_residual,
        of_judging: true,
        summary: "how much higher RBP could be if unjudged documents were relevant",
        ..COMMON
    },
    Declaration {
        name: "INST",
        parameters: TARGET,
        compute: user_models::inst,
        summary: "gain of a user who stops sooner the closer the gain is to the target T",
        ..COMMON
    },
    Declaration {
        name: "INSQ",
        parameters: TARGET,
        compute: user_models::insq,
        summary: "gain of a user who stops sooner the smaller the target T is",
        ..COMMON
    },
    Declaration {
        name: "BPM",
        at: At::Required(Parameter::Cutoff),
        parameters: TARGET,
        compute: user_models::bejeweled_player,
        summary: "gain for each document of a user who stops at the gain T or at rank k",
        ..COMMON
    },
    Declaration {
        name: "SDCG",
        at: At::Required(Parameter::Cutoff),
        parameters: SCALE,
        compute: user_models::scaled_dcg,
        summary: "discounted cumulative gain over that of k documents of the highest grade",
        ..COMMON
    },
    Declaration {
        name: "NERR8",
        at: At::Required(Parameter::Cutoff),
        parameters: SCALE,
        compute: user_models::nerr8,
        summary: "ERR as a user model: stopping by gain, to rank k",
        ..COMMON
    },
    Declaration {
        name: "NERR9",
        at: At::Required(Parameter::Cutoff),
        parameters: SCALE,
        compute: user_models::nerr9,
        summary: "ERR as a user model: stopping by gain and rank, to rank k",
        ..COMMON
    },
    Declaration {
        name: "NERR10",
        parameters: &[Parameter::Persistence, Parameter::MinRel, Parameter::MaxRel],
        persistence: Some(user_models::NERR10_P),
        compute: user_models::nerr10,
        summary: "ERR as a user model: stopping by gain and with the probability 1 - p",
        ..COMMON
    },
    Declaration {
        name: "NERR11",
        parameters: TARGET,
        compute: user_models::nerr11,
        summary: "ERR as a user model: stopping by gain and by the target T",
        ..COMMON
    },
    Declaration {
        name: "Compat",
        aliases: &["Compatibility"],
        parameters: &[Parameter::Persistence, Parameter::Normalize],
        persistence: Some(compatibility::P),
        compute: compatibility::compatibility,
        summary: "rank-biased overlap of the ranking with the ideal ranking closest to it",
        ..COMMON
    },
    Declaration {
        name: "Accuracy",
        at: At::Optional(Parameter::Cutoff),
        parameters: &[Parameter::Rel],
        compute: compatibility::accuracy,
        summary: "share of the pairs of a relevant and another retrieved document in the right order",
        ..COMMON
    },
];
