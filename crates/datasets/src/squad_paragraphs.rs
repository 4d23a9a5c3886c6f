//! Paragraph retrieval from a reading comprehension set: the relevant paragraph of a question is the one that
//! it was asked about.

use std::collections::HashSet;
use std::path::Path;

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::lines::{DocumentLine, QueryLine};
use crate::squad::{Squad, SquadParagraph};

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquadParagraphs {
    /// Paragraphs.
    pub paragraphs: usize,
    /// Questions, each with one judgment.
    pub questions: usize,
}

/// Writes corpus.jsonl (paragraphs p0, p1, ... in the order of the sets), queries.jsonl with the answers, and
/// qrels.txt (in TREC's format) into `directory`, which is created if it does not exist. The files appear
/// together, when all are complete.
///
/// With `titles` a paragraph has the title of its article. Every question counts, answered or not, since it
/// was asked about its paragraph.
///
/// # Errors
/// If a question has no text, an id that is not unique or holds blanks, there is no question, or a file
/// cannot be written.
pub fn write_squad_paragraphs(
    sets: &[Squad],
    titles: bool,
    directory: &Path,
) -> Result<SquadParagraphs, DatasetError> {
    let paragraphs: Vec<(&Squad, &str, &SquadParagraph)> = sets
        .iter()
        .flat_map(|set| set.data.iter().map(move |article| (set, article)))
        .flat_map(|(set, article)| {
            article.paragraphs.iter().map(move |one| (set, article.title.as_str(), one))
        })
        .collect();
    let questions = check(&paragraphs)?;
    if questions == 0 {
        let file = sets.first().map_or(String::new(), |set| set.source.clone());
        return Err(DatasetError::NothingAsked(file));
    }
    let mut folder = Folder::create(directory)?;
    let mut corpus = folder.file("corpus.jsonl")?;
    for (index, (_, title, paragraph)) in paragraphs.iter().enumerate() {
        let title = if titles { *title } else { "" };
        corpus.json(&DocumentLine { id: format!("p{index}"), title, text: &paragraph.context })?;
    }
    let mut queries = folder.file("queries.jsonl")?;
    for question in paragraphs.iter().flat_map(|(_, _, paragraph)| &paragraph.qas) {
        let answers = question.answer_texts();
        queries.json(&QueryLine { id: &question.id, text: &question.question, answers: &answers })?;
    }
    let mut judgments = folder.file("qrels.txt")?;
    for (index, (_, _, paragraph)) in paragraphs.iter().enumerate() {
        for question in &paragraph.qas {
            judgments.line(format_args!("{} 0 p{index} 1", question.id))?;
        }
    }
    folder.commit()?;
    Ok(SquadParagraphs { paragraphs: paragraphs.len(), questions })
}

/// Counts the questions, whose ids can be written to qrels.
fn check(paragraphs: &[(&Squad, &str, &SquadParagraph)]) -> Result<usize, DatasetError> {
    let mut ids = HashSet::new();
    for (number, (set, title, paragraph)) in paragraphs.iter().enumerate() {
        for question in &paragraph.qas {
            question.check(&mut ids).map_err(|problem| {
                let title = if title.is_empty() { String::new() } else { format!(" ('{title}')") };
                let place = format!("paragraph {}{title}", number + 1);
                DatasetError::Paragraph { file: set.source.clone(), place, problem }
            })?;
        }
    }
    Ok(ids.len())
}
