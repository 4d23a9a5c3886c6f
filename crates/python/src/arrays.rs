//! Vectors as NumPy's arrays, in and out.

use half::f16;
use half::slice::HalfFloatSliceExt;
use numpy::ndarray::ArrayView2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods, dtype,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toller_topk::Vectors;

use crate::error::Failed;

/// Vectors that were given, copied.
pub(crate) struct CopiedVectors {
    /// `[rows, dim]`.
    pub(crate) numbers: Vec<f32>,
    /// Numbers of a vector.
    pub(crate) dim: usize,
    /// Whether one vector was given, `[dim]`.
    pub(crate) is_one: bool,
}

/// What is wrong with an array that holds other numbers.
fn wrong_type(array: &Bound<'_, PyUntypedArray>) -> Failed {
    Failed::invalid(format!("vectors of dtype {}", array.dtype()))
        .hint("float32 and float16 are taken as they are; convert others with .astype(numpy.float32)")
}

/// The shape of an array of vectors. rust-numpy reads arrays that are not aligned, such as fields of packed
/// structures, from wrong places.
fn shape(array: &Bound<'_, PyUntypedArray>) -> Result<(usize, usize), Failed> {
    if !array.is_aligned() {
        return Err(Failed::invalid("vectors that are not aligned in memory").hint("give vectors.copy()"));
    }
    match *array.shape() {
        [rows, dim] => Ok((rows, dim)),
        [dim] => Ok((1, dim)),
        _ => Err(Failed::invalid(format!("vectors of {} dimensions", array.ndim()))
            .hint("give an array of shape [vectors, numbers], or [numbers] for one vector")),
    }
}

/// Copies an array of vectors.
pub(crate) fn copied(array: &Bound<'_, PyUntypedArray>) -> PyResult<CopiedVectors> {
    let (_, dim) = shape(array)?;
    let numbers = if let Ok(array) = array.cast::<PyArrayDyn<f32>>() {
        array.try_readonly().map_err(PyErr::from)?.as_array().iter().copied().collect()
    } else if let Ok(array) = array.cast::<PyArrayDyn<f16>>() {
        array.try_readonly().map_err(PyErr::from)?.as_array().iter().map(|number| number.to_f32()).collect()
    } else {
        return Err(wrong_type(array).into());
    };
    Ok(CopiedVectors { numbers, dim, is_one: array.ndim() == 1 })
}

/// The array, or a copy that is aligned and in C's order. Numbers of float64 are rounded to float32.
pub(crate) fn in_order<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let rounded = array.dtype().is_equiv_to(&dtype::<f64>(py)).then_some("float32");
    let ordered = py.import("numpy")?.call_method1("require", (array, rounded, ["C", "ALIGNED"]))?;
    Ok(ordered.cast_into()?)
}

/// An array of vectors that is searched where it is.
pub(crate) struct BorrowedVectors {
    /// Keeps the numbers alive.
    _array: Py<PyAny>,
    numbers: Numbers,
    /// The number of vectors.
    pub(crate) rows: usize,
    /// Numbers of a vector.
    pub(crate) dim: usize,
}

/// The first number, and how many there are.
enum Numbers {
    F32(*const f32, usize),
    F16(*const f16, usize),
}

// SAFETY: the array outlives the pointers, which are only read through, by a function whose caller rules out
// that somebody writes meanwhile.
unsafe impl Send for BorrowedVectors {}
// SAFETY: the same: threads only read.
unsafe impl Sync for BorrowedVectors {}

impl BorrowedVectors {
    /// Holds an array of shape [vectors, numbers] whose numbers are in C's order.
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let (rows, dim) = shape(array)?;
        if array.ndim() == 1 {
            let failed = Failed::invalid("one vector in place of an array of vectors");
            return Err(failed.hint("give vector[None], an array of one row").into());
        }
        if !array.is_c_contiguous() {
            let failed = Failed::invalid("vectors that are not in C's order");
            return Err(failed.hint("numpy.ascontiguousarray makes a copy that is").into());
        }
        let numbers = if let Ok(array) = array.cast::<PyArrayDyn<f32>>() {
            Numbers::F32(array.data(), rows * dim)
        } else if let Ok(array) = array.cast::<PyArrayDyn<f16>>() {
            Numbers::F16(array.data(), rows * dim)
        } else {
            return Err(wrong_type(array).into());
        };
        Ok(Self { _array: array.clone().into_any().unbind(), numbers, rows, dim })
    }

    /// The vectors.
    ///
    /// # Safety
    /// While they are read, nobody may write to the array's memory or resize the array. NumPy cannot rule
    /// either out: a view of the same memory may be written to where this array is read-only, and `resize`
    /// with `refcheck=False` looks at nothing. So the functions of Python that read arrays ask their callers.
    pub(crate) unsafe fn vectors(&self) -> Vectors<'_> {
        // SAFETY: the array is aligned, in C's order, has this many numbers, and is held. The caller rules
        // out changes meanwhile.
        unsafe {
            match self.numbers {
                _ if self.rows * self.dim == 0 => Vectors::F32(&[]),
                Numbers::F32(first, count) => Vectors::F32(std::slice::from_raw_parts(first, count)),
                Numbers::F16(first, count) => Vectors::F16(std::slice::from_raw_parts(first, count)),
            }
        }
    }
}

/// An array `[rows, dim]` of numbers.
pub(crate) fn matrix(py: Python<'_>, numbers: Vec<f32>, dim: usize) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let rows = numbers.len() / dim.max(1);
    numbers.into_pyarray(py).reshape([rows, dim])
}

/// An array of numbers.
pub(crate) fn vector(py: Python<'_>, numbers: Vec<f32>) -> Bound<'_, PyArray1<f32>> {
    numbers.into_pyarray(py)
}

/// Vectors in `owner`'s memory as a read-only array `[rows, dim]`, without a copy. NumPy has no bfloat16: of
/// such vectors, a copy in float32, which is exact.
///
/// # Safety
/// The vectors must stay where they are, unchanged, as long as `owner` lives.
pub(crate) unsafe fn view<'py>(
    owner: Bound<'py, PyAny>,
    vectors: Vectors<'_>,
    dim: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let bad_shape = |error: numpy::ndarray::ShapeError| Failed::internal(error.to_string());
    let shape = (vectors.len() / dim.max(1), dim);
    let array = match vectors {
        Vectors::F32(numbers) => {
            let numbers = ArrayView2::from_shape(shape, numbers).map_err(bad_shape)?;
            // SAFETY: the caller's promise.
            unsafe { PyArray2::borrow_from_array(&numbers, owner) }.into_any()
        }
        Vectors::F16(numbers) => {
            let numbers = ArrayView2::from_shape(shape, numbers).map_err(bad_shape)?;
            // SAFETY: the caller's promise.
            unsafe { PyArray2::borrow_from_array(&numbers, owner) }.into_any()
        }
        Vectors::BF16(numbers) => {
            let mut wide = vec![0.0; numbers.len()];
            numbers.convert_to_f32_slice(&mut wide);
            matrix(py, wide, dim)?.into_any()
        }
    };
    let read_only = PyDict::new(py);
    read_only.set_item("write", false)?;
    array.call_method("setflags", (), Some(&read_only))?;
    Ok(array)
}
