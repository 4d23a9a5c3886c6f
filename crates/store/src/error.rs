//! What can go wrong with a store, and the remedy.

use std::fmt::Write;
use std::path::PathBuf;

use toller_files::{DirectoryLock, FileError};
use toller_ir::{Command, Explain, Remedy, Setting, remedy};

use crate::{Checksum, DType, Difference, FORMAT_VERSION, ModelInfo, part};

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
    /// A path that was to be opened is not a store.
    #[error("{} is not a store: it has neither a store's manifest.json nor part-NNNNN-of-NNNNN directories", path.display())]
    NotAStore {
        /// The path.
        path: PathBuf,
    },
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
    /// Parts of a store are not there.
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
        /// A number of parts that is there.
        first: u32,
        /// Another that is there or was asked for.
        second: u32,
    },
    /// A part's directory holds something else than its name says.
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
    /// More rows than ordinals.
    #[error("{rows} rows are more than the {} that can be numbered", u32::MAX)]
    TooManyRows {
        /// The rows of all stores.
        rows: u64,
    },
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
        "the store was encoded with another model: with {} (fingerprint {}), not with {} (fingerprint {})",
        stored.name, stored.fingerprint, given.name, given.fingerprint
    )]
    WrongModel {
        /// The store's model.
        stored: Box<ModelInfo>,
        /// The other one.
        given: Box<ModelInfo>,
    },
    /// The store was imported, and nobody said which model made its vectors.
    #[error("the store was imported and does not know its model, so not whether it is {} (fingerprint {})", given.name, given.fingerprint)]
    UnknownModel {
        /// The model to search with.
        given: Box<ModelInfo>,
    },

    /// A shard that the manifest lists is not there.
    #[error("the shard {} is missing", path.display())]
    ShardMissing {
        /// The shard.
        path: PathBuf,
    },
    /// A shard is shorter (truncated) or longer than the manifest says.
    #[error("the shard {} has {found} bytes, but its manifest says {expected}", path.display())]
    ShardSize {
        /// The shard.
        path: PathBuf,
        /// Its length by the manifest.
        expected: u64,
        /// Its length.
        found: u64,
    },
    /// A shard's bytes are not those that were written.
    #[error("the shard {} is damaged: its checksum is {found}, but its manifest says {expected}", path.display())]
    ShardChecksum {
        /// The shard.
        path: PathBuf,
        /// Its checksum by the manifest.
        expected: Checksum,
        /// The checksum of its bytes.
        found: Checksum,
    },
    /// A shard is not a valid safetensors file of the format's tensors.
    #[error("the shard {} is invalid: {reason}", path.display())]
    ShardInvalid {
        /// The shard.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },

    /// A file of codes is missing or damaged, or not made of the shard beside it.
    #[error("the codes {} cannot be used: {reason}", path.display())]
    CodesDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },

    /// A spec that no store can have.
    #[error("no store can be written as asked: {reason}")]
    InvalidSpec {
        /// What is wrong.
        reason: String,
    },
    /// There is no such part.
    #[error("there is no part {index} of {of}: expected I/N with 1 <= I <= N <= 99999")]
    InvalidPart {
        /// The part that was asked for.
        index: u32,
        /// Of so many.
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
    #[error("another process is writing the store {}", path.display())]
    Locked {
        /// The store or the part.
        path: PathBuf,
    },
    /// The store that is there was begun with another spec.
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
    /// A batch whose numbers are not a vector for each id.
    #[error("{values} numbers are not {ids} embeddings of dimension {dim}")]
    WrongBatch {
        /// The number of ids.
        ids: usize,
        /// The number of numbers.
        values: usize,
        /// The store's dimension.
        dim: usize,
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
    /// Fewer or more rows were written than the source has.
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
    /// Whether a shard is missing or not as it was written, so that writing it anew is the remedy.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::ShardMissing { .. }
                | Self::ShardSize { .. }
                | Self::ShardChecksum { .. }
                | Self::ShardInvalid { .. }
        )
    }
}

impl Explain for StoreError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) if error.action == DirectoryLock::ACTION => {
                "the file system may not support locks: write to another disk and move the finished store"
                    .into()
            }
            Self::File(error) => return error.remedy(),
            Self::NoStore => {
                remedy!("name a directory that `{}` wrote", Command::Encode.with(Setting::Output))
            }
            Self::NotAStore { .. } => {
                remedy!("give the directory that `{}` wrote", Command::Encode.with(Setting::Output))
            }
            Self::FormatVersion { .. } => "update toller".into(),
            Self::Incomplete { .. } => {
                remedy!("run the same `{}` command again: it resumes where it stopped", Command::Encode)
            }
            Self::MissingParts { missing, of, .. } => {
                let part = Setting::Shard.to(format!("{}/{of}", missing.first()?));
                remedy!("run the same `{}` command with `{}`", Command::Encode, part)
            }
            Self::MixedParts { .. } => remedy!(
                "use one number of parts: give another {}, or remove the parts of the other division",
                Setting::Output
            ),
            Self::MisplacedPart { .. } => {
                "give the directory its former name, or encode this part again into an empty one".into()
            }
            Self::Disagreement { .. } => {
                "encode both with the same model and options, or search them one by one".into()
            }
            Self::TooManyRows { .. } => "search the stores one by one".into(),
            Self::DuplicateId { .. } => {
                "give each store once, and each passage of a collection its own id".into()
            }
            Self::WrongModel { stored, .. } => remedy!(
                "search with `{}`, or encode the collection with the other model",
                Setting::Model.to(stored.name.clone())
            ),
            Self::UnknownModel { .. } => remedy!(
                "if this model made the vectors, add `{}`, or import them again with `{}`; vectors of \
                 queries are searched with `{}`",
                Setting::AssumeModel,
                Setting::Model,
                Setting::QueryVectors
            ),
            Self::ShardMissing { .. }
            | Self::ShardSize { .. }
            | Self::ShardChecksum { .. }
            | Self::ShardInvalid { .. } => {
                "restore the file from a copy, or run the command that wrote the store again: it writes \
                 damaged and missing shards again, and keeps the others"
                    .into()
            }
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
            Self::DirectoryInUse { .. } => remedy!("give another {}; nothing was changed", Setting::Output),
            Self::Locked { .. } => remedy!("wait until it has ended, or give another {}", Setting::Output),
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
                remedy!("the model overflows on this text: compute with `{}`", Setting::Dtype.to("f32"))
            }
            Self::RowCount { .. } => {
                remedy!("the source changed while it was read: encode it again with `{}`", Setting::Overwrite)
            }
            Self::InvalidSpec { .. } | Self::WrongDim { .. } | Self::WrongBatch { .. } => return None,
        })
    }
}

/// `dim: 384 in the store, 768 asked for; dtype: ...`
fn described(differences: &[Difference], stored_is: &str, other_is: &str) -> String {
    let mut text = String::new();
    for Difference { field, stored, other } in differences {
        let separator = if text.is_empty() { "" } else { "; " };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{field} is {stored} {stored_is}, {other} {other_is}");
    }
    text
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
