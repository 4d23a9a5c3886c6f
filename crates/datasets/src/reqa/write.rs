//! The benchmark as files.

use std::path::Path;

use serde::Serialize;

use super::{Question, Reqa};
use crate::error::DatasetError;
use crate::lines::{DocumentLine, QueryLine, create_directory, json_line, write_lines};

/// A line of corpus.jsonl.
#[derive(Serialize)]
struct SentenceLine<'a> {
    _id: String,
    text: &'a str,
    paragraph_id: String,
    context: &'a str,
}

impl Reqa {
    /// Writes into `directory`, which is created if it does not exist:
    ///
    /// - `corpus.jsonl`: the sentences, with `paragraph_id` and the paragraph's text as `context`;
    /// - `paragraphs.tsv`: each sentence's identifier and that of its paragraph;
    /// - `queries.jsonl`: the questions;
    /// - `qrels.txt`: the sentences that answer each question, in TREC's format;
    /// - `paragraphs.jsonl` and `paragraphs.qrels.txt`: the same at the level of paragraphs.
    ///
    /// Each file appears whole or not at all.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), DatasetError> {
        create_directory(directory)?;
        let sentences = self.sentences.iter().enumerate().map(|(index, sentence)| SentenceLine {
            _id: format!("s{index}"),
            text: &sentence.text,
            paragraph_id: format!("p{}", sentence.paragraph),
            context: self.paragraphs.get(sentence.paragraph).map_or("", |paragraph| &paragraph.text),
        });
        write_lines(&directory.join("corpus.jsonl"), sentences, json_line)?;
        let places = self.sentences.iter().map(|sentence| sentence.paragraph).enumerate();
        write_lines(&directory.join("paragraphs.tsv"), places, |(sentence, paragraph)| {
            Ok(format!("s{sentence}\tp{paragraph}"))
        })?;
        let questions =
            self.questions.iter().map(|question| QueryLine { id: &question.id, text: &question.text });
        write_lines(&directory.join("queries.jsonl"), questions, json_line)?;
        let judgments =
            self.questions.iter().flat_map(|question| judgment_lines(&question.id, "s", &question.answers));
        write_lines(&directory.join("qrels.txt"), judgments, |line| Ok(line.clone()))?;

        let paragraphs = self.paragraphs.iter().enumerate().map(|(index, paragraph)| DocumentLine {
            id: format!("p{index}"),
            title: &paragraph.title,
            text: &paragraph.text,
        });
        write_lines(&directory.join("paragraphs.jsonl"), paragraphs, json_line)?;
        let judgments = self
            .questions
            .iter()
            .flat_map(|question| judgment_lines(&question.id, "p", &self.answer_paragraphs(question)));
        write_lines(&directory.join("paragraphs.qrels.txt"), judgments, |line| Ok(line.clone()))
    }

    /// The indices of the paragraphs that hold an answer to `question`, ascending.
    #[must_use]
    pub fn answer_paragraphs(&self, question: &Question) -> Vec<usize> {
        let sentences = question.answers.iter().filter_map(|answer| self.sentences.get(*answer));
        let mut paragraphs: Vec<usize> = sentences.map(|sentence| sentence.paragraph).collect();
        paragraphs.sort_unstable();
        paragraphs.dedup();
        paragraphs
    }
}

/// Lines of TREC qrels.
fn judgment_lines(question_id: &str, prefix: &str, relevant: &[usize]) -> Vec<String> {
    relevant.iter().map(|index| format!("{question_id} 0 {prefix}{index} 1")).collect()
}
