//! One tower: text to vector.

use candle_core::Tensor;
use toller_compute::{Activation, Linear, Pooling, normalize, pool};

use crate::batch::{TokenBatch, Tokens, by_budget};
use crate::config::TransformerConfig;
use crate::fingerprint::Fingerprint;
use crate::layout::{Layout, Module};
use crate::tensors::Tensors;
use crate::tokenizer::{Tokenizer, TokenizerConfig};
use crate::transformer::Transformer;
use crate::{EncoderError, LoadOptions, TextInput, TitleTypes};

/// A tokenizer, a transformer, a pooling and what follows it: text to one vector.
pub struct TextEncoder {
    tokenizer: Tokenizer,
    max_length: usize,
    transformer: Transformer,
    poolings: Vec<Pooling>,
    pooling_is_assumed: bool,
    head: Vec<HeadLayer>,
    dim: usize,
    batch_tokens: usize,
}

/// What follows the pooling, with its weights.
enum HeadLayer {
    Dense(Linear, Activation),
    Normalize,
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
            return Err(EncoderError::MissingFile {
                directory: folder.clone(),
                missing: "config.json".to_owned(),
            });
        }
        let config = TransformerConfig::read(&config_path)?;
        config.fingerprint(fingerprint);

        let said = options.pooling.map(|pooling| vec![pooling]).or_else(|| layout.pooling.clone());
        // DPR's vector is the first token's state (Karpukhin et al. 2020, section 3.1).
        let said = said.or_else(|| (config.model_type == "dpr").then(|| vec![Pooling::Cls]));
        let pooling_is_assumed = said.is_none();
        if pooling_is_assumed && config.is_classifier {
            return Err(EncoderError::Unsupported {
                path: config_path,
                what: "encoding with a classifier (a cross-encoder?)".to_owned(),
                supported: "encoders; with --pooling its transformer is used as one".to_owned(),
            });
        }
        // What sentence-transformers does with a directory that does not say.
        let poolings = said.unwrap_or_else(|| vec![Pooling::Mean]);
        fingerprint.value("pooling", joined(&poolings).as_bytes());

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

        let (transformer, _) = Transformer::open(folder, &config, options.dtype, fingerprint)?;
        let mut dim = config.hidden * poolings.len();
        let mut head = Vec::new();
        for module in &layout.modules {
            head.push(HeadLayer::load(module, &mut dim, fingerprint)?);
        }
        Ok(Self {
            tokenizer,
            max_length,
            transformer,
            poolings,
            pooling_is_assumed,
            head,
            dim,
            batch_tokens: options.batch_tokens,
        })
    }

    /// The dimensions of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Texts are truncated to this many tokens, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.max_length
    }

    /// Whether the vectors have unit length.
    #[must_use]
    pub fn normalizes(&self) -> bool {
        matches!(self.head.last(), Some(HeadLayer::Normalize))
    }

    /// The poolings, joined by `+` where several are concatenated.
    #[must_use]
    pub fn pooling(&self) -> String {
        joined(&self.poolings)
    }

    /// Whether the model's directory does not say how to pool, so that it is the mean by default.
    #[must_use]
    pub fn pooling_is_assumed(&self) -> bool {
        self.pooling_is_assumed
    }

    /// The tokens of a text, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<Tokens, EncoderError> {
        self.tokenizer.encode(text)
    }

    /// The tokens of a text, with or without a title apart from it, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails, or a title and its text have no room among the special tokens.
    pub fn tokenize_input(&self, input: &TextInput) -> Result<Tokens, EncoderError> {
        let (title, text, types) = match input {
            TextInput::Plain(text) => return self.tokenizer.encode(text),
            TextInput::Titled { title, text, types } => (title, text, types),
        };
        let mut tokens = self.tokenizer.encode_titled(title, text)?;
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
        let mut vectors = Vec::with_capacity(texts.len() * self.dim);
        for batch in by_budget(texts, self.batch_tokens) {
            vectors.extend(self.encode_batch(&TokenBatch::new(batch))?.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(vectors)
    }

    fn encode_batch(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let states = self.transformer.forward(batch)?; // [tokens, hidden]
        let pooled: Vec<Tensor> = self
            .poolings
            .iter()
            .map(|&pooling| pool(&states, &batch.sequences, pooling))
            .collect::<Result<_, _>>()?;
        let mut vectors = Tensor::cat(&pooled, 1)?; // [texts, poolings * hidden]
        for layer in &self.head {
            vectors = match layer {
                HeadLayer::Dense(linear, activation) => linear.forward(&vectors, *activation)?,
                HeadLayer::Normalize => normalize(&vectors)?,
            };
        }
        Ok(vectors) // [texts, dim]
    }
}

impl HeadLayer {
    fn load(module: &Module, dim: &mut usize, fingerprint: &mut Fingerprint) -> Result<Self, EncoderError> {
        let Module::Dense { folder, config } = module else {
            fingerprint.value("module", b"normalize");
            return Ok(Self::Normalize);
        };
        if config.in_features != *dim {
            return Err(EncoderError::Config {
                path: folder.join("config.json"),
                problem: format!(
                    "takes {} dimensions, but what comes before makes {dim}",
                    config.in_features
                ),
            });
        }
        fingerprint.value("module", format!("dense {}", config.activation_function.name()).as_bytes());
        let tensors = Tensors::open(folder)?;
        let weight = tensors.get("linear.weight", &[config.out_features, config.in_features])?;
        fingerprint.tensor("linear.weight", &weight)?;
        let bias = config.bias.then(|| tensors.get("linear.bias", &[config.out_features])).transpose()?;
        if let Some(bias) = &bias {
            fingerprint.tensor("linear.bias", bias)?;
        }
        *dim = config.out_features;
        Ok(Self::Dense(Linear::new(&weight, bias.as_ref())?, config.activation_function))
    }
}

/// The names of poolings that are concatenated.
fn joined(poolings: &[Pooling]) -> String {
    poolings.iter().map(|pooling| pooling.name()).collect::<Vec<_>>().join("+")
}
