//! What can go wrong with a store, and the remedy.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use toller_files::{FileError, ListedFileError};
use toller_ir::{Command, ErrorPlace, Explain, Remedy, Setting, remedy};

use crate::{Content, DType, Difference, FORMAT_VERSION, ModelInfo, part};

/// An error of writing or opening a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused an operation on a file.
    #[error(transparent)]
    File(#[from] FileError),

    /// No store was named.
    #[error("no store was named")]
    NoStore,
    /// A URL was to be opened: vectors are read from memory maps of files.
    #[error("{} is not on disk, from which stores are read", .0.display())]
    Remote(PathBuf),
    /// A path that was to be opened is not a store.
    #[error("{} is not a store: it has neither a store's manifest.json nor part-NNNNN-of-NNNNN directories", path.display())]
    NotAStore {
        /// The path.
        path: PathBuf,
    },
    /// A directory that was to be opened has files of another format.
    #[error("{} is not a store of vectors: its manifest.json says {format}", path.display())]
    OtherFormat {
        /// The directory.
        path: PathBuf,
        /// The name of the format.
        format: String,
    },
    /// A store of impacts was to be opened for its vectors.
    #[error("the store {} holds impacts of terms, not vectors", .0.display())]
    HoldsImpacts(PathBuf),
    /// A store of vectors was to be opened for its impacts.
    #[error("the store {} holds vectors, not impacts of terms", .0.display())]
    HoldsVectors(PathBuf),
    /// The store was written by another version of the program.
    #[error("{} has format version {found}; this program reads version {FORMAT_VERSION}", path.display())]
    FormatVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The manifest is not as it was written.
    #[error("{} is damaged: {reason}", path.display())]
    ManifestDamaged {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The encode that wrote the store was interrupted.
    #[error("the store {} is incomplete: {rows_done} of {rows_expected} rows are written", path.display())]
    Incomplete {
        /// The store or the part.
        path: PathBuf,
        /// Rows in finished shards.
        rows_done: u64,
        /// Rows when finished.
        rows_expected: u64,
    },
    /// Parts of a store are missing.
    #[error("the store {} has {} of {of} parts; missing: {}", path.display(), *of as usize - missing.len(), listed(missing, *of))]
    MissingParts {
        /// The store.
        path: PathBuf,
        /// The indices of those missing, from one.
        missing: Vec<u32>,
        /// The number of parts.
        of: u32,
    },
    /// A store has parts of two different divisions.
    #[error("the store {} has parts of different divisions: into {first} and into {second}", path.display())]
    MixedParts {
        /// The store.
        path: PathBuf,
        /// The number of parts of an existing division.
        first: u32,
        /// The number of parts of another division, which exists or was requested.
        second: u32,
    },
    /// The directory of a part holds something else.
    #[error("{} does not hold the part that its name says, but {found}", path.display())]
    MisplacedPart {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// Stores that are opened together do not fit together.
    #[error("{} and {} cannot be searched as one: {}", first.display(), second.display(), described(differences, "in the first", "in the second"))]
    Disagreement {
        /// One store or part.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// In what they differ.
        differences: Vec<Difference>,
    },
    /// The stores have more rows than there are ordinals.
    #[error("{0} rows are more than the {max} that can be numbered", max = u32::MAX)]
    TooManyRows(u64),
    /// An id occurs twice in the stores that are opened together.
    #[error("the id {id:?} occurs twice, in {} and in {}", first.display(), second.display())]
    DuplicateId {
        /// The id.
        id: String,
        /// The shard of its first occurrence.
        first: PathBuf,
        /// The shard of its second.
        second: PathBuf,
    },
    /// The store was encoded with another model than the one to search with.
    #[error(
        "the store was encoded with another model: with {stored} (fingerprint {}), not with {given} (fingerprint {})",
        stored.fingerprint, given.fingerprint
    )]
    WrongModel {
        /// The store's model.
        stored: Box<ModelInfo>,
        /// The other one.
        given: Box<ModelInfo>,
    },
    /// The model that encodes the queries makes vectors of another length.
    #[error("the store's vectors have {stored} dimensions, and the queries' would have {queries}")]
    OtherDim {
        /// The store's dimension.
        stored: usize,
        /// That of the queries' vectors.
        queries: usize,
    },
    /// The store was imported without the name of the model that made its vectors. The model given here is
    /// the one to search with.
    #[error("the store was imported and does not know its model, so not whether it is {0} (fingerprint {fingerprint})", fingerprint = .0.fingerprint)]
    UnknownModel(Box<ModelInfo>),

    /// A shard is missing or not as it was written.
    #[error("the shard {} cannot be used: {reason}", path.display())]
    ShardDamaged {
        /// The shard.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file of codes is missing or damaged, or was not made of its shard.
    #[error("the codes {} cannot be used: {reason}", path.display())]
    CodesDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },

    /// No store can have this spec; the text says why.
    #[error("no store can be written as asked: {0}")]
    InvalidSpec(String),
    /// There is no such part.
    #[error("there is no part {index} of {of}: expected I/N with 1 <= I <= N <= 99999")]
    InvalidPart {
        /// The part that was asked for.
        index: u32,
        /// The number of parts.
        of: u32,
    },
    /// The directory to write to holds something else.
    #[error("{} is not empty and not a store of this kind: it holds {entry}", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
        /// The name of an entry that does not belong there.
        entry: String,
    },
    /// Another process is writing this store.
    #[error("another process is writing the store {}", .0.display())]
    Locked(PathBuf),
    /// The existing store was begun with another spec.
    #[error("the store {} was begun differently: {}", path.display(), described(differences, "in the store", "asked for"))]
    SpecMismatch {
        /// The store or the part.
        path: PathBuf,
        /// In what they differ.
        differences: Vec<Difference>,
    },
    /// A vector of the wrong length.
    #[error("the embedding of {id:?} has {found} numbers, but the store has dimension {expected}")]
    WrongDim {
        /// The passage.
        id: String,
        /// The store's dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// A vector with NaN or infinity.
    #[error("the embedding of {id:?} is not finite: number {column} is {value}")]
    NotFinite {
        /// The passage.
        id: String,
        /// Which number of the vector, from zero.
        column: usize,
        /// Its value.
        value: f32,
    },
    /// A number that becomes infinite when rounded to the store's dtype.
    #[error("the embedding of {id:?} does not fit in {dtype}: number {column} is {value}")]
    Overflow {
        /// The passage.
        id: String,
        /// Which number of the vector, from zero.
        column: usize,
        /// Its value.
        value: f32,
        /// The store's dtype.
        dtype: DType,
    },
    /// A vector was pushed to a store of impacts, or impacts to a store of vectors.
    #[error("the store holds {}", and_not_the_other(*held))]
    OtherContent {
        /// What the store holds.
        held: Content,
    },
    /// Fewer or more rows were pushed than the source has.
    #[error("{found} rows were given for the store {}, but its source has {expected}", path.display())]
    RowCount {
        /// The store or the part.
        path: PathBuf,
        /// The rows of the source, or of this part of it.
        expected: u64,
        /// The rows pushed; when too many, counted until the first too many.
        found: u64,
    },
}

impl StoreError {
    /// Whether a shard is missing or not as it was written, so that the remedy is to write it again.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::ShardDamaged { .. })
    }

    /// For `map_err`: the error of the shard at `path`.
    pub(crate) fn of_shard(path: &Path) -> impl FnOnce(ListedFileError) -> Self {
        move |error| match error {
            ListedFileError::File(error) => error.into(),
            ListedFileError::Damaged(reason) => Self::ShardDamaged { path: path.to_owned(), reason },
        }
    }

    /// For `map_err`: the error of the codes at `path`.
    pub(crate) fn of_codes(path: &Path) -> impl FnOnce(ListedFileError) -> Self {
        move |error| match error {
            ListedFileError::File(error) => error.into(),
            ListedFileError::Damaged(reason) => Self::CodesDamaged { path: path.to_owned(), reason },
        }
    }
}

impl Explain for StoreError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::NoStore => {
                remedy!("name a directory that `{}` wrote", Command::Encode.with(Setting::Output))
            }
            Self::Remote(_) => remedy!("fetch the store with `{}`", Command::Pull),
            Self::OtherFormat { format, .. } if format == "toller-index" => {
                remedy!(
                    "give a directory that `{}` wrote; an inverted index is searched with {}",
                    Command::Encode.with(Setting::Output),
                    Setting::Sparse
                )
            }
            Self::NotAStore { .. } | Self::OtherFormat { .. } => remedy!(
                "give the directory that `{}` wrote; files of other programs' vectors are imported first",
                Command::Encode.with(Setting::Output)
            ),
            Self::HoldsImpacts(_) => {
                remedy!(
                    "index a store of passages with `{}`, and search the index, for texts or for a store of queries",
                    Command::Index.with(Setting::Vectors)
                )
            }
            Self::HoldsVectors(_) => "a store of vectors is searched as it is, without an index".into(),
            Self::FormatVersion { .. } => "update toller".into(),
            Self::Incomplete { .. } => {
                remedy!("run the same `{}` command again: it resumes where it stopped", Command::Encode)
            }
            Self::MissingParts { missing, of, .. } => {
                let part = Setting::Shard.to(format!("{}/{of}", missing.first()?));
                remedy!("run the same `{}` command with `{}`", Command::Encode, part)
            }
            Self::MixedParts { first, .. } => remedy!(
                "use one number of parts, as in `{}`: give another {}, or remove the parts of the other division",
                Setting::Shard.to(format!("I/{first}")),
                Setting::Output
            ),
            Self::MisplacedPart { .. } => {
                "give the directory its former name, or encode this part again into an empty one".into()
            }
            Self::Disagreement { first, second, .. } if is_part(first) && is_part(second) => remedy!(
                "all parts of a store are made of the same texts, with the same model and options: make each \
                 part that is not so again, with `{}`",
                Command::Encode.with(Setting::Overwrite)
            ),
            Self::Disagreement { differences, .. } if differences.iter().any(Difference::is_of_unknown_models) => {
                "nobody knows whether one model made both: import all files together, into one store, or name \
                 the model of each import"
                    .into()
            }
            Self::Disagreement { .. } => {
                "encode both with the same model and options, or search them one by one".into()
            }
            Self::TooManyRows { .. } => "search the stores one by one".into(),
            Self::DuplicateId { .. } => {
                "give each store once, and each passage of a collection its own id".into()
            }
            Self::OtherDim { stored, .. } => remedy!(
                "search with the model of the store, and without {}, unless the store was encoded with `{}`",
                Setting::Dim,
                Setting::Dim.to(stored.to_string())
            ),
            Self::WrongModel { stored, given } => with_model_of(stored, given),
            Self::UnknownModel { .. } => remedy!(
                "if this model made the vectors, add `{}`, or import them again with `{}`; vectors of \
                 queries are searched with `{}`",
                Setting::AssumeModel,
                Setting::Model,
                Setting::QueryVectors
            ),
            Self::ShardDamaged { .. } => "restore the file from a copy, or run the command that wrote the \
                 store again: it writes damaged and missing shards again, and keeps the others"
                .into(),
            Self::CodesDamaged { .. } => remedy!(
                "make the codes again with `{}`, or remove them with `{}`; the vectors are not touched",
                Command::Quantize.with(Setting::Overwrite),
                Command::Quantize.with(Setting::Codes.to("none"))
            ),
            Self::ManifestDamaged { .. } => remedy!(
                "the manifest must not be edited; restore it from a copy, or encode again with `{}`",
                Setting::Overwrite
            ),
            Self::InvalidPart { .. } => remedy!(
                "parts are counted from one: `{}` to `{}`",
                Setting::Shard.to("1/8"),
                Setting::Shard.to("8/8")
            ),
            Self::DirectoryInUse { entry, .. } if part::parse_directory_name(entry).is_some() => remedy!(
                "it is a store of parts: go on with `{}`, or give another {}",
                Setting::Shard.to("I/N"),
                Setting::Output
            ),
            Self::DirectoryInUse { .. } => remedy!(
                "give another {}, or, if this is what is left of a store, remove it first; nothing was changed",
                Setting::Output
            ),
            Self::Locked { .. } => "wait until it has ended, or write to another directory".into(),
            Self::SpecMismatch { path, .. } if is_part(path) => remedy!(
                "give another {}, or make all parts of this store again, each with `{}`",
                Setting::Output,
                Setting::Overwrite
            ),
            Self::SpecMismatch { .. } => remedy!(
                "give another {}, or replace the store with `{}`",
                Setting::Output,
                Setting::Overwrite
            ),
            Self::Overflow { dtype: DType::F16, .. } => remedy!(
                "store with `{}` or `{}`",
                Setting::StoreDtype.to("bf16"),
                Setting::StoreDtype.to("f32")
            ),
            Self::Overflow { .. } => remedy!("store with `{}`", Setting::StoreDtype.to("f32")),
            Self::NotFinite { .. } => {
                remedy!(
                    "the model overflows on this text: compute with `{}`; if that is how it was computed, \
                     check the model's weights",
                    Setting::Dtype.to("f32")
                )
            }
            Self::RowCount { .. } => {
                remedy!("the source changed while it was read: encode it again with `{}`", Setting::Overwrite)
            }
            Self::InvalidSpec { .. } | Self::WrongDim { .. } | Self::OtherContent { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::NotAStore { path, .. }
            | Self::OtherFormat { path, .. }
            | Self::FormatVersion { path, .. }
            | Self::ManifestDamaged { path, .. }
            | Self::Incomplete { path, .. }
            | Self::MissingParts { path, .. }
            | Self::MixedParts { path, .. }
            | Self::MisplacedPart { path, .. }
            | Self::ShardDamaged { path, .. }
            | Self::CodesDamaged { path, .. }
            | Self::DirectoryInUse { path, .. }
            | Self::SpecMismatch { path, .. }
            | Self::RowCount { path, .. }
            | Self::HoldsImpacts(path)
            | Self::HoldsVectors(path)
            | Self::Locked(path) => Some(ErrorPlace::of_file(path)),
            _ => None,
        }
    }
}

/// What a store holds, and what it does not.
fn and_not_the_other(held: Content) -> String {
    match held {
        Content::Vectors(dtype) => format!("vectors in {dtype}, not impacts of terms"),
        Content::Impacts => "impacts of terms, not vectors".to_owned(),
    }
}

/// `dim: 384 in the store, 768 asked for; dtype: ...`
fn described(differences: &[Difference], stored_is: &str, other_is: &str) -> String {
    let mut text = String::new();
    for Difference { field, stored, other } in differences {
        let separator = if text.is_empty() { "" } else { "; " };
        let field = match *field {
            // Nobody knows fingerprints by heart.
            "source.fingerprint" => {
                text.push_str(separator);
                text.push_str("the texts are not the same");
                continue;
            }
            "source.passages" => "the number of texts",
            "rows_per_shard" => "rows per shard",
            field => field,
        };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{field} is {stored} {stored_is}, {other} {other_is}");
    }
    text
}

/// Whether a directory is named as a part of a store.
fn is_part(path: &Path) -> bool {
    path.file_name().and_then(|name| part::parse_directory_name(name.to_str()?)).is_some()
}

/// The directories of the first few missing parts.
fn listed(missing: &[u32], of: u32) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> =
        missing.iter().take(SHOWN).map(|&index| part::directory_name(index, of)).collect();
    let more =
        if missing.len() > SHOWN { format!(" and {} more", missing.len() - SHOWN) } else { String::new() };
    names.join(", ") + &more
}

/// What to do about a store that another model encoded.
fn with_model_of(stored: &ModelInfo, given: &ModelInfo) -> Remedy {
    let model = Setting::Model.to(stored.name.clone());
    match (&stored.query_model, &given.query_model) {
        (own, other) if stored.name == given.name && own == other => remedy!(
            "the name is the same, but not the weights or the way from texts to a vector: give the model \
             and the options that the store was encoded with ({}, {}, {}, {}), or encode it again",
            Setting::Dim,
            Setting::Pooling,
            Setting::NormalizeEmbeddings,
            Setting::AppendEosToken
        ),
        (Some(queries), _) => remedy!(
            "search with `{}` and `{}`, or encode the collection with the other model",
            model,
            Setting::QueryModel.to(queries.clone())
        ),
        (None, Some(_)) => remedy!(
            "search with `{}` and without {}, or encode the collection with both models",
            model,
            Setting::QueryModel
        ),
        (None, None) => remedy!("search with `{}`, or encode the collection with the other model", model),
    }
}
