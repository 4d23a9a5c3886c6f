//! What can go wrong in training.

use std::path::PathBuf;

use toller_checkpoint::ModelError;
use toller_corpus::CorpusError;
use toller_encoder::EncoderError;
use toller_eval::EvalError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Position, Remedy, Setting, counted, remedy};
use toller_nn::{NnError, Precision};
use toller_plot::PlotError;
use toller_texts::TextsError;
use toller_topk::IpTopkError;

/// Why a model cannot be trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The model.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// A batch in which nothing is a negative: its loss is 0, and nothing would be learned.
    #[error("query {query} of a batch has no negative")]
    NoNegative {
        /// The query's place in the batch, from 0.
        query: usize,
    },
    /// A batch without the scores that a distillation needs.
    #[error("the training data have no scores to distil")]
    NoScores,
    /// The loss, a gradient or weights are no longer numbers.
    #[error("the {what} of step {step} {} not finite", if *what == "weights" { "are" } else { "is" })]
    NotFinite {
        /// The loss, the gradient, or the weights.
        what: &'static str,
        /// The step, from 1.
        step: u64,
    },
    /// A model with a part that has no backward pass.
    #[error("{0}")]
    Untrainable(String),
    /// A number format in which gradients would not survive.
    #[error("models are not trained in {0}")]
    Dtype(Precision),
    /// A parameter that should be trained and has no gradient: a defect.
    #[error("there is no gradient of {0}")]
    NoGradient(String),
    /// Options that do not go together, in words in which a front names them.
    #[error("{problem}")]
    Options {
        /// What is wrong.
        problem: Remedy,
        /// What to do about it.
        remedy: Remedy,
    },
    /// A setting that others leave without effect.
    #[error("{setting} has no effect: {reason}")]
    NoEffect {
        /// The setting's name.
        setting: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A pooling that the layout of the model cannot hold.
    #[error("a model with the pooling {0:?} cannot be saved as it was trained")]
    Pooling(String),
    /// Training for unit vectors with a layout that has no place for the scaling.
    #[error(
        "a model in DPR's layout cannot be saved with vectors of unit length, for which cosine trains it"
    )]
    Scaling,
    /// Training with prompts of a model whose layout has no place for them.
    #[error("a model in DPR's layout cannot be saved with the prompts that it is trained with")]
    Prompts,
    /// A classifier of tokens with another number of labels than two.
    #[error("the model's classifier of tokens has {}, not 2", counted(*_0, "label"))]
    Labels(usize),
    /// A loss that the model cannot have.
    #[error("{0}")]
    Mismatch(String),
    /// A dev set on which the model cannot be evaluated.
    #[error("{0}")]
    Dev(String),
    /// A dev set of marked texts without anything to find.
    #[error("no text of the dev set has a boundary before its end")]
    NoBoundary,
    /// The search of an evaluation.
    #[error(transparent)]
    Search(#[from] IpTopkError),
    /// The measures of an evaluation.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The figure of a run.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A collection, or queries.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// Training data in an object store.
    #[error("{} is not on disk", _0.display())]
    Remote(PathBuf),
    /// A record of the training data.
    #[error("{}, {position}: {problem}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The record.
        position: Position,
        /// What is wrong.
        problem: String,
    },
    /// Identifiers of queries and passages, alone or before texts, where the texts of examples are needed.
    #[error("{}, {position}: {found}, where texts are expected", path.display())]
    NoTexts {
        /// The file.
        path: PathBuf,
        /// The first record.
        position: Position,
        /// What is there, in words.
        found: String,
    },
    /// An example that the run cannot learn from.
    #[error("{place}: {problem}")]
    Example {
        /// Where it is, in words.
        place: String,
        /// Where it is, if it is in a file of examples.
        file: Option<ErrorPlace>,
        /// What is wrong.
        problem: String,
    },
    /// A file without a record.
    #[error("{}: no record", _0.display())]
    NoRecords(PathBuf),
    /// No example at all.
    #[error("there is no example to learn from")]
    NoExamples,
    /// Pairs that all have one label.
    #[error("all pairs have the label {0}")]
    OneLabel(f64),
    /// Negatives of other queries.
    #[error("no query of the negatives has a relevant document ({queries} in all)")]
    ForeignNegatives {
        /// The queries of the negatives.
        queries: usize,
    },
    /// No batch without a text that occurs twice.
    #[error("there is no batch of {batch} examples without a query or passage that occurs twice")]
    Duplicates {
        /// Examples of a batch.
        batch: usize,
    },
    /// A warm-up that does not end.
    #[error("a warm-up of {} in a run of {steps}", counted(*warmup, "step"))]
    Warmup {
        /// The steps of the warm-up.
        warmup: u64,
        /// The steps of the run.
        steps: u64,
    },
    /// Two encoders with one set of weights, when only one was to be trained.
    #[error("queries and passages have the same weights, so one alone cannot be trained")]
    Tied,
    /// The collection.
    #[error(transparent)]
    Texts(#[from] TextsError),
    /// A passage that is known only by its identifier.
    #[error("passage {id:?} has no text, and is not in the collection")]
    MissingPassage {
        /// The identifier.
        id: String,
    },
    /// A number outside of its range.
    #[error("{setting} is {value}")]
    OutOfRange {
        /// The setting's name.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What fits.
        range: &'static str,
    },
    /// Too few examples for one batch.
    #[error("{} {} not fill a batch of {batch}", counted(*examples, "example"), if *examples == 1 { "does" } else { "do" })]
    TooFew {
        /// The examples.
        examples: usize,
        /// Examples of a batch.
        batch: usize,
    },
    /// The output of a run with other settings.
    #[error("{} holds a run with other settings: {what}", output.display())]
    OtherRun {
        /// The output.
        output: PathBuf,
        /// What differs.
        what: String,
    },
    /// A trained model whose run cannot go on: nothing says what it did.
    #[error("{}: the model is trained, but its run has no checkpoint", _0.display())]
    NoCheckpoint(PathBuf),
    /// A checkpoint that is damaged.
    #[error("{}: the checkpoint is damaged: {problem}", path.display())]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A log with a line that is not one of a log.
    #[error("{}, line {line}: the log is damaged: {problem}", path.display())]
    DamagedLog {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The output holds something else.
    #[error("{}: not empty, and not a run of this command", _0.display())]
    OutputExists(PathBuf),
    /// The caller stopped the work before the first step.
    #[error("training was stopped before the first step")]
    Stopped,
    /// Another process has the output.
    #[error("another process is training in {}", _0.display())]
    Locked(PathBuf),
}

impl TrainError {
    /// Why a model cannot be put on the backend that records.
    pub(crate) fn of_recording(error: EncoderError) -> Self {
        match error {
            EncoderError::Compute(NnError::Unsupported(what)) => Self::Untrainable(what),
            error => Self::Encoder(error),
        }
    }
}

impl From<ModelError> for TrainError {
    fn from(error: ModelError) -> Self {
        Self::Encoder(error.into())
    }
}

impl From<FileError> for TrainError {
    fn from(error: FileError) -> Self {
        Self::Encoder(error.into())
    }
}

impl Explain for TrainError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Encoder(EncoderError::Compute(NnError::CandleMemory(_))) => {
                "compute fewer sequences at a time, or free memory that other programs hold on the device".into()
            }
            Self::Encoder(error) => return error.remedy(),
            Self::Texts(error) => return error.remedy(),
            Self::Search(error) => return error.remedy(),
            Self::Eval(error) => return error.remedy(),
            Self::Plot(error) => return error.remedy(),
            Self::Corpus(error) => return error.remedy(),
            Self::Stopped => return None,
            Self::MissingPassage { .. } => "give the collection that has the passages".into(),
            Self::Example { .. } => remedy!(
                "correct the example, or pass {} to count and leave out such examples",
                Setting::SkipBadLines
            ),
            Self::NoRecords(_) => "leave the file out".into(),
            Self::NoExamples => "give judgments with relevant documents of the queries and the collection".into(),
            Self::OneLabel(_) => "give pairs with other labels, or negatives, or choose another loss".into(),
            Self::ForeignNegatives { .. } => "give the negatives of these queries, or judgments of those".into(),
            Self::Duplicates { .. } => "choose smaller batches".into(),
            Self::Warmup { .. } => "choose a warm-up that ends before the run, or a share below 1".into(),
            Self::Tied => remedy!("give {} to make two encoders of one", Setting::Untie),
            Self::NoNegative { .. } => {
                "a batch needs at least two queries, or a negative for each query".into()
            }
            Self::NoScores => "give data with a score for each passage, or choose another loss".into(),
            Self::NotFinite { .. } => {
                "lower the learning rate, or clip the gradient to a smaller norm".into()
            }
            Self::Dev(_) => {
                "give queries that the judgments name; and for a dual encoder a collection, for a \
                 cross-encoder a run"
                    .into()
            }
            Self::NoBoundary => "give a dev set with texts of several segments".into(),
            Self::Untrainable(_) => {
                "choose a model that can be trained: BERT, ERNIE, RoBERTa, XLM-R, CamemBERT, DistilBERT, ELECTRA or \
                 DPR"
                    .into()
            }
            Self::Dtype(_) => remedy!("use {} f32 or bf16", Setting::Dtype),
            Self::NoGradient(_) => "report this, with the model".into(),
            Self::Options { remedy, .. } => remedy.clone(),
            Self::NoEffect { setting, .. } => format!("leave {setting} out").into(),
            Self::Pooling(_) => "choose another pooling".into(),
            Self::Scaling => "choose the similarity dot".into(),
            Self::Prompts => "leave the prompts out, or give empty ones".into(),
            Self::Labels(_) => {
                "choose a token classifier with two labels, or a model without such a classifier".into()
            }
            Self::Mismatch(_) => "choose another loss, or another model".into(),
            Self::Remote(_) => "copy the object to a file first".into(),
            Self::Record { .. } => "correct the record; docs/training.md describes the formats".into(),
            Self::NoTexts { .. } => remedy!(
                "give the texts as {} and {}, and the identifiers as {} or {}",
                Setting::Queries,
                Setting::Corpus,
                Setting::Qrels,
                Setting::Negatives
            ),
            Self::OutOfRange { range, .. } => format!("give {range}").into(),
            Self::TooFew { .. } => "choose smaller batches, or give more examples".into(),
            Self::OtherRun { .. } => {
                "repeat the run with its first settings, choose another output, or delete this one to start again".into()
            }
            Self::DamagedLog { .. } => {
                "restore the file from a copy, or choose another output, or delete this one to start again".into()
            }
            Self::Damaged { .. } | Self::NoCheckpoint(_) => {
                "choose another output, or delete this one to start again".into()
            }
            Self::OutputExists(_) => "choose another output".into(),
            Self::Locked(_) => "wait until it has ended, or choose another output".into(),
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Encoder(error) => error.place(),
            Self::Texts(error) => error.place(),
            Self::Corpus(error) => error.place(),
            Self::Record { path, position, .. } | Self::NoTexts { path, position, .. } => {
                Some(ErrorPlace { position: Some(*position), ..ErrorPlace::of_file(path) })
            }
            Self::Example { file, .. } => file.clone(),
            Self::DamagedLog { path, line, .. } => {
                let position = Some(Position::Line(*line as u64));
                Some(ErrorPlace { position, ..ErrorPlace::of_file(path) })
            }
            Self::Remote(path)
            | Self::OtherRun { output: path, .. }
            | Self::Damaged { path, .. }
            | Self::NoRecords(path)
            | Self::NoCheckpoint(path)
            | Self::OutputExists(path)
            | Self::Locked(path) => Some(ErrorPlace::of_file(path)),
            _ => None,
        }
    }
}
