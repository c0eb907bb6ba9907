//! Bridged Clustering.

pub mod cluster;
pub mod metrics;
pub mod separation;
pub mod synth;

pub use bridged_math as math;
