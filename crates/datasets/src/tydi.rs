//! Mr. TyDi from TyDi QA (Zhang et al. 2021, section 3).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use toller_files::Input;
use toller_ir::{Qrels, Query};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::error::DatasetError;
use crate::folder::{Folder, FolderFile, UniqueIds};
use crate::lines::DocumentLine;
use crate::records::{Id, NotTaken, for_each_record};
use crate::statistics::{Lengths, Part, Statistics};

#[derive(Deserialize)]
struct Example {
    example_id: Id,
    language: String,
    question_text: String,
    document_title: String,
    document_url: String,
    document_plaintext: String,
    passage_answer_candidates: Vec<Candidate>,
    annotations: Vec<Annotation>,
}

/// Bytes of the document's text.
#[derive(Deserialize)]
struct Candidate {
    plaintext_start_byte: i64,
    plaintext_end_byte: i64,
}

#[derive(Deserialize)]
struct Annotation {
    passage_answer: PassageAnswer,
}

#[derive(Deserialize)]
struct PassageAnswer {
    /// -1 if the document has no answer.
    candidate_index: i64,
}

/// What is built.
#[derive(Clone, Debug)]
pub struct TydiOptions<'a> {
    /// The language, as TyDi names it (`arabic`); all if it is not given.
    pub language: Option<&'a str>,
    /// Of the questions that become the development set.
    pub seed: u64,
}

/// Of five training questions, one becomes a development question.
const DEV_SHARE: usize = 5;

const EXPECTED: &str = "TyDi QA's primary task: objects with example_id, language, question_text, document_title, \
                        document_url, document_plaintext, passage_answer_candidates and annotations";

/// A question with its relevant passages.
struct Question {
    query: Query,
    relevant: Vec<String>,
}

/// The numbers of articles, by their URLs and the hashes of their passages. Each example is judged by the
/// numbers of its own candidates. The same URL may come with other text, since pages change between dumps of
/// Wikipedia and nothing promises one dump for all files: refusing that would refuse real data, and judgments
/// would name other passages if the first text counted. So other passages are another article.
#[derive(Default)]
struct Articles(HashMap<(String, u128), usize>);

impl Articles {
    /// The number of an article, and whether it is a new one.
    fn number(&mut self, url: &str, passages: &[&str]) -> (usize, bool) {
        let mut hash = Xxh3::new();
        for text in passages {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        let next = self.0.len();
        let number = *self.0.entry((url.to_owned(), hash.digest128())).or_insert(next);
        (number, number == next)
    }

    /// How many have the URL of an earlier one.
    fn changed(&self) -> usize {
        let urls: HashSet<&str> = self.0.keys().map(|(url, _)| url.as_str()).collect();
        self.0.len() - urls.len()
    }
}

/// What was read so far, beside the questions.
#[derive(Default)]
struct Read {
    articles: Articles,
    lengths: Lengths,
    /// Questions without an answer.
    left_out: usize,
    other_languages: BTreeSet<String>,
}

impl Read {
    /// Takes an example: its passages into `corpus` if its article is new, and its question if it has an
    /// answer.
    fn take(&mut self, example: &Example, corpus: &mut FolderFile<'_>) -> Result<Option<Question>, NotTaken> {
        let candidates = example.passage_answer_candidates.iter();
        let passages =
            candidates.map(|candidate| passage(example, candidate)).collect::<Result<Vec<_>, _>>()?;
        let (article, is_new) = self.articles.number(&example.document_url, &passages);
        let written = passages.iter().enumerate().filter(|(_, text)| is_new && !text.is_empty());
        for (number, text) in written {
            self.lengths.add(text);
            let (id, title) = (format!("{article}#{number}"), example.document_title.as_str());
            corpus.json(&DocumentLine { id, title, text })?;
        }
        let question = question(example, &passages, article)?;
        self.left_out += usize::from(question.is_none());
        Ok(question)
    }
}

/// Writes corpus.jsonl, and queries and judgments of train, dev and test, by the paper's rules:
///
/// - Questions without an answer passage, or with only empty ones, are left out. All other annotated passages
///   are relevant.
/// - TyDi's development set is the test set. A fifth of the training questions, at random, is the
///   development set.
/// - Questions that are in training and in the test, by their texts, stay only in training.
/// - Passages are TyDi's, with the title of their article, which version 1.1 puts in front of the text. The
///   collection holds TyDi's articles; the paper adds the rest of Wikipedia.
///
/// A passage is called N#K: the K-th passage of the N-th article, both from 0. An article that comes again
/// with other passages is another article; the statistics count these (`changed_articles`).
///
/// # Errors
/// If a file cannot be read or written, a record is not TyDi's, or no record has the language.
pub fn write_tydi(
    train: &[Input],
    dev: &[Input],
    options: &TydiOptions<'_>,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut folder = Folder::create(output)?;
    let mut read = Read::default();
    let mut sets = [Vec::new(), Vec::new()];
    let mut corpus = folder.file("corpus.jsonl")?;
    for (inputs, questions) in [train, dev].into_iter().zip(&mut sets) {
        let mut ids = UniqueIds::of_queries();
        for input in inputs {
            for_each_record(input, EXPECTED, |example: Example| {
                if options.language.is_some_and(|language| language != example.language) {
                    read.other_languages.insert(example.language);
                } else if let Some(question) = read.take(&example, &mut corpus)? {
                    ids.add_query(&question.query)?;
                    questions.push(question);
                }
                Ok(())
            })?;
        }
    }
    let Read { articles, lengths, left_out, other_languages } = read;
    if let (Some(language), true) = (options.language, articles.0.is_empty()) {
        let found = other_languages.into_iter().collect();
        return Err(DatasetError::NoLanguage { language: language.to_owned(), found });
    }
    let [train, test] = sets;
    let in_training: HashSet<&str> = train.iter().map(|question| question.query.text.as_str()).collect();
    let all = test.len();
    let test: Vec<&Question> =
        test.iter().filter(|question| !in_training.contains(question.query.text.as_str())).collect();
    let repeated = all - test.len();
    let (dev, train) = fifth(&train, options.seed);
    let mut statistics = Statistics::default();
    let collection = Part::new("collection").count("articles", articles.0.len());
    let collection = collection.count("changed_articles", articles.changed());
    statistics.0.push(collection.count("passages", lengths.texts()).lengths(&lengths));
    for (name, questions) in [("train", train), ("dev", dev), ("test", test)] {
        let mut qrels = Qrels::new();
        for question in &questions {
            for passage in &question.relevant {
                qrels.insert(&question.query.id, passage, 1);
            }
        }
        let queries: Vec<Query> = questions.iter().map(|question| question.query.clone()).collect();
        folder.queries(&format!("queries.{name}.tsv"), &queries)?;
        folder.qrels(&format!("qrels.{name}.txt"), &qrels)?;
        statistics.0.push(Part::new(name).count("queries", queries.len()).judgments(&qrels));
    }
    statistics.0.push(Part::new("left out").count("unanswered", left_out).count("in_training", repeated));
    Ok((folder.commit()?, statistics))
}

fn passage<'a>(example: &'a Example, candidate: &Candidate) -> Result<&'a str, NotTaken> {
    let range = usize::try_from(candidate.plaintext_start_byte)
        .ok()
        .zip(usize::try_from(candidate.plaintext_end_byte).ok());
    let text = range.and_then(|(start, end)| example.document_plaintext.get(start..end));
    Ok(text.ok_or("a passage is outside of the document")?.trim())
}

/// The question, if one of its article's passages has an answer.
fn question(example: &Example, passages: &[&str], article: usize) -> Result<Option<Question>, NotTaken> {
    let mut relevant = Vec::new();
    for annotation in &example.annotations {
        let Ok(number) = usize::try_from(annotation.passage_answer.candidate_index) else { continue };
        let text = passages.get(number).ok_or("an answer is not one of the candidates")?;
        let id = format!("{article}#{number}");
        if !text.is_empty() && !relevant.contains(&id) {
            relevant.push(id);
        }
    }
    let query = Query {
        id: String::from(example.example_id.clone()),
        text: example.question_text.clone(),
        answers: Vec::new(),
    };
    Ok((!relevant.is_empty()).then_some(Question { query, relevant }))
}

/// A fifth of the questions, rounded down, and the others, each in their order.
fn fifth(questions: &[Question], seed: u64) -> (Vec<&Question>, Vec<&Question>) {
    let place = |question: &Question| xxh3_64_with_seed(question.query.id.as_bytes(), seed);
    let mut order: Vec<(u64, &str)> =
        questions.iter().map(|question| (place(question), question.query.id.as_str())).collect();
    order.sort_unstable();
    order.truncate(questions.len() / DEV_SHARE);
    let chosen: HashSet<&str> = order.into_iter().map(|(_, id)| id).collect();
    questions.iter().partition(|question| chosen.contains(question.query.id.as_str()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use toller_files::Input;

    use super::{TydiOptions, write_tydi};
    use crate::statistics::Figure;

    fn line(id: i64, question: &str, url: &str, answers: &[i64]) -> String {
        let candidates = [(0, 7), (8, 12), (12, 13)];
        example(id, question, url, ("é one. two. ", &candidates), answers)
    }

    fn example(
        id: i64,
        question: &str,
        url: &str,
        (text, candidates): (&str, &[(usize, usize)]),
        answers: &[i64],
    ) -> String {
        let candidate =
            |(from, to): &(usize, usize)| json!({"plaintext_start_byte": from, "plaintext_end_byte": to});
        let annotation = |answer: &i64| json!({"passage_answer": {"candidate_index": answer}});
        json!({
            "example_id": id, "language": "finnish", "question_text": question, "document_title": "T",
            "document_url": url, "document_plaintext": text,
            "passage_answer_candidates": candidates.iter().map(candidate).collect::<Vec<_>>(),
            "annotations": answers.iter().map(annotation).collect::<Vec<_>>(),
        })
        .to_string()
    }

    #[test]
    fn the_rules_of_the_paper() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: Vec<String>| {
            let path = folder.path().join(name);
            fs::write(&path, lines.join("\n")).unwrap();
            [Input::parse(path)]
        };
        let mut train: Vec<String> = (0..10).map(|id| line(id, &format!("q{id}"), "a", &[0])).collect();
        // Without an answer, and with an empty one: the third candidate is white space.
        train.extend([line(10, "none", "a", &[-1, -1]), line(11, "empty", "a", &[2])]);
        let train = write("train.jsonl", train);
        let dev = write("dev.jsonl", vec![line(20, "q3", "b", &[0]), line(21, "new", "b", &[-1, 1, 1, 0])]);
        let output = folder.path().join("built");
        let options = TydiOptions { language: Some("finnish"), seed: 1 };
        let (files, statistics) = write_tydi(&train, &dev, &options, &output).unwrap();
        assert_eq!(files.len(), 7);
        let read = |name: &str| fs::read_to_string(output.join(name)).unwrap();
        assert_eq!(
            read("corpus.jsonl").lines().collect::<Vec<_>>(),
            [
                r#"{"_id":"0#0","title":"T","text":"é one."}"#,
                r#"{"_id":"0#1","title":"T","text":"two."}"#,
                r#"{"_id":"1#0","title":"T","text":"é one."}"#,
                r#"{"_id":"1#1","title":"T","text":"two."}"#,
            ]
        );
        assert_eq!(read("queries.test.tsv"), "21\tnew\n");
        assert_eq!(read("qrels.test.txt"), "21 0 1#1 1\n21 0 1#0 1\n");
        assert_eq!(
            (read("queries.train.tsv").lines().count(), read("queries.dev.tsv").lines().count()),
            (8, 2)
        );
        let figure = |name| statistics.part("left out").unwrap().figure(name);
        assert_eq!(
            (figure("unanswered"), figure("in_training")),
            (Some(Figure::Count(2)), Some(Figure::Count(1)))
        );
        let changed = statistics.part("collection").unwrap().figure("changed_articles");
        assert_eq!(changed, Some(Figure::Count(0)));
        let other = TydiOptions { language: Some("thai"), seed: 1 };
        let nothing = write_tydi(&train, &dev, &other, &folder.path().join("thai"));
        assert_eq!(nothing.unwrap_err().to_string(), "no record has the language 'thai'");
        assert_eq!(fs::read_dir(folder.path().join("thai")).unwrap().count(), 0);
    }

    #[test]
    fn an_article_with_other_passages_is_another_article() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[String]| {
            let path = folder.path().join(name);
            fs::write(&path, lines.join("\n")).unwrap();
            [Input::parse(path)]
        };
        // A page that has grown, and the first text cut in another way: both have a third passage.
        let grown: (&str, &[(usize, usize)]) = ("zero. é one. two. ", &[(0, 5), (6, 13), (14, 18)]);
        let cut: (&str, &[(usize, usize)]) = ("é one. two. ", &[(0, 2), (3, 7), (8, 12)]);
        let train = write("train.jsonl", &[line(1, "first", "a", &[1]), line(2, "again", "a", &[0])]);
        let dev = [example(3, "grown", "a", grown, &[2]), example(4, "cut", "a", cut, &[2])];
        let dev = write("dev.jsonl", &dev);
        let output = folder.path().join("built");
        let options = TydiOptions { language: None, seed: 1 };
        let (_, statistics) = write_tydi(&train, &dev, &options, &output).unwrap();
        let read = |name: &str| fs::read_to_string(output.join(name)).unwrap();
        assert_eq!(read("qrels.train.txt"), "1 0 0#1 1\n2 0 0#0 1\n");
        assert_eq!(read("qrels.test.txt"), "3 0 1#2 1\n4 0 2#2 1\n");
        let corpus = read("corpus.jsonl");
        assert_eq!(corpus.lines().count(), 8);
        for id in ["0#1", "1#2", "2#2"] {
            let passage = format!(r#"{{"_id":"{id}","title":"T","text":"two."}}"#);
            assert!(corpus.lines().any(|line| line == passage), "{passage} is not in {corpus}");
        }
        let figure = |name| statistics.part("collection").unwrap().figure(name);
        assert_eq!(figure("articles"), Some(Figure::Count(3)));
        assert_eq!(figure("changed_articles"), Some(Figure::Count(2)));
    }

    #[test]
    fn a_question_without_a_text_is_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.jsonl");
        fs::write(&path, [line(1, "q", "a", &[0]), line(2, " ", "a", &[0])].join("\n")).unwrap();
        let train = [Input::parse(&path)];
        let options = TydiOptions { language: None, seed: 1 };
        let error = write_tydi(&train, &[], &options, &folder.path().join("built")).unwrap_err();
        assert!(error.to_string().ends_with("train.jsonl, line 2: the query \"2\" has no text"), "{error}");
    }
}
