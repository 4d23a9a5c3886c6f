//! One tower: text to vector.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use toller_checkpoint::{Fingerprint, ModelError, ModelType};
use toller_nn::{Backend, Pooling, Precision, Work};
use toller_tokenizer::{Side, Tokenizer, TokenizerError, Tokens};

use crate::batch::{BatchSize, by_budget};
use crate::compute::{self, Plan};
use crate::config::TransformerConfig;
use crate::layout::{Layout, check_length};
use crate::modules::Module;
use crate::network::{Encode, Network, Output, Request, Watch, encode_in_parallel};
use crate::pooling::{PoolingChoice, check_sparse};
use crate::static_terms::StaticTerms;
use crate::terms::Terms;
use crate::text_chat::TextChat;
use crate::tower::TowerPlan;
use crate::{EncoderError, LoadOptions, TextInput, TitleTypes};

/// A tokenizer, a transformer, a pooling and the steps after it: text to one vector.
#[derive(Clone)]
pub struct TextEncoder {
    model: Arc<Model>,
    tokenizer: Tokenizer,
    /// How a text becomes a message, if the model reads a chat template.
    chat: Option<TextChat>,
    /// Put before every text. A chat template has it as the message of the system.
    prompt: String,
    /// Tokens at the start of every text that are not pooled: the prompt's, where the model leaves them out.
    unpooled: usize,
}

/// The part that the towers of a tied model share.
struct Model {
    network: Box<dyn Encode>,
    layout: Layout,
    /// The plan of the network; none of weights that depend on nothing but the term.
    plan: Option<TowerPlan>,
    dim: usize,
    normalizes: bool,
    truncates: bool,
    /// The terms that a sparse encoder gives weights to.
    terms: Option<Terms>,
    unexpected_tensors: Vec<String>,
    batch_tokens: usize,
    dtype: Precision,
}

impl TextEncoder {
    /// Loads the model of one directory, and adds everything that determines its vectors to the fingerprint.
    pub(crate) fn load(
        layout: &Layout,
        options: &LoadOptions,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        if layout.has_static_weights {
            return Self::load_static(layout, options, fingerprint);
        }
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
        let pooling = PoolingChoice::of(layout, options, &config, &config_path)?;
        if config.prefix.is_some() && pooling.poolings.contains(&Pooling::WeightedMean) {
            let what = "the pooling weightedmean of a model with a prefix";
            return Err(ModelError::unsupported(config_path, what, "other poolings").into());
        }
        if pooling.splade.is_some() {
            check_sparse(layout, options)?;
        }
        fingerprint.value("pooling", pooling.name().as_bytes());
        if !layout.pools_prompt {
            fingerprint.value("pools the prompt", b"no");
        }

        let tokenizer = layout.tokenizer(options.max_length, &config, fingerprint)?;
        // Of plain transformers, the template may be that of the model that the encoder was made of; and that
        // of a classifier is one of pairs.
        let reads_messages = layout.reads_messages == Some(true) && layout.pooling.is_some();
        let template = if reads_messages { layout.chat_template()? } else { None };
        let chat = template.map(|template| TextChat::new(template, "", &tokenizer)).transpose()?;
        if let Some(chat) = &chat {
            chat.fingerprint(fingerprint);
        }
        let dtype = options.dtype.unwrap_or_else(|| options.compute.dtype_of(config.model_type));
        let plan = TowerPlan { layout: layout.clone(), config, pooling, dim: options.dim };
        let (network, parameters) = compute::open(&plan, &options.compute, dtype, fingerprint)?;
        let model = Model {
            dim: network.dim(),
            normalizes: network.normalizes(),
            truncates: network.truncates(),
            terms: plan.pooling.splade.map(|_| Terms::new(&tokenizer, network.dim())),
            unexpected_tensors: parameters.unexpected(),
            batch_tokens: options.batch_tokens.unwrap_or_else(|| network.work().batch_tokens),
            dtype,
            network,
            layout: layout.clone(),
            plan: Some(plan),
        };
        Self::new(Arc::new(model), tokenizer, chat.as_ref(), String::new())
    }

    /// The same for weights that depend on nothing but the term.
    fn load_static(
        layout: &Layout,
        options: &LoadOptions,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        check_sparse(layout, options)?;
        let tokenizer = layout.tokenizer_of_terms(options.max_length, fingerprint)?;
        let terms = Terms::new(&tokenizer, tokenizer.vocabulary().len());
        let network = StaticTerms::load(&layout.transformer, terms.count(), fingerprint)?;
        let model = Model {
            dim: terms.count(),
            normalizes: false,
            truncates: false,
            terms: Some(terms),
            unexpected_tensors: Vec::new(),
            batch_tokens: options.batch_tokens.unwrap_or_else(|| network.work().batch_tokens),
            dtype: Precision::F32,
            network: Box::new(network),
            layout: layout.clone(),
            plan: None,
        };
        Self::new(Arc::new(model), tokenizer, None, String::new())
    }

    /// The same encoder, which truncates texts to another number of tokens.
    pub(crate) fn with_max_length(&self, asked: usize) -> Result<Self, EncoderError> {
        let length = match &self.model.plan {
            Some(plan) => check_length(asked, &plan.config)?,
            None => asked,
        };
        let tokenizer = self.tokenizer.with_max_length(length)?;
        Self::new(Arc::clone(&self.model), tokenizer, self.chat.as_ref(), self.prompt.clone())
    }

    /// The same encoder with a prompt before every text. The prompt's tokens are not pooled if the model was
    /// trained that way (`include_prompt` of sentence-transformers).
    pub(crate) fn with_prompt(&self, prompt: String) -> Result<Self, EncoderError> {
        Self::new(Arc::clone(&self.model), self.tokenizer.clone(), self.chat.as_ref(), prompt)
    }

    /// Counts the prompt's tokens, which the tokenizer may truncate.
    fn new(
        model: Arc<Model>,
        tokenizer: Tokenizer,
        chat: Option<&TextChat>,
        prompt: String,
    ) -> Result<Self, EncoderError> {
        if let Some(chat) = chat {
            // All messages are pooled.
            let chat = Some(chat.with_prompt(&prompt, &tokenizer)?);
            return Ok(Self { model, tokenizer, chat, prompt, unpooled: 0 });
        }
        let mut unpooled = 0;
        if !model.layout.pools_prompt && !prompt.is_empty() {
            let (tokens, bare) = (tokenizer.encode(&prompt)?, tokenizer.encode("")?);
            // A special token after the prompt is the text's, not the prompt's.
            let ends_special =
                bare.input_ids.last().is_some_and(|last| tokens.input_ids.last() == Some(last));
            unpooled = tokens.len() - usize::from(ends_special);
        }
        Ok(Self { model, tokenizer, chat: None, prompt, unpooled })
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

    /// The numbers of the last layer's state of a token; 0 without layers.
    #[must_use]
    pub fn state_dim(&self) -> usize {
        self.model.plan.as_ref().map_or(0, |plan| plan.config.hidden)
    }

    /// Texts are truncated to this many tokens, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.tokenizer.max_length()
    }

    /// The size of a batch without texts: tokens that the model puts in front of every text count, and what
    /// texts begin with in common may count once.
    #[must_use]
    pub fn batch_size(&self) -> BatchSize {
        self.model.network.batch_size(self.unpooled, Output::Vector)
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
        let Some(TowerPlan { config, layout, .. }) = &self.model.plan else { return false };
        config.projection.is_some_and(|projection| projection.names.norm.is_some())
            || layout.modules.iter().any(|module| matches!(module, Module::LayerNorm { .. }))
    }

    /// Whether the vectors are the first dimensions of longer ones.
    #[must_use]
    pub fn truncates(&self) -> bool {
        self.model.truncates
    }

    /// The terms that the model gives weights to, if it is a sparse encoder: a row of its results then has a
    /// weight for each.
    #[must_use]
    pub fn terms(&self) -> Option<&Terms> {
        self.model.terms.as_ref()
    }

    /// Texts whose results are held at a time, at most: a sparse encoder makes long rows.
    #[must_use]
    pub fn texts_at_once(&self) -> usize {
        match self.terms() {
            Some(terms) => (WEIGHTS_AT_ONCE / terms.count().max(1)).clamp(1, 256),
            None => usize::MAX,
        }
    }

    /// The impacts of tokenized texts by a sparse encoder, as texts with impacts ([`Terms::impacts`]). Runs
    /// on the calling thread; call it from several.
    ///
    /// # Errors
    /// As for [`TextEncoder::encode`]; [`EncoderError::Dense`] if the model makes vectors.
    pub fn impacts(&self, texts: &[Tokens]) -> Result<Vec<String>, EncoderError> {
        self.impacts_of(texts, |texts| self.encode(texts))
    }

    /// The same, bit for bit, on all threads of rayon's current pool.
    ///
    /// # Errors
    /// As for [`TextEncoder::impacts`].
    pub fn impacts_in_parallel(&self, texts: &[Tokens]) -> Result<Vec<String>, EncoderError> {
        self.impacts_of(texts, |texts| self.encode_in_parallel(texts))
    }

    fn impacts_of(
        &self,
        texts: &[Tokens],
        weigh: impl Fn(&[Tokens]) -> Result<Vec<f32>, EncoderError>,
    ) -> Result<Vec<String>, EncoderError> {
        let terms = self.terms().ok_or(EncoderError::Dense)?;
        let mut impacts = Vec::with_capacity(texts.len());
        for texts in texts.chunks(self.texts_at_once()) {
            for weights in weigh(texts)?.chunks_exact(terms.count().max(1)) {
                impacts.push(terms.impacts(weights)?);
            }
        }
        Ok(impacts)
    }

    /// The plan of the tower.
    ///
    /// # Errors
    /// [`EncoderError::Static`] without a transformer.
    pub(crate) fn plan(&self) -> Result<&TowerPlan, EncoderError> {
        self.model.plan.as_ref().ok_or(EncoderError::Static)
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
    /// When the backend cannot compute what the model needs; [`EncoderError::Static`].
    pub fn on<B: Backend>(&self, backend: B) -> Result<Network<B>, EncoderError> {
        Ok(self.plan()?.load(backend, &mut Fingerprint::new())?.0)
    }

    /// The model's directory, in which modules have folders; the transformer may be in one of them.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.model.layout.directory
    }

    /// The folder of the transformer's configuration, weights and tokenizer.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.model.layout.transformer
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
        self.model.plan.as_ref().map_or_else(|| "static".to_owned(), |plan| plan.pooling.name())
    }

    /// Whether this is an encoder of DPR.
    pub(crate) fn is_dpr(&self) -> bool {
        self.model.plan.as_ref().is_some_and(|plan| plan.config.model_type == ModelType::Dpr)
    }

    /// Whether the model's directory gives no pooling, so that the mean is used by default.
    #[must_use]
    pub fn pooling_is_assumed(&self) -> bool {
        self.model.plan.as_ref().is_some_and(|plan| plan.pooling.is_assumed)
    }

    /// Tensors of the encoder that its architecture has no place for, so that they have no effect.
    pub(crate) fn unexpected_tensors(&self) -> &[String] {
        &self.model.unexpected_tensors
    }

    /// The tokens of a text after the prompt, or in the chat template, truncated, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<Tokens, EncoderError> {
        match &self.chat {
            Some(chat) => Ok(chat.encode(&self.tokenizer, text)?.0),
            None => Ok(self.tokenizer.encode(&self.prompted(text))?),
        }
    }

    /// The same, cut on `side` (`None`: the tokenizer's own), and whether the text was too long.
    ///
    /// # Errors
    /// When the tokenizer fails; for another side than its own if the model reads a chat template.
    pub fn tokenize_cut(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), EncoderError> {
        if let Some(chat) = &self.chat {
            return match side {
                Some(side) if side != self.tokenizer.side() => Err(TokenizerError::ChatSide.into()),
                _ => Ok(chat.encode(&self.tokenizer, text)?),
            };
        }
        Ok(self.tokenizer.encode_cut(&self.prompted(text), side)?)
    }

    /// The text that the tokenizer is given of a text, and whether it adds special tokens: what a chat
    /// template makes of the text has its own.
    ///
    /// # Errors
    /// When the template refuses the text.
    pub fn written<'a>(&self, text: &'a str) -> Result<(Cow<'a, str>, bool), EncoderError> {
        match &self.chat {
            Some(chat) => Ok((chat.render(text)?.into(), false)),
            None => Ok((self.prompted(text), true)),
        }
    }

    /// The tokenizer. Prompts are not its concern.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The tokens that the model has word embeddings for: ids are below.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.model.plan.as_ref().map_or(self.model.dim, |plan| plan.config.vocabulary)
    }

    /// The tokens of a text, with or without a title apart from it or its context, after the prompt. They are
    /// truncated, and special tokens are included.
    ///
    /// # Errors
    /// When the tokenizer fails, or a title and its text have no room among the special tokens.
    pub fn tokenize_input(&self, input: &TextInput) -> Result<Tokens, EncoderError> {
        let (title, text, types) = match input {
            TextInput::Plain(text) => return self.tokenize(text),
            _ if self.chat.is_some() => return Err(EncoderError::TwoTexts),
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
        let Model { network, batch_tokens, .. } = &*self.model;
        let (unpooled, output) = (self.unpooled, Output::Vector);
        for batch in by_budget(texts, *batch_tokens, self.batch_size()) {
            let request = Request { texts: batch, unpooled, output, threads: 1 };
            network.encode(request, &mut vectors)?;
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
        if let Output::Shaped { dim: asked, .. } = output {
            if self.terms().is_some() {
                return Err(EncoderError::Sparse { what: "another length or number of dimensions" });
            }
            if !(1..=self.dim()).contains(&asked) {
                return Err(EncoderError::Dimensions { asked, dim: self.dim() });
            }
        }
        let Model { network, batch_tokens, .. } = &*self.model;
        let request = Request { texts, unpooled: self.unpooled, output, threads };
        encode_in_parallel(&**network, request, *batch_tokens, watch)
    }
}

/// Weights of a sparse encoder that are in memory at a time, for each thread: 32 MB.
const WEIGHTS_AT_ONCE: usize = 8 << 20;

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
