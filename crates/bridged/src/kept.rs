//! What a model holds only until it is needed: rows that stay in its file, and what is derived from
//! them.

use crate::Error;
use bridged_math::Matrix;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The rows of a pool that a model keeps: in memory, or in the model file until they are asked for.
#[derive(Clone)]
pub(crate) struct KeptRows {
    shape: (usize, usize),
    rows: OnceLock<Arc<Matrix>>,
    source: Option<Arc<dyn RowSource>>,
}

/// Where rows can be read from later.
pub(crate) trait RowSource: Send + Sync {
    /// Reads and checks them.
    fn read(&self) -> Result<Matrix, Error>;
}

impl KeptRows {
    /// Rows in memory.
    pub fn new(rows: Matrix) -> Self {
        let shape = (rows.rows(), rows.cols());
        Self { shape, rows: OnceLock::from(Arc::new(rows)), source: None }
    }

    /// Rows of that shape that are read when they are asked for.
    #[cfg(feature = "persist")]
    pub fn later(shape: (usize, usize), source: Arc<dyn RowSource>) -> Self {
        Self { shape, rows: OnceLock::new(), source: Some(source) }
    }

    /// The rows.
    pub fn get(&self) -> Result<&Matrix, Error> {
        Ok(self.load()?)
    }

    /// The rows, to be held by whoever derives something from them.
    pub fn shared(&self) -> Result<Arc<Matrix>, Error> {
        self.load().cloned()
    }

    fn load(&self) -> Result<&Arc<Matrix>, Error> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let source = self.source.as_ref().ok_or(Error::NoRowsKept)?;
        let rows = Arc::new(source.read()?);
        Ok(self.rows.get_or_init(|| rows))
    }
}

impl PartialEq for KeptRows {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && matches!((self.get(), other.get()), (Ok(a), Ok(b)) if a == b)
    }
}

impl fmt::Debug for KeptRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols) = self.shape;
        let place = if self.rows.get().is_some() { "in memory" } else { "in the file" };
        write!(f, "{rows} × {cols} rows {place}")
    }
}

/// Something that is derived once and then shared; it plays no part in comparisons.
#[derive(Clone)]
pub(crate) struct Cached<T>(OnceLock<Arc<T>>);

impl<T> Cached<T> {
    /// What `make` gives, made at the first call.
    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
        if let Some(found) = self.0.get() {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        Ok(self.0.get_or_init(|| made))
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Cached<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> fmt::Debug for Cached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "made" } else { "not made yet" })
    }
}
