//! Pairs of texts to scores: a cross-encoder and its queue.

use std::sync::Arc;
use std::time::Instant;

use toller_encoder::{CrossEncoder, EncoderError, PairText};
use toller_engine::Engine;
use toller_pipeline::rerank::Stop;
use toller_tokenizer::Tokens;

use crate::ServerError;
use crate::embedder::{capacity, check_finite};
use crate::failure::{Failure, Reason};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::schedule::{Answer, Scheduler, Work};
use crate::texts::{Cut, on_texts};

/// A cross-encoder that is served.
pub(crate) struct Scorer {
    scheduler: Scheduler<Scoring>,
}

/// The work of the queue.
struct Scoring {
    engine: Arc<Engine>,
    model: Arc<CrossEncoder>,
}

impl Work for Scoring {
    type Kind = ();
    type Item = Tokens;
    /// The logits.
    type Output = Vec<f32>;

    fn cost(&self, item: &Tokens) -> usize {
        item.len().max(1)
    }

    fn compute(
        &self,
        (): &(),
        items: &[Tokens],
        threads: usize,
        _: Stop<'_>,
    ) -> Result<Vec<Vec<f32>>, Failure> {
        let logits = self.engine.in_threads(|| self.model.logits_in_parallel(items, threads));
        let logits = logits.map_err(|error| Failure::of(Reason::Backend, &error))?;
        check_finite(&logits)?;
        Ok(logits.chunks_exact(self.model.labels().len()).map(<[f32]>::to_vec).collect())
    }
}

/// One input of a classifier.
#[derive(Clone, Debug)]
pub(crate) enum Classified {
    Text(String),
    Pair(String, String),
}

impl Classified {
    pub(crate) fn characters(&self) -> usize {
        match self {
            Self::Text(text) => text.chars().count(),
            Self::Pair(first, second) => first.chars().count() + second.chars().count(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Pair(first, second) => first.len() + second.len(),
        }
    }
}

/// The tokens of the first text of a pair, which is cut if it would leave no room for the second, and may be.
fn first(model: &CrossEncoder, text: &str, cut: Cut) -> Result<PairText, EncoderError> {
    if cut.truncate { model.tokenize_query_cut(text) } else { model.tokenize_query(text) }
}

impl Scorer {
    pub(crate) fn start(
        engine: Arc<Engine>,
        model: Arc<CrossEncoder>,
        limits: &Limits,
        metrics: &Metrics,
    ) -> Result<Self, ServerError> {
        let capacity = capacity(limits, engine.threads(), model.work());
        let work = Scoring { engine, model };
        let scheduler = Scheduler::start("toller-score", work, capacity, metrics.queue("score"));
        Ok(Self { scheduler: scheduler.map_err(ServerError::Start)? })
    }

    pub(crate) fn model(&self) -> &CrossEncoder {
        &self.scheduler.work().model
    }

    /// The pairs of a query and each of the texts, of which at most `text_tokens` are kept, unless these
    /// could not be scored before the deadline. The query is tokenized once.
    pub(crate) async fn pairs(
        self: &Arc<Self>,
        query: String,
        texts: Vec<String>,
        text_tokens: Option<usize>,
        cut: Cut,
        deadline: Instant,
    ) -> Result<Vec<Tokens>, Failure> {
        let cut = cut.of_pairs()?;
        self.scheduler.check(deadline)?;
        let this = self.clone();
        on_texts(query.len() + texts.iter().map(String::len).sum::<usize>(), move || {
            let model = this.model();
            let query = first(model, &query, cut).map_err(|error| Failure::of(Reason::Invalid, &error))?;
            let pair = |text: &String| {
                let mut text = model.tokenize(text)?;
                if let Some(most) = text_tokens {
                    text = model.shorten(&text, most)?;
                }
                model.pair_cut(&query, &text)
            };
            let pairs = texts.iter().zip(0..);
            pairs.map(|(text, place)| cut.check(place, model.max_length(), pair(text))).collect()
        })
        .await
    }

    /// The same for texts and pairs that are classified.
    pub(crate) async fn inputs(
        self: &Arc<Self>,
        inputs: Vec<Classified>,
        cut: Cut,
        deadline: Instant,
    ) -> Result<Vec<Tokens>, Failure> {
        let has_pairs = inputs.iter().any(|input| matches!(input, Classified::Pair(..)));
        let cut = if has_pairs { cut.of_pairs()? } else { cut };
        self.scheduler.check(deadline)?;
        let this = self.clone();
        on_texts(inputs.iter().map(Classified::bytes).sum(), move || {
            let model = this.model();
            let tokens = |input: &Classified| match input {
                Classified::Text(text) => model.tokenize_alone(text, cut.side),
                Classified::Pair(one, other) => {
                    let [one, other] = [first(model, one, cut)?, model.tokenize(other)?];
                    model.pair_cut(&one, &other)
                }
            };
            let inputs = inputs.iter().zip(0..);
            inputs.map(|(input, place)| cut.check(place, model.max_length(), tokens(input))).collect()
        })
        .await
    }

    /// The logits of each input.
    pub(crate) async fn logits(
        &self,
        inputs: Vec<Tokens>,
        deadline: Instant,
    ) -> Result<Answer<Vec<f32>>, Failure> {
        self.scheduler.ask((), inputs, deadline).await
    }
}
