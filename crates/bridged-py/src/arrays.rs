//! Arrays across the border: rows are borrowed on the way in and handed over on the way out.

use bridged::cluster::NOISE;
use bridged::offset::{ColumnSums, Offset};
use bridged::range::{OutOfRange, check_largest};
use bridged::{Matrix, MatrixRef};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Rows as Python gives them: `float32`, C order. The Python layer sees to both.
pub type Rows<'py> = PyReadonlyArray2<'py, f32>;
/// Pairs as Python gives them: `uint32`, one (row of x, row of y) a line.
pub type PairRows<'py> = PyReadonlyArray2<'py, u32>;

/// The rows where they lie.
pub fn view<'a>(rows: &'a Rows<'_>) -> PyResult<MatrixRef<'a>> {
    let [n, d] = [rows.shape()[0], rows.shape()[1]];
    Ok(MatrixRef::new(n, d, slice(rows)?).expect("an array has as many entries as its shape says"))
}

/// The pairs as the core takes them.
pub fn pairs(pairs: &PairRows<'_>) -> PyResult<Vec<(u32, u32)>> {
    Ok(slice(pairs)?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The entries of an array row by row. (`as_slice` alone would also take an array in F order.)
fn slice<'a, T: Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<&'a [T]> {
    match array.as_slice() {
        Ok(slice) if array.is_c_contiguous() => Ok(slice),
        _ => Err(PyValueError::new_err("the array must lie in C order: np.ascontiguousarray")),
    }
}

/// A matrix becomes an array without a copy.
pub fn array(py: Python<'_>, matrix: Matrix) -> Bound<'_, PyArray2<f32>> {
    let shape = [matrix.rows(), matrix.cols()];
    let flat = matrix.into_data().into_pyarray(py);
    flat.reshape(shape).expect("a matrix has as many entries as its shape says")
}

/// Cluster numbers as Python has them: −1 is noise.
pub fn labels<'py>(py: Python<'py>, labels: &[u32]) -> Bound<'py, PyArray1<i32>> {
    let number = |&l: &u32| if l == NOISE { -1 } else { l as i32 };
    labels.iter().map(number).collect::<Vec<_>>().into_pyarray(py)
}

/// Cluster numbers as the core has them.
pub fn from_labels(labels: &PyReadonlyArray1<'_, i32>) -> Vec<u32> {
    let number = |&l: &i32| u32::try_from(l).unwrap_or(NOISE);
    labels.as_array().iter().map(number).collect()
}

/// Rows as the core takes them, and what was taken off their columns, if something was.
type Centred<'py> = (Bound<'py, PyArray2<f32>>, Option<Bound<'py, PyArray1<f64>>>);

/// Rows of `float64` as the core takes them, without the offset that they need.
#[pyfunction]
pub fn centre<'py>(py: Python<'py>, rows: PyReadonlyArray2<'py, f64>) -> PyResult<Centred<'py>> {
    let [n, d] = [rows.shape()[0], rows.shape()[1]];
    let numbers = slice(&rows)?;
    let (rows, offset) = py
        .detach(|| -> Result<(Matrix, Offset), OutOfRange> {
            let mut sums = ColumnSums::new(d);
            numbers.chunks_exact(d.max(1)).for_each(|row| sums.push(row));
            let offset = sums.offset();
            check_small(numbers, d, &offset)?;
            Ok((lowered(numbers, n, d, &offset), offset))
        })
        .map_err(|e| PyValueError::new_err(format!("the data {e}")))?;
    let taken = (!offset.is_none()).then(|| offset.get().to_vec().into_pyarray(py));
    Ok((array(py, rows), taken))
}

/// The same with an offset that is known.
#[pyfunction]
pub fn lower<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f64>,
    offset: Vec<f64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let [n, d] = [rows.shape()[0], rows.shape()[1]];
    let numbers = slice(&rows)?;
    let rows = py.detach(|| lowered(numbers, n, d, &Offset::new(offset)));
    Ok(array(py, rows))
}

fn lowered(numbers: &[f64], n: usize, d: usize, offset: &Offset) -> Matrix {
    let data = numbers.iter().enumerate().map(|(i, &v)| offset.lower(i % d.max(1), v)).collect();
    Matrix::new(n, d, data).expect("an array has as many entries as its shape says")
}

/// Refuses numbers that would all vanish in 32 bits.
fn check_small(numbers: &[f64], d: usize, offset: &Offset) -> Result<(), OutOfRange> {
    let mut largest = 0.0f64;
    for (i, &v) in numbers.iter().enumerate() {
        let v = (v - offset.get().get(i % d.max(1)).copied().unwrap_or(0.0)).abs();
        if v >= 1e-15 {
            return Ok(());
        }
        largest = largest.max(v);
    }
    check_largest(largest)
}

/// Where the core would read these rows: equal to the array's own address, as nothing is copied.
#[pyfunction]
pub fn address(rows: Rows<'_>) -> PyResult<usize> {
    Ok(view(&rows)?.data().as_ptr() as usize)
}
