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
//! | [`arrow`] | Arrow data across the border, by the PyCapsule interface |
//! | [`source`], [`open`], [`fit`] | rows of files and of other libraries: what they are, what is decided of them, a fit of them |
//! | [`update`] | more pairs, new rows and rows to forget |
//! | [`answers`] | predictions of rows that are read a few at a time |
//! | [`host`] | runs work without the GIL, with progress, and so that Ctrl-C stops it |
//! | [`pool`] | threads that survive a fork |
//! | [`columns`] | which columns of a table are the id and the vector |
//! | [`params`] | parameters from JSON, with the name of the one that is wrong |
//! | [`passes`] | fits over the partitions of an engine such as Spark |
//! | [`cluster`], [`model`], [`baseline`], [`metrics`] | the core's parts |

mod answers;
mod arrays;
mod arrow;
mod baseline;
mod cluster;
mod columns;
mod errors;
mod fit;
mod host;
mod metrics;
mod model;
mod open;
mod params;
mod passes;
mod pool;
mod source;
mod update;

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
    m.add_function(wrap_pyfunction!(params::enter_memory_limit, m)?)?;
    m.add_function(wrap_pyfunction!(params::leave_memory_limit, m)?)?;
    m.add_function(wrap_pyfunction!(open::memory_budget, m)?)?;
    m.add_function(wrap_pyfunction!(open::read_pairs, m)?)?;
    m.add_function(wrap_pyfunction!(open::open_pair, m)?)?;
    m.add_function(wrap_pyfunction!(open::open_to_cluster, m)?)?;
    m.add_function(wrap_pyfunction!(answers::answer_stream, m)?)?;
    m.add_function(wrap_pyfunction!(columns::choose_columns, m)?)?;
    m.add_function(wrap_pyfunction!(columns::pair_columns, m)?)?;
    m.add_function(wrap_pyfunction!(params::catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(params::settings, m)?)?;
    m.add_class::<answers::Answer>()?;
    m.add_class::<answers::Reader>()?;
    m.add_class::<open::OpenPool>()?;
    m.add_class::<source::Source>()?;
    m.add_class::<source::Spool>()?;
    m.add_class::<cluster::Clustering>()?;
    m.add_class::<model::Model>()?;
    m.add_function(wrap_pyfunction!(update::change, m)?)?;
    m.add_function(wrap_pyfunction!(update::update, m)?)?;
    m.add_class::<update::ChangedPool>()?;
    m.add_class::<baseline::Baseline>()?;
    passes::add(m)?;
    metrics::add(m)
}
