//! Arrow data across the border, by the PyCapsule interface: no library is imported for it, and no number copied.
//!
//! | given | how it comes |
//! |---|---|
//! | an array of `float32` or `float64` in C order | copied into one column of vectors |
//! | `__arrow_c_array__`: a record batch | as it lies |
//! | `__arrow_c_stream__`: a table, a frame, a stream | batch after batch |

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, FixedSizeListArray, Float32Array, Float64Array, RecordBatch, RecordBatchReader,
    StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::sync::Arc;

/// What the column of an array's rows is called.
pub const COLUMN: &str = "vector";

/// Calls `each` with the batches that an object holds or streams.
pub fn for_each_batch(
    item: &Bound<'_, PyAny>,
    mut each: impl FnMut(RecordBatch) -> PyResult<()>,
) -> PyResult<()> {
    if let Ok(rows) = item.extract::<PyReadonlyArray2<'_, f32>>() {
        let [n, d] = [rows.shape()[0], rows.shape()[1]];
        let numbers = Float32Array::from_iter_values(rows.as_array().iter().copied());
        return each(vectors(n, d, Arc::new(numbers))?);
    }
    if let Ok(rows) = item.extract::<PyReadonlyArray2<'_, f64>>() {
        let [n, d] = [rows.shape()[0], rows.shape()[1]];
        let numbers = Float64Array::from_iter_values(rows.as_array().iter().copied());
        return each(vectors(n, d, Arc::new(numbers))?);
    }
    if item.hasattr("__arrow_c_array__")? {
        return each(record_batch(item)?);
    }
    if item.hasattr("__arrow_c_stream__")? {
        let mut stream = Stream::of(item)?;
        // Whoever streams may need the interpreter on another thread to go on.
        while let Some(batch) = item.py().detach(|| stream.0.next()) {
            each(batch.map_err(broken)?)?;
        }
        return Ok(());
    }
    let kind = item.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a batch must be an array of two dimensions, a record batch or a table; got {kind}"
    )))
}

/// Rows of numbers as one column.
fn vectors(n: usize, d: usize, numbers: Arc<dyn Array>) -> PyResult<RecordBatch> {
    if d == 0 {
        return Err(PyValueError::new_err(format!("a batch of {n} rows has no columns")));
    }
    let item = Arc::new(Field::new("item", numbers.data_type().clone(), true));
    let lists = FixedSizeListArray::try_new(item, d as i32, numbers, None).map_err(broken)?;
    RecordBatch::try_from_iter([(COLUMN, Arc::new(lists) as _)]).map_err(broken)
}

/// What `__arrow_c_array__` gives.
fn record_batch(item: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let given = item.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let schema = given.get_item(0)?.cast_into::<PyCapsule>()?;
    let array = given.get_item(1)?.cast_into::<PyCapsule>()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold these structs, as the interface says; both are alive, and the array is moved
    // out of its capsule, which then holds one that is marked as released.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    let data = data.map_err(broken)?;
    if !matches!(data.data_type(), DataType::Struct(_)) || data.null_count() > 0 {
        let kind = data.data_type();
        return Err(PyTypeError::new_err(format!(
            "a batch must be a record batch or a table with columns; got an Arrow array of {kind}"
        )));
    }
    Ok(RecordBatch::from(StructArray::from(data)))
}

/// What `__arrow_c_stream__` gives.
struct Stream(RecordBatchStreamReader);

impl Stream {
    fn of(item: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = item.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: a capsule of this name holds this struct, as the interface says, and is alive; the stream is moved out.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.cast().as_ptr()) };
        Ok(Self(reader.map_err(broken)?))
    }
}

fn broken(error: ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow data cannot be read: {error}"))
}

/// Batches that Python makes one by one, as a stream for other libraries.
pub struct Made<F> {
    pub schema: SchemaRef,
    pub first: Option<RecordBatch>,
    pub next: F,
}

impl<F: FnMut() -> Option<PyResult<RecordBatch>> + Send + 'static> Made<F> {
    /// The capsule of the stream.
    pub fn capsule(self, py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        let stream = FFI_ArrowArrayStream::new(Box::new(self));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl<F: FnMut() -> Option<PyResult<RecordBatch>>> Iterator for Made<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let said = |e: PyErr| ArrowError::ExternalError(e.to_string().replace('\0', " ").into());
        Some((self.next)()?.map_err(said))
    }
}

impl<F: FnMut() -> Option<PyResult<RecordBatch>>> RecordBatchReader for Made<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
