//! Token classifiers: a text to logits for each of its tokens, in the layout of transformers'
//! `...ForTokenClassification`.

mod document;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use toller_checkpoint::{Fingerprint, ModelError};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, Place, Precision, Work};
use toller_tokenizer::{Tokenizer, Tokens};

pub use self::document::{Document, Window};
use crate::class::{Architecture, Class};
use crate::compute::{self, Compute, Plan};
use crate::config::TransformerConfig;
use crate::cross_encoder::{ClassifierConfig, Scoring};
use crate::head::{Head, Step};
use crate::layout::Layout;
use crate::network::{Encode, Network, Output, Request, Watch, encode_in_parallel};
use crate::transformer::{Loader, new_layer};
use crate::{EncoderError, Role};

/// How to load a token classifier.
#[derive(Clone, Debug, Default)]
pub struct TokenClassifierOptions {
    /// Windows of this many tokens, special tokens included, instead of the model's own maximum.
    pub max_length: Option<usize>,
    /// The labels of a new classifier, to be trained, for a model that has none. Its weights are zeros.
    pub new_labels: Option<Vec<String>>,
    /// The tokens of a flat batch, at most; `None` for what the backend wants.
    pub batch_tokens: Option<usize>,
    /// What the transformer's matrix products are computed in. `None` for f32 on the CPU, and f16 on GPUs.
    pub dtype: Option<Precision>,
    /// Where the model computes.
    pub compute: Compute,
}

/// A transformer with a linear layer from each token's state to its logits.
///
/// ```no_run
/// # fn main() -> Result<(), toller_encoder::EncoderError> {
/// use toller_encoder::{TokenClassifier, TokenClassifierOptions};
/// let model = TokenClassifier::load("segmenter".as_ref(), &TokenClassifierOptions::default())?;
/// let document = model.document("Tollers retrieve. It tolls for thee.", None)?;
/// let logits = model.logits(std::slice::from_ref(&document), 1)?;
/// let shares = model.shares(&logits[0], model.label(None)?);
/// assert_eq!(shares.len(), document.places.len()); // one for each token
/// # Ok(())
/// # }
/// ```
pub struct TokenClassifier {
    tokenizer: Tokenizer,
    network: Box<dyn Encode>,
    plan: TokenPlan,
    class: Class,
    labels: Vec<String>,
    batch_tokens: usize,
    fingerprint: String,
}

/// The plan of a token classifier, before its parameters are loaded.
struct TokenPlan {
    folder: PathBuf,
    config: TransformerConfig,
    labels: usize,
    /// Whether the classifier is new.
    is_new: bool,
}

/// The classifier's name in the files.
const CLASSIFIER: &str = "classifier";

impl Plan for TokenPlan {
    /// The beginning of the transformer's tensors' names in the files.
    type Found = String;

    fn load<B: Backend>(
        &self,
        backend: B,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Network<B>, String), EncoderError> {
        Network::load(backend, &self.folder, &self.config, fingerprint, |backend, parameters, fingerprint| {
            let (labels, hidden) = (self.labels, self.config.hidden);
            let prefix = parameters.prefix().to_owned();
            let mut head = Head::of_tokens(hidden);
            fingerprint.value("head", b"tokens");
            let layer = if self.is_new {
                let (shape, zeros) = ([labels, hidden], vec![0.0; labels * hidden]);
                let (weight, bias) = new_layer(backend, &self.folder, CLASSIFIER, shape, zeros, fingerprint)?;
                let weight = Matrix { values: weight.values(), rows: labels, columns: hidden };
                let layer = LinearParameters { weight, bias: Some(bias.values()) };
                backend.linear(layer, Place::TokenHead)?
            } else {
                let outside = parameters.outside();
                let mut loader = Loader { backend, parameters: &outside, fingerprint };
                loader.linear(CLASSIFIER, labels, hidden, true, Place::TokenHead)?
            };
            head.push(Step::Dense(layer, Activation::Identity), labels);
            Ok((head, prefix))
        })
    }
}

impl TokenClassifier {
    /// Loads a model directory of transformers. Of sentence-transformers' layout, only the transformer is
    /// taken, for a new classifier.
    ///
    /// # Errors
    /// When a file is missing or broken, or the model has no classifier of tokens and is to have no new one.
    pub fn load(directory: &Path, options: &TokenClassifierOptions) -> Result<Self, EncoderError> {
        let folder = Layout::read(directory, Role::Passage)?.transformer;
        let layout = Layout::plain(&folder);
        let config_path = folder.join("config.json");
        let config =
            TransformerConfig::read(&config_path)?.with_prefix(&folder, None)?.without_prefix(&folder)?;
        let refused = |what: String, supported: &str| {
            EncoderError::from(ModelError::unsupported(&config_path, what, supported))
        };
        let architecture = Architecture::of(config.model_type, "a token classifier", &config_path)?;
        let is_new = !config.classifies_tokens;
        let labels = match &options.new_labels {
            Some(labels) if is_new => labels.clone(),
            None if is_new => {
                let what = "scoring tokens with a model without a classifier of tokens";
                return Err(refused(what.to_owned(), "token classifiers: ...ForTokenClassification"));
            }
            _ => ClassifierConfig::read(&config_path)?.labels,
        };
        let mut fingerprint = Fingerprint::new();
        fingerprint.value("kind", b"token classifier");
        config.fingerprint(&mut fingerprint);
        let tokenizer = layout.tokenizer(options.max_length, &config, &mut fingerprint)?;
        let dtype = options.dtype.unwrap_or_else(|| options.compute.dtype_of(config.model_type));
        let plan = TokenPlan { folder, config, labels: labels.len(), is_new };
        let (network, prefix) = compute::open(&plan, &options.compute, dtype, &mut fingerprint)?;
        Ok(Self {
            batch_tokens: options.batch_tokens.unwrap_or_else(|| network.work().batch_tokens),
            network,
            plan,
            tokenizer,
            class: Class { architecture, task: "ForTokenClassification", prefix },
            labels,
            fingerprint: fingerprint.finish(),
        })
    }

    /// A second copy of the weights, on another backend: a row of the network's result has a token's logits.
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

    /// Whether the classifier is new.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.plan.is_new
    }

    /// The model's class in transformers.
    #[must_use]
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The names of the labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The label that counts, by number: as asked for, else the second of two.
    ///
    /// # Errors
    /// When the model does not have the label, or one must be chosen.
    pub fn label(&self, asked: Option<usize>) -> Result<usize, EncoderError> {
        match (asked, self.labels.len()) {
            (Some(label), count) if label < count => Ok(label),
            (None, 2) => Ok(1),
            _ => Err(EncoderError::Label { asked, labels: self.labels.clone() }),
        }
    }

    /// The tokens of a window, at most, special tokens included.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.tokenizer.max_length()
    }

    /// Identifies the model by what determines its logits: weights, tokenizer and architecture. The maximum
    /// length does not count.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// How much work the backend wants at a time, with the batches that were asked for.
    #[must_use]
    pub fn work(&self) -> Work {
        Work { batch_tokens: self.batch_tokens, ..self.network.work() }
    }

    /// The tokens of a text in windows. Each window begins `stride` tokens after the one before; by default
    /// half a window.
    ///
    /// # Errors
    /// When the tokenizer fails, or the stride leaves tokens between windows.
    pub fn document(&self, text: &str, stride: Option<usize>) -> Result<Document, EncoderError> {
        let window = self.tokenizer.room()?;
        let stride = stride.unwrap_or(window.div_ceil(2));
        if !(1..=window).contains(&stride) {
            return Err(EncoderError::Stride { stride, window });
        }
        Ok(Document::new(&self.tokenizer, self.tokenizer.inspect(text, false)?, window, stride))
    }

    /// The tokens of a text in windows that do not overlap.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn parts(&self, text: &str) -> Result<Document, EncoderError> {
        self.document(text, Some(self.tokenizer.room()?))
    }

    /// The logits of each document, `[tokens, labels]`, on this many threads of rayon's current pool. The
    /// bits of a document's logits depend only on the document.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails.
    pub fn logits(&self, documents: &[Document], threads: usize) -> Result<Vec<Vec<f32>>, EncoderError> {
        self.logits_watched(documents, threads, &|_| ControlFlow::Continue(()))
    }

    /// The same, until `watch` stops the work. `watch` is called with the number of windows that are done.
    ///
    /// # Errors
    /// As there; [`EncoderError::Stopped`].
    pub fn logits_watched(
        &self,
        documents: &[Document],
        threads: usize,
        watch: Watch<'_>,
    ) -> Result<Vec<Vec<f32>>, EncoderError> {
        let windows = documents.iter().flat_map(|document| &document.windows);
        let inputs: Vec<Tokens> = windows.map(|window| window.input.clone()).collect();
        let request = Request { texts: &inputs, unpooled: 0, output: Output::Vector, threads };
        let rows = encode_in_parallel(&*self.network, request, self.batch_tokens, watch)?;
        let (labels, mut rest) = (self.labels.len(), rows.as_slice());
        let logits = |document: &Document| {
            let (own, after) = rest.split_at(document.rows() * labels);
            rest = after;
            document.gather(own, labels)
        };
        Ok(documents.iter().map(logits).collect())
    }

    /// The share of a label in the softmax of each token's logits, from 0 to 1.
    #[must_use]
    pub fn shares(&self, logits: &[f32], label: usize) -> Vec<f32> {
        logits.chunks_exact(self.labels.len()).map(|row| Scoring::softmax(label).score(row)).collect()
    }
}
