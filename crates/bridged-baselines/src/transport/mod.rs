//! Entropic transport, plain and between spaces: what EOT and GW stand on.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sinkhorn`] | the plan between two histograms, for any ε |
//! | [`gromov`] | entropic Gromov–Wasserstein couplings, plain and fused |
//! | `barycentre` | from potentials to predictions, a row at a time |
//! | `ridge_cost` | the cost between the spaces that a few pairs suggest |

pub(crate) mod barycentre;
pub mod gromov;
pub(crate) mod ridge_cost;
pub mod sinkhorn;
