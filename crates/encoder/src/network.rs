//! A transformer and its head on one backend, and the interface that does not name the backend.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use toller_checkpoint::{Fingerprint, Parameters};
use toller_ir::locked;
use toller_nn::{Backend, Pooling, Work};
use toller_tokenizer::Tokens;

use crate::EncoderError;
use crate::batch::{BatchSize, TokenBatch, by_budget, length};
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

    /// Whether rows are cut to their first dimensions.
    fn truncates(&self) -> bool;

    /// Tokens that the model puts in front of every text.
    fn prefix_tokens(&self) -> usize;

    /// Whether what texts begin with in common is computed once in a batch.
    fn shares_beginnings(&self, unpooled: usize, output: Output) -> bool;

    /// The size of a batch without texts.
    fn batch_size(&self, unpooled: usize, output: Output) -> BatchSize {
        BatchSize::new(self.shares_beginnings(unpooled, output), self.prefix_tokens())
    }

    /// How many batches were computed in halves, since the device had too little memory.
    fn split_batches(&self) -> usize;

    /// Appends the rows of one batch: `[texts, width]`; or `[tokens, width]` of a head that does not pool and
    /// of states.
    fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError>;
}

/// Texts, and what is wanted of them.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The texts.
    pub(crate) texts: &'a [Tokens],
    /// The first tokens of every text that are not pooled.
    pub(crate) unpooled: usize,
    /// The rows.
    pub(crate) output: Output,
    /// The most threads.
    pub(crate) threads: usize,
}

/// What is wanted of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// The model's vector; of a head that does not pool, each token's.
    #[default]
    Vector,
    /// The first dimensions of the model's vector, scaled to unit length or not, whatever the model does.
    Shaped {
        /// The dimensions that are kept, at most the model's.
        dim: usize,
        /// Whether the vector is scaled to unit length.
        unit: bool,
    },
    /// The vector that the model makes without a truncation. It has more dimensions than the model's vector
    /// where that is truncated.
    Uncut,
    /// The last layer's state of each token.
    States,
}

/// Is called with the number of texts that are done, after each batch. Says whether to go on.
pub type Watch<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// The rows of texts, on threads of rayon's current pool, or on the calling thread if it is one.
/// Each thread has its own batches, of at most `batch_tokens`, if there are enough texts. If there are few,
/// all threads work on one batch. `watch` may stop the work.
pub(crate) fn encode_in_parallel(
    network: &dyn Encode,
    request: Request<'_>,
    batch_tokens: usize,
    watch: Watch<'_>,
) -> Result<Vec<f32>, EncoderError> {
    let Request { texts, threads, .. } = request;
    let empty = network.batch_size(request.unpooled, request.output);
    let mut size = empty.clone();
    texts.iter().for_each(|text| size.add(text));
    let Work { least_tokens, sessions, uses_threads, .. } = network.work();
    let threads = if uses_threads { threads } else { threads.min(sessions) };
    let least = least_tokens.clamp(1, batch_tokens.max(1));
    let budget = size.divided(threads).clamp(least, batch_tokens.max(1));
    let batches: Vec<&[Tokens]> = by_budget(texts, budget, empty).collect();
    let threads_each = if uses_threads && batches.len() < threads { threads } else { 1 };
    let done = AtomicUsize::new(0);
    let encode = |batch: &&[Tokens]| {
        let mut rows = Vec::new();
        network.encode(Request { texts: batch, threads: threads_each, ..request }, &mut rows)?;
        let done = done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
        if watch(done).is_break() { Err(EncoderError::Stopped) } else { Ok(rows) }
    };
    let in_order = |batches: &[&[Tokens]]| batches.iter().map(encode).collect::<Result<Vec<_>, _>>();
    if threads_each > 1 || threads <= 1 || batches.len() <= 1 {
        return Ok(in_order(&batches)?.concat());
    }
    // rayon's pool may have more threads than a device has sessions: each session has a share of the batches.
    let share = if uses_threads { 1 } else { batches.len().div_ceil(threads) };
    let rows: Result<Vec<_>, EncoderError> = batches.par_chunks(share).map(in_order).collect();
    Ok(rows?.into_iter().flatten().collect::<Vec<_>>().concat())
}

/// What a sparse encoder does not give.
const BEFORE_THE_END: &str = "a result before the last steps";

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

    /// The result of the head for a batch, without its last `left_out` steps: a row for each text, or for
    /// each token if the head does not pool. The first `unpooled` tokens of every text are not pooled.
    ///
    /// # Errors
    /// When a token has no embedding, or computing fails; of a sparse encoder, [`EncoderError::Sparse`].
    pub fn forward(
        &self,
        scratch: &mut B::Scratch,
        texts: &[Tokens],
        unpooled: usize,
        left_out: usize,
    ) -> Result<B::States, EncoderError> {
        if self.head.vocabulary().is_some() {
            return Err(EncoderError::Sparse { what: BEFORE_THE_END });
        }
        let rows = self.pooled(scratch, self.transformer.batch(texts), unpooled)?;
        self.head.forward(&self.backend, scratch, rows, left_out)
    }

    /// What the head's steps begin with: a row for each text, or for each token if the head does not pool.
    fn pooled(
        &self,
        scratch: &mut B::Scratch,
        batch: TokenBatch,
        unpooled: usize,
    ) -> Result<B::States, EncoderError> {
        let (states, batch) = self.transformer.forward(&self.backend, scratch, batch)?;
        let skipped = self.transformer.prefix_tokens() + unpooled;
        if self.head.poolings().is_empty() {
            return Ok(states);
        }
        let pooled = self.backend.pool(scratch, &states, &batch, self.head.poolings(), skipped)?;
        self.backend.release(scratch, states);
        Ok(pooled)
    }

    fn scratches(&self) -> std::sync::MutexGuard<'_, Vec<B::Scratch>> {
        locked(&self.scratches)
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

    fn truncates(&self) -> bool {
        self.head.truncates()
    }

    fn prefix_tokens(&self) -> usize {
        self.transformer.prefix_tokens()
    }

    /// The results are then those of each text's last state, which is its own.
    fn shares_beginnings(&self, unpooled: usize, output: Output) -> bool {
        unpooled == 0
            && output != Output::States
            && self.head.poolings() == [Pooling::LastToken]
            && self.transformer.shares_beginnings(&self.backend)
    }

    fn split_batches(&self) -> usize {
        self.split.load(Ordering::Relaxed)
    }

    /// A batch for which the device has too little memory is computed in halves: other programs may have
    /// taken memory since the budget was planned. First, what finished batches left is given back.
    fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        let before = rows.len();
        let mut done = self.encode_whole(request, rows);
        if done.as_ref().is_err_and(EncoderError::is_out_of_memory) && self.drops_scratches() {
            rows.truncate(before);
            done = self.encode_whole(request, rows);
        }
        match done {
            Err(error) if error.is_out_of_memory() && request.texts.len() > 1 => {
                self.split.fetch_add(1, Ordering::Relaxed);
                rows.truncate(before);
                let (first, second) = request.texts.split_at(request.texts.len() / 2);
                self.encode(Request { texts: first, ..request }, rows)?;
                self.encode(Request { texts: second, ..request }, rows)
            }
            done => done,
        }
    }
}

impl<B: Backend> Network<B> {
    /// Gives the memory of finished batches back. Returns whether there was any.
    fn drops_scratches(&self) -> bool {
        // The lock is not held while memory is given back, which waits for the device.
        let scratches = std::mem::take(&mut *self.scratches());
        !scratches.is_empty()
    }

    /// See [`Encode::encode`].
    fn encode_whole(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        let Request { texts, unpooled, output, threads } = request;
        let kept = self.scratches().pop();
        let mut scratch = kept.unwrap_or_else(|| self.backend.scratch());
        self.backend.use_threads(&mut scratch, threads);
        let batch = match self.shares_beginnings(unpooled, output) {
            true => TokenBatch::sharing(texts),
            false => self.transformer.batch(texts),
        };
        if let (Some(head), Output::Vector | Output::Uncut) = (self.head.vocabulary(), output) {
            let (states, batch) = self.transformer.forward(&self.backend, &mut scratch, batch)?;
            let skipped = self.transformer.prefix_tokens() + unpooled;
            head.weigh(&self.backend, &mut scratch, (states, &batch), skipped, rows)?;
            self.scratches().push(scratch);
            return Ok(());
        }
        let (of_texts, sequences) = (batch.texts.clone(), batch.sequences.count());
        let found = if output == Output::States {
            self.transformer.forward(&self.backend, &mut scratch, batch)?.0
        } else {
            let pooled = self.pooled(&mut scratch, batch, unpooled)?;
            self.end(&mut scratch, pooled, output)?
        };
        let prefix = self.transformer.prefix_tokens();
        if let Some(of_texts) = of_texts {
            let mut all = Vec::new();
            self.backend.to_host(&mut scratch, found, &mut all)?;
            let width = all.len() / sequences;
            of_texts.iter().for_each(|row| rows.extend_from_slice(&all[row * width..][..width]));
        } else if output == Output::States && prefix > 0 {
            let mut states = Vec::new();
            self.backend.to_host(&mut scratch, found, &mut states)?;
            without_prefix(texts, prefix, &states, rows);
        } else {
            self.backend.to_host(&mut scratch, found, rows)?;
        }
        self.scratches().push(scratch);
        Ok(())
    }

    /// The head's steps, as far as they are wanted.
    fn end(
        &self,
        scratch: &mut B::Scratch,
        pooled: B::States,
        output: Output,
    ) -> Result<B::States, EncoderError> {
        let Output::Shaped { dim, unit } = output else {
            return match output {
                Output::Uncut => self.head.forward_uncut(&self.backend, scratch, pooled),
                _ => self.head.forward(&self.backend, scratch, pooled, 0),
            };
        };
        if self.head.vocabulary().is_some() {
            return Err(EncoderError::Sparse { what: BEFORE_THE_END });
        }
        // Cut before the scaling, as a model with fewer dimensions does.
        let scaling = usize::from(self.head.normalizes());
        let mut found = self.head.forward(&self.backend, scratch, pooled, scaling)?;
        if dim < self.head.dim() {
            found = self.backend.truncate(scratch, found, dim)?;
        }
        if unit { Ok(self.backend.unit(scratch, found)?) } else { Ok(found) }
    }
}

/// Appends the states of the texts' own tokens.
fn without_prefix(texts: &[Tokens], prefix: usize, states: &[f32], rows: &mut Vec<f32>) {
    let tokens: usize = texts.iter().map(|text| length(text, prefix)).sum();
    let width = states.len() / tokens.max(1);
    let mut rest = states;
    for text in texts {
        let (own, after) = rest.split_at(length(text, prefix) * width);
        rows.extend_from_slice(&own[own.len() - text.len() * width..]);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use toller_nn::Work;
    use toller_tokenizer::Tokens;

    use super::{Encode, Output, Request, encode_in_parallel};
    use crate::EncoderError;

    /// A device that counts the batches that it computes at the same time.
    #[derive(Default)]
    struct Device {
        sessions: usize,
        /// Batches wait for this many, but not for ever.
        awaited: usize,
        busy: AtomicUsize,
        most: AtomicUsize,
    }

    impl Encode for Device {
        fn work(&self) -> Work {
            Work { batch_tokens: 4, least_tokens: 1, sessions: self.sessions, uses_threads: false }
        }

        fn dim(&self) -> usize {
            1
        }

        fn normalizes(&self) -> bool {
            false
        }

        fn truncates(&self) -> bool {
            false
        }

        fn prefix_tokens(&self) -> usize {
            0
        }

        fn shares_beginnings(&self, _: usize, _: Output) -> bool {
            false
        }

        fn split_batches(&self) -> usize {
            0
        }

        fn encode(&self, request: Request<'_>, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
            let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(busy, Ordering::SeqCst);
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(5));
            let are_there = || self.most.load(Ordering::SeqCst) >= self.awaited;
            while !are_there() && began.elapsed() < Duration::from_mins(1) {
                std::thread::sleep(Duration::from_millis(5));
            }
            self.busy.fetch_sub(1, Ordering::SeqCst);
            rows.extend(request.texts.iter().map(|text| text.input_ids[0] as f32));
            Ok(())
        }
    }

    #[test]
    fn a_device_computes_as_many_batches_at_once_as_it_has_sessions() {
        let text = |id| Tokens { input_ids: vec![id; 4], type_ids: vec![0; 4] };
        let texts: Vec<Tokens> = (0..33).map(text).collect();
        let expected: Vec<f32> = (0..33).map(|id| id as f32).collect();
        let device = Device { sessions: 2, ..Device::default() };
        let request = Request { texts: &texts, unpooled: 0, output: Output::Vector, threads: 8 };
        let encode = || encode_in_parallel(&device, request, 4, &|_| ControlFlow::Continue(()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        assert_eq!(pool.install(encode).unwrap(), expected, "in order");
        let most = device.most.into_inner();
        assert!(most <= 2, "{most} batches at once");
    }

    /// Sessions of one device, or of several.
    #[test]
    fn fewer_batches_than_sessions_are_computed_at_once() {
        let text = |id| Tokens { input_ids: vec![id; 4], type_ids: vec![0; 4] };
        let texts: Vec<Tokens> = (0..3).map(text).collect();
        let device = Device { sessions: 4, awaited: 2, ..Device::default() };
        let request = Request { texts: &texts, unpooled: 0, output: Output::Vector, threads: 8 };
        let encode = || encode_in_parallel(&device, request, 4, &|_| ControlFlow::Continue(()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        assert_eq!(pool.install(encode).unwrap(), [0.0, 1.0, 2.0]);
        assert!(device.most.into_inner() > 1, "one batch after the other");
    }
}
