//! Bridged Clustering.

pub mod cluster;
pub mod metrics;

pub use bridged_math as math;
