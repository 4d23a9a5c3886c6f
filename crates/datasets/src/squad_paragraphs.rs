//! Paragraph retrieval from a reading comprehension set: the relevant paragraph of a question is the one that
//! it was asked about.

use std::collections::HashSet;
use std::path::Path;

use crate::error::DatasetError;
use crate::lines::{DocumentLine, QueryLine, create_directory, json_line, write_lines};
use crate::squad::{Squad, SquadParagraph};

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquadParagraphs {
    /// Paragraphs.
    pub paragraphs: usize,
    /// Questions, each with one judgment.
    pub questions: usize,
}

/// Writes corpus.jsonl (paragraphs p0, p1, ... in the order of the sets), queries.jsonl and qrels.txt (in
/// TREC's format) into `directory`, which is created if it does not exist. Each file appears whole or not at
/// all.
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
    create_directory(directory)?;
    let documents = paragraphs.iter().enumerate().map(|(index, (_, title, paragraph))| DocumentLine {
        id: format!("p{index}"),
        title: if titles { title } else { "" },
        text: &paragraph.context,
    });
    write_lines(&directory.join("corpus.jsonl"), documents, json_line)?;
    let asked = || {
        let numbered = paragraphs.iter().enumerate();
        numbered.flat_map(|(index, (_, _, paragraph))| {
            paragraph.qas.iter().map(move |question| (index, question))
        })
    };
    let queries = asked().map(|(_, question)| QueryLine { id: &question.id, text: &question.question });
    write_lines(&directory.join("queries.jsonl"), queries, json_line)?;
    let judgments = asked().map(|(index, question)| format!("{} 0 p{index} 1", question.id));
    write_lines(&directory.join("qrels.txt"), judgments, |line| Ok(line.clone()))?;
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
