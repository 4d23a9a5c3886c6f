//! From pairs of identifiers to batches of tokens: the first stage of a stream.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::thread;

use crossbeam_channel::Sender;
use toller_encoder::{BatchSize, PairText};
use toller_ir::Passage;
use toller_texts::Texts;
use toller_tokenizer::Tokens;

use super::cache::{PairKey, ScoreCache};
use super::error::RerankError;
use super::scorer::{PassageTokens, Scorer};
use super::stream::{Message, QueryPairs};

/// Pairs whose texts are in memory at a time: enough that a passage that several queries share is read and
/// tokenized once, few enough that long passages have room.
const WINDOW_PAIRS: usize = 4096;

/// Passages that are worth a thread.
const LEAST_OF_A_THREAD: usize = 8;

/// Pairs whose scores are not known, as the model takes them.
#[derive(Default)]
pub(super) struct Batch<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    /// The inputs of the first pair, of the second, and so on.
    pub(super) inputs: Vec<Tokens>,
    pub(super) tokens: usize,
    /// Those that are computed: pairs may share what they begin with.
    size: Option<BatchSize>,
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

/// A passage of a window.
struct WindowPassage {
    /// As the model is given it.
    text: String,
    /// `None` if the scores of all its pairs are known, or if it cannot be tokenized.
    tokens: Option<PassageTokens>,
}

/// Reads texts, looks up known scores, tokenizes the other pairs.
pub(super) struct Feeder<'a> {
    pub(super) scorer: &'a Scorer<'a>,
    pub(super) texts: &'a Texts,
    /// The text between a title and its text; `None` leaves titles out.
    pub(super) title_separator: Option<&'a str>,
    pub(super) cache: Option<&'a ScoreCache>,
    /// How many threads read and tokenize passages.
    pub(super) threads: usize,
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
        let mut passages = self.passages(window, fingerprint)?;
        let (mut known, mut empty) = (Vec::new(), Vec::new());
        for &(query, documents) in window {
            let mut query_tokens: Option<PairText> = None;
            for &(document, to) in documents {
                // Documents without a text were refused or left out before.
                let Some(WindowPassage { text, tokens }) = passages.get_mut(document) else { continue };
                if text.trim().is_empty() {
                    empty.push((query.id.to_owned(), document.to_owned()));
                }
                let key = PairKey::of(fingerprint, query.text, text);
                if let Some(score) = self.known(key) {
                    known.push((to, score));
                    continue;
                }
                let failed = |source| RerankError::pair(query.id, document, source);
                let query_tokens = match &mut query_tokens {
                    Some(tokens) => tokens,
                    none => none.insert(self.scorer.query(query.text).map_err(failed)?),
                };
                let passage = match tokens {
                    Some(tokens) => tokens,
                    // It fails again, with its pair.
                    none => none.insert(self.scorer.passage(text).map_err(failed)?),
                };
                let inputs = self.scorer.pair(query_tokens, passage).map_err(failed)?;
                let pair = Pair { query: query.id, document, to, key, inputs: inputs.len() };
                self.push(pair, inputs, batch)?;
            }
        }
        if known.is_empty() && empty.is_empty() {
            return Ok(());
        }
        self.messages.send(Message::LookedUp { known, empty }).map_err(|_| Ended::Unheard)
    }

    fn known(&self, key: PairKey) -> Option<f32> {
        self.cache.and_then(|cache| cache.get(key))
    }

    /// Adds a pair to the batch, which is sent first if it has no room.
    fn push(&self, pair: Pair<'a>, inputs: Vec<Tokens>, batch: &mut Batch<'a>) -> Result<(), Ended> {
        let grown = |size: Option<BatchSize>| {
            let mut size = size.unwrap_or_else(|| self.scorer.batch_size());
            inputs.iter().for_each(|input| size.add(input));
            size
        };
        let mut size = grown(batch.size.clone());
        if size.tokens() > self.scorer.batch_tokens() && !batch.pairs.is_empty() {
            self.batches.send(std::mem::take(batch)).map_err(|_| Ended::Unheard)?;
            size = grown(None);
        }
        batch.size = Some(size);
        batch.tokens += inputs.iter().map(Tokens::len).sum::<usize>();
        batch.inputs.extend(inputs);
        batch.pairs.push(pair);
        Ok(())
    }

    /// A window's passages. Reading, decompressing and tokenizing take a thread longer than scoring takes a
    /// device, so several threads share them.
    fn passages(
        &self,
        window: &[Part<'a>],
        fingerprint: &str,
    ) -> Result<HashMap<&'a str, WindowPassage>, RerankError> {
        let mut queries: HashMap<&'a str, Vec<&'a str>> = HashMap::new();
        for (query, documents) in window {
            documents.iter().for_each(|(id, _)| queries.entry(*id).or_default().push(query.text));
        }
        let mut ids: Vec<&'a str> = queries.keys().copied().collect();
        self.texts.sort_by_place(&mut ids);
        let read = |ids: &[&'a str]| {
            let passage = |(id, passage): (&&'a str, Option<Passage>)| {
                let passage = passage?;
                let text = match self.title_separator {
                    Some(separator) => passage.joined(separator),
                    None => passage.text,
                };
                let key = |query: &&str| PairKey::of(fingerprint, query, &text);
                let is_known = queries[id].iter().all(|query| self.known(key(query)).is_some());
                let tokens = if is_known { None } else { self.scorer.passage(&text).ok() };
                Some((*id, WindowPassage { text, tokens }))
            };
            Ok(ids.iter().zip(self.texts.get_many(ids)?).filter_map(passage).collect::<Vec<_>>())
        };
        Ok(on_threads(&ids, self.threads, read)?.into_iter().flatten().collect())
    }
}

/// What `work` makes of the parts of `items`, in order, each part on a thread of its own; the first error in
/// this order.
fn on_threads<T: Sync, U: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> Result<U, RerankError> + Sync,
) -> Result<Vec<U>, RerankError> {
    let mut parts = items.chunks(items.len().div_ceil(threads).max(LEAST_OF_A_THREAD));
    let (own, work) = (parts.next(), &work);
    thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let others = others.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.map(work).into_iter().chain(others).collect()
    })
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use crossbeam_channel::unbounded;
    use toller_encoder::{CrossEncoder, CrossEncoderOptions};
    use toller_files::Input;
    use toller_ir::locked;
    use toller_texts::{Texts, TextsOptions};
    use toller_tokenizer::Tokens;

    use super::{Ended, Feeder, on_threads};
    use crate::rerank::scorer::Scorer;
    use crate::rerank::stream::QueryPairs;
    use crate::rerank::{RerankError, RerankOptions};

    #[test]
    fn parts_are_worked_on_at_the_same_time_and_stay_in_order() {
        let items: Vec<u32> = (0..100).collect();
        let (barrier, seen) = (Barrier::new(4), Mutex::new(HashSet::new()));
        let work = |part: &[u32]| {
            locked(&seen).insert(thread::current().id());
            barrier.wait();
            Ok(part.to_vec())
        };
        assert_eq!(on_threads(&items, 4, work).unwrap().concat(), items);
        assert_eq!(locked(&seen).len(), 4);
        let failing = |part: &[u32]| match part.first() {
            Some(0) => Ok(()),
            first => Err(RerankError::Options(format!("{first:?}"))),
        };
        let error = on_threads(&items, 4, failing).unwrap_err();
        assert_eq!(error.to_string(), "Some(25)", "the first error in order");
        assert!(on_threads(&items[..0], 4, failing).unwrap().is_empty());
    }

    /// The pairs and the inputs of each batch, and the pairs of empty passages.
    type Fed = (Vec<(Vec<usize>, Vec<Tokens>)>, Vec<(String, String)>);

    #[test]
    fn batches_do_not_depend_on_the_threads() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let folder = tempfile::tempdir()?;
        let collection = folder.path().join("collection.tsv");
        let line = |number: usize| format!("d{number}\t{}\n", "a dog retrieves ".repeat(number % 5));
        std::fs::write(&collection, (0..200).map(line).collect::<String>())?;
        let options =
            TextsOptions { directory: Some(folder.path().join("texts")), ..TextsOptions::default() };
        let texts = Texts::open(&[Input::File(collection)], &options, |_| {})?;
        let model = toller_testing::repository("tests/fixtures/cross-encoders/bert");
        let model = CrossEncoder::load(
            &model,
            &CrossEncoderOptions {
                label: Some(0),
                batch_tokens: Some(300),
                ..CrossEncoderOptions::default()
            },
        )?;
        // Queries share documents, which come in no order, and one twice.
        let ids: Vec<String> = (0..200).map(|number| format!("d{}", number * 7 % 200)).collect();
        let documents = |first: usize| -> Vec<(&str, usize)> {
            (first..first + 120).map(|place| (ids[place % 200].as_str(), 1000 * first + place)).collect()
        };
        let pairs = |(id, first)| QueryPairs { id, text: "which dog", documents: documents(first) };
        let queries: Vec<QueryPairs<'_>> = [("q0", 0), ("q1", 50), ("q2", 170)].map(pairs).into();

        let scorer = Scorer::new(&model, &RerankOptions::default());
        let fed = |threads| -> Result<Fed, RerankError> {
            let ((batches, batches_out), (messages, messages_out)) = (unbounded(), unbounded());
            let (scorer, texts) = (&scorer, &texts);
            let feeder =
                Feeder { scorer, texts, title_separator: None, cache: None, threads, batches, messages };
            match feeder.run(&queries) {
                Err(Ended::Failed(error)) => return Err(error),
                ended => assert!(ended.is_ok()),
            }
            drop(feeder);
            let of_batch =
                |batch: super::Batch<'_>| (batch.pairs.iter().map(|pair| pair.to).collect(), batch.inputs);
            let empty = messages_out.iter().flat_map(|message| match message {
                super::Message::LookedUp { empty, .. } => empty,
                _ => Vec::new(),
            });
            Ok((batches_out.iter().map(of_batch).collect(), empty.collect()))
        };
        let (batches, empty) = fed(1)?;
        let order: Vec<usize> = batches.iter().flat_map(|(pairs, _)| pairs).copied().collect();
        let expected: Vec<usize> =
            queries.iter().flat_map(|query| query.documents.iter().map(|(_, to)| *to)).collect();
        assert_eq!(order, expected);
        assert!(batches.len() > 3 && empty.len() > 3, "{} batches, {} empty", batches.len(), empty.len());
        for threads in [2, 7] {
            assert!(fed(threads)? == (batches.clone(), empty.clone()), "{threads} threads");
        }
        Ok(())
    }
}
