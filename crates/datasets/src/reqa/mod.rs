//! ReQA: questions retrieve the sentences that answer them.

mod build;
mod sentences;
mod statistics;
mod write;

pub use build::build_reqa;
pub(crate) use sentences::sentences;
pub use sentences::{SentenceRules, mark_sentences, split_sentences};

/// What makes two questions one query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionKey {
    /// The id: every question is a query.
    #[default]
    Id,
    /// The text. As in the paper's script, questions with equal texts are one query under the id of the
    /// first, with the answers of all.
    Text,
}

/// How to build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReqaOptions {
    /// What makes two questions one query.
    pub question_key: QuestionKey,
    /// As in the paper's script, a sentence that a paragraph repeats is one candidate.
    pub unique_sentences: bool,
}

/// A retrieval benchmark: documents are sentences, called s0, s1, ... in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reqa {
    /// The paragraphs, each text once: p0, p1, ...
    pub paragraphs: Vec<Paragraph>,
    /// The candidate answers.
    pub sentences: Vec<Sentence>,
    /// The questions that have an answer.
    pub questions: Vec<Question>,
    /// What was left out.
    pub skipped: Skipped,
    /// Answers that are not where they should be.
    pub misplaced: Misplaced,
}

/// A paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// The title of its article, may be empty.
    pub title: String,
    /// The text.
    pub text: String,
}

/// A sentence in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The text, exactly as marked.
    pub text: String,
    /// The index of its paragraph.
    pub paragraph: usize,
}

/// A question and what answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The id.
    pub id: String,
    /// The text.
    pub text: String,
    /// The indices of the sentences that answer it: all with the same text as a sentence in which an answer
    /// starts. Ascending, at least one.
    pub answers: Vec<usize>,
}

/// Answers whose text does not begin at `answer_start`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misplaced {
    /// How many there are.
    pub count: usize,
    /// How many answers have a text and a place.
    pub answers: usize,
    /// The first of them: the question's identifier, and the answer.
    pub example: Option<(String, String)>,
}

/// Questions that were left out, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Marked as unanswerable (SQuAD 2).
    pub impossible: usize,
    /// Without an answer that starts in a sentence.
    pub unanswered: usize,
}
