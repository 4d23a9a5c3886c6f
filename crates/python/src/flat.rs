//! Exact search by inner product over vectors, as FAISS's IndexFlatIP.

use std::ops::Range;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArrayMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use toller_engine::{Device, Scan};
use toller_ir::{DocOrd, DocSet, Filter, Ranking};
use toller_pipeline::{SearchJob, within_memory};
use toller_topk::{Collection, IpTopkOptions, Segment, Vectors, ip_topk};

use crate::arrays::{BorrowedVectors, copied, vector};
use crate::error::Failed;
use crate::paths::{Paths, wrong_type};
use crate::row_numbers::row_numbers;
use crate::store::{self, Store};
use crate::whole::whole;
use crate::work;

/// Exact search by inner product: every vector is scored.
///
/// The hits are the vectors of the largest inner products, best first, equal scores by row. A score is
/// summed up in float64 in one fixed order and rounded once: the same bits for any batch, number of threads
/// and device.
#[pyclass(frozen, module = "toller")]
pub(crate) struct FlatIndex {
    vectors: Arc<Source>,
}

/// Where the vectors are.
enum Source {
    /// An index, and the number of rows of its store that are searched.
    Store(toller_index::FlatIndex, usize),
    Arrays {
        arrays: Vec<BorrowedVectors>,
        dim: usize,
        scan: Scan,
    },
}

/// A store that is open, or its path.
pub(crate) enum StoreArgument<'py> {
    Open(Bound<'py, Store>),
    Paths(Paths),
}

impl<'py> FromPyObject<'_, 'py> for StoreArgument<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(store) = given.extract::<Bound<'py, Store>>() {
            return Ok(Self::Open(store));
        }
        let paths = given.extract::<Paths>();
        Ok(Self::Paths(paths.map_err(|_| wrong_type(&given, "a Store, a path or a list of paths"))?))
    }
}

#[pymethods]
impl FlatIndex {
    /// Searches a store, or several as one. `scan` is auto, f32, f16 or int8, and `device` is auto, cpu,
    /// cuda, cuda:N or cuda:all: they decide how fast a search is, never what it finds. With `rows=(first,
    /// end)`, only these rows are searched, and only their files are verified; they keep their numbers.
    #[new]
    #[pyo3(signature = (store, *, rows=None, scan="auto", device="auto", verify=true))]
    fn new(
        py: Python<'_>,
        store: StoreArgument<'_>,
        #[pyo3(from_py_with = whole)] rows: Option<(usize, usize)>,
        scan: &str,
        device: &str,
        verify: bool,
    ) -> PyResult<Self> {
        let scan: Scan = scan.parse().map_err(Failed::from)?;
        let device = parse_device(device)?;
        let opened = match store {
            StoreArgument::Open(store) => Ok(store.get().store.clone()),
            StoreArgument::Paths(paths) => Err(paths.all()),
        };
        let (index, count) = work::run(py, None, move |session| {
            let (store, verify) = match opened {
                Ok(store) => (store, false),
                Err(paths) => (Arc::new(store::open(session, &paths, false)?), verify),
            };
            let rows = within(rows, store.count())?;
            let devices = session.engine()?.devices(device)?;
            if verify {
                store.verify_rows(&rows, &|_| {})?;
            }
            let count = rows.len();
            let index = toller_index::FlatIndex::of_rows(store, rows, scan);
            match devices {
                None => Ok((index, count)),
                Some(devices) => Ok((index.on(&devices, &|_| {})?, count)),
            }
        })?;
        Ok(Self { vectors: Arc::new(Source::Store(index, count)) })
    }

    /// Searches arrays in memory, where they are: each [rows, numbers], float32 or float16, in C's order.
    /// Rows are numbered through all arrays. Nobody may write to the arrays or resize them as long as the
    /// index is used: it is undefined what a search does meanwhile.
    #[staticmethod]
    #[pyo3(signature = (*arrays, scan="auto"))]
    fn of_arrays(py: Python<'_>, arrays: &Bound<'_, PyTuple>, scan: &str) -> PyResult<Self> {
        let scan: Scan = scan.parse().map_err(Failed::from)?;
        let held = |array: Bound<'_, PyAny>| {
            BorrowedVectors::new(array.cast::<PyUntypedArray>().map_err(PyErr::from)?)
        };
        let arrays = arrays.iter().map(held).collect::<PyResult<Vec<_>>>()?;
        let Some(dim) = arrays.first().map(|array| array.dim) else {
            return Err(Failed::invalid("no arrays").hint("give at least one").into());
        };
        if dim == 0 {
            let failed = Failed::invalid("an array of 0 columns");
            return Err(failed.hint("give vectors of at least one number").into());
        }
        let vectors = work::run(py, None, move |_| {
            for array in &arrays {
                if array.dim != dim {
                    return Err(Failed::invalid(format!("arrays of {dim} and of {} columns", array.dim)));
                }
                // SAFETY: Python's caller rules out changes, as the documentation of this function asks.
                if !is_finite(unsafe { array.vectors() }) {
                    return Err(Failed::invalid("an array holds NaN or infinity"));
                }
            }
            Ok(Source::Arrays { arrays, dim, scan })
        })?;
        Ok(Self { vectors: Arc::new(vectors) })
    }

    /// The `k` best rows for each query: scores float32 [queries, hits] and row numbers int64 [queries,
    /// hits], best first. There are fewer than `k` hits where there are fewer rows. `queries` is float32 or
    /// float16, [queries, numbers], or [numbers] for one, whose results are [hits].
    ///
    /// With `allowed`, only the rows of these numbers can be hits. It is any iterable of row numbers.
    #[pyo3(signature = (queries, k=10, *, allowed=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyUntypedArray>,
        #[pyo3(from_py_with = whole)] k: usize,
        allowed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let given = copied(queries)?;
        if given.dim != self.dim() {
            let message = format!("queries of {} numbers, but the index has {}", given.dim, self.dim());
            return Err(Failed::invalid(message).hint("encode both with the same model").into());
        }
        let (vectors, is_one, queries) =
            (self.vectors.clone(), given.is_one, given.numbers.len() / given.dim);
        let allowed = allowed.map(|rows| row_numbers(rows, "allowed")).transpose()?;
        // Without queries, as many columns as queries would have.
        let most = k.min(self.__len__());
        let (scores, rows, width) = work::run(py, None, move |session| {
            let allowed: Option<DocSet> = allowed.map(|rows| rows.into_iter().map(DocOrd).collect());
            let filter = Filter { allowed: allowed.as_ref(), excluded: &[] };
            let (mut scores, mut rows, mut width) = (Vec::new(), Vec::new(), most);
            // After each block a Ctrl-C is noticed.
            for block in given.numbers.chunks(within_memory(vectors.queries_at_once(), most) * given.dim) {
                session.check()?;
                for Ranking { hits } in vectors.search(block, k, &filter)? {
                    width = hits.len();
                    scores.extend(hits.iter().map(|hit| hit.score));
                    rows.extend(hits.iter().map(|hit| i64::from(hit.doc.0)));
                }
            }
            Ok((scores, rows, width))
        })?;
        if is_one {
            return Ok((vector(py, scores).into_any(), rows.into_pyarray(py).into_any()));
        }
        let scores = scores.into_pyarray(py).reshape([queries, width])?;
        let rows = rows.into_pyarray(py).reshape([queries, width])?;
        Ok((scores.into_any(), rows.into_any()))
    }

    /// The number of vectors that are searched.
    fn __len__(&self) -> usize {
        match &*self.vectors {
            Source::Store(_, count) => *count,
            Source::Arrays { arrays, .. } => arrays.iter().map(|array| array.rows).sum(),
        }
    }

    /// Numbers of a vector.
    #[getter]
    fn dim(&self) -> usize {
        match &*self.vectors {
            Source::Store(index, _) => index.dim(),
            Source::Arrays { dim, .. } => *dim,
        }
    }
}

impl Source {
    /// Queries that are searched together.
    fn queries_at_once(&self) -> usize {
        let wanted = match self {
            Self::Store(index, _) => index.queries_at_once(),
            Self::Arrays { .. } => None,
        };
        wanted.unwrap_or(SearchJob::QUERIES)
    }

    fn search(&self, queries: &[f32], k: usize, filter: &Filter<'_>) -> Result<Vec<Ranking>, Failed> {
        let (arrays, dim, scan) = match self {
            Self::Store(index, _) => return Ok(index.search(queries, k, filter)?.rankings),
            Self::Arrays { arrays, dim, scan } => (arrays, *dim, *scan),
        };
        let (mut first, mut segments) = (0, Vec::with_capacity(arrays.len()));
        for array in arrays {
            // SAFETY: Python's caller rules out changes, as the documentation of `of_arrays` asks.
            let vectors = unsafe { array.vectors() };
            segments.push(Segment { first: DocOrd(first), vectors, codes: None });
            first += array.rows as u32;
        }
        let collection = Collection::new(dim, segments)?;
        let options = IpTopkOptions { scan, filter: *filter, read_ahead: None };
        Ok(ip_topk(&collection, queries, k, &options)?.rankings)
    }
}

/// The rows that are searched, of a store of `count`.
fn within(rows: Option<(usize, usize)>, count: usize) -> Result<Range<usize>, Failed> {
    let (first, end) = rows.unwrap_or((0, count));
    match first <= end && end <= count {
        true => Ok(first..end),
        false => Err(Failed::invalid(format!("rows {first} to {end} of a store of {count}"))
            .hint("give the first row, counted from 0, and the row after the last")),
    }
}

fn is_finite(vectors: Vectors<'_>) -> bool {
    match vectors {
        Vectors::F32(numbers) => numbers.par_iter().all(|number| number.is_finite()),
        Vectors::F16(numbers) => numbers.par_iter().all(|number| number.is_finite()),
        Vectors::BF16(numbers) => numbers.par_iter().all(|number| number.is_finite()),
    }
}

/// The device of that name.
pub(crate) fn parse_device(name: &str) -> Result<Device, Failed> {
    name.parse().map_err(|expected| {
        Failed::invalid(format!("no device is named {name:?}")).hint(format!("{expected}"))
    })
}
