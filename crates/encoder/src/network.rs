//! A transformer and its head on one backend, and the interface that does not name the backend.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use toller_checkpoint::{Fingerprint, Parameters};
use toller_nn::{Backend, Work};
use toller_tokenizer::Tokens;

use crate::EncoderError;
use crate::batch::{TokenBatch, by_budget};
use crate::config::TransformerConfig;
use crate::head::Head;
use crate::transformer::Transformer;

/// Tokenized texts to rows of numbers: vectors, or logits.
pub(crate) trait Encode: Send + Sync {
    /// How much work the backend wants at a time.
    fn work(&self) -> Work;

    /// Values of a row.
    fn dim(&self) -> usize;

    /// Whether rows have unit length.
    fn normalizes(&self) -> bool;

    /// How many batches were computed in halves, since the device had too little memory.
    fn split_batches(&self) -> usize;

    /// Appends the rows of one batch to `rows`, on at most `threads` threads: `[texts, width]`, or the states
    /// of tokens, `[tokens, hidden]`. The first `unpooled` tokens of every text are not pooled.
    fn encode(
        &self,
        texts: &[Tokens],
        unpooled: usize,
        output: Output,
        threads: usize,
        rows: &mut Vec<f32>,
    ) -> Result<(), EncoderError>;
}

/// What is wanted of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// The model's vector.
    #[default]
    Vector,
    /// The first dimensions of the model's vector, scaled to unit length or not, whatever the model does.
    Shaped {
        /// The dimensions that are kept, at most the model's.
        dim: usize,
        /// Whether the vector is scaled to unit length.
        unit: bool,
    },
    /// The last layer's state of each token.
    States,
}

/// Is called with the number of texts that are done, after each batch. Says whether to go on.
pub type Watch<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// The rows of texts, on `threads` threads: of rayon's current pool, or on the calling thread if it is one.
/// Each thread has its own batches, of at most `batch_tokens`, if there are enough texts. If there are few,
/// all threads work on one batch. `watch` may stop the work.
pub(crate) fn encode_in_parallel(
    network: &dyn Encode,
    texts: &[Tokens],
    unpooled: usize,
    output: Output,
    batch_tokens: usize,
    threads: usize,
    watch: Watch<'_>,
) -> Result<Vec<f32>, EncoderError> {
    let tokens: usize = texts.iter().map(Tokens::len).sum();
    let Work { least_tokens, sessions, uses_threads, .. } = network.work();
    let threads = if uses_threads { threads } else { threads.min(sessions) };
    let least = least_tokens.clamp(1, batch_tokens.max(1));
    let budget = tokens.div_ceil(threads.max(1)).clamp(least, batch_tokens.max(1));
    let batches: Vec<&[Tokens]> = by_budget(texts, budget).collect();
    let threads_each = if batches.len() < threads { threads } else { 1 };
    let done = AtomicUsize::new(0);
    let encode = |batch: &&[Tokens]| {
        let mut rows = Vec::new();
        network.encode(batch, unpooled, output, threads_each, &mut rows)?;
        let done = done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
        if watch(done).is_break() { Err(EncoderError::Stopped) } else { Ok(rows) }
    };
    let rows: Result<Vec<Vec<f32>>, EncoderError> = match threads_each {
        1 if threads > 1 => batches.par_iter().map(encode).collect(),
        _ => batches.iter().map(encode).collect(),
    };
    Ok(rows?.concat())
}

/// A transformer and its head, on a backend.
pub struct Network<B: Backend> {
    backend: B,
    transformer: Transformer<B>,
    head: Head<B>,
    /// The memory of finished batches, for the next ones.
    scratches: Mutex<Vec<B::Scratch>>,
    split: AtomicUsize,
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
        Ok((
            Self { backend, transformer, head, scratches: Mutex::default(), split: AtomicUsize::new(0) },
            found,
        ))
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

    fn dim(&self) -> usize {
        self.head.dim()
    }

    fn normalizes(&self) -> bool {
        self.head.normalizes()
    }

    fn split_batches(&self) -> usize {
        self.split.load(Ordering::Relaxed)
    }

    /// A batch for which the device has too little memory is computed in halves: other programs may have
    /// taken memory since the budget was planned.
    fn encode(
        &self,
        texts: &[Tokens],
        unpooled: usize,
        output: Output,
        threads: usize,
        rows: &mut Vec<f32>,
    ) -> Result<(), EncoderError> {
        let before = rows.len();
        match self.encode_whole(texts, unpooled, output, threads, rows) {
            Err(error) if error.is_out_of_memory() && texts.len() > 1 => {
                self.split.fetch_add(1, Ordering::Relaxed);
                self.scratches().clear();
                rows.truncate(before);
                let (first, second) = texts.split_at(texts.len() / 2);
                self.encode(first, unpooled, output, threads, rows)?;
                self.encode(second, unpooled, output, threads, rows)
            }
            done => done,
        }
    }
}

impl<B: Backend> Network<B> {
    /// See [`Encode::encode`].
    fn encode_whole(
        &self,
        texts: &[Tokens],
        unpooled: usize,
        output: Output,
        threads: usize,
        rows: &mut Vec<f32>,
    ) -> Result<(), EncoderError> {
        let kept = self.scratches().pop();
        let mut scratch = kept.unwrap_or_else(|| self.backend.scratch());
        self.backend.use_threads(&mut scratch, threads);
        let found = match output {
            Output::Vector => self.forward(&mut scratch, texts, unpooled, 0)?,
            Output::Shaped { dim, unit } => {
                // Cut before the scaling, as a model with fewer dimensions does.
                let scaling = usize::from(self.head.normalizes());
                let mut found = self.forward(&mut scratch, texts, unpooled, scaling)?;
                if dim < self.head.dim() {
                    found = self.backend.truncate(&mut scratch, found, dim)?;
                }
                if unit { self.backend.unit(&mut scratch, found)? } else { found }
            }
            Output::States => {
                self.transformer.forward(&self.backend, &mut scratch, TokenBatch::new(texts))?.0
            }
        };
        self.backend.to_host(&mut scratch, found, rows)?;
        self.scratches().push(scratch);
        Ok(())
    }
}
