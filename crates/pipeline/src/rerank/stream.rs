//! All pairs of all queries as one stream through one model: a thread feeds batches, with others that read
//! texts for it, threads score, and the caller's thread keeps what they found. Between the stages are bounded
//! queues, so memory is bounded by a window of texts and a few batches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::bounded;
use toller_texts::Texts;

use super::Stop;
use super::cache::ScoreCache;
use super::error::RerankError;
use super::feed::{Batch, Ended, Feeder};
use super::scorer::Scorer;

/// Batches that wait for each scoring thread: a model as small as MiniLM scores one in tens of milliseconds,
/// in which the feeder makes dozens.
const BATCHES_AHEAD: usize = 4;

/// A query and those of its hits that are to be scored.
pub(super) struct QueryPairs<'a> {
    pub(super) id: &'a str,
    pub(super) text: &'a str,
    /// Each with the place of its score.
    pub(super) documents: Vec<(&'a str, usize)>,
}

/// What is scored, with what.
pub(super) struct Stream<'a> {
    pub(super) scorer: Scorer<'a>,
    pub(super) queries: &'a [QueryPairs<'a>],
    pub(super) texts: &'a Texts,
    pub(super) title_separator: Option<&'a str>,
    pub(super) cache: Option<&'a ScoreCache>,
    pub(super) threads: usize,
    pub(super) stop: Stop<'a>,
}

/// Scores of pairs that were found together.
pub(super) struct Found {
    /// Where each goes, and what it is.
    pub(super) scores: Vec<(usize, f32)>,
    /// Tokens that were computed for them; none of scores that were known.
    pub(super) tokens: u64,
    /// Whether they were known.
    pub(super) known: bool,
    /// Queries and documents that are empty.
    pub(super) empty: Vec<(String, String)>,
}

/// What the caller's thread receives.
pub(super) enum Message<'a> {
    /// Of a window of pairs: the scores that are known, and the pairs whose passages are empty.
    LookedUp {
        known: Vec<(usize, f32)>,
        empty: Vec<(String, String)>,
    },
    Scored(Batch<'a>, Vec<f32>),
    Failed(RerankError),
}

impl Stream<'_> {
    /// Scores all pairs; `take` is called with what is found as it comes. Returns early, without an error,
    /// when it is to stop.
    pub(super) fn run(&self, mut take: impl FnMut(Found)) -> Result<(), RerankError> {
        let threads = self.scorer.sessions(self.threads.max(1));
        std::thread::scope(|scope| {
            let (batches, batches_out) = bounded(BATCHES_AHEAD * threads);
            let (messages, messages_out) = bounded(BATCHES_AHEAD * threads);
            for _ in 0..threads {
                let (batches, messages) = (batches_out.clone(), messages.clone());
                scope.spawn(move || {
                    for batch in batches {
                        let scores = catch_unwind(AssertUnwindSafe(|| self.score(&batch)));
                        let message = match scores.unwrap_or(Err(RerankError::WorkerPanicked)) {
                            Ok(scores) => Message::Scored(batch, scores),
                            Err(error) => Message::Failed(error),
                        };
                        if messages.send(message).is_err() {
                            return;
                        }
                    }
                });
            }
            scope.spawn(move || {
                let failures = messages.clone();
                let Self { scorer, queries, texts, title_separator, cache, threads, .. } = self;
                let (texts, title_separator, cache) = (*texts, *title_separator, *cache);
                let threads = scorer.readers((*threads).max(1));
                let feeder = Feeder { scorer, texts, title_separator, cache, threads, batches, messages };
                let fed = catch_unwind(AssertUnwindSafe(|| feeder.run(queries)));
                if let Err(Ended::Failed(error)) = fed.unwrap_or(Err(RerankError::WorkerPanicked.into())) {
                    // Nobody receives if something failed before.
                    let _ = failures.send(Message::Failed(error));
                }
            });
            // The threads hold the only ends now: dropping the receivers stops them all.
            drop(batches_out);
            for message in messages_out {
                take(self.keep(message)?);
                if (self.stop)() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Keeps what was found.
    fn keep(&self, message: Message<'_>) -> Result<Found, RerankError> {
        let (batch, scores) = match message {
            Message::LookedUp { known, empty } => {
                return Ok(Found { scores: known, tokens: 0, known: true, empty });
            }
            Message::Failed(error) => return Err(error),
            Message::Scored(batch, scores) => (batch, scores),
        };
        let scored = || batch.pairs.iter().zip(scores.iter().copied());
        if let Some((pair, score)) = scored().find(|(_, score)| !score.is_finite()) {
            let (query, document) = (pair.query.to_owned(), pair.document.to_owned());
            return Err(RerankError::NotFinite { query, document, score });
        }
        if let Some(cache) = self.cache {
            cache.append(scored().map(|(pair, score)| (pair.key, score)))?;
        }
        let scores = scored().map(|(pair, score)| (pair.to, score)).collect();
        Ok(Found { scores, tokens: batch.tokens as u64, known: false, empty: Vec::new() })
    }

    /// The scores of a batch; an error names its pair.
    fn score(&self, batch: &Batch<'_>) -> Result<Vec<f32>, RerankError> {
        let counts = batch.pairs.iter().map(|pair| pair.inputs);
        self.scorer.score(&batch.inputs, counts).map_err(|error| {
            // A device that fails does so with any pair.
            if error.is_of_device() {
                return error.into();
            }
            let mut rest = batch.inputs.as_slice();
            for pair in &batch.pairs {
                let (inputs, after) = rest.split_at(pair.inputs);
                rest = after;
                if let Err(source) = self.scorer.score(inputs, std::iter::once(inputs.len())) {
                    return RerankError::pair(pair.query, pair.document, source);
                }
            }
            error.into()
        })
    }
}
