//! The benchmark as files.

use std::path::Path;

use serde::Serialize;

use super::{Question, Reqa};
use crate::error::DatasetError;
use crate::folder::{Folder, FolderFile};
use crate::lines::{DocumentLine, QueryLine};

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
    /// The files appear together, when all are complete.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), DatasetError> {
        let mut folder = Folder::create(directory)?;
        let mut corpus = folder.file("corpus.jsonl")?;
        for (index, sentence) in self.sentences.iter().enumerate() {
            corpus.json(&SentenceLine {
                _id: format!("s{index}"),
                text: &sentence.text,
                paragraph_id: format!("p{}", sentence.paragraph),
                context: self.paragraphs.get(sentence.paragraph).map_or("", |paragraph| &paragraph.text),
            })?;
        }
        let mut places = folder.file("paragraphs.tsv")?;
        for (index, sentence) in self.sentences.iter().enumerate() {
            places.line(format_args!("s{index}\tp{}", sentence.paragraph))?;
        }
        let mut queries = folder.file("queries.jsonl")?;
        for question in &self.questions {
            queries.json(&QueryLine { id: &question.id, text: &question.text, answers: &[] })?;
        }
        self.judgments(folder.file("qrels.txt")?, "s", |question| question.answers.clone())?;
        let mut paragraphs = folder.file("paragraphs.jsonl")?;
        for (index, paragraph) in self.paragraphs.iter().enumerate() {
            let id = format!("p{index}");
            paragraphs.json(&DocumentLine { id, title: &paragraph.title, text: &paragraph.text })?;
        }
        let file = folder.file("paragraphs.qrels.txt")?;
        self.judgments(file, "p", |question| self.answer_paragraphs(question))?;
        folder.commit()?;
        Ok(())
    }

    /// Writes the relevant documents of each question, in TREC's format.
    fn judgments(
        &self,
        mut file: FolderFile<'_>,
        prefix: &str,
        relevant: impl Fn(&Question) -> Vec<usize>,
    ) -> Result<(), DatasetError> {
        for question in &self.questions {
            for index in relevant(question) {
                file.line(format_args!("{} 0 {prefix}{index} 1", question.id))?;
            }
        }
        Ok(())
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
