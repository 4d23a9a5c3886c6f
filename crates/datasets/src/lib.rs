//! Builders of retrieval benchmarks from the files that their authors publish.
//!
//! ReQA (Ahmad et al. 2019, "ReQA: An Evaluation for End-to-End Answer Retrieval Models") turns a reading
//! comprehension set into retrieval: [`read_squad`], [`build_reqa`], [`Reqa::write`].

mod error;
mod reqa;
mod squad;

pub use error::DatasetError;
pub use reqa::{Paragraph, Question, QuestionKey, Reqa, ReqaOptions, Sentence, Skipped, build_reqa};
pub use squad::{Squad, SquadAnswer, SquadArticle, SquadParagraph, SquadQuestion, read_squad};
