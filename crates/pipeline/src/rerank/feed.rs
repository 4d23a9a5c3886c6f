//! From pairs of identifiers to batches of tokens: the first stage of a stream.

use std::collections::HashMap;

use crossbeam_channel::Sender;
use toller_ir::Passage;
use toller_texts::Texts;
use toller_tokenizer::{TokenizedText, Tokens};

use super::cache::{PairKey, ScoreCache};
use super::error::RerankError;
use super::scorer::{PassageTokens, Scorer};
use super::stream::{Message, QueryPairs};

/// Pairs whose texts are in memory at a time: enough that a passage that several queries share is read and
/// tokenized once, few enough that long passages have room.
const WINDOW_PAIRS: usize = 4096;

/// Pairs whose scores are not known, as the model takes them.
#[derive(Default)]
pub(super) struct Batch<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    /// The inputs of the first pair, of the second, and so on.
    pub(super) inputs: Vec<Tokens>,
    pub(super) tokens: usize,
}

/// A pair of a batch.
pub(super) struct Pair<'a> {
    pub(super) query: &'a str,
    pub(super) document: &'a str,
    /// Where its score goes.
    pub(super) to: usize,
    pub(super) key: PairKey,
    /// How many of the inputs are its.
    pub(super) inputs: usize,
}

/// Reads texts, looks up known scores, tokenizes the other pairs.
pub(super) struct Feeder<'a> {
    pub(super) scorer: &'a Scorer<'a>,
    pub(super) texts: &'a Texts,
    /// The text between a title and its text; `None` leaves titles out.
    pub(super) title_separator: Option<&'a str>,
    pub(super) cache: Option<&'a ScoreCache>,
    pub(super) batches: Sender<Batch<'a>>,
    pub(super) messages: Sender<Message<'a>>,
}

/// A query with some of its documents: a part of a window.
type Part<'a> = (&'a QueryPairs<'a>, &'a [(&'a str, usize)]);

/// Why feeding ends early: nobody receives any more, or an error.
pub(super) enum Ended {
    Unheard,
    Failed(RerankError),
}

impl From<RerankError> for Ended {
    fn from(error: RerankError) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Feeder<'a> {
    /// Feeds all pairs.
    pub(super) fn run(&self, queries: &'a [QueryPairs<'a>]) -> Result<(), Ended> {
        let fingerprint = self.scorer.fingerprint();
        let mut batch = Batch::default();
        for window in windows(queries) {
            self.feed(&window, &fingerprint, &mut batch)?;
        }
        if batch.pairs.is_empty() { Ok(()) } else { self.batches.send(batch).map_err(|_| Ended::Unheard) }
    }

    fn feed(&self, window: &[Part<'a>], fingerprint: &str, batch: &mut Batch<'a>) -> Result<(), Ended> {
        let texts = self.passage_texts(window)?;
        let mut passages: HashMap<&str, PassageTokens> = HashMap::new();
        let (mut known, mut empty) = (Vec::new(), Vec::new());
        for &(query, documents) in window {
            let mut query_tokens: Option<TokenizedText> = None;
            for &(document, to) in documents {
                // Documents without a text were refused or left out before.
                let Some(text) = texts.get(document) else { continue };
                if text.trim().is_empty() {
                    empty.push((query.id.to_owned(), document.to_owned()));
                }
                let key = PairKey::of(fingerprint, query.text, text);
                if let Some(score) = self.cache.and_then(|cache| cache.get(key)) {
                    known.push((to, score));
                    continue;
                }
                let failed = |source| RerankError::pair(query.id, document, source);
                let query_tokens = match &mut query_tokens {
                    Some(tokens) => tokens,
                    none => none.insert(self.scorer.query(query.text).map_err(failed)?),
                };
                if !passages.contains_key(document) {
                    passages.insert(document, self.scorer.passage(text).map_err(failed)?);
                }
                let inputs = self.scorer.pair(query_tokens, &passages[document]).map_err(failed)?;
                let pair = Pair { query: query.id, document, to, key, inputs: inputs.len() };
                self.push(pair, inputs, batch)?;
            }
        }
        if known.is_empty() && empty.is_empty() {
            return Ok(());
        }
        self.messages.send(Message::LookedUp { known, empty }).map_err(|_| Ended::Unheard)
    }

    /// Adds a pair to the batch, which is sent first if it has no room.
    fn push(&self, pair: Pair<'a>, inputs: Vec<Tokens>, batch: &mut Batch<'a>) -> Result<(), Ended> {
        let tokens: usize = inputs.iter().map(Tokens::len).sum();
        if batch.tokens + tokens > self.scorer.batch_tokens() && !batch.pairs.is_empty() {
            self.batches.send(std::mem::take(batch)).map_err(|_| Ended::Unheard)?;
        }
        batch.tokens += tokens;
        batch.inputs.extend(inputs);
        batch.pairs.push(pair);
        Ok(())
    }

    /// The texts of a window's passages, as the model is given them.
    fn passage_texts(&self, window: &[Part<'a>]) -> Result<HashMap<&'a str, String>, RerankError> {
        let mut ids: Vec<&str> = window
            .iter()
            .flat_map(|(_, documents)| documents.iter().map(|(document, _)| *document))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let passages = self.texts.get_many(&ids)?;
        let text = |passage: Passage| match self.title_separator {
            Some(separator) => passage.joined(separator),
            None => passage.text,
        };
        Ok(ids.into_iter().zip(passages).filter_map(|(id, passage)| Some((id, text(passage?)))).collect())
    }
}

/// Parts of queries' documents, as many as a window holds, in order.
fn windows<'a>(queries: &'a [QueryPairs<'a>]) -> Vec<Vec<Part<'a>>> {
    let mut windows = vec![Vec::new()];
    let mut room = WINDOW_PAIRS;
    for query in queries {
        let mut rest = query.documents.as_slice();
        while !rest.is_empty() {
            let (now, after) = rest.split_at(rest.len().min(room));
            if let Some(window) = windows.last_mut() {
                window.push((query, now));
            }
            (rest, room) = (after, room - now.len());
            if room == 0 {
                windows.push(Vec::new());
                room = WINDOW_PAIRS;
            }
        }
    }
    windows
}
