//! Builders of retrieval benchmarks from the files that their authors publish.
//!
//! ReQA (Ahmad et al. 2019, "ReQA: An Evaluation for End-to-End Answer Retrieval Models") turns a reading
//! comprehension set into retrieval: [`read_squad`], [`build_reqa`], [`Reqa::write`].
//! [`write_squad_paragraphs`] lets questions retrieve paragraphs. [`AnswerMatcher`] finds out whether a
//! passage contains an answer, and [`AnswerSearch`] at which rank a run has one, as DPR and EntityQuestions
//! measure it.

mod accuracy;
mod answers;
mod error;
mod lines;
mod reqa;
mod squad;
mod squad_paragraphs;

pub use accuracy::AnswerSearch;
pub use answers::{AnswerMatcher, MatchMode, PreparedText};
pub use error::{DatasetError, ParagraphProblem};
pub use reqa::{Paragraph, Question, QuestionKey, Reqa, ReqaOptions, Sentence, Skipped, build_reqa};
pub use squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion, read_squad};
pub use squad_paragraphs::{SquadParagraphs, write_squad_paragraphs};
