//! From a reading comprehension set to a retrieval benchmark.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};

use super::{Misplaced, Paragraph, Question, QuestionKey, Reqa, ReqaOptions, Sentence, Skipped};
use crate::error::{DatasetError, ParagraphProblem};
use crate::squad::{Squad, SquadAnswer, SquadParagraph, SquadQuestion};

/// Builds the benchmark by the rules of ReQA (Ahmad et al. 2019, section 3).
///
/// - Candidates are the marked sentences in the order of the file. A repeated paragraph adds none; the same
///   words at two places of a paragraph are two candidates, or one with
///   [`unique_sentences`](ReqaOptions::unique_sentences). Blank sentences are not candidates.
/// - The answer sentence is the one with start <= `answer_start` < end. Answers in several sentences
///   make them all relevant, and so is every candidate of the same text, whatever its paragraph.
/// - Questions that are marked impossible, or have no answer that starts in a sentence, are left out and
///   counted.
///
/// # Errors
/// If a paragraph has no sentence breaks or one beyond its end, a question has no text, an id that is
/// not unique or holds blanks, no question is left, or most answers do not begin at their `answer_start`.
pub fn build_reqa(squad: &Squad, options: &ReqaOptions) -> Result<Reqa, DatasetError> {
    let mut builder = Builder { unique_sentences: options.unique_sentences, ..Builder::default() };
    let mut questions_read = 0;
    for (article_index, article) in squad.data.iter().enumerate() {
        for (paragraph_index, paragraph) in article.paragraphs.iter().enumerate() {
            let place = Place { squad, article: article_index, paragraph: paragraph_index };
            let spans = builder.add_paragraph(&article.title, paragraph, place)?;
            for question in &paragraph.qas {
                questions_read += 1;
                builder.add_question(question, &paragraph.context, &spans, place)?;
            }
        }
    }
    let reqa = builder.finish(options.question_key);
    if let Misplaced { count, answers, example: Some((question, answer)) } = &reqa.misplaced
        && 2 * count > *answers
    {
        return Err(DatasetError::MisplacedAnswers {
            file: squad.source.clone(),
            count: *count,
            answers: *answers,
            question: question.clone(),
            answer: answer.clone(),
        });
    }
    if reqa.questions.is_empty() {
        return Err(DatasetError::NoQuestions { file: squad.source.clone(), questions: questions_read });
    }
    Ok(reqa)
}

/// Where in the file a paragraph is, for errors.
#[derive(Clone, Copy)]
struct Place<'a> {
    squad: &'a Squad,
    article: usize,
    paragraph: usize,
}

impl Place<'_> {
    /// The error of `paragraph 3 of article 1 ('Super_Bowl_50')`, counted from 1.
    fn error(self, problem: ParagraphProblem) -> DatasetError {
        let title = self.squad.data.get(self.article).map_or("", |article| &article.title);
        let title = if title.is_empty() { String::new() } else { format!(" ('{title}')") };
        let place = format!("paragraph {} of article {}{title}", self.paragraph + 1, self.article + 1);
        DatasetError::Paragraph { file: self.squad.source.clone(), place, problem }
    }
}

/// A sentence of a paragraph: its first character, the one after its last, its text.
type Span<'a> = (usize, usize, &'a str);

/// The benchmark while the file is walked through.
#[derive(Default)]
struct Builder<'a> {
    /// Paragraphs by text.
    paragraphs: IndexMap<&'a str, &'a str>,
    /// Whether equal sentences of a paragraph are one candidate.
    unique_sentences: bool,
    /// Candidates: paragraph, and first character and character after the last, or the text.
    spans: HashSet<(usize, usize, usize)>,
    texts: HashSet<(usize, &'a str)>,
    sentences: Vec<Sentence>,
    ids: HashSet<&'a str>,
    /// Questions with the texts of their answer sentences.
    questions: Vec<(&'a SquadQuestion, IndexSet<&'a str>)>,
    skipped: Skipped,
    misplaced: Misplaced,
}

impl<'a> Builder<'a> {
    fn add_paragraph(
        &mut self,
        title: &'a str,
        paragraph: &'a SquadParagraph,
        place: Place<'_>,
    ) -> Result<Vec<Span<'a>>, DatasetError> {
        let spans = sentence_spans(paragraph, place)?;
        let entry = self.paragraphs.entry(&paragraph.context);
        let index = entry.index();
        entry.or_insert(title);
        for (start, end, text) in &spans {
            let mut is_new = || match self.unique_sentences {
                true => self.texts.insert((index, *text)),
                false => self.spans.insert((index, *start, *end)),
            };
            if !text.trim().is_empty() && is_new() {
                self.sentences.push(Sentence { text: (*text).to_owned(), paragraph: index });
            }
        }
        Ok(spans)
    }

    fn add_question(
        &mut self,
        question: &'a SquadQuestion,
        context: &str,
        spans: &[Span<'a>],
        place: Place<'_>,
    ) -> Result<(), DatasetError> {
        question.check(&mut self.ids).map_err(|problem| place.error(problem))?;
        if question.is_impossible {
            self.skipped.impossible += 1;
            return Ok(());
        }
        for answer in &question.answers {
            self.check_place(answer, &question.id, context);
        }
        let starts = question.answers.iter().filter_map(|answer| usize::try_from(answer.answer_start).ok());
        let sentences: IndexSet<&str> = starts
            .flat_map(|at| spans.iter().filter(move |(start, end, _)| (*start..*end).contains(&at)))
            .map(|(_, _, text)| *text)
            .filter(|text| !text.trim().is_empty())
            .collect();
        if sentences.is_empty() {
            self.skipped.unanswered += 1;
        } else {
            self.questions.push((question, sentences));
        }
        Ok(())
    }

    /// Counts an answer, and whether it is not where it should be. Some sets have answers without a place
    /// (-1).
    fn check_place(&mut self, answer: &SquadAnswer, question: &str, context: &str) {
        let SquadAnswer { answer_start, text } = answer;
        let Ok(start) = usize::try_from(*answer_start) else { return };
        if text.is_empty() {
            return;
        }
        self.misplaced.answers += 1;
        let found = context.chars().skip(start).take(text.chars().count());
        if !found.eq(text.chars()) {
            self.misplaced.count += 1;
            self.misplaced.example.get_or_insert_with(|| (question.to_owned(), text.clone()));
        }
    }

    /// Finds the candidates of each question, now that all are known.
    fn finish(self, key: QuestionKey) -> Reqa {
        let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, sentence) in self.sentences.iter().enumerate() {
            by_text.entry(&sentence.text).or_default().push(index);
        }
        let mut questions: IndexMap<&str, Question> = IndexMap::new();
        for (question, sentences) in &self.questions {
            let key = match key {
                QuestionKey::Id => question.id.as_str(),
                QuestionKey::Text => question.question.as_str(),
            };
            let entry = questions.entry(key).or_insert_with(|| Question {
                id: question.id.clone(),
                text: question.question.clone(),
                answers: Vec::new(),
            });
            entry.answers.extend(sentences.iter().filter_map(|text| by_text.get(text)).flatten());
        }
        let mut questions: Vec<Question> = questions.into_values().collect();
        for question in &mut questions {
            question.answers.sort_unstable();
            question.answers.dedup();
        }
        let paragraphs = self
            .paragraphs
            .into_iter()
            .map(|(text, title)| Paragraph { title: title.to_owned(), text: text.to_owned() })
            .collect();
        let Self { sentences, skipped, misplaced, .. } = self;
        Reqa { paragraphs, sentences, questions, skipped, misplaced }
    }
}

/// The marked sentences of a paragraph.
fn sentence_spans<'a>(
    paragraph: &'a SquadParagraph,
    place: Place<'_>,
) -> Result<Vec<Span<'a>>, DatasetError> {
    let breaks = paragraph.sentence_breaks.as_ref();
    let breaks = breaks.ok_or_else(|| place.error(ParagraphProblem::NoSentenceBreaks))?;
    let text = paragraph.context.as_str();
    // The byte at which each character starts, and the end.
    let bytes: Vec<usize> = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
    let slice = |start: usize, end: usize| text.get(*bytes.get(start)?..*bytes.get(end)?);
    breaks
        .iter()
        .map(|[start, end]| {
            let (start, end) = (*start, *end);
            let text = slice(start, end).ok_or_else(|| {
                place.error(ParagraphProblem::SentenceBreak { start, end, length: bytes.len() - 1 })
            })?;
            Ok((start, end, text))
        })
        .collect()
}
