//! Reading comprehension sets in SQuAD's JSON, versions 1.1 and 2, with the sentence offsets of XQuAD-R.

use std::collections::HashSet;

use serde::Deserialize;
use toller_files::Input;

use crate::error::{DatasetError, ParagraphProblem};
use crate::folder::is_id;
use crate::records::{open_text, read_json_of};
use crate::squad_rows::{is_rows, read_squad_rows};

/// A reading comprehension set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Squad {
    /// The articles.
    pub data: Vec<SquadArticle>,
    /// Where this was read from, for messages.
    #[serde(skip)]
    pub source: String,
}

/// An article.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SquadArticle {
    /// The title, empty if there is none.
    #[serde(default)]
    pub title: String,
    /// The paragraphs that have questions.
    pub paragraphs: Vec<SquadParagraph>,
}

/// A paragraph and the questions on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SquadParagraph {
    /// The text.
    pub context: String,
    /// Where each sentence starts and ends, in characters (code points) of the text, the end excluded.
    pub sentence_breaks: Option<Vec<[usize; 2]>>,
    /// The questions.
    pub qas: Vec<SquadQuestion>,
}

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SquadQuestion {
    /// The id.
    pub id: String,
    /// The text.
    pub question: String,
    /// The answers that people gave; may be empty in version 2.
    #[serde(default)]
    pub answers: Vec<SquadAnswer>,
    /// Version 2: the paragraph does not answer it.
    #[serde(default)]
    pub is_impossible: bool,
}

impl SquadQuestion {
    /// The different texts of the answers.
    pub(crate) fn answer_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for answer in self.answers.iter().filter(|answer| !answer.text.trim().is_empty()) {
            if !texts.contains(&answer.text) {
                texts.push(answer.text.clone());
            }
        }
        texts
    }

    /// Checks the id and the text. `ids` holds the ids of the questions before.
    pub(crate) fn check<'a>(&'a self, ids: &mut HashSet<&'a str>) -> Result<(), ParagraphProblem> {
        if !is_id(&self.id) {
            return Err(ParagraphProblem::QuestionId(self.id.clone()));
        }
        if !ids.insert(&self.id) {
            return Err(ParagraphProblem::RepeatedQuestionId(self.id.clone()));
        }
        if self.question.trim().is_empty() {
            return Err(ParagraphProblem::EmptyQuestion(self.id.clone()));
        }
        Ok(())
    }
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SquadAnswer {
    /// The first character of the answer in the paragraph; -1 in sets without it.
    pub answer_start: i64,
    /// The text of the answer.
    pub text: String,
}

/// Reads a set, compressed or not: SQuAD's JSON, or the rows that Hugging Face makes of it, as JSON lines or
/// Parquet. It is held in memory: these sets have about ten megabytes.
///
/// # Errors
/// If the input cannot be read or is not of this shape.
pub fn read_squad(input: &Input) -> Result<Squad, DatasetError> {
    const EXPECTED: &str = "SQuAD JSON: {\"data\": [{\"paragraphs\": [{\"context\", \"sentence_breaks\", \"qas\": \
                            [{\"id\", \"question\", \"answers\": [{\"answer_start\", \"text\"}]}]}]}]}";
    let mut reader = open_text(input)?;
    if is_rows(&mut reader) {
        return read_squad_rows(reader);
    }
    let squad: Squad = read_json_of(reader, EXPECTED)?;
    Ok(Squad { source: input.to_string(), ..squad })
}
