//! Stores: vectors on disk, as arrays.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use half::f16;
use numpy::{PyArray2, PyUntypedArray};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use toller_engine::Role;
use toller_exchange::Surveyor;
use toller_ir::DocOrd;
use toller_store::{
    DEFAULT_ROWS_PER_SHARD, DType, Encoding, ModelInfo, OpenOptions, Source, StoreError, StoreSpec,
    StoreWriter, Vectors,
};

use crate::arrays::{BorrowedVectors, in_order, view};
use crate::error::Failed;
use crate::identifiers::identifiers;
use crate::models::{GivenEncoder, parse_role};
use crate::paths::{Paths, wrong_type};
use crate::row_numbers::row_numbers;
use crate::work::{self, Session};

/// Vectors on disk with their ids, opened for reading: one store, or several as one sequence of rows.
///
/// Arrays of a store are views of its memory-mapped files: read-only, and alive as long as they are used.
#[pyclass(frozen, sequence, module = "toller")]
pub(crate) struct Store {
    pub(crate) store: Arc<toller_store::Store>,
    /// Absolute: processes that open the store later may have another current directory.
    pub(crate) paths: Vec<PathBuf>,
    /// Whether all checksums were compared.
    pub(crate) is_verified: bool,
}

/// The paths from the root. What has no such path stays as it is.
fn absolute(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().map(|path| std::path::absolute(&path).unwrap_or(path)).collect()
}

/// Opens stores in the session's threads.
pub(crate) fn open(
    session: &Arc<Session>,
    paths: &[PathBuf],
    verify: bool,
) -> Result<toller_store::Store, Failed> {
    Ok(session.engine()?.open_store(paths, verify)?)
}

#[pymethods]
impl Store {
    /// Opens a store, or several as one. `verify` compares all checksums, which reads every file once.
    #[new]
    #[pyo3(signature = (path, *, verify=true))]
    fn new(py: Python<'_>, path: Paths, verify: bool) -> PyResult<Self> {
        let paths = path.all();
        work::run(py, None, move |session| {
            let store = Arc::new(open(session, &paths, verify)?);
            Ok(Self { store, paths: absolute(paths), is_verified: verify })
        })
    }

    /// Writes arrays as a store, and opens it. `ids` are strings or integers from any iterable that has an
    /// order. `vectors` is [rows, numbers] of float32, float16 or float64, which is rounded to float32. What
    /// is in C's order and not of float64 is not copied: nobody may write to the array meanwhile.
    ///
    /// `model` is the encoder that made them; without it, searches do not know which model queries need.
    /// `role` is passage or query, `store_dtype` is f32, f16 or bf16.
    #[staticmethod]
    #[pyo3(signature = (path, ids, vectors, *, model=None, role="passage", store_dtype="f32", overwrite=false,
                        progress=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        ids: &Bound<'_, PyAny>,
        vectors: &Bound<'_, PyUntypedArray>,
        model: Option<GivenEncoder>,
        role: &str,
        store_dtype: &str,
        overwrite: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let ids = identifiers(ids)?;
        let held = BorrowedVectors::new(&in_order(vectors)?)?;
        let role = parse_role(role)?;
        let dtype: DType = store_dtype.parse().map_err(Failed::from)?;
        if held.rows != ids.len() {
            let message = format!("{} ids for {} vectors", ids.len(), held.rows);
            return Err(Failed::invalid(message).hint("give one id for each vector").into());
        }
        let encoder = model.map(|GivenEncoder(encoder)| encoder);
        work::run(py, progress, move |session| {
            let mut seen = HashSet::with_capacity(ids.len());
            if let Some(id) = ids.iter().find(|id| !seen.insert(id.as_str())) {
                return Err(Failed::invalid(format!("the id {id:?} occurs twice")));
            }
            let mut surveyor = Surveyor::default();
            // Before the directory is made, so that the same call with other vectors can make it.
            each_row(&held, session, |row, vector| {
                if let Some((column, &value)) =
                    vector.iter().enumerate().find(|(_, number)| !number.is_finite())
                {
                    return Err(StoreError::NotFinite { id: ids[row].clone(), column, value }.into());
                }
                surveyor.push(&ids[row], vector);
                Ok(())
            })?;
            let survey = surveyor.finish();
            let (model, encoding) = match &encoder {
                None => (ModelInfo::unknown(&survey.fingerprint), Encoding::unknown(role, survey.normalized)),
                Some(encoder) => {
                    if encoder.dim() != held.dim {
                        let (made, given) = (encoder.dim(), held.dim);
                        let message = format!("vectors of {given} numbers, but the model makes {made}");
                        return Err(Failed::invalid(message).hint("leave model out, or give its vectors"));
                    }
                    let tower = encoder.model().tower(role);
                    if tower.truncates() && tower.normalizes() && !survey.normalized {
                        let message = "vectors that do not have length one, but the model's queries do";
                        let hint = "encode with normalize_embeddings=True, or leave model out";
                        return Err(Failed::invalid(message).hint(hint));
                    }
                    (encoder.info().clone(), encoding(encoder, role, survey.normalized))
                }
            };
            let spec = StoreSpec {
                model,
                encoding,
                dim: held.dim,
                content: dtype.into(),
                rows_per_shard: DEFAULT_ROWS_PER_SHARD,
                source: Source { fingerprint: survey.fingerprint, passages: survey.rows },
                part: None,
            };
            let mut writer = match overwrite {
                true => StoreWriter::overwrite(&path, spec)?,
                false => StoreWriter::create_or_resume(&path, spec)?,
            };
            let missing = writer.missing_rows();
            each_row(&held, session, |row, vector| {
                match missing.iter().any(|rows| rows.contains(&(row as u64))) {
                    true => Ok(writer.push(&ids[row], vector)?),
                    false => Ok(()),
                }
            })?;
            writer.finish()?;
            let paths = vec![path];
            let store =
                Arc::new(toller_store::Store::open(&paths, &OpenOptions { verify: false, progress: None })?);
            Ok(Self { store, paths: absolute(paths), is_verified: false })
        })
    }

    /// The number of vectors.
    fn __len__(&self) -> usize {
        self.store.count()
    }

    /// One vector [numbers], or the rows of a slice [rows, numbers]: a read-only view. Rows of several
    /// shards are not next to each other in memory, so a slice that holds such rows is a copy; `shards` has
    /// views only. Vectors of bf16 are copies in float32, since NumPy has no bfloat16.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, place: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let count = slf.get().store.count();
        if let Ok(slice) = place.cast::<PySlice>() {
            let found = slice.indices(count as isize)?;
            if found.step != 1 {
                return Err(PyTypeError::new_err("a store has slices of step 1"));
            }
            return slf.get().rows_of(slf, found.start as usize, found.slicelength);
        }
        let row = place.extract::<isize>().map_err(|_| wrong_type(place, "a row number or a slice"))?;
        let from_start = if row < 0 { row + count as isize } else { row };
        let found = usize::try_from(from_start).ok().filter(|row| *row < count);
        let missing = || PyIndexError::new_err(format!("row {row} of a store of {count}"));
        slf.get().rows_of(slf, found.ok_or_else(missing)?, 1)?.get_item(0)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let builtins = slf.py().import("builtins")?;
        let rows = builtins.getattr("range")?.call1((slf.get().store.count(),))?;
        builtins.getattr("map")?.call1((slf.getattr("__getitem__")?, rows))
    }

    /// The vectors of each shard, [rows, numbers]: read-only views, in the order of the rows.
    #[getter]
    fn shards<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let store = &slf.get().store;
        let shards = store.shards().iter().filter(|shard| shard.rows() > 0);
        shards.map(|shard| slf.get().rows_of(slf, shard.first().index(), shard.rows())).collect()
    }

    /// The id of each row, in a list that is made at each access; `ids_of` gives some of them.
    #[getter]
    fn ids(&self) -> Vec<&str> {
        self.store.shards().iter().flat_map(|shard| (0..shard.rows()).map(|row| shard.id(row))).collect()
    }

    /// The ids of rows, by their numbers from any iterable.
    fn ids_of(&self, rows: &Bound<'_, PyAny>) -> PyResult<Vec<&str>> {
        let count = self.store.count();
        let id = |row: u32| match (row as usize) < count {
            true => Ok(self.store.id(DocOrd(row))),
            false => Err(PyIndexError::new_err(format!("row {row} of a store of {count}"))),
        };
        row_numbers(rows, "rows")?.into_iter().map(id).collect()
    }

    /// Numbers of a vector.
    #[getter]
    fn dim(&self) -> usize {
        self.store.dim()
    }

    /// What the vectors are stored in: f32, f16 or bf16.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.store.dtype().name()
    }

    /// Whether these are passages or queries.
    #[getter]
    fn role(&self) -> &'static str {
        self.store.manifest().spec.encoding.role.name()
    }

    /// The name of the model that made the vectors.
    #[getter]
    fn model(&self) -> &str {
        &self.store.manifest().spec.model.name
    }

    /// The name of the model that encodes queries, if it is another.
    #[getter]
    fn query_model(&self) -> Option<&str> {
        self.store.manifest().spec.model.query_model.as_deref()
    }

    /// Identifies the model by everything that determines its vectors.
    #[getter]
    fn model_fingerprint(&self) -> &str {
        &self.store.manifest().spec.model.fingerprint
    }

    /// The directories.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.display().to_string()).collect()
    }

    fn __repr__(&self) -> String {
        let (count, dim, dtype) = (self.store.count(), self.store.dim(), self.store.dtype());
        format!("Store({:?}: {count} vectors of {dim} x {dtype})", self.paths().join(", "))
    }

    /// Stores are pickled as their paths, and opened again without a look at the checksums.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<PathBuf>,))> {
        let reopen = slf.py().import("toller._toller")?.getattr("reopen")?;
        Ok((reopen, (slf.get().paths.clone(),)))
    }
}

/// Opens a pickled store.
#[pyfunction]
pub(crate) fn reopen(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Store> {
    Store::new(py, Paths::Several(paths), false)
}

impl Store {
    /// Rows as an array, without a copy if they are of one shard.
    fn rows_of<'py>(
        &self,
        owner: &Bound<'py, Self>,
        first: usize,
        rows: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (store, dim, py) = (&self.store, self.store.dim(), owner.py());
        if rows == 0 {
            return Ok(match store.dtype() {
                DType::F16 => PyArray2::<f16>::zeros(py, [0, dim], false).into_any(),
                DType::F32 | DType::BF16 => PyArray2::<f32>::zeros(py, [0, dim], false).into_any(),
            });
        }
        let (shard, at) = store.locate(DocOrd(first as u32));
        if at + rows <= shard.rows() {
            let numbers = at * dim..(at + rows) * dim;
            let vectors = match shard.embeddings() {
                Vectors::F32(all) => Vectors::F32(&all[numbers]),
                Vectors::F16(all) => Vectors::F16(&all[numbers]),
                Vectors::BF16(all) => Vectors::BF16(&all[numbers]),
            };
            // SAFETY: the array keeps this store, which keeps the map. Nobody changes a finished shard.
            return unsafe { view(owner.clone().into_any(), vectors, dim) };
        }
        let pieces = store.shards().iter().filter_map(|shard| {
            let start = first.max(shard.first().index());
            let end = (first + rows).min(shard.first().index() + shard.rows());
            (start < end).then(|| self.rows_of(owner, start, end - start))
        });
        let pieces = pieces.collect::<PyResult<Vec<_>>>()?;
        let whole = py.import("numpy")?.call_method1("concatenate", (pieces,))?;
        let read_only = pyo3::types::PyDict::new(py);
        read_only.set_item("write", false)?;
        whole.call_method("setflags", (), Some(&read_only))?;
        Ok(whole)
    }
}

/// Rows that are looked at between two looks at the stop.
const ROWS: usize = 4096;

/// Calls `each` with every row, in f32.
fn each_row(
    held: &BorrowedVectors,
    session: &Session,
    mut each: impl FnMut(usize, &[f32]) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let mut vector = vec![0.0; held.dim];
    for row in 0..held.rows {
        if row % ROWS == 0 {
            session.check()?;
        }
        // SAFETY: Python's caller rules out changes, as the documentation of `Store.create` asks.
        let vectors = unsafe { held.vectors() };
        vectors.widen(row * held.dim..(row + 1) * held.dim, &mut vector);
        each(row, &vector)?;
    }
    Ok(())
}

/// The encoding of vectors that an encoder made in this process.
fn encoding(encoder: &toller_engine::Encoder, role: Role, normalized: bool) -> Encoding {
    let tower = encoder.model().tower(role);
    Encoding {
        prompt: tower.prompt().to_owned(),
        max_length: tower.max_length(),
        compute_dtype: encoder.compute().name_of(encoder.dtype()),
        pooling: tower.pooling(),
        ..Encoding::unknown(role, normalized)
    }
}
