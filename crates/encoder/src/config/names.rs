//! The tensors' names: much of the difference between architectures.

/// Where the tensors of an architecture are, each without `.weight` or `.bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Word embeddings. Every model has them, so they also show the prefix of all names.
    pub(crate) words: &'static str,
    pub(crate) positions: &'static str,
    pub(crate) token_types: &'static str,
    pub(crate) task_types: &'static str,
    pub(crate) embedding_norm: &'static str,
    /// The layer from the embeddings to the states, where their widths differ.
    pub(crate) embedding_projection: &'static str,
    /// One row for each bucket of distances, one column for each head.
    pub(crate) relative_bias: &'static str,
    /// The name before a layer's number.
    pub(crate) layer: &'static str,
    pub(crate) qkv: QkvNames,
    /// The norms of a head's queries and keys.
    pub(crate) head_norms: Option<[&'static str; 2]>,
    pub(crate) attention_output: &'static str,
    pub(crate) attention_norm: &'static str,
    /// The norms of what each half of a layer adds.
    pub(crate) inner_norms: Option<[&'static str; 2]>,
    pub(crate) up: UpNames,
    pub(crate) down: &'static str,
    pub(crate) output_norm: &'static str,
    /// A norm after the last layer.
    pub(crate) final_norm: Option<&'static str>,
}

/// Queries, keys and values: three layers, or one whose rows are theirs in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QkvNames {
    Separate([&'static str; 3]),
    Fused(&'static str),
}

/// The first half of the feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpNames {
    /// activation(x).
    Plain(&'static str),
    /// activation(x) y, two layers (Shazeer 2020, section 2).
    Gated { activated: &'static str, linear: &'static str },
    /// The same as one layer: first the rows of x, then the rows of y.
    GatedFused(&'static str),
    /// First the rows of y.
    GateLast(&'static str),
}

/// Where the projection of a dual encoder is, next to the transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProjectionNames {
    /// The end of the transformer's prefix. What is before it is before the names below, too.
    pub(crate) transformer: &'static str,
    pub(crate) dense: &'static str,
    pub(crate) norm: Option<&'static str>,
}

pub(super) const DPR_PROJECTION: ProjectionNames =
    ProjectionNames { transformer: "bert_model.", dense: "encode_proj", norm: None };

/// The norm has torch's epsilon, which is RoBERTa's too.
pub(super) const ANCE_PROJECTION: ProjectionNames =
    ProjectionNames { transformer: "roberta.", dense: "embeddingHead", norm: Some("norm") };

pub(super) const REALM_PROJECTION: ProjectionNames =
    ProjectionNames { transformer: "realm.", dense: "cls.dense", norm: Some("cls.LayerNorm") };

pub(super) const BERT: Names = Names {
    words: "embeddings.word_embeddings",
    positions: "embeddings.position_embeddings",
    token_types: "embeddings.token_type_embeddings",
    task_types: "embeddings.task_type_embeddings",
    embedding_norm: "embeddings.LayerNorm",
    embedding_projection: "embeddings_project",
    relative_bias: "encoder.relative_attention_bias",
    layer: "encoder.layer",
    qkv: QkvNames::Separate(["attention.self.query", "attention.self.key", "attention.self.value"]),
    head_norms: None,
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner_norms: None,
    up: UpNames::Plain("intermediate.dense"),
    down: "output.dense",
    output_norm: "output.LayerNorm",
    final_norm: None,
};

pub(super) const DISTILBERT: Names = Names {
    layer: "transformer.layer",
    qkv: QkvNames::Separate(["attention.q_lin", "attention.k_lin", "attention.v_lin"]),
    attention_output: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: UpNames::Plain("ffn.lin1"),
    down: "ffn.lin2",
    output_norm: "output_layer_norm",
    ..BERT
};

pub(super) const MPNET: Names = Names {
    qkv: QkvNames::Separate(["attention.attn.q", "attention.attn.k", "attention.attn.v"]),
    attention_output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BERT
};

pub(super) const MODERNBERT: Names = Names {
    words: "embeddings.tok_embeddings",
    embedding_norm: "embeddings.norm",
    layer: "layers",
    qkv: QkvNames::Fused("attn.Wqkv"),
    attention_output: "attn.Wo",
    attention_norm: "attn_norm",
    up: UpNames::GatedFused("mlp.Wi"),
    down: "mlp.Wo",
    output_norm: "mlp_norm",
    final_norm: Some("final_norm"),
    ..BERT
};

/// NomicBERT as its authors publish it.
pub(super) const NOMIC_BERT: Names = Names {
    embedding_norm: "emb_ln",
    layer: "encoder.layers",
    qkv: QkvNames::Fused("attn.Wqkv"),
    attention_output: "attn.out_proj",
    attention_norm: "norm1",
    up: UpNames::Gated { activated: "mlp.fc12", linear: "mlp.fc11" },
    down: "mlp.fc2",
    output_norm: "norm2",
    ..BERT
};

/// NomicBERT without gates, as its authors' code has it.
pub(super) const NOMIC_BERT_UNGATED: Names = Names { up: UpNames::Plain("mlp.fc1"), ..NOMIC_BERT };

/// NomicBERT as transformers names its parts.
pub(super) const NOMIC_BERT_TRANSFORMERS: Names = Names {
    layer: "layers",
    qkv: QkvNames::Separate(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
    attention_output: "self_attn.o_proj",
    attention_norm: "post_attention_layernorm",
    up: UpNames::Gated { activated: "mlp.gate_proj", linear: "mlp.up_proj" },
    down: "mlp.down_proj",
    output_norm: "post_mlp_layernorm",
    ..BERT
};

/// LLaMA, Mistral and Qwen2, whose names transformers gives to NomicBERT's layers, too. The first layer's
/// norm is that of the embeddings.
pub(super) const LLAMA: Names = Names {
    words: "embed_tokens",
    embedding_norm: "layers.0.input_layernorm",
    attention_norm: "input_layernorm",
    output_norm: "post_attention_layernorm",
    final_norm: Some("norm"),
    ..NOMIC_BERT_TRANSFORMERS
};

pub(super) const QWEN3: Names = Names { head_norms: Some(["self_attn.q_norm", "self_attn.k_norm"]), ..LLAMA };

/// GTE as its authors publish it.
pub(super) const GTE: Names = Names {
    qkv: QkvNames::Fused("attention.qkv_proj"),
    attention_output: "attention.o_proj",
    attention_norm: "attn_ln",
    up: UpNames::GateLast("mlp.up_gate_proj"),
    down: "mlp.down_proj",
    output_norm: "mlp_ln",
    ..BERT
};

/// GTE as transformers names its parts.
pub(super) const GTE_TRANSFORMERS: Names = NOMIC_BERT_TRANSFORMERS;

/// Gemma 3. Its "post_attention_layernorm" is what its name says, and not LLaMA's.
pub(super) const GEMMA3: Names = Names {
    inner_norms: Some(["post_attention_layernorm", "post_feedforward_layernorm"]),
    output_norm: "pre_feedforward_layernorm",
    ..QWEN3
};

/// The encoder of T5.
pub(super) const T5: Names = Names {
    words: "shared",
    embedding_norm: "encoder.block.0.layer.0.layer_norm",
    relative_bias: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    layer: "encoder.block",
    qkv: QkvNames::Separate([
        "layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v",
    ]),
    attention_output: "layer.0.SelfAttention.o",
    attention_norm: "layer.0.layer_norm",
    up: UpNames::Plain("layer.1.DenseReluDense.wi"),
    down: "layer.1.DenseReluDense.wo",
    output_norm: "layer.1.layer_norm",
    final_norm: Some("encoder.final_layer_norm"),
    ..BERT
};

/// T5 since version 1.1, and mT5.
pub(super) const T5_GATED: Names = Names {
    up: UpNames::Gated { activated: "layer.1.DenseReluDense.wi_0", linear: "layer.1.DenseReluDense.wi_1" },
    ..T5
};
