//! Passages with enough questions, and one question of each.

use std::collections::BTreeMap;

use serde::Deserialize;
use toller_files::Input;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::DatasetError;
use crate::records::{Id, for_each_record};

const EXPECTED: &str =
    "PAQ's metadata: objects with question, answer and answers, each answer with a passage_id";

#[derive(Deserialize)]
struct Record {
    question: String,
    answer: String,
    answers: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    passage_id: Id,
}

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) answer: String,
}

/// A passage with one of the questions about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) passage: String,
    pub(super) question: Question,
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Passages, at most.
    pub(super) passages: usize,
    /// The fewest questions about a passage.
    pub(super) questions: usize,
    pub(super) seed: u64,
}

/// What a pass over the files found.
pub(super) struct Found {
    /// In a random order.
    pub(super) passages: Vec<Asked>,
    /// All questions of the files.
    pub(super) questions: usize,
}

/// Places in the table of passages for each that is wanted: most passages of PAQ have three questions.
const PLACES: usize = 4;

/// A uniform sample of the passages with enough questions, and of each passage one of its questions, also
/// uniform. It depends only on the seed, the identifiers and the questions.
///
/// # Errors
/// If a file cannot be read or a record is not PAQ's. Files may have to be read more than once: what can be
/// read only once is an error.
pub(super) fn sample(inputs: &[Input], wanted: Wanted) -> Result<Found, DatasetError> {
    if let Some(once) = inputs.iter().find(|input| input.reads_once()) {
        return Err(DatasetError::ReadsOnce { file: once.to_string() });
    }
    sample_in(inputs, wanted, wanted.passages.saturating_mul(PLACES))
}

/// The same with a table that has `places` at first. It doubles until it is large enough.
fn sample_in(inputs: &[Input], wanted: Wanted, places: usize) -> Result<Found, DatasetError> {
    let mut places = places.max(1);
    loop {
        let mut table = Table::new(places, wanted.seed);
        let mut questions = 0;
        for input in inputs {
            for_each_record(input, EXPECTED, |record: Record| {
                questions += 1;
                let mut passages: Vec<String> =
                    record.answers.into_iter().map(|span| String::from(span.passage_id)).collect();
                passages.sort_unstable();
                passages.dedup();
                let question = Question { text: record.question, answer: record.answer };
                passages.into_iter().for_each(|passage| table.add(passage, &question));
                Ok(())
            })?;
        }
        let is_whole = table.is_whole;
        let passages = table.asked(wanted.questions, wanted.passages);
        if is_whole || passages.len() == wanted.passages {
            return Ok(Found { passages, questions });
        }
        places = places.saturating_mul(2);
    }
}

/// The passages with the smallest hashes. A passage that is in the table at the end was in it since its first
/// question, so its count is complete.
struct Table {
    places: usize,
    seed: u64,
    /// By hash and identifier.
    passages: BTreeMap<(u64, String), Questions>,
    /// Whether all passages are in the table.
    is_whole: bool,
}

/// The questions about a passage: how many, and the one with the smallest hash.
struct Questions {
    count: usize,
    hash: u64,
    chosen: Question,
}

impl Table {
    fn new(places: usize, seed: u64) -> Self {
        Self { places, seed, passages: BTreeMap::new(), is_whole: true }
    }

    fn hash(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.seed)
    }

    /// Adds a question about a passage.
    fn add(&mut self, passage: String, question: &Question) {
        let key = (self.hash(&passage), passage);
        let is_full = self.passages.len() == self.places;
        if is_full && self.passages.last_key_value().is_some_and(|(last, _)| key > *last) {
            self.is_whole = false;
            return;
        }
        let hash = self.hash(&question.text);
        self.passages
            .entry(key)
            .and_modify(|questions| {
                questions.count += 1;
                if (hash, question) < (questions.hash, &questions.chosen) {
                    (questions.hash, questions.chosen) = (hash, question.clone());
                }
            })
            .or_insert_with(|| Questions { count: 1, hash, chosen: question.clone() });
        if self.passages.len() > self.places {
            self.passages.pop_last();
            self.is_whole = false;
        }
    }

    /// At most `most` passages with at least `fewest` questions, those with the smallest hashes.
    fn asked(self, fewest: usize, most: usize) -> Vec<Asked> {
        let enough = self.passages.into_iter().filter(|(_, questions)| questions.count >= fewest);
        let asked = enough.map(|((_, passage), questions)| Asked { passage, question: questions.chosen });
        asked.take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use proptest::prelude::*;
    use serde_json::json;
    use toller_files::Input;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::{Asked, Question, Wanted, sample, sample_in};

    /// Questions, each with the passages of its answers. Some questions have the same text.
    type Records = Vec<(u32, Vec<u8>)>;

    fn record((question, passages): &(u32, Vec<u8>)) -> (Question, Vec<String>) {
        let passages = passages.iter().map(u8::to_string).collect();
        (
            Question { text: format!("who is {}?", question / 2), answer: format!("answer {question}") },
            passages,
        )
    }

    /// The definition: all questions by passage, all passages by hash.
    fn slow(records: &Records, wanted: Wanted) -> Vec<Asked> {
        let mut questions: BTreeMap<String, Vec<Question>> = BTreeMap::new();
        for (question, mut passages) in records.iter().map(record) {
            passages.sort();
            passages.dedup();
            for passage in passages {
                questions.entry(passage).or_default().push(question.clone());
            }
        }
        let hash = |text: &str| xxh3_64_with_seed(text.as_bytes(), wanted.seed);
        questions.retain(|_, questions| questions.len() >= wanted.questions);
        let mut asked: Vec<Asked> = questions
            .into_iter()
            .map(|(passage, mut questions)| {
                questions.sort_by_key(|question| (hash(&question.text), question.clone()));
                Asked { passage, question: questions.swap_remove(0) }
            })
            .collect();
        asked.sort_by_key(|asked| (hash(&asked.passage), asked.passage.clone()));
        asked.truncate(wanted.passages);
        asked
    }

    fn written(records: &Records) -> (tempfile::TempDir, Vec<Input>) {
        let folder = tempfile::tempdir().unwrap();
        let inputs = records
            .chunks(records.len().div_ceil(2).max(1))
            .enumerate()
            .map(|(number, records)| {
                let lines = records.iter().map(|one| {
                    let (question, passages) = record(one);
                    // Identifiers are numbers or strings.
                    let passages = passages.iter().map(|id| match id.parse::<u8>() {
                        Ok(id) if id % 2 == 0 => json!({"passage_id": id, "offset": 3}),
                        _ => json!({"passage_id": id}),
                    });
                    let answers = passages.collect::<Vec<_>>();
                    let (question, answer) = (question.text, question.answer);
                    json!({"question": question, "answer": answer, "subsets": ["L1"], "answers": answers})
                        .to_string()
                });
                let path = folder.path().join(format!("{number}.jsonl"));
                fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
                Input::parse(&path)
            })
            .collect();
        (folder, inputs)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_sample_is_that_of_the_definition(
            passages in proptest::collection::vec(proptest::collection::vec(0_u8..30, 0..4), 1..80),
            wanted in 0_usize..12, fewest in 1_usize..4, seed in any::<u64>(), places in 0_usize..8,
            order in any::<u64>(),
        ) {
            let mut records: Records = (0..).zip(passages).collect();
            let wanted = Wanted { passages: wanted, questions: fewest, seed };
            let expected = slow(&records, wanted);
            // The order of the records leaves no trace.
            records.sort_by_key(|(question, _)| xxh3_64_with_seed(&question.to_le_bytes(), order));
            let (_folder, inputs) = written(&records);
            for found in [sample(&inputs, wanted).unwrap(), sample_in(&inputs, wanted, places).unwrap()] {
                prop_assert_eq!(&found.passages, &expected);
                prop_assert_eq!(found.questions, records.len());
            }
        }
    }
}
