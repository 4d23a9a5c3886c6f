//! Measuring an encode: rates, and where the time goes.

use std::time::Instant;

use toller_encoder::{Compute, DualEncoder, EncoderError, Role, TextEncoder};
use toller_gpu::{KernelTime, KernelTimes};
use toller_nn::operation_of;
use toller_nn::profile::Operation;
use toller_store::{Content, DEFAULT_ROWS_PER_SHARD, DType, Encoding, ModelInfo, Source, StoreSpec};

use crate::{BenchError, Budget, Pass, Passes, Timings, measure};

/// A measured encode.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodePoint {
    /// The passes. On GPUs the costs are of kernels.
    pub passes: Passes,
    /// Threads that computed, or GPUs.
    pub workers: usize,
    /// Seconds that one thread takes to tokenize the texts, if it does nothing else.
    pub tokenize_secs: f64,
    /// Seconds that a device takes for the tokenized texts, in its quickest round; `None` on the CPU.
    pub from_ids_secs: Option<f64>,
    /// The kernels of one more pass on GPUs, in which each was waited for.
    pub kernels: Vec<KernelTime>,
    /// Seconds of all workers in a pass that neither an operation nor, on the CPU, tokenization accounts for.
    pub other_secs: f64,
}

/// Measures passes over `texts`: `pass` encodes them all, on `threads` threads or where `compute` says.
///
/// # Errors
/// [`BenchError::Recording`], and the errors of tokenizing and of the pass.
pub fn measure_encode<E: From<BenchError>>(
    tower: &TextEncoder,
    texts: &[String],
    (compute, threads): (&Compute, usize),
    budget: &Budget,
    mut pass: impl FnMut() -> Result<Pass, E>,
) -> Result<EncodePoint, E> {
    let tokenize_secs = tokenize_secs(tower, texts).map_err(BenchError::from)?;
    let from_ids_secs = from_ids_secs(tower, texts).map_err(BenchError::from)?;
    let mut passes = Passes::measure(budget, &mut pass)?;
    let (mut workers, mut kernels) = (threads, Vec::new());
    if let Compute::Gpus(devices) = compute {
        let times = KernelTimes::default();
        devices.watched(&times.watcher(), &mut pass)?;
        (workers, kernels) = (devices.iter().len(), times.all());
        for time in &kernels {
            if let Some(operation) = operation_of(time.kernel) {
                passes.costs[operation as usize].seconds += time.seconds;
            }
        }
    }
    let of_tokens = if from_ids_secs.is_some() { 0.0 } else { tokenize_secs };
    let accounted = passes.costs.iter().map(|cost| cost.seconds).sum::<f64>() + of_tokens;
    let other_secs = (workers as f64 * passes.mean_secs - accounted).max(0.0);
    Ok(EncodePoint { passes, workers, tokenize_secs, from_ids_secs, kernels, other_secs })
}

/// Measures batches of `batch` texts one after the other, each on all threads, tokenization included. A batch
/// of one is the latency of a query.
///
/// # Errors
/// When a text cannot be encoded, or there are fewer.
pub fn measure_latency(
    tower: &TextEncoder,
    texts: &[String],
    batch: usize,
    budget: &Budget,
) -> Result<Timings, BenchError> {
    if batch == 0 || batch > texts.len() {
        return Err(BenchError::TooFewQueries { batch, queries: texts.len() });
    }
    measure(budget, |round| {
        let texts = texts.iter().cycle().skip(round * batch % texts.len()).take(batch);
        let started = Instant::now();
        let tokens = texts.map(|text| tower.tokenize(text)).collect::<Result<Vec<_>, _>>()?;
        std::hint::black_box(tower.encode_in_parallel(&tokens)?);
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

/// Rounds of encoding tokenized texts; the first warms up.
const IDS_ROUNDS: usize = 4;

/// See [`EncodePoint::from_ids_secs`].
fn from_ids_secs(tower: &TextEncoder, texts: &[String]) -> Result<Option<f64>, EncoderError> {
    if tower.work().uses_threads {
        return Ok(None);
    }
    let tokens: Vec<_> = texts.iter().map(|text| tower.tokenize(text)).collect::<Result<_, _>>()?;
    let at_once = tower.texts_at_once().saturating_mul(rayon::current_num_threads());
    let mut least = f64::INFINITY;
    for round in 0..IDS_ROUNDS {
        let started = Instant::now();
        for tokens in tokens.chunks(at_once) {
            std::hint::black_box(tower.encode_in_parallel(tokens)?);
        }
        if round > 0 {
            least = least.min(started.elapsed().as_secs_f64());
        }
    }
    Ok(Some(least))
}

/// The spec of a store for the vectors of this many passages. The store is thrown away.
#[must_use]
pub fn scratch_spec(encoder: &DualEncoder, passages: u64) -> StoreSpec {
    let tower = encoder.tower(Role::Passage);
    StoreSpec {
        model: ModelInfo {
            passage_encoder: encoder.passage_fingerprint().map(str::to_owned),
            ..ModelInfo::new("", encoder.fingerprint())
        },
        encoding: Encoding {
            role: Role::Passage,
            prompt: tower.prompt().to_owned(),
            max_length: tower.max_length(),
            title_mode: "join".to_owned(),
            context_field: None,
            title_separator: " ".to_owned(),
            compute_dtype: "f32".to_owned(),
            normalized: tower.normalizes(),
            pooling: tower.pooling(),
        },
        dim: tower.dim(),
        content: if tower.terms().is_some() { Content::Impacts } else { DType::F32.into() },
        rows_per_shard: DEFAULT_ROWS_PER_SHARD,
        source: Source { fingerprint: String::new(), passages },
        part: None,
    }
}

/// What a thread, or a GPU, does with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What it does.
    pub name: &'static str,
    /// The share of the time of all threads or GPUs, in 0..=1.
    pub of_time: f64,
    /// Multiplications and additions a second that all would reach if they did nothing else; `None` for what
    /// multiplies no matrices.
    pub operations_per_sec: Option<f64>,
}

impl EncodePoint {
    /// Tokens a second that a device encodes of tokenized texts; `None` on the CPU.
    #[must_use]
    pub fn from_ids_per_sec(&self) -> Option<f64> {
        self.from_ids_secs.map(|seconds| self.passes.tokens as f64 / seconds)
    }

    /// Whether a device computes, not the host's threads.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        self.from_ids_secs.is_some()
    }

    /// Tokens a second that one thread tokenizes, doing nothing else.
    #[must_use]
    pub fn tokenized_per_sec(&self) -> f64 {
        self.passes.tokens as f64 / self.tokenize_secs
    }

    /// What the threads do: the operations, tokenization, and the rest (embeddings, memory, queues, waiting).
    /// Devices do not tokenize. The shares of time add up to one.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let operations = Operation::ALL.into_iter().zip(&self.passes.costs).map(|(operation, cost)| {
            let rate = cost.matrix_operations as f64 / cost.seconds * self.workers as f64;
            let operations_per_sec = (cost.matrix_operations > 0).then_some(rate);
            Share { name: operation.name(), of_time: cost.seconds, operations_per_sec }
        });
        let tokenization = (!self.is_on_device()).then_some(("tokenization", self.tokenize_secs));
        let others = tokenization.into_iter().chain([("other", self.other_secs)]);
        let others = others.map(|(name, of_time)| Share { name, of_time, operations_per_sec: None });
        let mut shares: Vec<Share> = operations.chain(others).collect();
        let total: f64 = shares.iter().map(|share| share.of_time).sum();
        shares.iter_mut().for_each(|share| share.of_time /= total);
        shares
    }
}

#[cfg(test)]
mod tests {
    use toller_nn::profile::Cost;

    use super::EncodePoint;
    use crate::{Passes, Timings};

    #[test]
    fn shares_add_up_and_rates_follow_from_the_sizes() {
        let cost = |seconds, matrix_operations| Cost { seconds, matrix_operations };
        let point = EncodePoint {
            passes: Passes {
                items: 10,
                tokens: 200,
                timings: Timings::new(vec![4.0, 2.0, 2.0]).expect("rounds"),
                costs: [cost(2.0, 800), cost(1.0, 200), cost(0.25, 0), cost(0.0, 0)],
                mean_secs: 2.0,
            },
            workers: 2,
            tokenize_secs: 0.5,
            from_ids_secs: None,
            kernels: Vec::new(),
            other_secs: 0.25,
        };
        let passes = &point.passes;
        let rates = (passes.tokens_per_item(), passes.items_per_sec(), passes.tokens_per_sec());
        assert_eq!(rates, (20.0, 5.0, 100.0));
        assert_eq!((point.tokenized_per_sec(), passes.operations_per_sec()), (400.0, 500.0));
        let shares = point.shares();
        let of_time: Vec<f64> = shares.iter().map(|share| share.of_time).collect();
        assert_eq!(of_time, [0.5, 0.25, 0.0625, 0.0, 0.125, 0.0625]);
        let rates: Vec<Option<f64>> = shares.iter().map(|share| share.operations_per_sec).collect();
        assert_eq!(rates, [Some(800.0), Some(400.0), None, None, None, None]);
        assert_eq!(point.from_ids_per_sec(), None);
        let on_device = EncodePoint { from_ids_secs: Some(8.0), ..point };
        assert_eq!(on_device.from_ids_per_sec(), Some(25.0));
        let names: Vec<_> = on_device.shares().iter().map(|share| share.name).collect();
        assert_eq!(names, ["linear", "attention", "layer norm", "pooling", "other"]);
    }
}
