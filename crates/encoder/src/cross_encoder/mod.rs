//! Cross-encoders: a query and a passage, read together, to a score (Nogueira and Cho 2019).

mod answer_head;
mod config;
mod head;
mod module_head;
mod pair_chat;
mod pair_input;
mod plan;
mod score;

use std::ops::ControlFlow;
use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError};
use toller_nn::{Backend, Precision, Work};
use toller_tokenizer::{PairTruncation, Side, Tokenizer, Tokens};

pub(crate) use self::config::ClassifierConfig;
use self::module_head::ModuleHead;
use self::pair_chat::PairChat;
use self::pair_input::PairInput;
pub use self::pair_input::PairText;
pub(crate) use self::plan::{ClassifierPlan, FoundHead};
use self::plan::{HeadPlan, HeadSource};
pub use self::score::ScoreActivation;
pub(crate) use self::score::Scoring;
use crate::batch::{BatchSize, by_budget};
use crate::class::{Architecture, Class};
use crate::compute::{self, Compute, Plan};
use crate::config::TransformerConfig;
use crate::layout::Layout;
use crate::network::{Encode, Network, Output, Request, Watch, encode_in_parallel};
use crate::reference::ReferenceCrossEncoder;
use crate::{EncoderError, Role};

/// How to load a cross-encoder.
#[derive(Clone, Debug, Default)]
pub struct CrossEncoderOptions {
    /// Truncate pairs to this many tokens instead of the model's own maximum.
    pub max_length: Option<usize>,
    /// Which text is cut when a pair is longer.
    pub truncation: PairTruncation,
    /// The label whose score counts, from 0. By default the only one of one, and the last of two.
    pub label: Option<usize>,
    /// How the logits become a score. By default the logit for a model of one label, and the softmax's share
    /// of the label for a model of several.
    pub activation: Option<ScoreActivation>,
    /// Put this before every query instead of the model's own default prompt. A model that reads a chat
    /// template has it as the message of the system, its instruction.
    pub prompt: Option<String>,
    /// Give the model, if it has no classifier, a new one to train. Of sentence-transformers' layout, only
    /// the transformer is taken then.
    pub new_head: Option<NewHead>,
    /// The tokens of a flat batch, at most; `None` for what the backend wants.
    pub batch_tokens: Option<usize>,
    /// What the transformer's matrix products are computed in; the head is f32. `None` for f32 on the CPU,
    /// and on GPUs f16, or bf16 for decoders and T5.
    pub dtype: Option<Precision>,
    /// Where the model computes.
    pub compute: Compute,
}

/// A classifier that a model without one gets. Its weights are normal with a standard deviation of 0.02, as
/// in transformers, and so is a pooler if the model has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewHead {
    /// The number of its labels.
    pub labels: usize,
    /// What its random values follow from.
    pub seed: u64,
}

/// A transformer with a classification head over pairs of texts.
///
/// ```no_run
/// # fn main() -> Result<(), toller_encoder::EncoderError> {
/// use toller_encoder::{CrossEncoder, CrossEncoderOptions};
/// let model = CrossEncoder::load("ms-marco-MiniLM-L6-v2".as_ref(), &CrossEncoderOptions::default())?;
/// // A query is tokenized once for all of its passages, a passage once for all of its queries.
/// let query = model.tokenize_query("what do tollers do?")?;
/// let passages = ["They retrieve.", "It tolls for thee."].map(|passage| model.tokenize(passage));
/// let pairs = passages.into_iter().map(|passage| model.pair(&query, &passage?));
/// let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
/// let scores = model.score(&pairs)?; // one for each pair
/// # assert_eq!(scores.len(), 2);
/// # Ok(())
/// # }
/// ```
pub struct CrossEncoder {
    input: PairInput,
    network: Box<dyn Encode>,
    plan: ClassifierPlan,
    labels: Vec<String>,
    unexpected_tensors: Vec<String>,
    /// The class of a model with a new classifier.
    new_class: Option<Class>,
    scoring: Scoring,
    batch_tokens: usize,
    dtype: Precision,
    compute: Compute,
    fingerprint: String,
}

impl CrossEncoder {
    /// Loads a model directory: sentence-transformers' CrossEncoder, a sequence classifier of transformers,
    /// or a language model whose chat template has a place for a query and a passage.
    ///
    /// # Errors
    /// When a file is missing or broken, the model has no classification head and is to have no new one, or
    /// it has several labels and none is chosen.
    pub fn load(directory: &Path, options: &CrossEncoderOptions) -> Result<Self, EncoderError> {
        let mut layout = Layout::read(directory, Role::Passage)?;
        let new_head = match options.new_head {
            Some(new_head) if !Self::is_in(directory)? => Some(new_head),
            _ => None,
        };
        if new_head.is_some() {
            layout = Layout::plain(&layout.transformer);
        }
        let folder = &layout.transformer;
        let modules = ModuleHead::of(&layout);
        if modules.is_some() && options.new_head.is_some() {
            let what = "training a cross-encoder that ends in modules";
            let supported = "classifiers: ...ForSequenceClassification";
            return Err(ModelError::unsupported(directory.join("modules.json"), what, supported).into());
        }
        if modules.is_none() && (layout.pooling.is_some() || !layout.modules.is_empty()) {
            let what = "scoring pairs with a dual encoder (its modules pool)";
            let supported = "cross-encoders, which end in a classifier";
            return Err(ModelError::unsupported(directory.join("modules.json"), what, supported).into());
        }
        let config_path = folder.join("config.json");
        let config =
            TransformerConfig::read(&config_path)?.with_prefix(folder, None)?.without_prefix(folder)?;
        if config.classifies_tokens && new_head.is_none() {
            let what = "scoring pairs with a classifier of tokens";
            let supported = "cross-encoders: ...ForSequenceClassification";
            return Err(ModelError::unsupported(config_path, what, supported).into());
        }
        let reranks = layout.logit_score.is_some()
            || (layout.is_plain && config.is_language_model && new_head.is_none());
        let mut fingerprint = Fingerprint::new();
        fingerprint.value("kind", b"cross-encoder");
        config.fingerprint(&mut fingerprint);
        let tokenizer = layout.tokenizer(options.max_length, &config, &mut fingerprint)?;
        let prompt = options.prompt.as_deref().or(layout.prompt_by_default()).unwrap_or_default().to_owned();
        let chat = PairChat::of(&layout, reranks, &prompt, &tokenizer)?;
        let input = match chat {
            Some(chat) => PairInput::of_chat(tokenizer, options.truncation, prompt, chat),
            None => PairInput::joined(tokenizer, options.truncation, prompt)?,
        };
        let (token_type, token_types) = (input.largest_token_type(), config.token_types);
        if token_types > 0 && token_type as usize >= token_types {
            return Err(EncoderError::TokenType { folder: folder.clone(), token_type, token_types });
        }
        input.fingerprint(&mut fingerprint);
        let classifier = ClassifierConfig::read(&config_path)?;
        let source = HeadSource::of(&layout, modules, reranks, new_head);
        let (head, mut classifier) = HeadPlan::new(source, &config, classifier, &input, &config_path)?;
        if let Some(class) = &layout.activation_class {
            classifier.activation_class = Some(class.clone());
        }
        let scoring = Scoring::new(&classifier, options, &config_path)?;
        let labels = classifier.labels.len();
        let architecture = new_head
            .map(|_| Architecture::of(config.model_type, "a new classifier for a model", &config_path))
            .transpose()?;
        let seed = new_head.map(|new_head| new_head.seed);
        let dtype = options.dtype.unwrap_or_else(|| options.compute.dtype_of(config.model_type));
        let plan = ClassifierPlan { folder: folder.clone(), config, head, labels, seed };
        let (network, FoundHead { prefix, unexpected_tensors, .. }) =
            compute::open(&plan, &options.compute, dtype, &mut fingerprint)?;
        Ok(Self {
            batch_tokens: options.batch_tokens.unwrap_or_else(|| network.work().batch_tokens),
            network,
            plan,
            input,
            labels: classifier.labels,
            unexpected_tensors,
            new_class: architecture.map(|architecture| Class {
                architecture,
                task: "ForSequenceClassification",
                prefix,
            }),
            scoring,
            dtype,
            compute: options.compute.clone(),
            fingerprint: fingerprint.finish(),
        })
    }

    /// Whether a model directory is a cross-encoder: a classifier that no module follows, a transformer whose
    /// last module makes scores, or a language model whose chat template names a query and a document.
    ///
    /// # Errors
    /// When its configuration cannot be read.
    pub fn is_in(directory: &Path) -> Result<bool, EncoderError> {
        let layout = Layout::read(directory, Role::Passage)?;
        let config_path = layout.transformer.join("config.json");
        if !config_path.is_file() {
            // Two towers, or an error that loading explains.
            return Ok(false);
        }
        if layout.scores().is_some() || layout.logit_score.is_some() {
            return Ok(true);
        }
        let config = TransformerConfig::read(&config_path)?;
        if layout.is_plain && config.is_language_model {
            let template = layout.chat_template().ok().flatten();
            return Ok(template.is_some_and(|template| PairChat::is_named_in(&template)));
        }
        Ok(config.is_classifier && layout.pooling.is_none() && layout.modules.is_empty())
    }

    /// A second copy of the model, computed slowly, to compare with.
    ///
    /// # Errors
    /// As [`CrossEncoder::load`].
    pub fn reference(&self) -> Result<ReferenceCrossEncoder, EncoderError> {
        ReferenceCrossEncoder::load(&self.plan)
    }

    /// A second copy of the weights, on another backend: a row of the network's result holds a pair's logits.
    ///
    /// # Errors
    /// When the backend cannot compute what the model needs.
    pub fn on<B: Backend>(&self, backend: B) -> Result<Network<B>, EncoderError> {
        Ok(self.plan.load(backend, &mut Fingerprint::new())?.0)
    }

    /// The folder of the configuration, weights and tokenizer.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.plan.folder
    }

    /// Tensors of the encoder that its architecture has no place for, so that they have no effect.
    #[must_use]
    pub fn unexpected_tensors(&self) -> &[String] {
        &self.unexpected_tensors
    }

    /// The class of transformers that a model with a new classifier has; `None` if the classifier is the one
    /// of the files.
    #[must_use]
    pub fn new_class(&self) -> Option<&Class> {
        self.new_class.as_ref()
    }

    /// The names of the labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Pairs are truncated to this many tokens, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.input.tokenizer.max_length()
    }

    /// Which text is cut when a pair is too long.
    #[must_use]
    pub fn truncation(&self) -> PairTruncation {
        self.input.truncation
    }

    /// The text before every query, or the instruction in a chat template: the model's own default prompt, or
    /// the one that was asked for. May be empty.
    #[must_use]
    pub fn prompt(&self) -> &str {
        self.input.prompt()
    }

    /// Identifies the model by what determines its logits: weights, tokenizer, architecture and prompt. The
    /// maximum length, the truncation and the way from logits to a score do not count.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Identifies everything that determines the score of a pair of texts: [`Self::fingerprint`], the maximum
    /// length, the truncation, the way from logits to a score, the precision, and the version of this
    /// program.
    #[must_use]
    pub fn score_fingerprint(&self) -> String {
        let Self { fingerprint, scoring, .. } = self;
        let dtype = self.compute.name_of(self.dtype);
        let (max_length, truncation) = (self.max_length(), self.truncation());
        let version = env!("CARGO_PKG_VERSION");
        format!("{fingerprint} {max_length} {truncation} {scoring:?} {dtype} {version}")
    }

    /// How much work the backend wants at a time, with the batches that were asked for.
    #[must_use]
    pub fn work(&self) -> Work {
        Work { batch_tokens: self.batch_tokens, ..self.network.work() }
    }

    /// The size of a batch without pairs: what pairs begin with in common may count once.
    #[must_use]
    pub fn batch_size(&self) -> BatchSize {
        self.network.batch_size(0, Output::Vector)
    }

    /// The tokens of a flat batch, at most.
    #[must_use]
    pub fn batch_tokens(&self) -> usize {
        self.batch_tokens
    }

    /// Reads a passage, for any number of pairs.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<PairText, EncoderError> {
        Ok(self.input.passage(text)?)
    }

    /// The same for a query, after the prompt. In a chat template the prompt has its own place.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize_query(&self, query: &str) -> Result<PairText, EncoderError> {
        Ok(self.input.query(query)?)
    }

    /// The same for a query, which is cut to half of the room if it would leave no room for a passage and
    /// otherwise only passages are cut.
    ///
    /// # Errors
    /// As [`Self::tokenize_query`].
    pub fn tokenize_query_cut(&self, query: &str) -> Result<PairText, EncoderError> {
        Ok(self.input.query_cut(query)?)
    }

    /// A passage in windows of `length` tokens. Each window begins `stride` tokens after the one before, and
    /// the last one ends with the passage. A passage of at most `length` tokens is one window. `length` and
    /// `stride` are at least 1.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokenize_windows(
        &self,
        text: &str,
        length: usize,
        stride: usize,
    ) -> Result<Vec<PairText>, EncoderError> {
        Ok(self.input.windows(text, length, stride)?)
    }

    /// At most this many tokens of a passage.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn shorten(&self, passage: &PairText, tokens: usize) -> Result<PairText, EncoderError> {
        Ok(self.input.shorten(passage, tokens)?)
    }

    /// The tokens of a pair of texts, truncated, special tokens included: those that the tokenizer makes of
    /// both texts at once, or of the text that the chat template makes of them.
    ///
    /// # Errors
    /// [`toller_tokenizer::TokenizerError::FirstTextTooLong`] if the query leaves no room for the passage:
    /// only the passage may be truncated.
    pub fn pair(&self, query: &PairText, passage: &PairText) -> Result<Tokens, EncoderError> {
        Ok(self.pair_cut(query, passage)?.0)
    }

    /// The same, and whether a text was cut.
    ///
    /// # Errors
    /// As [`Self::pair`].
    pub fn pair_cut(&self, query: &PairText, passage: &PairText) -> Result<(Tokens, bool), EncoderError> {
        Ok(self.input.pair(query, passage)?)
    }

    /// Refuses a query that leaves no room for a passage, where only passages are cut.
    ///
    /// # Errors
    /// [`toller_tokenizer::TokenizerError::FirstTextTooLong`].
    pub fn check_room(&self, query: &PairText) -> Result<(), EncoderError> {
        Ok(self.input.check_room(query)?)
    }

    /// The tokens of one text, as a classifier of texts reads it, cut on `side`, and whether it was cut.
    ///
    /// # Errors
    /// When the tokenizer fails, and for a model that reads pairs in a chat template.
    pub fn tokenize_alone(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), EncoderError> {
        Ok(self.input.single(text, side)?)
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.input.tokenizer
    }

    /// Where the model computes.
    #[must_use]
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// What the model computes in; the head is f32.
    #[must_use]
    pub fn dtype(&self) -> Precision {
        self.dtype
    }

    /// The tokens of a pair of texts: [`Self::tokenize_query`], [`Self::tokenize`] and [`Self::pair`].
    ///
    /// # Errors
    /// As those.
    pub fn tokenize_pair(&self, query: &str, passage: &str) -> Result<Tokens, EncoderError> {
        self.pair(&self.tokenize_query(query)?, &self.tokenize(passage)?)
    }

    /// The logits of pairs: `[pairs, labels]`, row by row. The bits of a pair's logits depend only on the
    /// pair. Runs on the calling thread; call it from several.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails.
    pub fn logits(&self, pairs: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        let mut logits = Vec::with_capacity(pairs.len() * self.labels.len());
        for batch in by_budget(pairs, self.batch_tokens, self.batch_size()) {
            let request = Request { texts: batch, unpooled: 0, output: Output::Vector, threads: 1 };
            self.network.encode(request, &mut logits)?;
        }
        Ok(logits)
    }

    /// The score of each pair: `[pairs]`, higher for a better passage.
    ///
    /// # Errors
    /// As [`Self::logits`].
    pub fn score(&self, pairs: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        Ok(self.scores_of(&self.logits(pairs)?))
    }

    /// The same as [`Self::logits`], bit for bit, on this many threads of rayon's current pool, at most all
    /// of them; on the calling thread if it is one.
    ///
    /// # Errors
    /// As there.
    pub fn logits_in_parallel(&self, pairs: &[Tokens], threads: usize) -> Result<Vec<f32>, EncoderError> {
        self.logits_watched(pairs, threads, &|_| ControlFlow::Continue(()))
    }

    /// The same, until `watch` stops the work.
    ///
    /// # Errors
    /// As there; [`EncoderError::Stopped`].
    pub fn logits_watched(
        &self,
        pairs: &[Tokens],
        threads: usize,
        watch: Watch<'_>,
    ) -> Result<Vec<f32>, EncoderError> {
        let request = Request { texts: pairs, unpooled: 0, output: Output::Vector, threads };
        encode_in_parallel(&*self.network, request, self.batch_tokens, watch)
    }

    /// The score of each pair by its logits, `[pairs, labels]`.
    #[must_use]
    pub fn scores_of(&self, logits: &[f32]) -> Vec<f32> {
        logits.chunks_exact(self.labels.len()).map(|logits| self.scoring.score(logits)).collect()
    }

    /// The score of each pair as a number from 0 to 1, in the same order: the sigmoid of scores that are
    /// logits, and other scores as they are.
    #[must_use]
    pub fn shares_of(&self, logits: &[f32]) -> Vec<f32> {
        logits.chunks_exact(self.labels.len()).map(|logits| self.scoring.share(logits)).collect()
    }
}
