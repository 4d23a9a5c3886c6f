//! One tower: text to vector.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use toller_checkpoint::{Fingerprint, ModelError, ModelType, Parameters, Tensor};
use toller_nn::{Activation, Backend, Pooling, Precision, Work};
use toller_tokenizer::{Side, Tokenizer, Tokens};

use crate::batch::{by_budget, length};
use crate::compute::{self, Plan};
use crate::config::{Projection, TransformerConfig};
use crate::head::Head;
use crate::layout::{Layout, check_length};
use crate::modules::Module;
use crate::network::{Encode, Network, Output, Request, Watch, encode_in_parallel};
use crate::pooling::TextPooling;
use crate::{EncoderError, LoadOptions, TextInput, TitleTypes};

/// A tokenizer, a transformer, a pooling and the steps after it: text to one vector.
#[derive(Clone)]
pub struct TextEncoder {
    model: Arc<Model>,
    tokenizer: Tokenizer,
    /// Put before every text.
    prompt: String,
    /// Tokens at the start of every text that are not pooled: the prompt's, where the model leaves them out.
    unpooled: usize,
}

/// The part that the towers of a tied model share.
struct Model {
    network: Box<dyn Encode>,
    plan: TowerPlan,
    dim: usize,
    normalizes: bool,
    truncates: bool,
    unexpected_tensors: Vec<String>,
    batch_tokens: usize,
    dtype: Precision,
}

/// The plan of a tower, before its parameters are loaded.
pub(crate) struct TowerPlan {
    layout: Layout,
    config: TransformerConfig,
    pooling: PoolingChoice,
    /// The number of dimensions that are kept of a vector, if given.
    dim: Option<usize>,
}

/// A model's pooling, or the one that was asked for.
struct PoolingChoice {
    /// The poolings, concatenated.
    poolings: Vec<Pooling>,
    uses_pooler: bool,
    is_assumed: bool,
}

impl PoolingChoice {
    /// The names of the poolings, joined by `+`.
    fn name(&self) -> String {
        if self.uses_pooler {
            return TextPooling::Pooler.name().to_owned();
        }
        self.poolings.iter().map(|pooling| pooling.name()).collect::<Vec<_>>().join("+")
    }
}

impl Plan for TowerPlan {
    type Found = Parameters;

    fn load<B: Backend>(
        &self,
        backend: B,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Network<B>, Parameters), EncoderError> {
        let folder = &self.layout.transformer;
        Network::load(backend, folder, &self.config, fingerprint, |backend, parameters, fingerprint| {
            Ok((self.head(backend, &parameters, fingerprint)?, parameters))
        })
    }
}

impl TowerPlan {
    /// The steps after the transformer.
    fn head<B: Backend>(
        &self,
        backend: &B,
        parameters: &Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<Head<B>, EncoderError> {
        let config = &self.config;
        let mut head = Head::new(self.pooling.poolings.clone(), config.hidden);
        if self.pooling.uses_pooler {
            let (weight, bias) = pooler(parameters, config, &self.layout.transformer.join("config.json"))?;
            let source = (parameters, "pooler.dense");
            head.push_dense(backend, source, (&weight, Some(&bias)), Activation::Tanh, fingerprint)?;
        }
        if let Some(Projection { dim, names }) = config.projection {
            let outside = parameters.prefix().strip_suffix(names.transformer).unwrap_or(parameters.prefix());
            let part = |name: &str, part: &str, shape: &[usize]| {
                parameters.get_by_full_name(&format!("{outside}{name}.{part}"), shape)
            };
            let weight = part(names.dense, "weight", &[dim, head.dim()])?;
            let bias = part(names.dense, "bias", &[dim])?;
            let source = (parameters, names.dense);
            head.push_dense(backend, source, (&weight, Some(&bias)), Activation::Identity, fingerprint)?;
            if let Some(name) = names.norm {
                let (weight, bias) = (part(name, "weight", &[dim])?, part(name, "bias", &[dim])?);
                let epsilon = config.norm.epsilon;
                head.push_norm(backend, (parameters, name), (&weight, &bias), epsilon, fingerprint)?;
            }
        }
        for module in &self.layout.modules {
            head.push_module(backend, module, fingerprint)?;
        }
        if let Some(asked) = self.dim.filter(|asked| *asked == 0 || *asked > head.dim()) {
            return Err(EncoderError::Dimensions { asked, dim: head.dim() });
        }
        if let Some(dim) = self.dim.or(self.layout.truncate_dim) {
            head.truncate(dim, fingerprint);
        }
        Ok(head)
    }
}

impl TextEncoder {
    /// Loads the model of one directory, and adds everything that determines its vectors to the fingerprint.
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
        let config = TransformerConfig::read(&config_path)?.with_prefix(folder, options.new_prefix)?;
        let config = config.with_ance_head(folder)?;
        layout.check_pooled_width(&config)?;
        config.fingerprint(fingerprint);
        let pooling = choose_pooling(layout, options, &config, &config_path)?;
        if config.prefix.is_some() && pooling.poolings.contains(&Pooling::WeightedMean) {
            let what = "the pooling weightedmean of a model with a prefix";
            return Err(ModelError::unsupported(config_path, what, "other poolings").into());
        }
        fingerprint.value("pooling", pooling.name().as_bytes());
        if !layout.pools_prompt {
            fingerprint.value("pools the prompt", b"no");
        }

        let tokenizer = layout.tokenizer(options.max_length, &config, fingerprint)?;
        let dtype = options.dtype.unwrap_or_else(|| options.compute.dtype_of(config.model_type));
        let plan = TowerPlan { layout: layout.clone(), config, pooling, dim: options.dim };
        let (network, parameters) = compute::open(&plan, &options.compute, dtype, fingerprint)?;
        let model = Model {
            dim: network.dim(),
            normalizes: network.normalizes(),
            truncates: network.truncates(),
            unexpected_tensors: parameters.unexpected(),
            batch_tokens: options.batch_tokens.unwrap_or_else(|| network.work().batch_tokens),
            dtype,
            network,
            plan,
        };
        Self::new(Arc::new(model), tokenizer, String::new())
    }

    /// The same encoder, which truncates texts to another number of tokens.
    pub(crate) fn with_max_length(&self, asked: usize) -> Result<Self, EncoderError> {
        let tokenizer = self.tokenizer.with_max_length(check_length(asked, &self.model.plan.config)?)?;
        Self::new(Arc::clone(&self.model), tokenizer, self.prompt.clone())
    }

    /// The same encoder with a prompt before every text. The prompt's tokens are not pooled if the model was
    /// trained that way (`include_prompt` of sentence-transformers).
    pub(crate) fn with_prompt(&self, prompt: String) -> Result<Self, EncoderError> {
        Self::new(Arc::clone(&self.model), self.tokenizer.clone(), prompt)
    }

    /// Counts the prompt's tokens, which the tokenizer may truncate.
    fn new(model: Arc<Model>, tokenizer: Tokenizer, prompt: String) -> Result<Self, EncoderError> {
        let mut unpooled = 0;
        if !model.plan.layout.pools_prompt && !prompt.is_empty() {
            let (tokens, bare) = (tokenizer.encode(&prompt)?, tokenizer.encode("")?);
            // A special token after the prompt is the text's, not the prompt's.
            let ends_special =
                bare.input_ids.last().is_some_and(|last| tokens.input_ids.last() == Some(last));
            unpooled = tokens.len() - usize::from(ends_special);
        }
        Ok(Self { model, tokenizer, prompt, unpooled })
    }

    /// The text before every text: the model's own prompt for the role, or the one that was asked for. May be
    /// empty.
    #[must_use]
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// What the transformer's matrix products are computed in.
    #[must_use]
    pub fn dtype(&self) -> Precision {
        self.model.dtype
    }

    /// The dimensions of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.model.dim
    }

    /// The numbers of the last layer's state of a token.
    #[must_use]
    pub fn state_dim(&self) -> usize {
        self.model.plan.config.hidden
    }

    /// Texts are truncated to this many tokens, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.tokenizer.max_length()
    }

    /// The tokens of a text that count in a batch: its own, and those that the model puts in front.
    #[must_use]
    pub fn length_in_batch(&self, text: &Tokens) -> usize {
        length(text, self.prefix_tokens())
    }

    /// Tokens that the model puts in front of every text. They have only keys and values, in each layer.
    #[must_use]
    pub fn prefix_tokens(&self) -> usize {
        self.model.network.prefix_tokens()
    }

    /// Whether the vectors have unit length.
    #[must_use]
    pub fn normalizes(&self) -> bool {
        self.model.normalizes
    }

    /// Whether a layer norm follows the pooling: ANCE's, REALM's or a module's.
    #[must_use]
    pub fn has_norm(&self) -> bool {
        let TowerPlan { config, layout, .. } = &self.model.plan;
        config.projection.is_some_and(|projection| projection.names.norm.is_some())
            || layout.modules.iter().any(|module| matches!(module, Module::LayerNorm { .. }))
    }

    /// Whether the vectors are the first dimensions of longer ones.
    #[must_use]
    pub fn truncates(&self) -> bool {
        self.model.truncates
    }

    /// The plan of the tower.
    pub(crate) fn plan(&self) -> &TowerPlan {
        &self.model.plan
    }

    /// How much work the backend wants at a time, with the batches that were asked for.
    #[must_use]
    pub fn work(&self) -> Work {
        Work { batch_tokens: self.model.batch_tokens, ..self.model.network.work() }
    }

    /// How many batches were computed in halves, since the device had too little memory.
    #[must_use]
    pub fn split_batches(&self) -> usize {
        self.model.network.split_batches()
    }

    /// A second copy of the weights, on another backend.
    ///
    /// # Errors
    /// When the backend cannot compute what the model needs.
    pub fn on<B: Backend>(&self, backend: B) -> Result<Network<B>, EncoderError> {
        Ok(self.plan().load(backend, &mut Fingerprint::new())?.0)
    }

    /// The model's directory, in which modules have folders; the transformer may be in one of them.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.model.plan.layout.directory
    }

    /// The folder of the transformer's configuration, weights and tokenizer.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.model.plan.layout.transformer
    }

    /// Tokens at the start of every text that are not pooled.
    #[must_use]
    pub fn unpooled(&self) -> usize {
        self.unpooled
    }

    /// Whether both run the same weights.
    pub(crate) fn shares_model_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.model, &other.model)
    }

    /// The names of the poolings, joined by `+`.
    #[must_use]
    pub fn pooling(&self) -> String {
        self.model.plan.pooling.name()
    }

    /// Whether this is an encoder of DPR.
    pub(crate) fn is_dpr(&self) -> bool {
        self.model.plan.config.model_type == ModelType::Dpr
    }

    /// Whether the model's directory gives no pooling, so that the mean is used by default.
    #[must_use]
    pub fn pooling_is_assumed(&self) -> bool {
        self.model.plan.pooling.is_assumed
    }

    /// Tensors of the encoder that its architecture has no place for, so that they have no effect.
    pub(crate) fn unexpected_tensors(&self) -> &[String] {
        &self.model.unexpected_tensors
    }

    /// The tokens of a text after the prompt, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<Tokens, EncoderError> {
        Ok(self.tokenizer.encode(&self.prompted(text))?)
    }

    /// The same, cut on `side` (`None`: the tokenizer's own), and whether the text was too long.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize_cut(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), EncoderError> {
        Ok(self.tokenizer.encode_cut(&self.prompted(text), side)?)
    }

    /// The tokenizer. Prompts are not its concern.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The tokens that the model has word embeddings for: ids are below.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.model.plan.config.vocabulary
    }

    /// The tokens of a text, with or without a title apart from it or its context, after the prompt. They are
    /// truncated, and special tokens are included.
    ///
    /// # Errors
    /// When the tokenizer fails, or a title and its text have no room among the special tokens.
    pub fn tokenize_input(&self, input: &TextInput) -> Result<Tokens, EncoderError> {
        let (title, text, types) = match input {
            TextInput::Plain(text) => return self.tokenize(text),
            TextInput::InContext { text, context } => {
                return Ok(self.tokenizer.encode_in_context(&self.prompted(text), context)?);
            }
            TextInput::Titled { title, text, types } => (title, text, types),
        };
        let mut tokens = self.tokenizer.encode_titled(&self.prompted(title), text)?;
        if *types == TitleTypes::OneSegment {
            tokens.type_ids.fill(0);
        }
        Ok(tokens)
    }

    fn prompted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.prompt.is_empty() { text.into() } else { format!("{}{text}", self.prompt).into() }
    }

    /// The vectors of tokenized texts: `[texts, dim]`, row by row. The bits of a text's vector depend only on
    /// the text. Runs on the calling thread; call it from several.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails.
    pub fn encode(&self, texts: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        let mut vectors = Vec::with_capacity(texts.len() * self.dim());
        for batch in by_budget(texts, self.model.batch_tokens, self.model.network.prefix_tokens()) {
            let unpooled = self.unpooled;
            let request = Request { texts: batch, unpooled, output: Output::Vector, threads: 1 };
            self.model.network.encode(request, &mut vectors)?;
        }
        Ok(vectors)
    }

    /// The same, bit for bit, on all threads of rayon's current pool. Each thread has its own batches if
    /// there are enough texts. If there are few, all threads work on one batch.
    ///
    /// # Errors
    /// As for [`TextEncoder::encode`].
    pub fn encode_in_parallel(&self, texts: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        self.encode_as(Output::Vector, texts, rayon::current_num_threads())
    }

    /// What is wanted of tokenized texts, bit for bit the same however the texts are batched: `[texts, dim]`,
    /// or the states of all tokens. Runs on this many threads of rayon's current pool, at most all of them;
    /// on the calling thread if it is one.
    ///
    /// # Errors
    /// As for [`TextEncoder::encode`]; [`EncoderError::Dimensions`] for more dimensions than the model makes,
    /// or none.
    pub fn encode_as(
        &self,
        output: Output,
        texts: &[Tokens],
        threads: usize,
    ) -> Result<Vec<f32>, EncoderError> {
        self.encode_watched(output, texts, threads, &|_| ControlFlow::Continue(()))
    }

    /// The same, until `watch` stops the work.
    ///
    /// # Errors
    /// As for [`TextEncoder::encode_as`]; [`EncoderError::Stopped`].
    pub fn encode_watched(
        &self,
        output: Output,
        texts: &[Tokens],
        threads: usize,
        watch: Watch<'_>,
    ) -> Result<Vec<f32>, EncoderError> {
        if let Output::Shaped { dim: asked, .. } = output
            && !(1..=self.dim()).contains(&asked)
        {
            return Err(EncoderError::Dimensions { asked, dim: self.dim() });
        }
        let Model { network, batch_tokens, .. } = &*self.model;
        let request = Request { texts, unpooled: self.unpooled, output, threads };
        encode_in_parallel(&**network, request, *batch_tokens, watch)
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
    // DPR's vector is the first token's state (Karpukhin et al. 2020, section 3.1); so is its pooler's
    // output.
    let is_dpr = config.model_type == ModelType::Dpr;
    let is_of_first = is_dpr || config.has_ance_head();
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
    if is_of_first {
        return Ok(of_states(vec![Pooling::Cls]));
    }
    if config.model_type == ModelType::Realm {
        return Ok(PoolingChoice { uses_pooler: true, ..of_states(vec![Pooling::Cls]) });
    }
    if config.is_classifier || config.classifies_tokens {
        return Err(EncoderError::Classifier { path: config_path.to_owned() });
    }
    // As in sentence-transformers for a directory that gives no pooling.
    Ok(PoolingChoice { is_assumed: true, ..of_states(vec![Pooling::Mean]) })
}

/// The weight and the bias of the pooler of BERT-like models.
fn pooler(
    parameters: &Parameters,
    config: &TransformerConfig,
    config_path: &Path,
) -> Result<(Tensor, Tensor), EncoderError> {
    if !parameters.has("pooler.dense.weight") {
        let what = "the pooling \"pooler\" of a model whose weights have no pooler";
        return Err(ModelError::unsupported(config_path, what, Pooling::NAMES.join(", ")).into());
    }
    let weight = parameters.get("pooler.dense.weight", &[config.hidden, config.hidden])?;
    Ok((weight, parameters.get("pooler.dense.bias", &[config.hidden])?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toller_ir::Role;

    use crate::{DualEncoder, LoadOptions};

    #[test]
    fn the_prompt_and_the_maximum_length_are_set_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let fixture = toller_testing::repository("tests/fixtures/tiny-bert");
        for (name, bytes) in toller_testing::files(&fixture).unwrap() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let pooling =
            r#"{"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true, "include_prompt": false}"#;
        fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
        let encoder = DualEncoder::load(folder.path(), &LoadOptions::default()).unwrap();
        let tower = encoder.tower(Role::Query);
        let prompt = || "find the passage that answers this question: ".to_owned();
        let first = tower.with_prompt(prompt()).unwrap();
        let last = tower.with_max_length(6).unwrap().with_prompt(prompt()).unwrap();
        assert_eq!(first.with_max_length(6).unwrap().unpooled(), last.unpooled());
        assert!(last.unpooled() < first.unpooled(), "the prompt is truncated");
    }
}
