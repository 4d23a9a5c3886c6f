//! Measuring an encode: rates, and where the time goes.

use std::time::{Duration, Instant};

use toller_encoder::{DualEncoder, EncoderError, Role, TextEncoder};
use toller_nn::profile::{Cost, Operation, Recording};
use toller_store::{DEFAULT_ROWS_PER_SHARD, DType, Encoding, ModelInfo, Source, StoreSpec};

use crate::{BenchError, Budget, Timings, measure};

/// What one pass over the texts did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Tokens encoded, special tokens included.
    pub tokens: u64,
    /// How long it took.
    pub duration: Duration,
}

/// A measured encode.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodePoint {
    /// Texts of a pass.
    pub texts: usize,
    /// Tokens of a pass, special tokens included.
    pub tokens: u64,
    /// Seconds of a pass.
    pub timings: Timings,
    /// Threads that computed.
    pub threads: usize,
    /// What each of [`Operation::ALL`] cost a pass.
    pub costs: [Cost; Operation::ALL.len()],
    /// Seconds that one thread takes to tokenize the texts, doing nothing else.
    pub tokenize_secs: f64,
    /// Seconds of all threads in a pass that neither an operation nor tokenization accounts for.
    pub other_secs: f64,
}

/// Measures passes over `texts`: `pass` encodes them all, with `threads` threads.
///
/// # Errors
/// [`BenchError::Recording`], and what tokenizing or the pass fails with.
pub fn measure_encode<E: From<BenchError>>(
    tower: &TextEncoder,
    texts: &[String],
    threads: usize,
    budget: &Budget,
    mut pass: impl FnMut() -> Result<Pass, E>,
) -> Result<EncodePoint, E> {
    let tokenize_secs = tokenize_secs(tower, texts).map_err(BenchError::from)?;
    let recording = Recording::start().ok_or(BenchError::Recording)?;
    let (mut passes, mut seconds, mut tokens) = (0.0, 0.0, 0);
    let timings = measure(budget, |_| {
        let done = pass()?;
        passes += 1.0;
        seconds += done.duration.as_secs_f64();
        tokens = done.tokens;
        Ok::<_, E>(done.duration)
    })?;
    let costs = Operation::ALL.map(|operation| {
        let Cost { seconds, matrix_operations } = recording.cost(operation);
        Cost { seconds: seconds / passes, matrix_operations: matrix_operations / passes as u64 }
    });
    let accounted = costs.iter().map(|cost| cost.seconds).sum::<f64>() + tokenize_secs;
    let other_secs = (threads as f64 * seconds / passes - accounted).max(0.0);
    Ok(EncodePoint { texts: texts.len(), tokens, timings, threads, costs, tokenize_secs, other_secs })
}

/// Measures the texts one by one, each on all threads, tokenization included: the latency of one query.
///
/// # Errors
/// When a text cannot be encoded, or there is none.
pub fn measure_latency(
    tower: &TextEncoder,
    texts: &[String],
    budget: &Budget,
) -> Result<Timings, BenchError> {
    if texts.is_empty() {
        return Err(BenchError::TooFewQueries { batch: 1, queries: 0 });
    }
    measure(budget, |round| {
        let started = Instant::now();
        let tokens = tower.tokenize(&texts[round % texts.len()])?;
        std::hint::black_box(tower.encode_in_parallel(&[tokens])?);
        Ok(started.elapsed())
    })
}

/// Seconds of tokenizing all texts on the calling thread, after a few to warm up.
fn tokenize_secs(tower: &TextEncoder, texts: &[String]) -> Result<f64, EncoderError> {
    for text in texts.iter().take(32) {
        tower.tokenize(text)?;
    }
    let started = Instant::now();
    for text in texts {
        std::hint::black_box(tower.tokenize(text)?);
    }
    Ok(started.elapsed().as_secs_f64())
}

/// The spec of a store that the vectors of so many passages are written to, and that nobody keeps.
#[must_use]
pub fn scratch_spec(encoder: &DualEncoder, passages: u64) -> StoreSpec {
    let tower = encoder.tower(Role::Passage);
    StoreSpec {
        model: ModelInfo { name: String::new(), fingerprint: encoder.fingerprint().to_owned() },
        encoding: Encoding {
            role: Role::Passage,
            prompt: tower.prompt().to_owned(),
            max_length: tower.max_length(),
            title_mode: "join".to_owned(),
            title_separator: " ".to_owned(),
            compute_dtype: "f32".to_owned(),
            normalized: tower.normalizes(),
            pooling: tower.pooling(),
        },
        dim: tower.dim(),
        dtype: DType::F32,
        rows_per_shard: DEFAULT_ROWS_PER_SHARD,
        source: Source { fingerprint: String::new(), passages },
        part: None,
    }
}

/// What a thread does with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What it does.
    pub name: &'static str,
    /// The share of the time of all threads, in 0..=1.
    pub of_time: f64,
    /// Multiplications and additions a second that all threads would reach if they did nothing else; `None`
    /// for what multiplies no matrices.
    pub operations_per_sec: Option<f64>,
}

impl EncodePoint {
    /// Tokens of a text on average.
    #[must_use]
    pub fn tokens_per_text(&self) -> f64 {
        self.tokens as f64 / (self.texts.max(1)) as f64
    }

    /// Texts a second, by the median pass; as all rates here.
    #[must_use]
    pub fn texts_per_sec(&self) -> f64 {
        self.texts as f64 / self.timings.median()
    }

    /// Tokens a second.
    #[must_use]
    pub fn tokens_per_sec(&self) -> f64 {
        self.tokens as f64 / self.timings.median()
    }

    /// Tokens a second that one thread tokenizes, doing nothing else.
    #[must_use]
    pub fn tokenized_per_sec(&self) -> f64 {
        self.tokens as f64 / self.tokenize_secs
    }

    /// Multiplications and additions in matrix products, of a pass.
    #[must_use]
    pub fn matrix_operations(&self) -> f64 {
        self.costs.iter().map(|cost| cost.matrix_operations as f64).sum()
    }

    /// Multiplications and additions in matrix products, a second.
    #[must_use]
    pub fn operations_per_sec(&self) -> f64 {
        self.matrix_operations() / self.timings.median()
    }

    /// What the threads do: the operations, tokenization, and the rest (embeddings, memory, queues, waiting).
    /// The shares of time add up to one.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let operations = Operation::ALL.into_iter().zip(&self.costs).map(|(operation, cost)| {
            let rate = cost.matrix_operations as f64 / cost.seconds * self.threads as f64;
            let operations_per_sec = (cost.matrix_operations > 0).then_some(rate);
            Share { name: operation.name(), of_time: cost.seconds, operations_per_sec }
        });
        let beside = [("tokenization", self.tokenize_secs), ("other", self.other_secs)];
        let beside = beside.map(|(name, of_time)| Share { name, of_time, operations_per_sec: None });
        let mut shares: Vec<Share> = operations.chain(beside).collect();
        let total: f64 = shares.iter().map(|share| share.of_time).sum();
        shares.iter_mut().for_each(|share| share.of_time /= total);
        shares
    }
}

#[cfg(test)]
mod tests {
    use toller_nn::profile::Cost;

    use super::EncodePoint;
    use crate::Timings;

    #[test]
    fn shares_add_up_and_rates_follow_from_the_sizes() {
        let cost = |seconds, matrix_operations| Cost { seconds, matrix_operations };
        let point = EncodePoint {
            texts: 10,
            tokens: 200,
            timings: Timings::new(vec![4.0, 2.0, 2.0]).expect("rounds"),
            threads: 2,
            costs: [cost(2.0, 800), cost(1.0, 200), cost(0.25, 0), cost(0.0, 0)],
            tokenize_secs: 0.5,
            other_secs: 0.25,
        };
        assert_eq!(
            (point.tokens_per_text(), point.texts_per_sec(), point.tokens_per_sec()),
            (20.0, 5.0, 100.0)
        );
        assert_eq!((point.tokenized_per_sec(), point.operations_per_sec()), (400.0, 500.0));
        let shares = point.shares();
        let of_time: Vec<f64> = shares.iter().map(|share| share.of_time).collect();
        assert_eq!(of_time, [0.5, 0.25, 0.0625, 0.0, 0.125, 0.0625]);
        let rates: Vec<Option<f64>> = shares.iter().map(|share| share.operations_per_sec).collect();
        assert_eq!(rates, [Some(800.0), Some(400.0), None, None, None, None]);
    }
}
