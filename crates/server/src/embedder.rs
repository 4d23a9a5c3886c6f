//! Texts to vectors: a dual encoder and its queue.

use std::sync::Arc;
use std::time::Instant;

use toller_encoder::{EncoderError, Output, Role, TextEncoder};
use toller_engine::Encoder;
use toller_pipeline::rerank::Stop;
use toller_tokenizer::Tokens;

use crate::ServerError;
use crate::failure::{Failure, Reason};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::schedule::{Answer, Capacity, Scheduler, Work};
use crate::texts::{Cut, on_texts};

/// Tokens of a batch on the CPU, unless the limits say otherwise. Larger batches are slower, and others wait
/// for them longer (benches/results/serve.md).
const BATCH_TOKENS: usize = 256;

/// Tokens that a text of a sparse model counts for in a batch, at least: a batch of short texts would have
/// too many weights.
const SPARSE_TOKENS: usize = 32;

/// Texts, or the ids of their tokens.
#[derive(Clone, Debug)]
pub(crate) enum Inputs {
    Texts(Vec<String>),
    Ids(Vec<Vec<u32>>),
}

impl Inputs {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Ids(ids) => ids.len(),
        }
    }

    /// Characters of the texts.
    pub(crate) fn characters(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.iter().map(|text| text.chars().count()).sum(),
            Self::Ids(_) => 0,
        }
    }
}

/// A dual encoder that is served.
pub(crate) struct Embedder {
    scheduler: Scheduler<Encoding>,
    /// The role of a text whose request does not say it.
    role: Role,
}

/// The work of the queue.
struct Encoding(Encoder);

impl Work for Encoding {
    type Kind = (Role, Output);
    type Item = Tokens;
    type Output = Vec<f32>;

    fn cost(&self, item: &Tokens) -> usize {
        // A text without a token takes some time, too; one of a sparse model, a row of many numbers.
        item.len().max(if self.0.is_sparse() { SPARSE_TOKENS } else { 1 })
    }

    fn compute(
        &self,
        &(role, output): &Self::Kind,
        items: &[Tokens],
        threads: usize,
        _: Stop<'_>,
    ) -> Result<Vec<Vec<f32>>, Failure> {
        let rows = self.0.encode_tokens(role, output, items, threads);
        let rows = rows.map_err(|error| Failure::of(Reason::Backend, &error))?;
        check_finite(&rows)?;
        let tokens: usize = items.iter().map(Tokens::len).sum();
        let mut rest = rows.as_slice();
        let numbers = |item: &Tokens| match output {
            Output::States => rows.len() / tokens.max(1) * item.len(),
            Output::Vector | Output::Shaped { .. } | Output::Uncut => rows.len() / items.len().max(1),
        };
        let of_item = |item| {
            let (own, after) = rest.split_at(numbers(item));
            rest = after;
            own.to_vec()
        };
        Ok(items.iter().map(of_item).collect())
    }
}

impl Embedder {
    pub(crate) fn start(
        encoder: Encoder,
        role: Role,
        threads: usize,
        limits: &Limits,
        metrics: &Metrics,
    ) -> Result<Self, ServerError> {
        let capacity = capacity(limits, threads, encoder.model().tower(Role::Passage).work());
        let scheduler = Scheduler::start("toller-embed", Encoding(encoder), capacity, metrics.queue("embed"));
        Ok(Self { scheduler: scheduler.map_err(ServerError::Start)?, role })
    }

    pub(crate) fn encoder(&self) -> &Encoder {
        &self.scheduler.work().0
    }

    /// The encoder of a role.
    pub(crate) fn tower(&self, role: Role) -> &TextEncoder {
        self.encoder().model().tower(role)
    }

    /// The role that a request names as the name of a prompt, in the words of sentence-transformers, as a
    /// type of input, in Cohere's, or as a task, in Jina's.
    pub(crate) fn role(&self, name: Option<&str>) -> Result<Role, Failure> {
        let role = match name {
            None => self.role,
            Some("query" | "search_query" | "retrieval.query") => Role::Query,
            Some("passage" | "document" | "corpus" | "search_document" | "retrieval.passage") => {
                Role::Passage
            }
            Some(other) => {
                let message = format!("there is no prompt {other:?}; `query` and `passage` are the prompts");
                return Err(Failure::invalid(message));
            }
        };
        // Texts of either role go into one batch where the model treats them alike.
        Ok(if self.encoder().model().is_tied() { Role::Passage } else { role })
    }

    /// The tokens of inputs, unless these could not be encoded before the deadline.
    pub(crate) async fn tokenize(
        self: &Arc<Self>,
        inputs: Inputs,
        role: Role,
        cut: Cut,
        deadline: Instant,
    ) -> Result<Vec<Tokens>, Failure> {
        self.scheduler.check(deadline)?;
        let texts = match inputs {
            Inputs::Texts(texts) => texts,
            Inputs::Ids(ids) => {
                let tokens = ids.into_iter().zip(0..).map(|(ids, place)| self.checked(ids, place, role, cut));
                return tokens.collect();
            }
        };
        let this = self.clone();
        on_texts(texts.iter().map(String::len).sum(), move || {
            let tower = this.tower(role);
            let tokens = |(text, place): (&String, usize)| {
                cut.check(place, tower.max_length(), tower.tokenize_cut(text, cut.side))
            };
            texts.iter().zip(0..).map(tokens).collect()
        })
        .await
    }

    /// An input that is given as the ids of its tokens, special tokens included.
    fn checked(&self, ids: Vec<u32>, place: usize, role: Role, cut: Cut) -> Result<Tokens, Failure> {
        let tower = self.tower(role);
        let vocabulary = tower.vocabulary();
        if ids.is_empty() {
            return Err(Failure::new(Reason::Empty, format!("input {place} has no tokens")));
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            let message = format!("input {place} has the token {id}, and the model has {vocabulary} tokens");
            return Err(Failure::invalid(message));
        }
        let tokens = |(ids, is_cut): (Vec<u32>, bool)| {
            (Tokens { type_ids: vec![0; ids.len()], input_ids: ids }, is_cut)
        };
        let found = tower.tokenizer().cut_input(ids, cut.side).map(tokens);
        cut.check(place, tower.max_length(), found.map_err(EncoderError::from))
    }

    /// What is wanted of tokenized texts.
    pub(crate) async fn encode(
        &self,
        role: Role,
        output: Output,
        tokens: Vec<Tokens>,
        deadline: Instant,
    ) -> Result<Answer<Vec<f32>>, Failure> {
        if self.encoder().is_sparse() {
            let message = "the model gives weights to terms, and makes no vectors; ask for /embed_sparse";
            return Err(Failure::new(Reason::NotServed, message));
        }
        self.scheduler.ask((role, output), tokens, deadline).await
    }

    /// The weights of all terms for each tokenized text, by a sparse model.
    pub(crate) async fn weigh(
        &self,
        role: Role,
        tokens: Vec<Tokens>,
        deadline: Instant,
    ) -> Result<Answer<Vec<f32>>, Failure> {
        if !self.encoder().is_sparse() {
            let message = "the model makes vectors, and gives no weights to terms; ask for /embed";
            return Err(Failure::new(Reason::NotServed, message));
        }
        self.scheduler.ask((role, Output::Vector), tokens, deadline).await
    }
}

/// Refuses numbers that no answer can hold: f16 ends at 65,504.
pub(crate) fn check_finite(numbers: &[f32]) -> Result<(), Failure> {
    match numbers.iter().all(|number| number.is_finite()) {
        true => Ok(()),
        false => Err(Failure::new(
            Reason::Backend,
            "the model overflows on this input; a server that computes in bf16 or f32 may not",
        )),
    }
}

/// What fits into the queue of a model: as many batches at a time as there are threads, or as a device wants.
pub(crate) fn capacity(limits: &Limits, threads: usize, wanted: toller_nn::Work) -> Capacity {
    let (lanes, usual) =
        if wanted.uses_threads { (threads, BATCH_TOKENS) } else { (wanted.sessions, wanted.batch_tokens) };
    let batch = limits.batch_tokens.unwrap_or(usual);
    Capacity { lanes, batch, queue: limits.queued_tokens, gathers: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_answers_are_finite() {
        assert!(check_finite(&[0.0, -1.5]).is_ok());
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(check_finite(&[1.0, bad]).unwrap_err().reason, Reason::Backend);
        }
    }

    #[test]
    fn a_device_gets_the_batches_that_it_wants() {
        let on_threads = |uses_threads| toller_nn::Work {
            batch_tokens: 25_344,
            least_tokens: 1,
            sessions: 2,
            uses_threads,
        };
        let of = |limits: &Limits, uses_threads| {
            let capacity = capacity(limits, 64, on_threads(uses_threads));
            (capacity.lanes, capacity.batch)
        };
        let mut limits = Limits::default();
        assert_eq!((of(&limits, true), of(&limits, false)), ((64, 256), (2, 25_344)));
        limits.batch_tokens = Some(1000);
        assert_eq!((of(&limits, true), of(&limits, false)), ((64, 1000), (2, 1000)));
    }
}
