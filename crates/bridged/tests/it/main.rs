//! Tests of the core through its public interface: every clustering and bridge by name, whole
//! fits, the limits of every number, the model file, pools that are not in memory, updates, the facts that the paper's code got wrong, and
//! the theory.

mod bridges;
mod conformance;
mod facts;
mod limit_cases;
mod limits;
mod model;
mod novelty;
#[cfg(feature = "persist")]
mod persist;
mod posterior;
mod stored;
#[cfg(feature = "persist")]
mod suggest;
mod support;
mod theory;
mod update;
