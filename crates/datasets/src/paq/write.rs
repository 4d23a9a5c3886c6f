//! The sample as files.

use std::collections::HashMap;
use std::path::Path;
use std::slice;

use serde::Serialize;
use toller_corpus::{CollectionFormat, ReadOptions, open_collection};
use toller_files::Input;
use toller_ir::{Passage, Qrels};

use super::sample::{Asked, Wanted, sample};
use crate::error::{DatasetError, names_of};
use crate::folder::Folder;
use crate::lines::QueryLine;
use crate::statistics::{Lengths, Part, Statistics};

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub struct PaqOptions {
    /// Passages of the training set.
    pub train: usize,
    /// Passages of the development set.
    pub dev: usize,
    /// Passages of the test set.
    pub test: usize,
    /// The fewest questions that a sampled passage has.
    pub fewest_questions: usize,
    /// Of the samples.
    pub seed: u64,
}

/// A line of Tevatron's training data.
#[derive(Serialize)]
struct Example<'a> {
    query_id: &'a str,
    query: &'a str,
    answers: &'a [String],
    positive_passages: [Positive<'a>; 1],
    negative_passages: [(); 0],
}

#[derive(Serialize)]
struct Positive<'a> {
    docid: &'a str,
    title: &'a str,
    text: &'a str,
}

/// Samples passages with enough questions, and one question of each, and writes for each of train, dev and
/// test:
///
/// - `queries.SPLIT.jsonl`: the questions with their answers, under `paq` and the passage's identifier;
/// - `qrels.SPLIT.txt`: the passage of each, in TREC's format;
/// - `SPLIT.jsonl`: both with the passages' texts, in Tevatron's format for training, without negatives.
///
/// # Errors
/// If a file cannot be read or written, a record is not PAQ's, there are fewer such passages than wanted, or
/// the collection does not have them all.
pub fn write_paq(
    metadata: &[Input],
    collection: &[Input],
    reading: &ReadOptions<CollectionFormat>,
    options: &PaqOptions,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let PaqOptions { train, dev, test, fewest_questions: questions, seed } = *options;
    let passages = train.saturating_add(dev).saturating_add(test);
    let found = sample(metadata, Wanted { passages, questions, seed })?;
    if found.passages.len() < passages {
        return Err(DatasetError::FewPassages { found: found.passages.len(), passages, questions });
    }
    let mut texts: HashMap<&str, Option<Passage>> =
        found.passages.iter().map(|asked| (asked.passage.as_str(), None)).collect();
    for passage in open_collection(collection, reading)? {
        let passage = passage?;
        if let Some(text) = texts.get_mut(passage.id.as_str()) {
            text.get_or_insert(passage);
        }
    }
    let mut folder = Folder::create(output)?;
    let mut statistics =
        Statistics(vec![Part::new("paq").count("questions", found.questions).count("passages", passages)]);
    let mut rest = found.passages.as_slice();
    for (name, size) in [("train", train), ("dev", dev), ("test", test)] {
        let (split, others) = rest.split_at(size);
        rest = others;
        let lengths = write_split(&mut folder, name, split, &texts, collection)?;
        statistics.0.push(Part::new(name).count("questions", size).lengths(&lengths));
    }
    Ok((folder.commit()?, statistics))
}

/// Writes the files of a split. Returns the lengths of its questions. `texts` are those of `collection`.
fn write_split(
    folder: &mut Folder,
    name: &str,
    split: &[Asked],
    texts: &HashMap<&str, Option<Passage>>,
    collection: &[Input],
) -> Result<Lengths, DatasetError> {
    let id = |asked: &Asked| format!("paq{}", asked.passage);
    let mut lengths = Lengths::default();
    let mut queries = folder.file(&format!("queries.{name}.jsonl"))?;
    for asked in split {
        let (text, answers) = (asked.question.text.as_str(), [asked.question.answer.clone()]);
        queries.json(&QueryLine { id: &id(asked), text, answers: &answers })?;
        lengths.add(text);
    }
    let mut qrels = Qrels::new();
    for asked in split {
        qrels.insert(&id(asked), &asked.passage, 1);
    }
    folder.qrels(&format!("qrels.{name}.txt"), &qrels)?;
    let mut examples = folder.file(&format!("{name}.jsonl"))?;
    for asked in split {
        let passage = texts.get(asked.passage.as_str()).and_then(Option::as_ref);
        let missing = || DatasetError::NoText { file: Some(names_of(collection)), id: asked.passage.clone() };
        let passage = passage.ok_or_else(missing)?;
        let title = passage.title.as_deref().unwrap_or_default();
        examples.json(&Example {
            query_id: &id(asked),
            query: &asked.question.text,
            answers: slice::from_ref(&asked.question.answer),
            positive_passages: [Positive { docid: &passage.id, title, text: &passage.text }],
            negative_passages: [],
        })?;
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use toller_corpus::ReadOptions;
    use toller_files::Input;

    use super::{PaqOptions, write_paq};
    use crate::error::DatasetError;
    use crate::statistics::Figure;

    /// Three questions about each of ten passages, and one about the eleventh.
    fn write(folder: &std::path::Path) -> [Input; 2] {
        let metadata = (0..31).map(|number| {
            let answers = [json!({"passage_id": (number % 10 + 10 * (number / 30)).to_string()})];
            json!({"question": format!("q{number}"), "answer": format!("a{number}"), "answers": answers})
                .to_string()
        });
        let metadata = metadata.collect::<Vec<_>>().join("\n");
        let passages = (0..12)
            .map(|id| json!({"id": id.to_string(), "title": "T", "text": format!("p{id}")}).to_string());
        let passages = passages.collect::<Vec<_>>().join("\n");
        [("paq.jsonl", metadata), ("corpus.jsonl", passages)].map(|(name, text)| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            Input::parse(&path)
        })
    }

    const OPTIONS: PaqOptions = PaqOptions { train: 7, dev: 2, test: 1, fewest_questions: 3, seed: 1 };

    #[test]
    fn splits_share_no_passage_and_have_their_texts() {
        let folder = tempfile::tempdir().unwrap();
        let [metadata, corpus] = write(folder.path());
        let output = folder.path().join("out");
        let (files, statistics) =
            write_paq(&[metadata], &[corpus], &ReadOptions::default(), &OPTIONS, &output).unwrap();
        assert_eq!(files.len(), 9);
        assert_eq!(statistics.part("paq").unwrap().figure("questions"), Some(Figure::Count(31)));
        let mut passages = Vec::new();
        for (name, size) in [("train", 7), ("dev", 2), ("test", 1)] {
            let read = |file: String| fs::read_to_string(output.join(file)).unwrap();
            let (examples, qrels) = (read(format!("{name}.jsonl")), read(format!("qrels.{name}.txt")));
            assert_eq!((examples.lines().count(), qrels.lines().count()), (size, size));
            for line in examples.lines() {
                let example: Value = serde_json::from_str(line).unwrap();
                let passage = &example["positive_passages"][0];
                let id = passage["docid"].as_str().unwrap();
                let question: usize = example["query"].as_str().unwrap()[1..].parse().unwrap();
                assert_eq!((question % 10).to_string(), id);
                assert_eq!(passage["text"], format!("p{id}"));
                assert_eq!(example["answers"], json!([format!("a{question}")]));
                assert!(qrels.contains(&format!("paq{id} 0 {id} 1\n")));
                passages.push(id.to_owned());
            }
        }
        passages.sort();
        assert_eq!(passages, (0..10).map(|id| id.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn what_cannot_be_sampled_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let [metadata, corpus] = write(folder.path());
        let reading = ReadOptions::default();
        let written = |options: PaqOptions, metadata: &Input, corpus: &Input| {
            let (metadata, corpus) = ([metadata.clone()], [corpus.clone()]);
            write_paq(&metadata, &corpus, &reading, &options, &folder.path().join("out")).unwrap_err()
        };
        let few = written(PaqOptions { test: 2, ..OPTIONS }, &metadata, &corpus);
        assert!(matches!(few, DatasetError::FewPassages { found: 10, passages: 11, questions: 3 }), "{few}");
        let missing = written(PaqOptions { test: 2, fewest_questions: 1, ..OPTIONS }, &metadata, &metadata);
        assert!(matches!(missing, DatasetError::Corpus(_)), "{missing}");
        let path = folder.path().join("one.jsonl");
        fs::write(&path, "{\"id\": \"0\", \"text\": \"p0\"}").unwrap();
        let missing = written(OPTIONS, &metadata, &Input::parse(&path));
        assert!(missing.to_string().contains("one.jsonl: the collection has no passage \""), "{missing}");
        let once = written(OPTIONS, &Input::Stdin, &corpus);
        assert!(matches!(once, DatasetError::ReadsOnce { .. }), "{once}");
    }
}
