//! What can go wrong with other programs' files, and the remedy.

use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Position, Remedy, Setting, remedy};
use toller_pickle::PickleError;
use toller_store::{Content, StoreError};

use crate::{ExportFormat, VectorFormat};

/// An error of importing or exporting vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The system refused an operation on a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store refused what it was given, or cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The format of a file cannot be detected.
    #[error("cannot tell the format of {}: {reason}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// The bytes are not what the format asks for.
    #[error("{} is not a valid {format} file: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The format it was read as.
        format: VectorFormat,
        /// What is wrong.
        reason: String,
    },
    /// A file is shorter or longer than its header says.
    #[error("{} has {found} bytes, but its header says {expected}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes by its header.
        expected: u64,
        /// Its bytes.
        found: u64,
    },
    /// A pickle that cannot be read, or holds something else.
    #[error("{}: {source}", path.display())]
    Pickle {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PickleError,
    },
    /// A valid file that cannot be imported.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
        /// What to do instead.
        remedy: Remedy,
    },
    /// A file of vectors without ids.
    #[error("{} holds vectors without identifiers", .0.display())]
    NoIds(PathBuf),
    /// Ids were given for a file that has ids of its own.
    #[error("{} has identifiers of its own", .0.display())]
    HasIds(PathBuf),
    /// The numbers of files of ids and of files of vectors differ.
    #[error("{ids} files of identifiers were given for {inputs} files of vectors")]
    IdFileCount {
        /// The files of ids.
        ids: usize,
        /// The files of vectors.
        inputs: usize,
    },
    /// Fewer or more ids than vectors.
    #[error("{} has {ids} identifiers, but {} has {vectors} vectors", ids_path.display(), path.display())]
    IdCount {
        /// The file of the vectors.
        path: PathBuf,
        /// The file of the ids.
        ids_path: PathBuf,
        /// The number of ids; when too many, counted until the first too many.
        ids: u64,
        /// The number of vectors.
        vectors: u64,
    },
    /// A row without a valid id.
    #[error("{}, row {row}: {reason}", path.display())]
    BadId {
        /// The file.
        path: PathBuf,
        /// The row in it, from one.
        row: u64,
        /// What is wrong.
        reason: String,
    },
    /// An id that occurs twice.
    #[error("the identifier {id:?} occurs twice: {}, row {row}, and {}, row {again_row}", path.display(), again_path.display())]
    DuplicateId {
        /// The id.
        id: String,
        /// The file of its first occurrence.
        path: PathBuf,
        /// The row of its first occurrence, from one.
        row: u64,
        /// The file of its second.
        again_path: PathBuf,
        /// The row of its second, from one.
        again_row: u64,
    },
    /// A vector with NaN or infinity.
    #[error("{}, row {row}: the vector of {id:?} is not finite: number {column} is {value}", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The row in it, from one.
        row: u64,
        /// The id.
        id: String,
        /// Which number of the vector, from zero.
        column: usize,
        /// Its value.
        value: f32,
    },
    /// A vector of another length than the first.
    #[error("{}, row {row}: the vector of {id:?} has {found} numbers, and the first vector {expected}", path.display())]
    Dim {
        /// The file.
        path: PathBuf,
        /// The row in it, from one.
        row: u64,
        /// The id.
        id: String,
        /// Numbers of the first vector.
        expected: usize,
        /// Numbers of this one.
        found: usize,
    },
    /// Doubles, which a store does not hold.
    #[error("{} holds float64, which would be rounded to float32", .0.display())]
    Doubles(PathBuf),
    /// The files hold no vector. This is the first of them.
    #[error("there are no vectors in {}", .0.display())]
    Empty(PathBuf),
    /// A format of vectors for a store of impacts, or the other way round.
    #[error("a store of {} is not exported as {format}", held(*content))]
    OtherContent {
        /// The format.
        format: ExportFormat,
        /// What the store holds.
        content: Content,
    },
    /// The export would replace this file.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// Ids of other vectors would be replaced.
    #[error("{} has the identifiers of {}, too", ids.display(), vectors.display())]
    IdsInUse {
        /// The file of ids.
        ids: PathBuf,
        /// The vectors that would get wrong ids.
        vectors: PathBuf,
    },
    /// A file of ids was to stay, and is another by now.
    #[error("another process has replaced {} during the export", .0.display())]
    IdsReplaced(PathBuf),
    /// The caller stopped the work.
    #[error("stopped")]
    Stopped,
    /// An id that the target cannot hold.
    #[error("the identifier {id:?} cannot be written to {}: {reason}", path.display())]
    UnwritableId {
        /// The id.
        id: String,
        /// The file.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
}

impl Explain for ExchangeError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::Store(error) => return error.remedy(),
            Self::Pickle { source, .. } => return source.remedy(),
            Self::Unsupported { remedy, .. } => remedy.clone(),
            Self::UnknownFormat { .. } => {
                remedy!("name it with `{}`", Setting::Format.to(VectorFormat::NAMES.join("|")))
            }
            Self::Invalid { .. } | Self::Length { .. } => {
                "check that this is the file you mean, and copy or download it again".into()
            }
            Self::NoIds { .. } => remedy!(
                "name a file with one identifier a line, or a JSON list, with `{}`; `{}` takes the row \
                 numbers from 0",
                Setting::Ids.to("FILE"),
                Setting::RowIds
            ),
            Self::HasIds { .. } => {
                remedy!("leave out `{}` and `{}`", Setting::Ids, Setting::RowIds)
            }
            Self::IdFileCount { .. } => {
                remedy!("give `{}` once for each file of vectors, in the same order", Setting::Ids.to("FILE"))
            }
            Self::IdCount { .. } => "give the identifiers that were written with these vectors".into(),
            Self::BadId { .. } => {
                "an identifier is an integer, or a string without tabs, line ends, and white space around it"
                    .into()
            }
            Self::DuplicateId { .. } => {
                "give each file once, and each vector an identifier of its own".into()
            }
            Self::NotFinite { .. } => "encode this text again; a store holds finite numbers only".into(),
            Self::Dim { .. } => "import vectors of one model at a time".into(),
            Self::Doubles { .. } => {
                remedy!("add `{}` if float32 is precise enough", Setting::NarrowF64)
            }
            Self::Empty { .. } => "name the files that hold the vectors".into(),
            Self::OtherContent { content, .. } => {
                let fitting: Vec<&str> = ExportFormat::holding(*content).map(ExportFormat::name).collect();
                remedy!("export it with `{}`", Setting::Format.to(fitting.join("|")))
            }
            Self::Exists { .. } => {
                remedy!("give another {}, or replace it with `{}`", Setting::Output, Setting::Overwrite)
            }
            Self::IdsInUse { vectors, .. } => {
                let vectors = vectors.display().to_string();
                remedy!("give another {}, or remove {}", Setting::Output, vectors)
            }
            Self::IdsReplaced(_) => "export again when the other process has ended".into(),
            Self::Stopped => return None,
            Self::UnwritableId { .. } => "export to Parquet, which holds any identifier".into(),
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::BadId { path, row, .. }
            | Self::NotFinite { path, row, .. }
            | Self::Dim { path, row, .. } => {
                Some(ErrorPlace { position: Some(Position::Row(*row)), ..ErrorPlace::of_file(path) })
            }
            Self::NoIds(path)
            | Self::HasIds(path)
            | Self::Doubles(path)
            | Self::Empty(path)
            | Self::Exists(path)
            | Self::UnknownFormat { path, .. }
            | Self::Invalid { path, .. }
            | Self::Length { path, .. }
            | Self::Pickle { path, .. }
            | Self::Unsupported { path, .. }
            | Self::IdCount { ids_path: path, .. }
            | Self::DuplicateId { again_path: path, .. }
            | Self::IdsInUse { ids: path, .. }
            | Self::IdsReplaced(path)
            | Self::UnwritableId { path, .. } => Some(ErrorPlace::of_file(path)),
            Self::IdFileCount { .. } | Self::OtherContent { .. } | Self::Stopped => None,
        }
    }
}

/// What a store holds.
fn held(content: Content) -> &'static str {
    match content {
        Content::Vectors(_) => "vectors",
        Content::Impacts => "impacts",
    }
}
