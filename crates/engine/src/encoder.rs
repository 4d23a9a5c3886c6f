//! Models: loading them.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;
use toller_encoder::{
    Compute, CrossEncoder, CrossEncoderOptions, DualEncoder, EncoderError, LoadOptions, Output, Role,
    TextInput, TextPooling, Watch,
};
use toller_hub::ModelSource;
use toller_nn::Precision;
use toller_pipeline::encode_texts;
use toller_store::ModelInfo;
use toller_tokenizer::Tokens;

use crate::event::Event;
use crate::threads::Threads;
use crate::{Backend, Device, Engine, EngineError};

/// How a dual encoder is loaded.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    /// The model of the queries, if it is another one; the loaded model is then for passages.
    pub query_model: Option<String>,
    /// Truncate texts to this many tokens, special tokens included; `None` for the model's own maximum.
    pub max_length: Option<usize>,
    /// Put this before every text; `None` for the model's own prompts.
    pub prompt: Option<String>,
    /// How token states become a vector; `None` for the model's own way.
    pub pooling: Option<TextPooling>,
    /// Scale vectors to unit length, also those of a model that does not.
    pub normalize_embeddings: bool,
    /// End every text in the tokenizer's end token, also where the tokenizer does not.
    pub append_eos_token: bool,
    /// Keep the first dimensions of every vector (Matryoshka representations); `None` for the model's own
    /// number.
    pub dim: Option<usize>,
    /// Where the model computes.
    pub device: Device,
    /// What computes the model there.
    pub backend: Backend,
    /// What the model computes in; `None` for f32 on the CPU, and on GPUs f16, or bf16 for decoders and T5.
    pub dtype: Option<Precision>,
    /// Tokens of a batch, at most; `None` for what suits the machine.
    pub batch_tokens: Option<usize>,
}

/// A loaded dual encoder. Clones share the model.
#[derive(Clone)]
pub struct Encoder {
    pub(crate) model: Arc<DualEncoder>,
    compute: Compute,
    info: ModelInfo,
    threads: Threads,
}

impl Encoder {
    /// The vectors of texts in one of the model's roles, `[texts, dim]`. The role's prompt is put before
    /// each.
    ///
    /// # Errors
    /// When a text cannot be tokenized, or computing fails.
    pub fn encode<T: AsRef<str> + Sync>(&self, role: Role, texts: &[T]) -> Result<Vec<f32>, EngineError> {
        fn named<T: AsRef<str>>(text: &T) -> (&str, &str) {
            (text.as_ref(), text.as_ref())
        }
        Ok(self.threads.run(|| encode_texts(&self.model, role, texts, named))?)
    }

    /// What is wanted of texts that the tower of a role has tokenized, on this many of the engine's threads:
    /// [`toller_encoder::TextEncoder::encode_as`].
    ///
    /// # Errors
    /// When computing fails, or the model has no such output.
    pub fn encode_tokens(
        &self,
        role: Role,
        output: Output,
        texts: &[Tokens],
        threads: usize,
    ) -> Result<Vec<f32>, EngineError> {
        Ok(self.threads.run(|| self.model.tower(role).encode_as(output, texts, threads))?)
    }

    /// The vectors of texts in one of the model's roles, `[texts, dim]`, in the engine's threads, until
    /// `watch` stops the work: [`toller_encoder::TextEncoder::encode_watched`].
    ///
    /// # Errors
    /// As [`Encoder::encode`]; [`EncoderError::Stopped`].
    pub fn encode_watched(
        &self,
        role: Role,
        output: Output,
        texts: &[TextInput],
        watch: Watch<'_>,
    ) -> Result<Vec<f32>, EngineError> {
        let tower = self.model.tower(role);
        let tokenize = |text| match watch(0) {
            ControlFlow::Continue(()) => tower.tokenize_input(text),
            ControlFlow::Break(()) => Err(EncoderError::Stopped),
        };
        Ok(self.threads.run(|| {
            let tokens = texts.par_iter().map(tokenize).collect::<Result<Vec<_>, _>>()?;
            tower.encode_watched(output, &tokens, rayon::current_num_threads(), watch)
        })?)
    }

    /// The same model with this prompt before every text, of both roles.
    ///
    /// # Errors
    /// When the prompt cannot be tokenized.
    pub fn with_prompt(&self, prompt: &str) -> Result<Self, EngineError> {
        Ok(Self { model: Arc::new(self.model.with_prompt(prompt)?), ..self.clone() })
    }

    /// What the model of passages computes in.
    #[must_use]
    pub fn dtype(&self) -> Precision {
        self.model.tower(Role::Passage).dtype()
    }

    /// Where the model computes.
    #[must_use]
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// The numbers of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.model.tower(Role::Passage).dim()
    }

    /// Whether the model gives weights to terms, in place of vectors.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.model.tower(Role::Passage).terms().is_some()
    }

    /// The identity of the model, as stores keep it.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The model itself.
    #[must_use]
    pub fn model(&self) -> &DualEncoder {
        &self.model
    }
}

impl Engine {
    /// Loads the dual encoder of this name.
    ///
    /// # Errors
    /// Those of [`Engine::resolve`], and what is wrong with the model.
    pub fn encoder(&self, name: &str, options: &EncoderOptions) -> Result<Encoder, EngineError> {
        self.encoder_from(self.resolve(name)?, name, options)
    }

    /// Loads a dual encoder, called `name`, from where its files are.
    ///
    /// # Errors
    /// As [`Engine::encoder`].
    pub fn encoder_from(
        &self,
        source: ModelSource,
        name: &str,
        options: &EncoderOptions,
    ) -> Result<Encoder, EngineError> {
        let EncoderOptions {
            query_model,
            max_length,
            prompt,
            pooling,
            normalize_embeddings,
            append_eos_token,
            dim,
            device,
            backend,
            dtype,
            batch_tokens,
        } = options.clone();
        let compute = self.compute(device, backend)?;
        let query_source = query_model.as_deref().map(|name| self.resolve(name)).transpose()?;
        let load = LoadOptions {
            known_query: query_source.as_ref().and_then(ModelSource::known),
            query_model: query_source.map(|source| source.directory),
            max_length,
            query_max_length: None,
            pooling,
            normalize_embeddings,
            append_eos_token,
            dim,
            new_prefix: None,
            prompt,
            batch_tokens,
            dtype,
            compute: compute.clone(),
            known: source.known(),
        };
        let model = DualEncoder::load(&source.directory, &load)?;
        if model.tower(Role::Passage).pooling_is_assumed() {
            self.notify(Event::PoolingAssumed { model: name });
        }
        self.warn_of_tensors(name, model.unexpected_tensors().into_iter());
        let info = ModelInfo {
            query_model,
            passage_encoder: model.passage_fingerprint().map(str::to_owned),
            ..ModelInfo::new(name, model.fingerprint())
        };
        Ok(Encoder { model: Arc::new(model), compute, info, threads: self.threads.clone() })
    }

    /// Loads the cross-encoder of this name.
    ///
    /// # Errors
    /// Those of [`Engine::resolve`], and what is wrong with the model.
    pub fn cross_encoder(
        &self,
        name: &str,
        options: &CrossEncoderOptions,
    ) -> Result<CrossEncoder, EngineError> {
        let model = CrossEncoder::load(&self.resolve(name)?.directory, options)?;
        self.warn_of_tensors(name, model.unexpected_tensors().iter().map(String::as_str));
        Ok(model)
    }

    /// Warns of a model whose vectors are compared in another way than stores are searched.
    pub(crate) fn warn_of_similarity(&self, encoder: &Encoder) {
        let is_unit = encoder.model.tower(Role::Passage).normalizes();
        let similarity = match encoder.model.similarity() {
            // Of vectors of unit length, these rank as the inner product does.
            Some("cosine" | "euclidean") if is_unit => return,
            Some(other @ ("cosine" | "euclidean" | "manhattan")) => other,
            _ => return,
        };
        self.notify(Event::SimilarityNotUsed { model: &encoder.info.to_string(), similarity });
    }

    /// Warns of tensors that a model's architecture has no place for.
    fn warn_of_tensors<'a>(&self, model: &str, mut unexpected: impl ExactSizeIterator<Item = &'a str>) {
        let count = unexpected.len();
        if let Some(first) = unexpected.next() {
            self.notify(Event::UnexpectedTensors { model, count, first });
        }
    }
}
