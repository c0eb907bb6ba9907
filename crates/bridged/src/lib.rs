//! Bridged Clustering.

pub mod cluster;

pub use bridged_math as math;
