//! The laboratory: studies of Bridged Clustering and its rivals on data whose pairs are all known.
//!
//! ```text
//! paired table ─► draw: groups, pools, pairs, test rows ─► every method ─► scores
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`curate`] | the paper's four data sets from their public files |
//! | [`dataset`] | a paired table with its hidden groups |
//! | [`protocol`] | how pools, pairs and test rows are drawn from it |
//! | [`experiment`] | the TOML file that describes a study |
//! | [`catalogue`] | a folder of studies: data sets × conditions |
//! | [`contender`] | what is compared, by name |
//! | [`runner`], [`record`], [`memory`] | runs in parallel, each written down as it ends |
//! | [`results`], [`spaces`] | the folder that a study leaves, and its picture of both spaces |
//! | [`report`] | the page of a study: tables and charts |
//! | [`stats`] | who wins, how sure that is, and what goes together |
//! | [`tune`] | the search over a baseline's grid, on groups that the scores never see |

pub mod catalogue;
pub mod confidence;
pub mod contender;
pub mod curate;
pub mod dataset;
mod error;
pub mod experiment;
pub mod memory;
mod progress;
pub mod protocol;
pub mod record;
pub mod report;
pub mod results;
mod room;
pub mod runner;
pub mod spaces;
pub mod stats;
pub mod tune;

pub use catalogue::{Catalogue, NamedStudy};
pub use contender::Contender;
pub use dataset::Dataset;
pub use error::LabError;
pub use experiment::{Experiment, ManyPairs, Slow, Truth};
pub use protocol::{
    Clusters, Draw, Pairing, Protocol, Setting, Sizes, SplitBy, StudyCell, TestRows,
};
pub use report::Report;
pub use results::Results;
pub use runner::Runner;
pub use spaces::Spaces;
