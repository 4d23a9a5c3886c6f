//! One model, from texts to the score of a pair.

use toller_encoder::{BatchSize, CrossEncoder, EncoderError, PairText};
use toller_tokenizer::Tokens;

use super::options::{Aggregate, PassageWindows, RerankOptions};
use crate::encode::tokenizers;

/// A model and how passages are given to it.
pub(super) struct Scorer<'a> {
    model: &'a CrossEncoder,
    windows: Option<PassageWindows>,
    cut_queries: bool,
}

/// The tokens of a passage: one text, or its windows.
pub(super) type PassageTokens = Vec<PairText>;

impl<'a> Scorer<'a> {
    pub(super) fn new(model: &'a CrossEncoder, options: &RerankOptions) -> Self {
        Self { model, windows: options.windows, cut_queries: options.cut_queries }
    }

    /// Identifies everything that decides the score of a pair of texts.
    pub(super) fn fingerprint(&self) -> String {
        let cut = if self.cut_queries { " cut queries" } else { "" };
        format!("{} {:?}{cut}", self.model.score_fingerprint(), self.windows)
    }

    /// The tokens of a batch, at most.
    pub(super) fn batch_tokens(&self) -> usize {
        self.model.batch_tokens()
    }

    /// The size of a batch without inputs.
    pub(super) fn batch_size(&self) -> BatchSize {
        self.model.batch_size()
    }

    /// Batches that are scored at the same time, with this many threads.
    pub(super) fn sessions(&self, threads: usize) -> usize {
        let work = self.model.work();
        if work.uses_threads { threads } else { work.sessions }
    }

    /// How many of this many threads read and tokenize passages.
    pub(super) fn readers(&self, threads: usize) -> usize {
        tokenizers(self.model.work().uses_threads, threads)
    }

    pub(super) fn query(&self, text: &str) -> Result<PairText, EncoderError> {
        if self.cut_queries { self.model.tokenize_query_cut(text) } else { self.model.tokenize_query(text) }
    }

    /// Refuses a query that leaves no room for a passage.
    pub(super) fn check_query(&self, text: &str) -> Result<(), EncoderError> {
        self.model.check_room(&self.query(text)?)
    }

    pub(super) fn passage(&self, text: &str) -> Result<PassageTokens, EncoderError> {
        match self.windows {
            None => Ok(vec![self.model.tokenize(text)?]),
            Some(PassageWindows { length, stride, aggregate }) => {
                let mut windows = self.model.tokenize_windows(text, length, stride)?;
                if aggregate == Aggregate::First {
                    windows.truncate(1);
                }
                Ok(windows)
            }
        }
    }

    /// The inputs of the model for a pair: one, or one for each window of the passage.
    pub(super) fn pair(
        &self,
        query: &PairText,
        passage: &PassageTokens,
    ) -> Result<Vec<Tokens>, EncoderError> {
        passage.iter().map(|window| self.model.pair(query, window)).collect()
    }

    /// The score of each pair. `counts` has the number of inputs of each pair, in the order of `inputs`.
    pub(super) fn score(
        &self,
        inputs: &[Tokens],
        counts: impl Iterator<Item = usize>,
    ) -> Result<Vec<f32>, EncoderError> {
        let scores = self.model.score(inputs)?;
        let mut rest = scores.as_slice();
        let of_pair = |count| {
            let (of_pair, after) = rest.split_at(count);
            rest = after;
            self.aggregate(of_pair)
        };
        Ok(counts.map(of_pair).collect())
    }

    fn aggregate(&self, windows: &[f32]) -> f32 {
        match self.windows.map_or(Aggregate::First, |windows| windows.aggregate) {
            Aggregate::First => windows.first().copied().unwrap_or(f32::NAN),
            // f32::max would ignore NaN.
            Aggregate::Max => windows
                .iter()
                .copied()
                .reduce(|a, b| if b > a || b.is_nan() { b } else { a })
                .unwrap_or(f32::NAN),
            Aggregate::Mean => {
                (windows.iter().map(|score| f64::from(*score)).sum::<f64>() / windows.len() as f64) as f32
            }
        }
    }
}
