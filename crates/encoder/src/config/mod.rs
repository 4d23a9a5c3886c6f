//! config.json: the architecture of a transformer encoder.

mod ance;
mod bert;
mod decoder;
mod gemma;
mod gte;
mod modernbert;
mod names;
mod nomic_bert;
mod prefix;
mod rope;
mod t5;

use std::path::Path;

use serde::Deserialize;
use toller_checkpoint::{AdapterConfig, Fingerprint, ModelError, ModelType, read_text};
use toller_ir::in_words_of_json;
use toller_nn::{Activation, AttentionParameters, NormPlacement};

pub(crate) use self::names::{Names, ProjectionNames, QkvNames, UpNames};
pub use self::prefix::NewPrefix;
pub(crate) use self::prefix::PrefixConfig;
pub(crate) use self::rope::Rope;
use crate::EncoderError;

/// How the model gets a token's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Positions {
    /// An embedding for each, numbered 0, 1, 2, ...
    FromZero,
    /// RoBERTa's embeddings: the first token that is not padding has the padding id plus one, and so on; a
    /// padding token, should a text contain one, has the padding id.
    AfterPadding(u32),
    /// No embeddings: attention rotates queries and keys, or has biases by distance.
    InAttention,
}

/// How the tokens attend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttentionConfig {
    pub(crate) heads: usize,
    /// Heads of keys and values.
    pub(crate) key_heads: usize,
    pub(crate) head_size: usize,
    /// Whether the layers of queries, keys and values have a bias.
    pub(crate) qkv_bias: bool,
    /// The same for the layer after the heads.
    pub(crate) output_bias: bool,
    /// Whether a token sees only those before it.
    pub(crate) is_causal: bool,
    /// What scores are multiplied by.
    pub(crate) scale: f32,
    /// MPNet's and T5's: rows of the table of biases by distance.
    pub(crate) relative_buckets: Option<usize>,
    /// The rotary embedding of global layers.
    pub(crate) rope: Option<Rope>,
    pub(crate) local: Option<LocalAttention>,
}

impl AttentionConfig {
    /// BERT's attention: the heads divide the states.
    fn dividing(hidden: usize, heads: usize) -> Result<Self, Refusal> {
        if heads == 0 || !hidden.is_multiple_of(heads) {
            return Err(Refusal::Invalid(format!(
                "a hidden size of {hidden} does not divide into {heads} heads"
            )));
        }
        Ok(Self::of_heads(heads, hidden / heads))
    }

    /// Attention to the whole sequence, with a bias in the linear layers.
    fn of_heads(heads: usize, head_size: usize) -> Self {
        Self {
            heads,
            key_heads: heads,
            head_size,
            qkv_bias: true,
            output_bias: true,
            is_causal: false,
            scale: AttentionParameters::usual_scale(head_size),
            relative_buckets: None,
            rope: None,
            local: None,
        }
    }
}

/// The linear layer after the pooling of a dual encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Projection {
    /// The dimensions of the vectors.
    pub(crate) dim: usize,
    pub(crate) names: ProjectionNames,
}

/// Layers in which a token sees only its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalAttention {
    /// The largest distance at which a token is seen.
    pub(crate) reach: usize,
    pub(crate) rope: Rope,
    pub(crate) layers: LocalLayers,
}

/// Which layers are local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LocalLayers {
    /// All layers except those whose number, from 0, is a multiple of this.
    AllButEvery(usize),
    /// The layers from this number on.
    From(usize),
    /// One entry a layer.
    Listed(Vec<bool>),
}

/// The norms of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NormConfig {
    pub(crate) epsilon: f64,
    pub(crate) bias: bool,
    /// Whether the mean is subtracted.
    pub(crate) centers: bool,
    /// Gemma's: the weights are stored less one.
    pub(crate) adds_one: bool,
    pub(crate) placement: NormPlacement,
    /// The same of the norm of the embeddings. ModernBERT's first layer takes their norm as its residual, too
    /// (Warner et al. 2024, section 2.1.1).
    pub(crate) first_placement: NormPlacement,
}

impl NormConfig {
    /// BERT's norms.
    fn after(epsilon: f64) -> Self {
        let placement = NormPlacement::After;
        Self { epsilon, bias: true, centers: true, adds_one: false, placement, first_placement: placement }
    }

    /// LLaMA's: RMSNorm before each half of a layer (Touvron et al. 2023, section 2.2).
    fn before(epsilon: f64) -> Self {
        let placement = NormPlacement::Before;
        Self { epsilon, bias: false, centers: false, adds_one: false, placement, first_placement: placement }
    }
}

/// What every configuration says.
struct Shape {
    vocabulary: usize,
    hidden: usize,
    layers: usize,
    intermediate: usize,
    max_positions: usize,
}

/// A transformer encoder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransformerConfig {
    pub(crate) model_type: ModelType,
    pub(crate) names: Names,
    /// Other names that the tensors may have.
    pub(crate) other_names: Option<Names>,
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    /// The width of the embeddings. Where it is not `hidden`, a linear layer follows them (ELECTRA).
    pub(crate) embedding: usize,
    /// Gemma's: what word embeddings are multiplied by.
    pub(crate) embedding_scale: Option<f32>,
    pub(crate) layers: usize,
    /// The width of the feed-forward network, gates not counted.
    pub(crate) intermediate: usize,
    pub(crate) activation: Activation,
    pub(crate) attention: AttentionConfig,
    /// Whether the first half of the feed-forward network has a bias.
    pub(crate) up_bias: bool,
    /// The same for the second half.
    pub(crate) down_bias: bool,
    pub(crate) norm: NormConfig,
    /// Rows of the position embeddings; without them, the longest input the model is made for.
    pub(crate) max_positions: usize,
    /// The longest input unless more is asked for, where nothing depends on it.
    pub(crate) usual_length: Option<usize>,
    pub(crate) positions: Positions,
    /// Rows of the token type embeddings. 0 for an architecture without them.
    pub(crate) token_types: usize,
    /// Rows of ERNIE's task type embeddings. 0 for an architecture without them.
    pub(crate) task_types: usize,
    /// Keys and values in front of every text.
    pub(crate) prefix: Option<PrefixConfig>,
    /// What ANCE, DPR and REALM project their vectors to.
    pub(crate) projection: Option<Projection>,
    /// Whether the weights belong to a cross-encoder or another classifier of texts.
    pub(crate) is_classifier: bool,
    /// Whether the weights belong to a language model, which predicts the next token.
    pub(crate) is_language_model: bool,
    /// Whether the weights belong to a classifier of tokens.
    pub(crate) classifies_tokens: bool,
}

/// The most layers of a model: more is damage, and not a model.
const MOST_LAYERS: usize = 1024;

/// Why a configuration is refused.
enum Refusal {
    /// The configuration asks for something that is not supported.
    Unsupported(String),
    /// It asks for rotary positions of another kind.
    Rotations(String),
    /// The configuration is wrong.
    Invalid(String),
}

impl Refusal {
    fn invalid(error: impl std::fmt::Display) -> Self {
        Self::Invalid(in_words_of_json(error))
    }
}

/// The fields of every configuration.
#[derive(Deserialize)]
struct Common {
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
}

/// The default of every architecture that has token types.
fn two() -> usize {
    2
}

fn yes() -> bool {
    true
}

impl TransformerConfig {
    /// A transformer with positions in attention, one table of embeddings, and biases only in attention.
    fn new(
        model_type: ModelType,
        names: Names,
        shape: Shape,
        activation: Activation,
        attention: AttentionConfig,
        norm: NormConfig,
    ) -> Self {
        let Shape { vocabulary, hidden, layers, intermediate, max_positions } = shape;
        Self {
            model_type,
            names,
            other_names: None,
            vocabulary,
            hidden,
            embedding: hidden,
            embedding_scale: None,
            layers,
            intermediate,
            activation,
            attention,
            up_bias: false,
            down_bias: false,
            norm,
            max_positions,
            usual_length: None,
            positions: Positions::InAttention,
            token_types: 0,
            task_types: 0,
            prefix: None,
            projection: None,
            is_classifier: false,
            is_language_model: false,
            classifies_tokens: false,
        }
    }

    /// Reads `config.json`.
    pub(crate) fn read(path: &Path) -> Result<Self, EncoderError> {
        let text = read_text(path)?;
        let adapter = path.parent().map(AdapterConfig::read).transpose()?.flatten();
        let mut config = Self::parse(&text).map_err(|refusal| {
            EncoderError::from(match refusal {
                Refusal::Unsupported(what) => {
                    let known = ModelType::NAMES.join(", ");
                    let supported = format!("model_type {known}, as transformers makes them by default");
                    ModelError::unsupported(path, what, supported)
                }
                Refusal::Rotations(what) => {
                    let supported =
                        "rotary positions of the kinds default, linear, dynamic, llama3 and yarn; ntk of GTE";
                    ModelError::unsupported(path, what, supported)
                }
                Refusal::Invalid(problem) => ModelError::Config { path: path.to_owned(), problem },
            })
        })?;
        // An adapter may make a classifier of a language model.
        if adapter.is_some_and(|adapter| adapter.is_classifier()) {
            (config.is_classifier, config.is_language_model, config.classifies_tokens) = (true, false, false);
        }
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self, Refusal> {
        // The type first: in another architecture's configuration the fields of the ones below may be
        // missing.
        let common: Common = serde_json::from_str(text).map_err(Refusal::invalid)?;
        let name = common.model_type.ok_or_else(|| Refusal::invalid("no \"model_type\""))?;
        let model_type = name.parse().map_err(|_| Refusal::Unsupported(format!("model_type {name:?}")))?;
        let mut config = match model_type {
            ModelType::Bert
            | ModelType::Electra
            | ModelType::Ernie
            | ModelType::Roberta
            | ModelType::XlmRoberta
            | ModelType::Camembert
            | ModelType::DistilBert
            | ModelType::Dpr
            | ModelType::Realm
            | ModelType::Mpnet => bert::read(text, model_type)?,
            ModelType::ModernBert => modernbert::read(text)?,
            ModelType::NomicBert => nomic_bert::read(text)?,
            ModelType::Gte | ModelType::New => gte::read(text, model_type)?,
            ModelType::T5 | ModelType::Mt5 => t5::read(text, model_type)?,
            ModelType::Gemma3Text => gemma::read(text)?,
            ModelType::Llama
            | ModelType::Mistral
            | ModelType::Qwen2
            | ModelType::Qwen3
            | ModelType::EuroBert => decoder::read(text, model_type)?,
        };
        let architectures = common.architectures.unwrap_or_default();
        let ends = |ending: &str| architectures.iter().any(|name| name.ends_with(ending));
        config.is_classifier = ends("ForSequenceClassification");
        config.is_language_model = ends("ForCausalLM");
        config.classifies_tokens = ends("ForTokenClassification");
        config.check()?;
        Ok(config)
    }

    /// Checks what holds for every architecture.
    fn check(&self) -> Result<(), Refusal> {
        let hidden = self.hidden;
        let AttentionConfig { heads, key_heads, head_size, .. } = self.attention;
        if hidden == 0 || heads == 0 || head_size == 0 {
            return Err(Refusal::Invalid(format!(
                "{heads} heads of {head_size} values over a hidden size of {hidden}"
            )));
        }
        if key_heads == 0 || !heads.is_multiple_of(key_heads) {
            return Err(Refusal::Invalid(format!("{heads} heads do not share {key_heads} heads of keys")));
        }
        // Products of two sizes are shapes of tensors.
        let projected = self.projection.map_or(0, |projection| projection.dim);
        let of_heads = heads.saturating_mul(head_size);
        let sizes = [
            hidden, of_heads, self.embedding, self.intermediate, self.vocabulary, self.max_positions,
            projected,
        ];
        if let Some(size) = sizes.into_iter().find(|size| *size > u32::MAX as usize) {
            return Err(Refusal::Invalid(format!(
                "a size is {size}, and the largest possible is {}",
                u32::MAX
            )));
        }
        if self.layers > MOST_LAYERS {
            return Err(Refusal::Invalid(format!(
                "there are {} layers, and at most {MOST_LAYERS} are possible",
                self.layers
            )));
        }
        let epsilon = self.norm.epsilon;
        // Next to numbers of about one, more than that leaves vectors of zeros.
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(Refusal::Invalid(format!(
                "the epsilon of the norms (layer_norm_eps, rms_norm_eps) is {epsilon:?}, and not between 0 and 1"
            )));
        }
        let scale = self.attention.scale;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Refusal::Invalid(format!("scores of attention are multiplied by {scale}")));
        }
        let ropes = [self.attention.rope, self.attention.local.as_ref().map(|local| local.rope)];
        ropes.into_iter().flatten().try_for_each(|rope| rope.check(head_size))
    }

    /// Adds everything that determines the vectors and does not follow from the tensors' names and shapes.
    /// [`Self::fingerprint_layer`] adds what belongs to a layer.
    pub(crate) fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        // All fields are named, so that a new one is not forgotten.
        let Self {
            layers,
            activation,
            positions,
            attention:
                AttentionConfig {
                    heads,
                    is_causal,
                    scale,
                    rope,
                    local: _,
                    // Shapes of tensors, or whether they are there.
                    key_heads: _,
                    head_size,
                    qkv_bias: _,
                    output_bias: _,
                    relative_buckets: _,
                },
            // Where the norms are follows from their names.
            norm: NormConfig { epsilon, centers, adds_one, bias: _, placement: _, first_placement: _ },
            embedding_scale,
            // Names of tensors.
            model_type: _,
            names: _,
            other_names: _,
            is_classifier: _,
            is_language_model: _,
            classifies_tokens: _,
            // Shapes of tensors, or whether they are there.
            vocabulary: _,
            hidden: _,
            embedding: _,
            intermediate: _,
            up_bias: _,
            down_bias: _,
            max_positions: _,
            usual_length: _,
            token_types: _,
            task_types: _,
            prefix: _,
            projection: _,
        } = self;
        fingerprint.value("layers", layers.to_string().as_bytes());
        fingerprint.value("heads", heads.to_string().as_bytes());
        fingerprint.value("activation", activation.name().as_bytes());
        fingerprint.value("layer norm epsilon", epsilon.to_string().as_bytes());
        if !centers {
            fingerprint.value("layer norm", b"not centered");
        }
        if *adds_one {
            fingerprint.value("layer norm", b"one added");
        }
        if let Some(scale) = embedding_scale {
            fingerprint.value("embedding scale", scale.to_string().as_bytes());
        }
        if *is_causal {
            fingerprint.value("attention", b"causal");
        }
        if *scale != AttentionParameters::usual_scale(*head_size) {
            fingerprint.value("attention scale", scale.to_string().as_bytes());
        }
        let positions = match positions {
            Positions::FromZero => "from zero".to_owned(),
            Positions::AfterPadding(pad) => format!("after padding {pad}"),
            Positions::InAttention if rope.is_none() => "relative".to_owned(),
            Positions::InAttention => "rotary".to_owned(),
        };
        fingerprint.value("positions", positions.as_bytes());
        if let Some(rope) = rope {
            fingerprint.value("rotary base", rope.to_string().as_bytes());
        }
    }

    /// Adds the same for the layer of that number.
    pub(crate) fn fingerprint_layer(&self, layer: usize, fingerprint: &mut Fingerprint) {
        if let Some(LocalAttention { reach, rope, layers: _ }) = self.local_attention(layer) {
            fingerprint.value("local attention", format!("{layer} {reach} {rope}").as_bytes());
        }
    }

    /// What the layer of that number does if it is local.
    pub(crate) fn local_attention(&self, layer: usize) -> Option<&LocalAttention> {
        self.attention.local.as_ref().filter(|local| local.layers.contain(layer))
    }

    /// The number of tokens for which there are positions behind the prefix.
    pub(crate) fn longest_input(&self) -> usize {
        let positions = match self.positions {
            Positions::FromZero | Positions::InAttention => self.max_positions,
            Positions::AfterPadding(pad) => self.max_positions.saturating_sub(pad as usize + 1),
        };
        positions.saturating_sub(self.prefix_tokens())
    }
}

/// Which layers are local, by the names of their kinds.
fn local_layers(types: &[String], layers: usize) -> Result<Vec<bool>, Refusal> {
    if types.len() != layers {
        return Err(Refusal::Invalid(format!("{} layer_types for {layers} layers", types.len())));
    }
    let is_local = |kind: &String| match kind.as_str() {
        "sliding_attention" => Ok(true),
        "full_attention" => Ok(false),
        other => Err(Refusal::Unsupported(format!("a layer of type {other:?}"))),
    };
    types.iter().map(is_local).collect()
}

impl LocalLayers {
    /// Whether the layer of that number is local.
    pub(crate) fn contain(&self, layer: usize) -> bool {
        match self {
            Self::AllButEvery(n) => !layer.is_multiple_of(*n),
            Self::From(first) => layer >= *first,
            Self::Listed(layers) => layers.get(layer).copied().unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests;
