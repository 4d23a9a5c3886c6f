//! What can go wrong while a benchmark is built.

use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{Explain, Remedy, Setting, remedy};

/// An input that is not what it should be, or an output that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The output directory cannot be made.
    #[error("cannot create the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input is not JSON, or not of SQuAD's shape.
    #[error("{file}: {source}")]
    Json {
        /// The file.
        file: String,
        /// Where and what.
        source: serde_json::Error,
    },
    /// The sentences of a paragraph are not marked.
    #[error("{file}: {place} has no 'sentence_breaks'")]
    NoSentenceBreaks {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
    },
    /// A sentence lies outside of its paragraph, or ends before it starts.
    #[error("{file}: {place} has the sentence break [{start}, {end}], but {length} characters")]
    BadSentenceBreak {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
        /// The first character of the sentence.
        start: usize,
        /// The character after its last.
        end: usize,
        /// The number of characters in the paragraph.
        length: usize,
    },
    /// A question's id cannot be written to qrels.
    #[error("{file}: {place} has a question with the id '{id}'")]
    BadQuestionId {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
        /// The id.
        id: String,
    },
    /// Two questions have one id.
    #[error("{file}: {place} repeats the question id '{id}'")]
    DuplicateQuestionId {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
        /// The id.
        id: String,
    },
    /// A question has no text.
    #[error("{file}: the question '{id}' of {place} has no text")]
    EmptyQuestion {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
        /// The question's id.
        id: String,
    },
    /// Nothing to evaluate is left.
    #[error("{file}: no question has an answer in a sentence ({questions} questions read)")]
    NoQuestions {
        /// The file.
        file: String,
        /// How many questions there are.
        questions: usize,
    },
    /// Nothing is asked.
    #[error("{file}: there is no question")]
    NothingAsked {
        /// The file, or the first of them.
        file: String,
    },
}

impl Explain for DatasetError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Directory { .. } => Some(remedy!("choose another {}", Setting::Output)),
            Self::Json { source, .. } if source.is_eof() => {
                Some("the file ends early: fetch it again".into())
            }
            Self::Json { .. } => Some(
                "expected SQuAD JSON: {\"data\": [{\"paragraphs\": [{\"context\", \"sentence_breaks\", \
                 \"qas\": [{\"id\", \"question\", \"answers\": [{\"answer_start\", \"text\"}]}]}]}]}"
                    .into(),
            ),
            Self::NoSentenceBreaks { .. } => Some(
                "add the character offsets [[start, end], ...] of its sentences, as XQuAD-R has them; \
                 sentences are not split here"
                    .into(),
            ),
            Self::BadSentenceBreak { .. } => {
                Some("offsets count characters (Unicode code points) from 0, the end excluded".into())
            }
            Self::BadQuestionId { .. } => Some("ids must not be empty or hold blanks".into()),
            Self::DuplicateQuestionId { .. } => Some("give each question its own id".into()),
            Self::EmptyQuestion { .. } => Some("give it a text, or take it out".into()),
            Self::NothingAsked { .. } => Some("give a set whose paragraphs have questions (qas)".into()),
            Self::NoQuestions { .. } => Some(
                "check that answer_start counts characters of the context, as the sentence breaks do".into(),
            ),
        }
    }
}
