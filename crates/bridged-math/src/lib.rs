//! The numerical ground that `bridged` stands on.
//!
//! Everything here is deterministic: equal input and [`Seed`] give equal bits on any number of
//! threads. Rows are `f32`, sums and solvers are `f64`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`assignment`] | linear assignment, its dual prices and which links are forced |
//! | [`matrix`] | row-major [`Matrix`] and its borrowed view [`MatrixRef`] |
//! | [`cancel`] | stopping in the middle of a pass |
//! | [`chunks`] | parallel passes over fixed blocks of rows, folded in order |
//! | [`distance`] | squared distances to a set of centres by one matrix product |
//! | [`graph`] | the symmetric graph of nearest neighbours |
//! | [`guard`] | a panic of a decoder becomes an error, and is counted |
//! | [`linalg`] | dense decompositions, eigenpairs of large operators, principal components |
//! | [`memory`] | how much memory may be taken, asked before it is taken |
//! | [`neighbors`] | exact nearest and radius neighbours by tiled products |
//! | [`rows`] | rows in a fixed order, in memory or not |
//! | [`seed`] | random streams by name |
//! | [`simd`] | kernels compiled for the instructions of the processor |
//! | [`transport`] | the cheapest assignment of rows to columns of bounded size |
//! | [`watch`] | progress and cancellation in one |
//! | [`words`] | numbers in sentences |

pub mod assignment;
pub mod cancel;
pub mod chunks;
pub mod distance;
pub mod graph;
pub mod guard;
pub mod linalg;
pub mod matrix;
pub mod memory;
pub mod neighbors;
pub mod rows;
pub mod seed;
pub mod simd;
pub mod transport;
pub mod watch;
pub mod words;

pub use matrix::{Matrix, MatrixRef, ShapeError};
pub use rows::{Rows, RowsError};
pub use seed::Seed;
pub use watch::{Cancelled, Event, Scope, Silent, Stage, Watch};
