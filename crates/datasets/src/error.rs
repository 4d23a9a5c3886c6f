//! What can go wrong while a benchmark is built.

use toller_analysis::AnalysisError;
use toller_corpus::{CorpusError, RunWriteError};
use toller_eval::EvalError;
use toller_files::{FileError, Input};
use toller_ir::{ErrorPlace, Explain, Position, Remedy, Setting, counted, remedy};

/// The action of a [`FileError`] that comes from making the output directory.
pub(crate) const CREATE_DIRECTORY: &str = "create the directory";

/// An input that is not what it should be, or an output that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Passages, queries or judgments cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A record of another file is not as it should be.
    #[error("{file}{}: {problem}", at(*line))]
    Record {
        /// The file.
        file: String,
        /// The line, from 1; 0 if there are no lines.
        line: u64,
        /// What is wrong.
        problem: String,
        /// What the file should hold.
        expected: &'static str,
    },
    /// No file belongs to the collection.
    #[error("{paths}: there is no file of the layout '{layout}'")]
    NoFiles {
        /// Where it was looked for.
        paths: String,
        /// The layout.
        layout: &'static str,
        /// The names that were looked for.
        expected: String,
    },
    /// A file was named that does not belong to the collection.
    #[error("{file}: no file of the layout '{layout}' is called that")]
    NotOfLayout {
        /// The file.
        file: String,
        /// The layout.
        layout: &'static str,
        /// The names that its files have.
        expected: String,
    },
    /// The split that was asked for has no file.
    #[error("there is no file of the split '{split}'")]
    NoSplit {
        /// The split.
        split: String,
        /// The splits that have files.
        found: Vec<String>,
    },
    /// Two files are for one purpose.
    #[error("there are two candidates for the {what}: {first} and {second}")]
    TwoFiles {
        /// What they hold.
        what: &'static str,
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// There are collections of several splits or tasks, and none was chosen.
    #[error("there are several collections: {}", .0.join(", "))]
    SeveralCollections(Vec<String>),
    /// Judged queries have no text.
    #[error("{}there is no text of {}, for example {example:?}", of_file(file.as_deref()), counted(*missing, "judged query"))]
    MissingQueries {
        /// The file of the queries, if they are of one.
        file: Option<String>,
        /// How many are missing.
        missing: usize,
        /// The first of them.
        example: String,
    },
    /// The collection is not the known one.
    #[error("this is not {name} as it is known: {differences}")]
    NotAsKnown {
        /// The known collection.
        name: String,
        /// How it differs.
        differences: String,
    },
    /// What is written cannot hold an identifier.
    #[error("{}the identifier {id:?} {flaw}", in_place(place.as_ref()))]
    BadId {
        /// Where it is, if that is known.
        place: Option<ErrorPlace>,
        /// The identifier.
        id: String,
        /// What is wrong with it: "is empty".
        flaw: &'static str,
    },
    /// An identifier holds what is to stand between it and the number of a passage.
    #[error(
        "before the number of a passage, the identifier {id:?} and the delimiter {delimiter:?} cannot be told apart"
    )]
    DelimiterInId {
        /// The identifier.
        id: String,
        /// The delimiter.
        delimiter: String,
    },
    /// A query has only white space.
    #[error("{}the query {id:?} has no text", in_place(place.as_ref()))]
    EmptyQuery {
        /// Where it is, if that is known.
        place: Option<ErrorPlace>,
        /// Its identifier.
        id: String,
    },
    /// Two queries or passages have one identifier.
    #[error("{}two {what} have the identifier {id:?}", in_place(place.as_ref()))]
    RepeatedId {
        /// Where the second is, if that is known.
        place: Option<ErrorPlace>,
        /// What they are.
        what: &'static str,
        /// The identifier.
        id: String,
    },
    /// A file has no record.
    #[error("{file}: there is no record")]
    NoRecord {
        /// The file.
        file: String,
        /// What the file should hold.
        expected: &'static str,
    },
    /// No record is in the language that was asked for.
    #[error("no record has the language '{language}'")]
    NoLanguage {
        /// The language.
        language: String,
        /// The languages that records have.
        found: Vec<String>,
    },
    /// A run cannot be written.
    #[error(transparent)]
    Run(#[from] RunWriteError),
    /// A run lists a document twice, or has a score that is not a number.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// A passage has no vector.
    #[error("the store has no vector of passage {0:?}")]
    NoVector(String),
    /// An analyzer cannot be made.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The map of identifiers does not have this passage.
    #[error("the map of identifiers has no passage {0:?}")]
    NoRow(String),
    /// A run has queries that are not among the given ones.
    #[error("the run has {} that {} not given, for example {example:?}", counted(*count, "query"), if *count == 1 { "is" } else { "are" })]
    UnknownQueries {
        /// How many there are.
        count: usize,
        /// The first of them.
        example: String,
    },
    /// A passage is relevant or was retrieved whose text is not known.
    #[error("{}the collection has no passage {id:?}", of_file(file.as_deref()))]
    NoText {
        /// The files of the collection, if they are known.
        file: Option<String>,
        /// The identifier of the passage.
        id: String,
    },
    /// A file that may have to be read twice.
    #[error("{file}: it can be read only once, and may have to be read again")]
    ReadsOnce {
        /// The file.
        file: String,
    },
    /// Too few passages have as many questions as are wanted.
    #[error("{found} of the {passages} passages have at least {}", counted(*questions, "question"))]
    FewPassages {
        /// How many there are.
        found: usize,
        /// How many are wanted.
        passages: usize,
        /// The fewest questions of a passage.
        questions: usize,
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
    /// Most answers of a set do not begin where it says.
    #[error(
        "{file}: {count} of {answers} answers do not begin at their answer_start, for example {answer:?} of question '{question}'"
    )]
    MisplacedAnswers {
        /// The file.
        file: String,
        /// How many there are.
        count: usize,
        /// How many answers have a text and a place.
        answers: usize,
        /// The question of the first of them.
        question: String,
        /// The first of them.
        answer: String,
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

impl DatasetError {
    /// This error; if it is about an identifier or a query, and does not say where that is, with the place.
    pub(crate) fn at(mut self, input: &Input, position: Option<Position>) -> Self {
        if let Self::BadId { place, .. } | Self::EmptyQuery { place, .. } | Self::RepeatedId { place, .. } =
            &mut self
        {
            place.get_or_insert_with(|| ErrorPlace { file: input.to_string(), position });
        }
        self
    }
}

/// The line in a message.
fn at(line: u64) -> String {
    if line > 0 { format!(", line {line}") } else { String::new() }
}

/// Whether a file is an archive, by its name.
fn is_archive(file: &str) -> bool {
    let name = file.to_ascii_lowercase();
    let is_compressed_tar = || name.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with(".tar"));
    [".zip", ".tar", ".tgz"].iter().any(|ending| name.ends_with(ending)) || is_compressed_tar()
}

/// The file in front of a message.
fn of_file(file: Option<&str>) -> String {
    file.map_or_else(String::new, |file| format!("{file}: "))
}

/// What messages call several files.
pub(crate) fn names_of(inputs: &[Input]) -> String {
    inputs.iter().map(Input::to_string).collect::<Vec<_>>().join(", ")
}

/// The place in front of a message.
fn in_place(place: Option<&ErrorPlace>) -> String {
    place.map_or_else(String::new, |ErrorPlace { file, position }| match position {
        Some(position) => format!("{file}, {position}: "),
        None => format!("{file}: "),
    })
}

impl Explain for DatasetError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) if error.action == CREATE_DIRECTORY => {
                Some(remedy!("choose another {}", Setting::Output))
            }
            Self::File(error) => error.remedy(),
            // Builders have no settings of formats and bad lines.
            Self::Corpus(
                CorpusError::Bad(_) | CorpusError::Broken { .. } | CorpusError::UnknownFormat { .. },
            ) => Some("correct the record, or fetch the file again".into()),
            Self::Corpus(error) => error.remedy(),
            Self::NoRecord { expected, .. } | Self::Record { expected, .. } => {
                Some(format!("expected {expected}").into())
            }
            Self::NoFiles { expected, .. } => {
                Some(format!("expected names such as {expected}; an archive has to be unpacked first").into())
            }
            Self::NotOfLayout { file, expected, .. } if is_archive(file) => {
                Some(format!("unpack it first; expected names such as {expected}").into())
            }
            Self::NotOfLayout { expected, .. } => {
                Some(format!("expected names such as {expected}; leave the file out, or rename it").into())
            }
            Self::NoSplit { found, .. } if found.is_empty() => {
                Some("the files belong to no split: choose none".into())
            }
            Self::NoSplit { found, .. } => Some(format!("there is {}", found.join(", ")).into()),
            Self::NoLanguage { found, .. } => Some(format!("they have {}", found.join(", ")).into()),
            Self::BadId { .. } | Self::RepeatedId { .. } => {
                Some("correct the identifiers in the input".into())
            }
            Self::DelimiterInId { .. } => Some(
                "choose a delimiter that no identifier holds, such as ##, and give it to the search, too"
                    .into(),
            ),
            Self::EmptyQuery { .. } => Some("give it a text, or take it out".into()),
            Self::TwoFiles { .. } => {
                Some("name the files or the folder of one collection, or choose one split".into())
            }
            Self::SeveralCollections(_) => Some("choose one of them as the split".into()),
            Self::MissingQueries { .. } => Some("give every judged query".into()),
            Self::Run(error) => error.remedy(),
            Self::Eval(error) => error.remedy(),
            Self::NoVector(_) => Some("encode all passages of the run".into()),
            Self::Analysis(error) => error.remedy(),
            Self::NoRow(_) => Some("give the map and the files of one release".into()),
            Self::UnknownQueries { .. } => {
                Some("give the queries that were searched for, with their texts".into())
            }
            Self::NoText { .. } => Some("give the collection that the passages are from".into()),
            Self::ReadsOnce { .. } => Some("save it as a file first".into()),
            Self::FewPassages { .. } => {
                Some("ask for fewer questions in all, or for fewer of a passage".into())
            }
            Self::NotAsKnown { .. } => Some("fetch the files again, or build without the check".into()),
            Self::Paragraph { problem, .. } => Some(problem.remedy().into()),
            Self::MisplacedAnswers { .. } => {
                Some("answer_start counts characters of the context (Unicode code points) from 0".into())
            }
            Self::NothingAsked { .. } => Some("give a set whose paragraphs have questions (qas)".into()),
            Self::NoQuestions { .. } => Some(
                "check that answer_start counts characters of the context, as the sentence breaks do".into(),
            ),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Run(error) => error.place(),
            Self::Eval(_) | Self::NoVector(_) => None,
            Self::Corpus(error) => error.place(),
            Self::NoFiles { .. }
            | Self::NoSplit { .. }
            | Self::NoLanguage { .. }
            | Self::DelimiterInId { .. }
            | Self::TwoFiles { .. }
            | Self::SeveralCollections(_)
            | Self::UnknownQueries { .. }
            | Self::FewPassages { .. }
            | Self::NoRow(_)
            | Self::Analysis(_)
            | Self::NotAsKnown { .. } => None,
            Self::BadId { place, .. } | Self::EmptyQuery { place, .. } | Self::RepeatedId { place, .. } => {
                place.clone()
            }
            Self::MissingQueries { file, .. } | Self::NoText { file, .. } => {
                file.as_ref().map(|file| ErrorPlace { file: file.clone(), position: None })
            }
            Self::Record { file, line, .. } => {
                let position = (*line > 0).then_some(Position::Line(*line));
                Some(ErrorPlace { file: file.clone(), position })
            }
            Self::Paragraph { file, .. }
            | Self::NoQuestions { file, .. }
            | Self::NoRecord { file, .. }
            | Self::NotOfLayout { file, .. }
            | Self::MisplacedAnswers { file, .. }
            | Self::ReadsOnce { file }
            | Self::NothingAsked(file) => Some(ErrorPlace { file: file.clone(), position: None }),
        }
    }
}

impl ParagraphProblem {
    fn remedy(&self) -> &'static str {
        match self {
            Self::NoSentenceBreaks => {
                "add the character offsets [[start, end], ...] of its sentences, as XQuAD-R has them, or let \
                 them be split by rules"
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
