//! Vectors with ids, from one or several files as one sequence of rows.

mod benchmarks;
mod faiss;
mod jsonl;
mod npy;
mod parquet;
mod pickle;

use std::path::{Path, PathBuf};

use toller_corpus::id_flaw;
use toller_files::Input;
use toller_store::DType;

use crate::ids::{self, IdsFrom};
use crate::matrix::Matrix;
use crate::{ExchangeError, Precision, VectorFormat};
use jsonl::JsonlVectors;
use parquet::ParquetVectors;

/// The usual columns of ids and of vectors, in Parquet and in JSON lines.
const ID_NAMES: [&str; 3] = ["_id", "id", "docid"];
const VECTOR_NAMES: [&str; 4] = ["embedding", "embeddings", "emb", "vector"];

/// How to read files of vectors.
#[derive(Clone, Debug, Default)]
pub struct SourceOptions {
    /// The format; `None` to detect it from the first bytes.
    pub format: Option<VectorFormat>,
    /// Where the ids come from, for files that have none.
    pub ids: IdsFrom,
    /// The column of the ids, in Parquet and JSON lines; `None` for `_id`, `id` or `docid`.
    pub id_column: Option<String>,
    /// The column of the vectors; `None` for `embedding`, `embeddings`, `emb` or `vector`.
    pub vector_column: Option<String>,
    /// Whether float64 is rounded to float32 rather than refused.
    pub narrow_f64: bool,
    /// Whether a FAISS index for another metric than the inner product is accepted.
    pub any_metric: bool,
}

/// Files of vectors, as one sequence of rows.
pub struct Source {
    files: Vec<SourceFile>,
    dim: usize,
    rows: u64,
    precision: Precision,
}

/// A row of a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The file, by its place among those opened.
    pub file: usize,
    /// The row in the file, from zero.
    pub row: u64,
    /// Its id.
    pub id: &'a str,
    /// Its vector, `[dim]`.
    pub vector: &'a [f32],
}

/// What is done with each row.
pub(crate) type Visit<'v> = dyn FnMut(Row<'_>) -> Result<(), ExchangeError> + 'v;

/// What a reader of one file does with each row: its number, its id and its vector.
pub(crate) type VisitRow<'v> = dyn FnMut(u64, &str, &[f32]) -> Result<(), ExchangeError> + 'v;

/// One file.
struct SourceFile {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// The vectors of NumPy, FAISS and benchmarks, and where their ids are.
    Matrix(Matrix, MatrixIds),
    Parquet(ParquetVectors),
    /// `None` for a file without lines.
    Jsonl(Option<JsonlVectors>),
    /// Read again in each pass, so that the ids of only one file are in memory at a time.
    Pickle(pickle::Shape),
}

/// The ids of a matrix.
enum MatrixIds {
    /// In a file, as text.
    File(PathBuf),
    /// In FAISS's file, as `rows` integers of eight bytes that begin at this byte.
    Int64(usize),
    /// The row numbers, counted on from the files before.
    Rows,
}

impl Source {
    /// Opens files of vectors, in this order. A directory is Pyserini's: the files `index` and `docid`, or
    /// `embeddings.jsonl`.
    ///
    /// # Errors
    /// When a file has none of the formats, is damaged, has no ids, has vectors of another length than the
    /// first file, or can be read only once ([`Input::reads_once`]); for float64 and for metrics other than
    /// the inner product, unless the options allow them.
    pub fn open(paths: &[PathBuf], options: &SourceOptions) -> Result<Self, ExchangeError> {
        if let IdsFrom::Files(files) = &options.ids
            && files.len() != paths.len()
        {
            return Err(ExchangeError::IdFileCount { ids: files.len(), inputs: paths.len() });
        }
        let id_files = if let IdsFrom::Files(files) = &options.ids { files.as_slice() } else { &[] };
        paths.iter().chain(id_files).try_for_each(|path| check_place(path))?;
        let mut files = Vec::new();
        let mut dims: Vec<(usize, Precision)> = Vec::new();
        let mut rows = 0_u64;
        for (number, path) in paths.iter().enumerate() {
            let path = in_pyserini_directory(path)?;
            let kind = Kind::open(&path, number, options)?;
            rows = rows.saturating_add(kind.rows());
            if let Some(shape) = kind.dim_and_precision() {
                dims.push(shape);
            }
            files.push(SourceFile { path, kind });
        }
        let Some(&(dim, _)) = dims.first() else {
            return Err(ExchangeError::Empty(paths.first().cloned().unwrap_or_default()));
        };
        for file in &files {
            let doubles = matches!(file.kind.dim_and_precision(), Some((_, Precision::F64)));
            if doubles && !options.narrow_f64 {
                return Err(ExchangeError::Doubles(file.path.clone()));
            }
        }
        let all_half = dims.iter().all(|(_, precision)| *precision == Precision::F16);
        let precision = if all_half { Precision::F16 } else { Precision::F32 };
        Ok(Self { files, dim, rows, precision })
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of rows, by the files' headers, or counted in files that have none.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The least precision that loses nothing, where doubles count as f32.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The store's dtype that holds the numbers best.
    #[must_use]
    pub fn store_dtype(&self) -> DType {
        if self.precision == Precision::F16 { DType::F16 } else { DType::F32 }
    }

    /// The file of a row.
    #[must_use]
    pub fn path(&self, file: usize) -> &Path {
        self.files.get(file).map_or(Path::new(""), |file| &file.path)
    }

    /// Calls `visit` for each row in order. Every row has [`Source::dim`] numbers.
    ///
    /// # Errors
    /// The first error: a damaged file, a missing id or one that no run can hold, a vector of another length,
    /// or the error of `visit`.
    pub fn for_each(&self, visit: &mut Visit<'_>) -> Result<(), ExchangeError> {
        let mut first = 0;
        for (number, file) in self.files.iter().enumerate() {
            let mut visit_row = |row: u64, id: &str, vector: &[f32]| {
                check_id(&file.path, row, id)?;
                if vector.len() != self.dim {
                    let (expected, found) = (self.dim, vector.len());
                    return Err(ExchangeError::Dim {
                        path: file.path.clone(),
                        row: row + 1,
                        id: id.to_owned(),
                        expected,
                        found,
                    });
                }
                visit(Row { file: number, row, id, vector })
            };
            match &file.kind {
                Kind::Matrix(matrix, ids) => each_of_matrix(&file.path, matrix, ids, first, &mut visit_row)?,
                Kind::Parquet(parquet) => parquet.for_each(&mut visit_row)?,
                Kind::Jsonl(jsonl) => jsonl.iter().try_for_each(|jsonl| jsonl.for_each(&mut visit_row))?,
                Kind::Pickle(_) => pickle::for_each(&file.path, &mut visit_row)?,
            }
            first += file.kind.rows();
        }
        Ok(())
    }
}

/// Refuses an id that no run can hold: searches would end with an error.
fn check_id(path: &Path, row: u64, id: &str) -> Result<(), ExchangeError> {
    id_flaw("document", id).map_or(Ok(()), |flaw| {
        let reason = format!("the identifier {id:?} {flaw}");
        Err(ExchangeError::BadId { path: path.to_owned(), row: row + 1, reason })
    })
}

impl Kind {
    fn open(path: &Path, number: usize, options: &SourceOptions) -> Result<Self, ExchangeError> {
        let format = match options.format {
            Some(format) => format,
            None => VectorFormat::detect(path)?,
        };
        let no_ids_wanted = |path: &Path| match options.ids {
            IdsFrom::NextTo => Ok(()),
            IdsFrom::Files(_) | IdsFrom::Rows => Err(ExchangeError::HasIds(path.to_owned())),
        };
        let columns = (options.id_column.as_deref(), options.vector_column.as_deref());
        match format {
            VectorFormat::Npy | VectorFormat::Fbin | VectorFormat::Fvecs => {
                let matrix = match format {
                    VectorFormat::Fbin => benchmarks::fbin(path)?,
                    VectorFormat::Fvecs => benchmarks::fvecs(path)?,
                    _ => npy::open(path)?,
                };
                let ids = ids_of_matrix(path, number, options)?;
                Ok(Self::Matrix(matrix, ids))
            }
            VectorFormat::Faiss => {
                let faiss::Flat { matrix, ids } = faiss::open(path, options.any_metric)?;
                let ids = match ids {
                    Some(start) if options.ids == IdsFrom::NextTo => MatrixIds::Int64(start),
                    Some(_) => return Err(ExchangeError::HasIds(path.to_owned())),
                    None => ids_of_matrix(path, number, options)?,
                };
                Ok(Self::Matrix(matrix, ids))
            }
            VectorFormat::Parquet => {
                no_ids_wanted(path)?;
                Ok(Self::Parquet(ParquetVectors::open(path, columns)?))
            }
            VectorFormat::Jsonl => {
                no_ids_wanted(path)?;
                Ok(Self::Jsonl(JsonlVectors::open(path, columns)?))
            }
            VectorFormat::Pickle => {
                no_ids_wanted(path)?;
                Ok(Self::Pickle(pickle::shape(path)?))
            }
        }
    }

    fn rows(&self) -> u64 {
        match self {
            Self::Matrix(matrix, _) => matrix.rows as u64,
            Self::Parquet(parquet) => parquet.rows(),
            Self::Jsonl(jsonl) => jsonl.as_ref().map_or(0, JsonlVectors::rows),
            Self::Pickle(shape) => shape.rows,
        }
    }

    /// `None` for a file without rows, if the format states them nowhere else.
    fn dim_and_precision(&self) -> Option<(usize, Precision)> {
        match self {
            Self::Matrix(matrix, _) => Some((matrix.dim, matrix.numbers.precision)),
            Self::Parquet(parquet) => parquet.dim_and_precision(),
            // Decimals do not say how precise the floats were that they were made of.
            Self::Jsonl(jsonl) => jsonl.as_ref().map(|jsonl| (jsonl.dim(), Precision::F32)),
            Self::Pickle(shape) => shape.first,
        }
    }
}

/// Refuses what can be read only once, and objects. Nothing is opened, which would wait for the writer of a
/// named pipe.
fn check_place(path: &Path) -> Result<(), ExchangeError> {
    let input = Input::parse(path);
    let (what, remedy) = match &input {
        Input::Object(_) => ("it is in an object store", "copy the object to a file first"),
        _ if input.reads_once() => (
            "it can be read only once, and files of vectors and ids are read several times",
            "save it as a file first",
        ),
        _ => return Ok(()),
    };
    let (path, what) = (path.to_owned(), what.to_owned());
    Err(ExchangeError::Unsupported { path, what, remedy: remedy.into() })
}

/// The vectors in a directory of Pyserini's; paths of other things than directories stay as they are.
fn in_pyserini_directory(path: &Path) -> Result<PathBuf, ExchangeError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let files = ["embeddings.jsonl", "index"].map(|file| path.join(file));
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| ExchangeError::Unsupported {
        path: path.to_owned(),
        what: "a directory without Pyserini's files (`index` and `docid`, or `embeddings.jsonl`)".to_owned(),
        remedy: "name the files of vectors in it, in their order".into(),
    })
}

fn ids_of_matrix(path: &Path, number: usize, options: &SourceOptions) -> Result<MatrixIds, ExchangeError> {
    match &options.ids {
        IdsFrom::Rows => Ok(MatrixIds::Rows),
        IdsFrom::Files(files) => match files.get(number) {
            Some(file) => Ok(MatrixIds::File(file.clone())),
            None => Err(ExchangeError::NoIds(path.to_owned())),
        },
        IdsFrom::NextTo => match ids::next_to(path) {
            Some(file) => Ok(MatrixIds::File(file)),
            None => Err(ExchangeError::NoIds(path.to_owned())),
        },
    }
}

fn each_of_matrix(
    path: &Path,
    matrix: &Matrix,
    ids: &MatrixIds,
    first: u64,
    visit: &mut VisitRow<'_>,
) -> Result<(), ExchangeError> {
    let mut vector = Vec::with_capacity(matrix.dim);
    let mut row_with_id = |row: usize, id: &str| {
        matrix.row(row, &mut vector);
        visit(row as u64, id, &vector)
    };
    match ids {
        MatrixIds::Rows => {
            (0..matrix.rows).try_for_each(|row| row_with_id(row, &(first + row as u64).to_string()))
        }
        MatrixIds::Int64(start) => {
            let (numbers, _) = matrix.file.bytes().get(*start..).unwrap_or_default().as_chunks::<8>();
            let mut numbered = (0..matrix.rows).zip(numbers);
            numbered.try_for_each(|(row, &id)| row_with_id(row, &i64::from_le_bytes(id).to_string()))
        }
        MatrixIds::File(ids_path) => {
            let count = |ids| ExchangeError::IdCount {
                path: path.to_owned(),
                ids_path: ids_path.clone(),
                ids,
                vectors: matrix.rows as u64,
            };
            let mut seen = 0;
            ids::for_each(ids_path, &mut |row, id| {
                seen = row + 1;
                let row = usize::try_from(row).ok().filter(|&row| row < matrix.rows);
                let row = row.ok_or_else(|| count(seen))?;
                check_id(ids_path, row as u64, id)?;
                row_with_id(row, id)
            })?;
            if seen == matrix.rows as u64 { Ok(()) } else { Err(count(seen)) }
        }
    }
}
