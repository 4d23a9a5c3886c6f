//! What a user can do about an error, in words that every front can replace by its own.

use std::borrow::Cow;
use std::error::Error;
use std::{fmt, io};

use crate::ErrorPlace;

/// An error that can say what to do about it. Every error of a library does, so that a front asks one trait.
pub trait Explain: Error {
    /// What the user can do about it, where that is known.
    fn remedy(&self) -> Option<Remedy>;

    /// Where the error is, if it is about a file.
    fn place(&self) -> Option<ErrorPlace> {
        None
    }
}

/// Any error with its remedy.
pub type AnyError = Box<dyn Explain + Send + Sync>;

impl<E: Explain + Send + Sync + 'static> From<E> for AnyError {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

impl Error for AnyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}

/// What to do about an error: text, and between it what each front names in its own way.
///
/// A library says "lower k"; the command line makes `--k` of that, and a server the field of a request.
/// [`remedy!`](crate::remedy) writes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy(Vec<Part>);

/// A piece of a [`Remedy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(Cow<'static, str>),
    /// What a front has its own name for.
    Term(Term),
}

/// A command, a setting of it, or the setting's value, or several of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The command.
    pub command: Option<Command>,
    /// The setting.
    pub setting: Option<Setting>,
    /// The value to give to the setting.
    pub value: Option<Cow<'static, str>>,
}

/// Writes a [`Remedy`]: a text in which each `{}` stands for a [`Setting`], a [`Command`], a [`Term`] or more
/// text.
#[macro_export]
macro_rules! remedy {
    ($template:literal, $($part:expr),+ $(,)?) => {{
        const { assert!($crate::Remedy::gaps($template) == [$(stringify!($part)),+].len()) };
        $crate::Remedy::fill($template, [$($crate::Part::from($part)),+])
    }};
}

impl Remedy {
    /// How many `{}` a template has.
    #[must_use]
    pub const fn gaps(template: &str) -> usize {
        let (bytes, mut at, mut gaps) = (template.as_bytes(), 1, 0);
        while at < bytes.len() {
            if bytes[at - 1] == b'{' && bytes[at] == b'}' {
                gaps += 1;
            }
            at += 1;
        }
        gaps
    }

    /// The template with the parts in its gaps, in their order.
    #[must_use]
    pub fn fill(template: &'static str, parts: impl IntoIterator<Item = Part>) -> Self {
        let mut texts = template.split("{}").map(Part::from);
        let mut filled: Vec<Part> = texts.next().into_iter().collect();
        for (part, text) in parts.into_iter().zip(texts) {
            filled.extend([part, text]);
        }
        Self(filled)
    }

    /// The text, with each term as `name` writes it.
    #[must_use]
    pub fn render(&self, name: impl Fn(&Term) -> String) -> String {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Term(term) => name(term).into(),
        });
        texts.collect()
    }

    /// What it names that each front has its own name for.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Term(term) => Some(term),
        })
    }

    /// This remedy, and `other` after it.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// This remedy, and `part` after it.
    #[must_use]
    pub fn and(mut self, part: impl Into<Part>) -> Self {
        self.0.push(part.into());
        self
    }
}

/// The text with the plain names of settings and commands.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|term| term.spelled(Command::name, Setting::name)))
    }
}

impl Term {
    /// Command, setting and value with spaces between, the first two as they are named.
    pub fn spelled<S: Into<String>>(
        &self,
        command: impl Fn(Command) -> S,
        setting: impl Fn(Setting) -> S,
    ) -> String {
        let named = [self.command.map(|of| command(of).into()), self.setting.map(|of| setting(of).into())];
        let value = self.value.as_deref().map(str::to_owned);
        named.into_iter().chain([value]).flatten().collect::<Vec<_>>().join(" ")
    }
}

macro_rules! terms {
    ($(#[$doc:meta])* $name:ident $what:literal { $($variant:ident $text:literal: $about:literal,)+ }) => {
        crate::named! { $(#[$doc])* pub enum $name: $what { $(#[doc = $about] $variant = $text,)+ } }
    };
}

terms! {
    /// What a remedy asks to run.
    Command "a command" {
        Convert "convert": "Convert a checkpoint of another framework.",
        Doctor "doctor": "Report what the build and the machine can do.",
        Encode "encode": "Encode texts into a store.",
        Eval "eval": "Evaluate runs.",
        Index "index": "Build an inverted index.",
        Merge "merge": "Merge the partial runs of a search in shares.",
        Pull "pull": "Fetch a store from an object store.",
        Quantize "quantize": "Make the int8 codes of a store.",
    }
}

terms! {
    /// What a remedy asks to set.
    Setting "a setting" {
        AllowUnexpected "allow_unexpected": "Accept weights that the model does not need.",
        Analyzer "analyzer": "How texts become terms.",
        AnyRole "any_role": "Take a store of the other role.",
        AnyMetric "any_metric": "Import vectors that were made for another metric.",
        AppendEosToken "append_eos_token": "End every text in the tokenizer's end token.",
        AssumeModel "assume_model": "Take the model for the one that made the vectors.",
        Backend "backend": "What computes a model.",
        BatchTokens "batch_tokens": "The most tokens of a batch.",
        Codes "codes": "The codes of a store.",
        Config "config": "The file of a model's configuration.",
        ContextField "context_field": "The field of what surrounds a text.",
        Corpus "corpus": "A collection.",
        Data "data": "Files of training data.",
        Dense "dense": "A store of vectors to search.",
        DevCorpus "dev_corpus": "The collection of a dev set.",
        DevDepth "dev_depth": "The hits of a dev set's run that are ranked.",
        DevRun "dev_run": "The run of a dev set.",
        Device "device": "Where to compute.",
        DifferentCollections "different_collections": "Fuse results of different collections.",
        Dim "dim": "The number of dimensions.",
        DocVectors "doc_vectors": "Keep the vectors of documents in an inverted index.",
        Dtype "dtype": "The number format that a model computes in.",
        Force "force": "Carry out every step of a recipe again.",
        Format "format": "The format of a file.",
        IdColumn "id_column": "The column of identifiers.",
        Ids "ids": "The files of identifiers.",
        Impact "impact": "Index the weights of terms in place of texts.",
        K "k": "The number of hits.",
        Keep "keep": "Which line counts of those that a run has for one document.",
        Label "label": "The label whose score counts.",
        Labels "labels": "The labels of a new classifier.",
        MaxLength "max_length": "The most tokens of a text.",
        MaxScore "max_score": "The highest score of a negative.",
        MinScore "min_score": "The lowest score of a negative.",
        Missing "missing": "The score of a document that is missing from a run.",
        Model "model": "The model.",
        NarrowF64 "narrow_f64": "Round float64 to float32.",
        Negatives "negatives": "The negatives of queries.",
        NewPositiveScore "new_positive_score": "The score from which on documents are positives.",
        NoDuplicates "no_duplicates": "Let no text occur twice in a batch.",
        Normalize "normalize": "How scores are normalized before they are combined.",
        NormalizeEmbeddings "normalize_embeddings": "Scale vectors to unit length.",
        Output "output": "Where results are written.",
        Overwrite "overwrite": "Replace what is there.",
        Pooling "pooling": "How the states of tokens become one vector.",
        Prefix "prefix": "Where an encoder's names begin in a checkpoint.",
        Qrels "qrels": "Relevance judgments.",
        Queries "queries": "The queries, or how many.",
        QueryMaxLength "query_max_length": "The most tokens of a query.",
        QueryModel "query_model": "The model of queries, where it is another.",
        QueryVectors "query_vectors": "A store with the vectors of queries.",
        Ranker "ranker": "The ranking function.",
        RelevanceLevel "relevance_level": "The lowest grade that is relevant.",
        RrfK "rrf_k": "The constant of reciprocal rank fusion.",
        RowIds "row_ids": "Take row numbers as identifiers.",
        Scan "scan": "The number format that is searched in.",
        Scores "scores": "A reranker's scores.",
        Set "set": "The values of a recipe's variables.",
        Shard "shard": "Which part of a collection, of how many.",
        SkipBadLines "skip_bad_lines": "Count and skip bad records.",
        SkipUnavailable "skip_unavailable": "Rerank only what has a text.",
        Sparse "sparse": "An inverted index to search.",
        SparseModel "sparse_model": "The model that gives the terms of queries impacts.",
        StoreDtype "store_dtype": "The number format of stored vectors.",
        TabSeparated "tab_separated": "Separate the columns of a run by tabs.",
        TextColumn "text_column": "The column of texts.",
        TextIndex "text_index": "The directory of an index of texts.",
        TitleColumn "title_column": "The column of titles.",
        TitleMode "title_mode": "How titles are given to a model.",
        TitleSeparator "title_separator": "What is between a title and its text.",
        Truncation "truncation": "Which text of a pair is cut.",
        Untie "untie": "Train separate encoders for queries and passages.",
        VectorColumn "vector_column": "The column of vectors.",
        Vectors "vectors": "The number of vectors.",
        Vocab "vocab": "The file of a model's vocabulary.",
        Work "work": "The folder in which a recipe is carried out.",
    }
}

impl Setting {
    /// This setting with a value.
    #[must_use]
    pub fn to(self, value: impl Into<Cow<'static, str>>) -> Term {
        Term { value: Some(value.into()), ..self.into() }
    }
}

impl Command {
    /// This command with a setting.
    #[must_use]
    pub fn with(self, setting: impl Into<Term>) -> Term {
        Term { command: Some(self), ..setting.into() }
    }
}

impl From<Setting> for Term {
    fn from(setting: Setting) -> Self {
        Self { setting: Some(setting), ..Self::default() }
    }
}

impl From<Command> for Term {
    fn from(command: Command) -> Self {
        Self { command: Some(command), ..Self::default() }
    }
}

macro_rules! parts {
    ($($from:ty => $variant:ident),+) => {
        $(impl From<$from> for Part {
            fn from(part: $from) -> Self {
                Self::$variant(part.into())
            }
        })+
    };
}
parts!(&'static str => Text, String => Text, Setting => Term, Command => Term, Term => Term);

impl<P: Into<Part>> From<P> for Remedy {
    fn from(part: P) -> Self {
        Self(vec![part.into()])
    }
}

/// EMFILE, which has no [`io::ErrorKind`]; the same number on all Unix systems.
const TOO_MANY_OPEN_FILES: i32 = 24;

impl Explain for io::Error {
    fn remedy(&self) -> Option<Remedy> {
        if let Some(inner) = self.get_ref().and_then(|inner| inner.downcast_ref::<AnyError>()) {
            return inner.remedy();
        }
        let text = match self.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space on that disk and run the same command again"
            }
            io::ErrorKind::FileTooLarge => {
                "raise the limit of a file's size (`ulimit -f`), or write to a disk that takes larger files"
            }
            io::ErrorKind::NotFound => "check the path; relative paths start at the current directory",
            io::ErrorKind::PermissionDenied => "check the permissions of the file and of its directory",
            io::ErrorKind::UnexpectedEof => "copy or download the file again; it is incomplete",
            io::ErrorKind::InvalidData => "copy or download the file again; compare its checksum",
            _ if cfg!(unix) && self.raw_os_error() == Some(TOO_MANY_OPEN_FILES) => {
                "raise the limit of open files: `ulimit -n`"
            }
            _ => return None,
        };
        Some(text.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Command, Explain, Setting};

    #[test]
    fn a_front_puts_its_own_names_into_a_remedy() {
        let remedy =
            remedy!("use {}, or {}", Setting::Device.to("cpu"), Command::Quantize.with(Setting::Overwrite));
        assert_eq!(remedy.to_string(), "use device cpu, or quantize overwrite");
        let flags = remedy.render(|term| {
            term.spelled(|command| format!("toller {}", command.name()), |of| format!("--{}", of.name()))
        });
        assert_eq!(flags, "use --device cpu, or toller quantize --overwrite");
    }

    #[cfg(unix)]
    #[test]
    fn too_many_open_files_have_a_remedy() {
        let remedy = io::Error::from_raw_os_error(24).remedy().map(|remedy| remedy.to_string());
        assert_eq!(remedy.as_deref(), Some("raise the limit of open files: `ulimit -n`"));
    }
}
