//! The names that Paddle's models give their variables, and those of transformers.
//!
//! PaddleNLP (dygraph): `ernie.encoder.layers.0.self_attn.q_proj.weight`. ERNIE's and RocketQA's static
//! programs: `encoder_layer_0_multi_head_att_query_fc.w_0`. Both keep a linear layer's matrix as `[in, out]`;
//! transformers has `[out, in]`.

/// How the variables of a checkpoint are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// By PaddleNLP's layers.
    Layers,
    /// By the static programs of ERNIE and RocketQA.
    Static,
}

/// What a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A tensor of the encoder or of its classifier, by transformers' name without a prefix.
    Tensor {
        /// The name.
        name: String,
        /// Whether its axes are to be exchanged.
        transposed: bool,
    },
    /// Something that no encoder and no classifier needs.
    LeftOut(&'static str),
    /// Something unknown.
    Unknown,
}

impl Naming {
    /// The name that every encoder has, after its prefix.
    pub(super) fn anchor(self) -> &'static str {
        match self {
            Self::Layers => "embeddings.word_embeddings.weight",
            Self::Static => "word_embedding",
        }
    }

    /// What a variable is, by its name without the encoder's prefix.
    pub(super) fn inner(self, name: &str) -> Role {
        match self {
            Self::Layers => layer_name(name),
            Self::Static => static_name(name),
        }
    }

    /// What a variable is that has no encoder's prefix: part of a head, or of no model at all.
    pub(super) fn outer(self, name: &str) -> Role {
        if is_of_training(name) {
            return Role::LeftOut("of the optimizer");
        }
        match self {
            Self::Layers => match name {
                "classifier.weight" | "classifier.bias" => layer_name(name),
                _ if name.starts_with("cls.") => Role::LeftOut("a head of pretraining"),
                _ => Role::Unknown,
            },
            Self::Static => match name {
                "pooled_fc.w_0" | "pooled_fc.b_0" => static_name(name),
                _ if name.ends_with("cls_out_w") => tensor("classifier.weight", true),
                _ if name.ends_with("cls_out_b") => tensor("classifier.bias", false),
                _ if name.starts_with("mask_lm_") || name.starts_with("next_sent_fc") => {
                    Role::LeftOut("a head of pretraining")
                }
                _ => Role::Unknown,
            },
        }
    }
}

/// Accumulators of Adam, counters, rates: by the endings and names that Paddle gives them.
fn is_of_training(name: &str) -> bool {
    const ENDINGS: [&str; 6] =
        ["_moment1_0", "_moment2_0", "_beta1_pow_acc_0", "_beta2_pow_acc_0", "_velocity_0", "_fp32_master_0"];
    const BEGINNINGS: [&str; 6] = [
        "@LR_DECAY", "learning_rate", "scheduled_learning_rate", "loss_scaling", "num_good_steps",
        "num_bad_steps",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn tensor(name: impl Into<String>, transposed: bool) -> Role {
    Role::Tensor { name: name.into(), transposed }
}

/// The parts of a layer: transformers' name, PaddleNLP's, and that of the static programs.
const LAYER: [(&str, &str, &str); 8] = [
    ("attention.self.query", "self_attn.q_proj", "multi_head_att_query_fc"),
    ("attention.self.key", "self_attn.k_proj", "multi_head_att_key_fc"),
    ("attention.self.value", "self_attn.v_proj", "multi_head_att_value_fc"),
    ("attention.output.dense", "self_attn.out_proj", "multi_head_att_output_fc"),
    ("attention.output.LayerNorm", "norm1", "post_att_layer_norm"),
    ("intermediate.dense", "linear1", "ffn_fc_0"),
    ("output.dense", "linear2", "ffn_fc_1"),
    ("output.LayerNorm", "norm2", "post_ffn_layer_norm"),
];

fn layer_name(name: &str) -> Role {
    match name {
        "embeddings.word_embeddings.weight"
        | "embeddings.position_embeddings.weight"
        | "embeddings.token_type_embeddings.weight"
        | "embeddings.task_type_embeddings.weight"
        | "pooler.dense.bias"
        | "classifier.bias" => return tensor(name, false),
        "pooler.dense.weight" | "classifier.weight" => return tensor(name, true),
        "embeddings.layer_norm.weight" => return tensor("embeddings.LayerNorm.weight", false),
        "embeddings.layer_norm.bias" => return tensor("embeddings.LayerNorm.bias", false),
        _ => {}
    }
    let parts = || {
        let (index, rest) = name.strip_prefix("encoder.layers.")?.split_once('.')?;
        let (part, kind) = rest.rsplit_once('.')?;
        let (target, ..) = LAYER.iter().find(|(_, layers, _)| *layers == part)?;
        Some((layer_index(index)?, target, kind))
    };
    match parts() {
        Some((index, part, kind @ ("weight" | "bias"))) => of_layer(index, part, kind),
        _ => Role::Unknown,
    }
}

fn static_name(name: &str) -> Role {
    let whole = match name {
        "word_embedding" => "embeddings.word_embeddings.weight",
        "pos_embedding" => "embeddings.position_embeddings.weight",
        "sent_embedding" => "embeddings.token_type_embeddings.weight",
        "task_embedding" => "embeddings.task_type_embeddings.weight",
        "pre_encoder_layer_norm_scale" => "embeddings.LayerNorm.weight",
        "pre_encoder_layer_norm_bias" => "embeddings.LayerNorm.bias",
        "pooled_fc.b_0" => "pooler.dense.bias",
        "pooled_fc.w_0" => return tensor("pooler.dense.weight", true),
        _ => "",
    };
    if !whole.is_empty() {
        return tensor(whole, false);
    }
    let parts = || {
        let (index, rest) = name.strip_prefix("encoder_layer_")?.split_once('_')?;
        LAYER.iter().find_map(|(target, _, part)| {
            let kind = match rest.strip_prefix(part)? {
                ".w_0" | "_scale" => "weight",
                ".b_0" | "_bias" => "bias",
                _ => return None,
            };
            Some((layer_index(index)?, target, kind))
        })
    };
    match parts() {
        Some((index, part, kind)) => of_layer(index, part, kind),
        None => Role::Unknown,
    }
}

/// A layer's number as it is written, without leading zeros, so that no two names are one layer.
fn layer_index(digits: &str) -> Option<usize> {
    digits.parse::<usize>().ok().filter(|index| index.to_string() == digits)
}

fn of_layer(index: usize, part: &str, kind: &str) -> Role {
    tensor(format!("encoder.layer.{index}.{part}.{kind}"), kind == "weight" && !part.ends_with("LayerNorm"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Naming, Role, tensor};

    #[test]
    fn both_namings_mean_the_same() {
        for (layers, fixed, meant) in [
            (
                "embeddings.task_type_embeddings.weight",
                "task_embedding",
                tensor("embeddings.task_type_embeddings.weight", false),
            ),
            (
                "embeddings.layer_norm.bias",
                "pre_encoder_layer_norm_bias",
                tensor("embeddings.LayerNorm.bias", false),
            ),
            (
                "encoder.layers.11.self_attn.q_proj.weight",
                "encoder_layer_11_multi_head_att_query_fc.w_0",
                tensor("encoder.layer.11.attention.self.query.weight", true),
            ),
            (
                "encoder.layers.0.linear2.bias",
                "encoder_layer_0_ffn_fc_1.b_0",
                tensor("encoder.layer.0.output.dense.bias", false),
            ),
            (
                "encoder.layers.3.norm1.weight",
                "encoder_layer_3_post_att_layer_norm_scale",
                tensor("encoder.layer.3.attention.output.LayerNorm.weight", false),
            ),
            ("pooler.dense.weight", "pooled_fc.w_0", tensor("pooler.dense.weight", true)),
        ] {
            assert_eq!(Naming::Layers.inner(layers), meant);
            assert_eq!(Naming::Static.inner(fixed), meant);
        }
    }

    #[test]
    fn heads_and_optimizers_are_distinguished() {
        assert_eq!(Naming::Static.outer("qtp_cls_out_w"), tensor("classifier.weight", true));
        assert_eq!(Naming::Layers.outer("classifier.bias"), tensor("classifier.bias", false));
        for name in
            ["mask_lm_trans_fc.w_0", "next_sent_fc.b_0", "word_embedding_moment1_0", "@LR_DECAY_COUNTER@"]
        {
            assert!(matches!(Naming::Static.outer(name), Role::LeftOut(_)), "{name}");
        }
        assert!(matches!(Naming::Layers.outer("cls.predictions.decoder_bias"), Role::LeftOut(_)));
        for name in ["linear_0.w_0", "encoder_layer_01_ffn_fc_0.w_0", "encoder_layer_0_ffn_fc_0.w_1", ""] {
            assert_eq!(Naming::Static.outer(name), Role::Unknown);
            assert_eq!(Naming::Static.inner(name), Role::Unknown);
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "[a-z_.0-9]{0,40}|encoder_layer_.{0,30}|encoder\\.layers\\..{0,30}") {
            for naming in [Naming::Layers, Naming::Static] {
                let _ = (naming.inner(&name), naming.outer(&name));
            }
        }
    }
}
