//! Paragraph retrieval from a reading comprehension set: the relevant paragraph of a question is the one that
//! it was asked about.

use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexMap;

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::lines::{DocumentLine, QueryLine};
use crate::squad::{Squad, SquadParagraph, SquadQuestion};

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquadParagraphs {
    /// Paragraphs: different texts.
    pub paragraphs: usize,
    /// Questions, each with one judgment.
    pub questions: usize,
    /// How many of them are marked impossible or have no answer.
    pub unanswered: usize,
}

/// The paragraphs by their texts: the title of the first with this text, and the questions of all.
type Paragraphs<'a> = IndexMap<&'a str, (&'a str, Vec<&'a SquadQuestion>)>;

/// Writes corpus.jsonl (paragraphs p0, p1, ... in the order of the sets), queries.jsonl with the answers, and
/// qrels.txt (in TREC's format) into `directory`, which is created if it does not exist. The files appear
/// together, when all are complete.
///
/// With `titles` a paragraph has the title of its article. Paragraphs of one text are one, where the first of
/// them is: a question would judge only its own copy of them. Every question counts, answered or not, since
/// it was asked about its paragraph.
///
/// # Errors
/// If a question has no text, an id that is not unique or holds blanks, there is no question, or a file
/// cannot be written.
pub fn write_squad_paragraphs(
    sets: &[Squad],
    titles: bool,
    directory: &Path,
) -> Result<SquadParagraphs, DatasetError> {
    let all: Vec<(&Squad, &str, &SquadParagraph)> = sets
        .iter()
        .flat_map(|set| set.data.iter().map(move |article| (set, article)))
        .flat_map(|(set, article)| {
            article.paragraphs.iter().map(move |one| (set, article.title.as_str(), one))
        })
        .collect();
    let questions = check(&all)?;
    if questions == 0 {
        let file = sets.first().map_or(String::new(), |set| set.source.clone());
        return Err(DatasetError::NothingAsked(file));
    }
    let mut paragraphs = Paragraphs::new();
    for (_, title, SquadParagraph { context, qas, .. }) in all {
        let (_, questions) = paragraphs.entry(context).or_insert_with(|| (title, Vec::new()));
        questions.extend(qas);
    }
    let unanswered = write(&paragraphs, titles, directory)?;
    Ok(SquadParagraphs { paragraphs: paragraphs.len(), questions, unanswered })
}

/// Writes the files. Returns how many questions have no answer.
fn write(paragraphs: &Paragraphs<'_>, titles: bool, directory: &Path) -> Result<usize, DatasetError> {
    let mut folder = Folder::create(directory)?;
    let mut corpus = folder.file("corpus.jsonl")?;
    for (index, (text, (title, _))) in paragraphs.iter().enumerate() {
        let title = if titles { *title } else { "" };
        corpus.json(&DocumentLine { id: format!("p{index}"), title, text })?;
    }
    let mut unanswered = 0;
    let mut queries = folder.file("queries.jsonl")?;
    for question in paragraphs.values().flat_map(|(_, questions)| questions) {
        let answers = question.answer_texts();
        unanswered += usize::from(question.is_impossible || answers.is_empty());
        queries.json(&QueryLine { id: &question.id, text: &question.question, answers: &answers })?;
    }
    let mut judgments = folder.file("qrels.txt")?;
    for (index, (_, questions)) in paragraphs.values().enumerate() {
        for question in questions {
            judgments.line(format_args!("{} 0 p{index} 1", question.id))?;
        }
    }
    folder.commit()?;
    Ok(unanswered)
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
