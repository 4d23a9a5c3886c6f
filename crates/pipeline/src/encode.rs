//! Encoding: texts in, a store out.
//!
//! Five stages: a thread reads, threads tokenize, a thread cuts batches by tokens, threads encode a batch
//! each, and the caller's thread writes what comes, in order. Queues are bounded, and a fixed number of
//! batches may be ahead of the writer, so memory is bounded by those and one shard. A vector depends only on
//! its text, so the number of threads and the batches leave no trace in the store.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use toller_encoder::{DualEncoder, EncoderError, Role, TextEncoder, TextInput};
use toller_store::{Manifest, StoreError, StoreWriter};
use toller_tokenizer::Tokens;

use crate::PipelineError;

/// Texts that are read and tokenized at a time.
const TEXTS_PER_CHUNK: usize = 32;

/// Chunks of texts that are read before they are cut into batches, at most, for each thread.
const CHUNKS_PER_THREAD: usize = 4;

/// Batches under way, at most, for each session of the backend: one in work, and enough behind it that no
/// stage waits for another.
const BATCHES_PER_SESSION: usize = 6;

/// What to encode with.
pub struct EncodeJob<'a> {
    /// The model.
    pub encoder: &'a DualEncoder,
    /// Which of its towers.
    pub role: Role,
    /// Threads that encode, each a batch at a time, if the backend has enough sessions. On the CPU, one more
    /// thread tokenizes for every eight; for a device, this many tokenize.
    pub threads: usize,
    /// Set from outside to stop at the end of the current shard.
    pub stop: &'a AtomicBool,
    /// Whether a stop drops the rows of the current shard, and does not wait for its end.
    pub drops_current_shard: bool,
}

/// How far a job is.
#[derive(Clone, Copy, Debug)]
pub struct EncodeProgress {
    /// Rows in the store or on their way, those of earlier runs included.
    pub rows: u64,
    /// Tokens encoded by this run.
    pub tokens: u64,
    /// Rows that a stop at the end of the shard still has to wait for, once a stop was asked for.
    pub stopping_in: Option<u64>,
}

/// What a job did.
#[derive(Clone, Debug)]
pub struct EncodeReport {
    /// The store's manifest as the job left it.
    pub manifest: Manifest,
    /// Rows that the store has now.
    pub rows_done: u64,
    /// Rows that this run encoded.
    pub rows: u64,
    /// How many of them are all zeros, which no search can tell apart; of a sparse encoder, have no term.
    pub zero_rows: u64,
    /// How many of them have as many tokens as the model takes: what is longer was cut.
    pub full_rows: u64,
    /// Tokens that this run encoded, special tokens included.
    pub tokens: u64,
    /// How long that took.
    pub duration: Duration,
    /// Whether the job was stopped before the end; the same job resumes it.
    pub interrupted: bool,
    /// Whether the store was complete before, and there was nothing to do.
    pub was_complete: bool,
}

impl EncodeReport {
    /// The report on a store that is complete already.
    #[must_use]
    pub fn nothing_to_do(manifest: Manifest) -> Self {
        Self {
            rows_done: manifest.count,
            manifest,
            rows: 0,
            zero_rows: 0,
            full_rows: 0,
            tokens: 0,
            duration: Duration::ZERO,
            interrupted: false,
            was_complete: true,
        }
    }
}

/// A text with its identifier.
type Text = (String, TextInput);

/// A unit of work, a chunk of texts or a batch: its place in the order, and its result so far.
struct Chunk<T> {
    sequence: u64,
    result: Result<T, PipelineError>,
}

/// Tokenized texts, with their identifiers.
#[derive(Default)]
struct Tokenized {
    ids: Vec<String>,
    tokens: Vec<Tokens>,
}

struct Encoded {
    ids: Vec<String>,
    rows: Rows,
    tokens: u64,
    /// Texts of the most tokens.
    full: u64,
}

/// What a model makes of texts.
enum Rows {
    /// `[texts, dim]`.
    Vectors(Vec<f32>),
    /// Of a sparse encoder, the impacts of each text.
    Impacts(Vec<String>),
}

impl Rows {
    /// Adds the row at a place, of the text `id`, to the store. Returns whether the row has nothing but
    /// zeros.
    fn write(&self, at: usize, id: &str, dim: usize, writer: &mut StoreWriter) -> Result<bool, StoreError> {
        match self {
            Self::Vectors(vectors) => {
                let vector = &vectors[at * dim..(at + 1) * dim];
                writer.push(id, vector)?;
                Ok(vector.iter().all(|number| *number == 0.0))
            }
            Self::Impacts(impacts) => {
                writer.push_impacts(id, &impacts[at])?;
                Ok(impacts[at].is_empty())
            }
        }
    }
}

/// How many of `threads` threads tokenize. A thread feeds several threads that compute on the CPU: it takes a
/// few percent of their time. A device leaves the threads to the tokenizer.
pub(crate) fn tokenizers(uses_threads: bool, threads: usize) -> usize {
    if uses_threads { threads.div_ceil(8) } else { threads }
}

/// Encodes `texts`, which belong to [`StoreWriter::missing_rows`], and finishes the store. A backend on the
/// CPU has as many sessions as rayon's current pool has threads.
///
/// # Errors
/// The first error in the order of the texts; the shards finished before it are kept, but not after
/// [`PipelineError::CollectionChanged`]: some of them may be of other texts.
pub fn encode(
    job: &EncodeJob<'_>,
    texts: impl Iterator<Item = Result<Text, PipelineError>> + Send,
    mut writer: StoreWriter,
    mut on_progress: impl FnMut(EncodeProgress),
) -> Result<EncodeReport, PipelineError> {
    let started = Instant::now();
    let tower = job.encoder.tower(job.role);
    let (threads, work) = (job.threads.max(1), tower.work());
    // Sessions on a device need no thread of their own while they compute.
    let sessions = if work.uses_threads { work.sessions.clamp(1, threads) } else { work.sessions };
    let first_row = writer.rows_done();
    let expected = writer.manifest().spec.expected_rows();
    let (mut tokens, mut zero_rows, mut full_rows) = (0, 0, 0);
    let mut interrupted = false;

    let written = std::thread::scope(|scope| {
        // A chunk of texts that is under way holds a permit, which the stage that cuts gives back; a batch
        // holds one that the writer gives back. So queues never fill, and what overtakes a slow unit is
        // bounded.
        let (chunks, ahead) = (CHUNKS_PER_THREAD * threads, BATCHES_PER_SESSION * sessions);
        let (next_chunk, chunk_permits) = permits(chunks);
        let (give_back, batch_permits) = permits(ahead);
        let (texts_in, texts_out) = bounded(chunks);
        let (tokens_in, tokens_out) = bounded(chunks);
        let (batches_in, batches_out) = bounded(ahead);
        let (vectors_in, vectors_out) = bounded(ahead);
        scope.spawn(move || read(texts, &chunk_permits, &texts_in));
        for _ in 0..tokenizers(work.uses_threads, threads) {
            let (texts_out, tokens_in) = (texts_out.clone(), tokens_in.clone());
            scope.spawn(move || stage(&texts_out, &tokens_in, |texts| tokenize(tower, texts)));
        }
        let budget = work.batch_tokens;
        scope.spawn(move || cut(tower, budget, &tokens_out, &next_chunk, &batch_permits, &batches_in));
        for _ in 0..sessions {
            let (batches_out, vectors_in) = (batches_out.clone(), vectors_in.clone());
            scope.spawn(move || stage(&batches_out, &vectors_in, |batch| encode_batch(tower, batch)));
        }
        // The stages hold the only ends now: dropping the receiver below stops them all, last to first.
        drop((texts_out, tokens_in, batches_out, vectors_in));

        let mut rows = first_row;
        for chunk in in_order(&vectors_out) {
            let Encoded { ids, rows: encoded_rows, tokens: encoded, full } = chunk?;
            // The stage that cuts batches may have finished, and then needs no permit.
            let _ = give_back.send(());
            tokens += encoded;
            full_rows += full;
            for (at, id) in ids.iter().enumerate() {
                if job.stop.load(Ordering::Relaxed)
                    && (job.drops_current_shard || writer.rows_buffered() == 0)
                {
                    interrupted = true;
                    return Ok(());
                }
                zero_rows += u64::from(encoded_rows.write(at, id, tower.dim(), &mut writer)?);
                rows += 1;
            }
            let rest_of_shard =
                (writer.rows_of_shard() as u64 - writer.rows_buffered() as u64).min(expected - rows);
            let stopping_in = job.stop.load(Ordering::Relaxed).then_some(rest_of_shard);
            on_progress(EncodeProgress { rows, tokens, stopping_in });
        }
        Ok::<(), PipelineError>(())
    });
    if let Err(error) = written {
        if matches!(error, PipelineError::CollectionChanged) {
            writer.withdraw()?;
        }
        return Err(error);
    }

    let buffered = if interrupted { 0 } else { writer.rows_buffered() as u64 };
    let rows = writer.rows_done() + buffered;
    interrupted &= rows < expected;
    let manifest = if interrupted {
        writer.manifest().clone()
    } else if rows < expected {
        writer.withdraw()?;
        return Err(PipelineError::CollectionChanged);
    } else {
        writer.finish()?
    };
    let duration = started.elapsed();
    let (rows_done, rows) = (rows, rows - first_row);
    let was_complete = false;
    Ok(EncodeReport {
        manifest,
        rows_done,
        rows,
        zero_rows,
        full_rows,
        tokens,
        duration,
        interrupted,
        was_complete,
    })
}

/// This many permits, and where they are given back.
fn permits(count: usize) -> (Sender<()>, Receiver<()>) {
    let (give_back, permits) = bounded(count);
    for _ in 0..count {
        // There is room for all of them.
        let _ = give_back.send(());
    }
    (give_back, permits)
}

/// The first stage: texts in chunks, until they end, fail, or are no longer wanted.
fn read(
    mut texts: impl Iterator<Item = Result<Text, PipelineError>>,
    permits: &Receiver<()>,
    out: &Sender<Chunk<Vec<Text>>>,
) {
    for sequence in 0.. {
        if permits.recv().is_err() {
            return;
        }
        let result: Result<Vec<Text>, PipelineError> = texts.by_ref().take(TEXTS_PER_CHUNK).collect();
        let last = !matches!(&result, Ok(texts) if texts.len() == TEXTS_PER_CHUNK);
        if out.send(Chunk { sequence, result }).is_err() || last {
            return;
        }
    }
}

/// The third stage: cuts tokenized texts, in order, into batches of at most `budget` tokens. A longer text is
/// a batch of its own.
fn cut(
    tower: &TextEncoder,
    budget: usize,
    from: &Receiver<Chunk<Tokenized>>,
    next_chunk: &Sender<()>,
    permits: &Receiver<()>,
    to: &Sender<Chunk<Tokenized>>,
) {
    let mut sequence = 0;
    let mut send = |result| {
        let sent = permits.recv().is_ok() && to.send(Chunk { sequence, result }).is_ok();
        sequence += 1;
        sent
    };
    let (mut batch, mut size) = (Tokenized::default(), tower.batch_size());
    for chunk in in_order(from) {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => {
                // What comes before the error is written first.
                let _ = send(Ok(batch)) && send(Err(error));
                return;
            }
        };
        // The reader may have finished, and then needs no permit.
        let _ = next_chunk.send(());
        for (id, tokens) in chunk.ids.into_iter().zip(chunk.tokens) {
            size.add(&tokens);
            let is_full = size.tokens() > budget || batch.ids.len() >= tower.texts_at_once();
            if is_full && !batch.ids.is_empty() {
                size = tower.batch_size();
                size.add(&tokens);
                if !send(Ok(std::mem::take(&mut batch))) {
                    return;
                }
            }
            batch.ids.push(id);
            batch.tokens.push(tokens);
        }
    }
    send(Ok(batch));
}

/// A stage: takes units, works on them, hands them on; errors pass through, and a panic becomes one, so
/// that the writer is not left waiting for a chunk that never comes.
fn stage<A, B>(
    from: &Receiver<Chunk<A>>,
    to: &Sender<Chunk<B>>,
    mut step: impl FnMut(A) -> Result<B, PipelineError>,
) {
    for Chunk { sequence, result } in from {
        let result = catch_unwind(AssertUnwindSafe(|| result.and_then(&mut step)));
        let result = result.unwrap_or_else(|_| Err(PipelineError::WorkerPanicked));
        if to.send(Chunk { sequence, result }).is_err() {
            return;
        }
    }
}

fn tokenize(tower: &TextEncoder, texts: Vec<Text>) -> Result<Tokenized, PipelineError> {
    let mut tokenized =
        Tokenized { ids: Vec::with_capacity(texts.len()), tokens: Vec::with_capacity(texts.len()) };
    for (id, text) in texts {
        match tower.tokenize_input(&text) {
            Ok(tokens) => tokenized.tokens.push(tokens),
            Err(source) => return Err(PipelineError::Text { id, source }),
        }
        tokenized.ids.push(id);
    }
    Ok(tokenized)
}

fn encode_batch(tower: &TextEncoder, batch: Tokenized) -> Result<Encoded, PipelineError> {
    let Tokenized { ids, tokens } = batch;
    let rows = rows(tower, &tokens).map_err(|source| culprit(tower, &ids, &tokens, source))?;
    let full = tokens.iter().filter(|tokens| tokens.len() >= tower.max_length()).count() as u64;
    Ok(Encoded { ids, rows, tokens: tokens.iter().map(|tokens| tokens.len() as u64).sum(), full })
}

fn rows(tower: &TextEncoder, tokens: &[Tokens]) -> Result<Rows, EncoderError> {
    match tower.terms() {
        None => tower.encode(tokens).map(Rows::Vectors),
        Some(_) => tower.impacts(tokens).map(Rows::Impacts),
    }
}

/// Finds the text that an error is about, by encoding each alone. A device that fails does so with any text.
fn culprit(tower: &TextEncoder, ids: &[String], tokens: &[Tokens], error: EncoderError) -> PipelineError {
    if error.is_of_device() {
        return error.into();
    }
    for (id, tokens) in ids.iter().zip(tokens) {
        if let Err(source) = rows(tower, std::slice::from_ref(tokens)) {
            return PipelineError::Text { id: id.clone(), source };
        }
    }
    error.into()
}

/// Puts units back into their order. No more are held back than are under way.
fn in_order<T>(from: &Receiver<Chunk<T>>) -> impl Iterator<Item = Result<T, PipelineError>> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    std::iter::from_fn(move || {
        while !early.contains_key(&next) {
            let Chunk { sequence, result } = from.recv().ok()?;
            early.insert(sequence, result);
        }
        next += 1;
        early.remove(&(next - 1))
    })
}
