//! `bridged._native`: the core for Python, as functions on NumPy arrays.
//!
//! This layer is thin on purpose. Parameters arrive as JSON and become the core's own structs by
//! serde, so their names and checks are written once, in Rust; rows arrive as C-ordered `float32`
//! arrays and are borrowed, never copied; everything that a user sees (classes in the manner of
//! scikit-learn, tables, pictures) is the Python package around it, `python/bridged`.
//!
//! | module | what it does |
//! |---|---|
//! | [`arrays`] | borrowed rows in, owned arrays out |
//! | [`host`] | runs work without the GIL, with progress, and so that Ctrl-C stops it |
//! | [`pool`] | threads that survive a fork |
//! | [`columns`] | which columns of a table are the id and the vector |
//! | [`params`] | parameters from JSON, with the name of the one that is wrong |
//! | [`passes`] | fits over the partitions of an engine such as Spark |
//! | [`cluster`], [`model`], [`baseline`], [`metrics`] | the core's parts |

mod arrays;
mod baseline;
mod cluster;
mod columns;
mod errors;
mod host;
mod metrics;
mod model;
mod params;
mod passes;
mod pool;

use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(arrays::address, m)?)?;
    m.add_function(wrap_pyfunction!(arrays::centre, m)?)?;
    m.add_function(wrap_pyfunction!(arrays::lower, m)?)?;
    m.add_function(wrap_pyfunction!(columns::suspicious_note, m)?)?;
    m.add_function(wrap_pyfunction!(params::uses_origin, m)?)?;
    m.add_function(wrap_pyfunction!(params::sides_use_origin, m)?)?;
    m.add_function(wrap_pyfunction!(params::set_memory_limit, m)?)?;
    m.add_function(wrap_pyfunction!(columns::choose_columns, m)?)?;
    m.add_function(wrap_pyfunction!(columns::pair_columns, m)?)?;
    m.add_function(wrap_pyfunction!(params::catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(params::settings, m)?)?;
    m.add_class::<cluster::Clustering>()?;
    m.add_class::<model::Model>()?;
    m.add_class::<baseline::Baseline>()?;
    passes::add(m)?;
    metrics::add(m)
}
