//! A transformer and its head on one backend, and the interface that does not name the backend.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use toller_checkpoint::{Fingerprint, Parameters};
use toller_nn::{Backend, Work};
use toller_tokenizer::Tokens;

use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::TransformerConfig;
use crate::head::Head;
use crate::transformer::Transformer;

/// Tokenized texts to rows of numbers: vectors, or logits.
pub(crate) trait Encode: Send + Sync {
    /// How much work the backend wants at a time.
    fn work(&self) -> Work;

    /// Appends the rows of one batch to `rows`, `[texts, width]`, on at most `threads` threads. The first
    /// `unpooled` tokens of every text are not pooled.
    fn encode(
        &self,
        texts: &[Tokens],
        unpooled: usize,
        threads: usize,
        rows: &mut Vec<f32>,
    ) -> Result<(), EncoderError>;
}

/// A transformer and its head, on a backend.
pub struct Network<B: Backend> {
    backend: B,
    transformer: Transformer<B>,
    head: Head<B>,
    /// The memory of finished batches, for the next ones.
    scratches: Mutex<Vec<B::Scratch>>,
}

impl<B: Backend> Network<B> {
    /// Loads the transformer of `folder`, and the head that `head` makes from the parameters in the same
    /// files.
    pub(crate) fn load<T>(
        backend: B,
        folder: &Path,
        config: &TransformerConfig,
        fingerprint: &mut Fingerprint,
        head: impl FnOnce(&B, Parameters, &mut Fingerprint) -> Result<(Head<B>, T), EncoderError>,
    ) -> Result<(Self, T), EncoderError> {
        let (transformer, parameters) = Transformer::open(&backend, folder, config, fingerprint)?;
        let (head, found) = head(&backend, parameters, fingerprint)?;
        Ok((Self { backend, transformer, head, scratches: Mutex::default() }, found))
    }

    pub(crate) fn head(&self) -> &Head<B> {
        &self.head
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The result of the head for a batch, without its last `left_out` steps: a row for each text. The first
    /// `unpooled` tokens of every text are not pooled.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails.
    pub fn forward(
        &self,
        scratch: &mut B::Scratch,
        texts: &[Tokens],
        unpooled: usize,
        left_out: usize,
    ) -> Result<B::States, EncoderError> {
        let (states, batch) = self.transformer.forward(&self.backend, scratch, TokenBatch::new(texts))?;
        let pooled = self.backend.pool(scratch, &states, &batch, self.head.poolings(), unpooled)?;
        self.backend.release(scratch, states);
        self.head.forward(&self.backend, scratch, pooled, left_out)
    }

    fn scratches(&self) -> std::sync::MutexGuard<'_, Vec<B::Scratch>> {
        self.scratches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> Encode for Network<B> {
    fn work(&self) -> Work {
        self.backend.work()
    }

    fn encode(
        &self,
        texts: &[Tokens],
        unpooled: usize,
        threads: usize,
        rows: &mut Vec<f32>,
    ) -> Result<(), EncoderError> {
        let kept = self.scratches().pop();
        let mut scratch = kept.unwrap_or_else(|| self.backend.scratch());
        self.backend.use_threads(&mut scratch, threads);
        let vectors = self.forward(&mut scratch, texts, unpooled, 0)?;
        self.backend.to_host(&mut scratch, vectors, rows)?;
        self.scratches().push(scratch);
        Ok(())
    }
}
