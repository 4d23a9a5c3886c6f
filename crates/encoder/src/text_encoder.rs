//! One tower: text to vector.

use std::path::Path;
use std::sync::Arc;

use candle_core::Tensor;
use toller_checkpoint::ModelError;
use toller_nn::{Activation, Pooling, pool_after};

use crate::batch::{TokenBatch, by_budget};
use crate::config::TransformerConfig;
use crate::head::Head;
use crate::layout::Layout;
use crate::pooling::TextPooling;
use crate::transformer::Transformer;
use crate::{EncoderError, LoadOptions, TextInput, TitleTypes};
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;
use toller_tokenizer::Tokens;
use toller_tokenizer::{Tokenizer, TokenizerConfig};

/// A tokenizer, a transformer, a pooling and what follows it: text to one vector.
#[derive(Clone)]
pub struct TextEncoder {
    model: Arc<Model>,
    /// Tokens at the start of every text that are not pooled: the prompt's, where the model leaves them out.
    unpooled: usize,
}

/// What the towers of a tied model share.
struct Model {
    tokenizer: Tokenizer,
    max_length: usize,
    transformer: Transformer,
    /// Concatenated.
    poolings: Vec<Pooling>,
    pooling_name: String,
    pooling_is_assumed: bool,
    pools_prompt: bool,
    head: Head,
    unexpected_tensors: Vec<String>,
    batch_tokens: usize,
}

/// What a model says of its pooling, or is told.
struct PoolingChoice {
    poolings: Vec<Pooling>,
    uses_pooler: bool,
    is_assumed: bool,
}

impl TextEncoder {
    /// Loads the model of one directory, adding all that decides its vectors to the fingerprint.
    pub(crate) fn load(
        layout: &Layout,
        options: &LoadOptions,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        let folder = &layout.transformer;
        let config_path = folder.join("config.json");
        if !config_path.is_file() {
            return Err(ModelError::MissingFile {
                directory: folder.clone(),
                missing: "config.json".to_owned(),
            }
            .into());
        }
        let config = TransformerConfig::read(&config_path)?;
        config.fingerprint(fingerprint);
        let pooling = choose_pooling(layout, options, &config, &config_path)?;
        let pooling_name = if pooling.uses_pooler {
            TextPooling::Pooler.name().to_owned()
        } else {
            joined(&pooling.poolings)
        };
        fingerprint.value("pooling", pooling_name.as_bytes());
        if !layout.pools_prompt {
            fingerprint.value("pools the prompt", b"no");
        }

        let tokenizer_config = TokenizerConfig::read(folder)?;
        let max_length = layout.max_length(options.max_length, &config, &tokenizer_config)?;
        let tokenizer = Tokenizer::load(
            folder,
            &tokenizer_config,
            max_length,
            layout.lowercase,
            &config.model_type,
            fingerprint,
        )?;
        let (transformer, tensors) = Transformer::open(folder, &config, options.dtype, fingerprint)?;

        let mut head = Head::new(config.hidden * pooling.poolings.len());
        if pooling.uses_pooler {
            push_pooler(&mut head, &tensors, &config, &config_path, fingerprint)?;
        }
        if config.projection > 0 {
            push_projection(&mut head, &tensors, &config, fingerprint)?;
        }
        for module in &layout.modules {
            head.push_module(module, fingerprint)?;
        }
        if let Some(asked) = options.dim.filter(|asked| *asked == 0 || *asked > head.dim()) {
            return Err(EncoderError::Dimensions { asked, dim: head.dim() });
        }
        if let Some(dim) = options.dim.or(layout.truncate_dim) {
            head.truncate(dim, fingerprint);
        }
        let model = Model {
            tokenizer,
            max_length,
            transformer,
            poolings: pooling.poolings,
            pooling_name,
            pooling_is_assumed: pooling.is_assumed,
            pools_prompt: layout.pools_prompt,
            head,
            unexpected_tensors: tensors.unexpected(),
            batch_tokens: options.batch_tokens,
        };
        Ok(Self { model: Arc::new(model), unpooled: 0 })
    }

    /// The same encoder for texts that begin with `prompt`, whose tokens it leaves out of the pooling if the
    /// model was made so (`include_prompt` of sentence-transformers).
    pub(crate) fn for_prompt(&self, prompt: &str) -> Result<Self, EncoderError> {
        let mut unpooled = 0;
        if !self.model.pools_prompt && !prompt.is_empty() {
            let (tokens, bare) = (self.tokenize(prompt)?, self.tokenize("")?);
            // A special token after the prompt is the text's, not the prompt's.
            let ends_special =
                bare.input_ids.last().is_some_and(|last| tokens.input_ids.last() == Some(last));
            unpooled = tokens.len() - usize::from(ends_special);
        }
        Ok(Self { model: self.model.clone(), unpooled })
    }

    /// The dimensions of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.model.head.dim()
    }

    /// Texts are truncated to this many tokens, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.model.max_length
    }

    /// Whether the vectors have unit length.
    #[must_use]
    pub fn normalizes(&self) -> bool {
        self.model.head.normalizes()
    }

    /// The poolings, concatenated.
    pub(crate) fn poolings(&self) -> &[Pooling] {
        &self.model.poolings
    }

    /// Whether the pooler follows the pooling.
    pub(crate) fn uses_pooler(&self) -> bool {
        self.model.pooling_name == TextPooling::Pooler.name()
    }

    /// Tokens at the start of every text that are not pooled.
    pub(crate) fn unpooled(&self) -> usize {
        self.unpooled
    }

    /// Whether both run the same weights.
    pub(crate) fn shares_model_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.model, &other.model)
    }

    /// The poolings, joined by `+` where several are concatenated.
    #[must_use]
    pub fn pooling(&self) -> String {
        self.model.pooling_name.clone()
    }

    /// Whether the model's directory does not say how to pool, so that it is the mean by default.
    #[must_use]
    pub fn pooling_is_assumed(&self) -> bool {
        self.model.pooling_is_assumed
    }

    /// Tensors among the encoder's own that its architecture has no place for, so that they have no effect.
    pub(crate) fn unexpected_tensors(&self) -> &[String] {
        &self.model.unexpected_tensors
    }

    /// The tokens of a text, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<Tokens, EncoderError> {
        Ok(self.model.tokenizer.encode(text)?)
    }

    /// The tokens of a text, with or without a title apart from it, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails, or a title and its text have no room among the special tokens.
    pub fn tokenize_input(&self, input: &TextInput) -> Result<Tokens, EncoderError> {
        let (title, text, types) = match input {
            TextInput::Plain(text) => return Ok(self.model.tokenizer.encode(text)?),
            TextInput::Titled { title, text, types } => (title, text, types),
        };
        let mut tokens = self.model.tokenizer.encode_titled(title, text)?;
        if *types == TitleTypes::OneSegment {
            tokens.type_ids.fill(0);
        }
        Ok(tokens)
    }

    /// The vectors of tokenized texts: `[texts, dim]`, row by row. A text's vector is the same bits
    /// whatever other texts are beside it. Runs on the calling thread; call it from several.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails.
    pub fn encode(&self, texts: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        let mut vectors = Vec::with_capacity(texts.len() * self.dim());
        for batch in by_budget(texts, self.model.batch_tokens) {
            vectors.extend(self.encode_batch(&TokenBatch::new(batch))?.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(vectors)
    }

    fn encode_batch(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let states = self.model.transformer.forward(batch)?; // [tokens, hidden]
        let pool = |&pooling: &Pooling| pool_after(&states, &batch.sequences, pooling, self.unpooled);
        let pooled: Vec<Tensor> = self.model.poolings.iter().map(pool).collect::<Result<_, _>>()?;
        self.model.head.forward(Tensor::cat(&pooled, 1)?) // [texts, poolings * hidden] to [texts, dim]
    }
}

/// The pooling as asked for, else as the layout says, else the architecture's, else the mean.
fn choose_pooling(
    layout: &Layout,
    options: &LoadOptions,
    config: &TransformerConfig,
    config_path: &Path,
) -> Result<PoolingChoice, EncoderError> {
    let of_states =
        |poolings: Vec<Pooling>| PoolingChoice { poolings, uses_pooler: false, is_assumed: false };
    // DPR's vector is the first token's state (Karpukhin et al. 2020, section 3.1); so is its pooler's output.
    let is_dpr = config.model_type == "dpr";
    match options.pooling {
        Some(TextPooling::Pooler) => {
            return Ok(PoolingChoice { uses_pooler: !is_dpr, ..of_states(vec![Pooling::Cls]) });
        }
        Some(TextPooling::States(pooling)) => return Ok(of_states(vec![pooling])),
        None => {}
    }
    if let Some(poolings) = &layout.pooling {
        return Ok(of_states(poolings.clone()));
    }
    if is_dpr {
        return Ok(of_states(vec![Pooling::Cls]));
    }
    if config.is_classifier {
        return Err(ModelError::Unsupported {
            path: config_path.to_owned(),
            what: "encoding with a classifier (a cross-encoder?)".to_owned(),
            supported: "encoders; with --pooling its transformer is used as one".to_owned(),
        }
        .into());
    }
    // What sentence-transformers does with a directory that does not say.
    Ok(PoolingChoice { is_assumed: true, ..of_states(vec![Pooling::Mean]) })
}

/// The pooler of BERT-like models.
fn push_pooler(
    head: &mut Head,
    tensors: &Tensors,
    config: &TransformerConfig,
    config_path: &Path,
    fingerprint: &mut Fingerprint,
) -> Result<(), EncoderError> {
    if !tensors.has("pooler.dense.weight") {
        return Err(ModelError::Unsupported {
            path: config_path.to_owned(),
            what: "the pooling \"pooler\" of a model whose weights have no pooler".to_owned(),
            supported: TextPooling::all()
                .filter(|pooling| *pooling != TextPooling::Pooler)
                .map(TextPooling::name)
                .collect::<Vec<_>>()
                .join(", "),
        }
        .into());
    }
    let weight = tensors.get("pooler.dense.weight", &[config.hidden, config.hidden])?;
    let bias = tensors.get("pooler.dense.bias", &[config.hidden])?;
    head.push_dense(&weight, Some(&bias), Activation::Tanh, fingerprint)
}

/// The full name of a tensor of DPR's projection, which is beside its `bert_model`.
pub(crate) fn projection_tensor(tensors: &Tensors, part: &str) -> String {
    let beside = tensors.prefix().strip_suffix("bert_model.").unwrap_or(tensors.prefix());
    format!("{beside}encode_proj.{part}")
}

/// DPR's projection.
fn push_projection(
    head: &mut Head,
    tensors: &Tensors,
    config: &TransformerConfig,
    fingerprint: &mut Fingerprint,
) -> Result<(), EncoderError> {
    let part =
        |part: &str, shape: &[usize]| tensors.get_by_full_name(&projection_tensor(tensors, part), shape);
    let weight = part("weight", &[config.projection, head.dim()])?;
    let bias = part("bias", &[config.projection])?;
    head.push_dense(&weight, Some(&bias), Activation::Identity, fingerprint)
}

/// The names of poolings that are concatenated.
fn joined(poolings: &[Pooling]) -> String {
    poolings.iter().map(|pooling| pooling.name()).collect::<Vec<_>>().join("+")
}
