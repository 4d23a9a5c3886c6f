//! What can go wrong while a benchmark is built.

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};

/// The action of a [`FileError`] that comes from making the output directory.
pub(crate) const CREATE_DIRECTORY: &str = "create the directory";

/// An input that is not what it should be, or an output that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The input is not JSON, or not of SQuAD's shape.
    #[error("{file}: {source}")]
    Json {
        /// The file.
        file: String,
        /// Where and what.
        source: serde_json::Error,
    },
    /// A paragraph, or one of its questions, is not as it should be.
    #[error("{file}: {place} {problem}")]
    Paragraph {
        /// The file.
        file: String,
        /// Which paragraph.
        place: String,
        /// What is wrong with it.
        problem: ParagraphProblem,
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
    #[error("{0}: there is no question")]
    NothingAsked(String),
}

/// What is wrong with a paragraph, or with one of its questions.
#[derive(Debug, thiserror::Error)]
pub enum ParagraphProblem {
    /// The sentences are not marked.
    #[error("has no 'sentence_breaks'")]
    NoSentenceBreaks,
    /// A sentence is outside of the paragraph, or ends before it starts.
    #[error("has the sentence break [{start}, {end}], but {length} characters")]
    SentenceBreak {
        /// The first character of the sentence.
        start: usize,
        /// The character after its last.
        end: usize,
        /// The number of characters in the paragraph.
        length: usize,
    },
    /// Qrels cannot hold the id of a question.
    #[error("has a question with the id '{0}'")]
    QuestionId(String),
    /// Two questions have this id.
    #[error("repeats the question id '{0}'")]
    RepeatedQuestionId(String),
    /// The question with this id has no text.
    #[error("has the question '{0}' without a text")]
    EmptyQuestion(String),
}

impl Explain for DatasetError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) if error.action == CREATE_DIRECTORY => {
                Some(remedy!("choose another {}", Setting::Output))
            }
            Self::File(error) => error.remedy(),
            Self::Json { source, .. } if source.is_eof() => {
                Some("the file ends early: fetch it again".into())
            }
            Self::Json { .. } => Some(
                "expected SQuAD JSON: {\"data\": [{\"paragraphs\": [{\"context\", \"sentence_breaks\", \
                 \"qas\": [{\"id\", \"question\", \"answers\": [{\"answer_start\", \"text\"}]}]}]}]}"
                    .into(),
            ),
            Self::Paragraph { problem, .. } => Some(problem.remedy().into()),
            Self::NothingAsked { .. } => Some("give a set whose paragraphs have questions (qas)".into()),
            Self::NoQuestions { .. } => Some(
                "check that answer_start counts characters of the context, as the sentence breaks do".into(),
            ),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Json { file, .. }
            | Self::Paragraph { file, .. }
            | Self::NoQuestions { file, .. }
            | Self::NothingAsked(file) => Some(ErrorPlace { file: file.clone(), position: None }),
        }
    }
}

impl ParagraphProblem {
    fn remedy(&self) -> &'static str {
        match self {
            Self::NoSentenceBreaks => {
                "add the character offsets [[start, end], ...] of its sentences, as XQuAD-R has them; \
                 sentences are not split here"
            }
            Self::SentenceBreak { .. } => {
                "offsets count characters (Unicode code points) from 0, the end excluded"
            }
            Self::QuestionId(_) => "ids must not be empty or hold blanks",
            Self::RepeatedQuestionId(_) => "give each question its own id",
            Self::EmptyQuestion(_) => "give it a text, or take it out",
        }
    }
}
