//! Bridged Clustering: two collections that nobody linked, a handful of known pairs, and
//! predictions from either side to the other.
//!
//! ```text
//! 1. cluster the x pool and the y pool, each on its own        ĉ_X, ĉ_Y
//! 2. let the pairs vote: which y cluster belongs to x cluster a?   Â(a) = argmax_b votes(a, b)
//! 3. predict the mean of the linked cluster                    ŷ(x) = mean of y cluster Â(ĉ_X(x))
//! ```
//!
//! By default the vote is a posterior ([`bridge::Posterior`]): every link has a probability, and what
//! is predicted is the mean over all of them, which slides to the mean of y where the pairs say little. And
//! several clusterings of each side predict together, so that nobody has to know the number of groups
//! ([`Members`]).
//! [`Preset::Paper`] and [`Preset::Voting`] vote as the paper does.
//!
//! This is the method of "Bridged Clustering: Semi-Supervised Sparse Bridging" with all of its
//! variants, and with an explicit answer where the paper leaves one open: a cluster without a pair
//! is *no evidence*, a draw is *tied*, and both are visible in the model and in every prediction.
//!
//! ```
//! use bridged::{Matrix, Seed, Silent};
//! use bridged::{BridgedClustering, Direction, Problem};
//!
//! // Two groups on each side; the groups of y are called 50 and 90.
//! let x = Matrix::from_fn(40, 2, |i, j| if i < 20 { 0.0 } else { 9.0 } + ((i + j) % 3) as f32 * 0.1);
//! let y = Matrix::from_fn(30, 1, |i, _| if i < 15 { 90.0 } else { 50.0 } + (i % 3) as f32 - 1.0);
//! let pairs = [(0, 20), (39, 1)];
//!
//! let problem = Problem::new(x.view(), y.view(), &pairs);
//! let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent)?;
//! let new = Matrix::from_rows(&[[0.1, 0.0], [9.0, 9.1]]);
//! let prediction = model.predict(Direction::Forward, new.view())?;
//! assert!((prediction.values.row(0)[0] - 50.0).abs() < 5.0 && prediction.values.row(1)[0] > 85.0);
//! assert_eq!(prediction.explain(0).support, 1);
//! # Ok::<(), bridged::Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`settings`] | from words to parameters: presets, named keys, checks |
//! | [`cluster`] | clustering algorithms, the trait, the one list |
//! | [`bridge`] | votes, links, the rules, the one list |
//! | [`scale`] | what happens to rows before they are clustered |
//! | [`metrics`] | errors, agreement with classes, bridging accuracy |
//! | [`files`] | output files: whole or not at all, never over an input |
//! | [`separation`] | Δ, σ and the bound of the paper's theory |
//! | [`passes`] | fits over rows that lie on many machines |
//! | [`update`] | more pairs, new rows, rows to forget |
//! | [`history`] | what was done to a model |
//! | [`synth`] | mixtures to try things on |
//!
//! Fitting, checking and predicting are methods: [`BridgedClustering::fit`] learns a
//! [`BridgedModel`], which predicts, explains, measures and saves itself.

#![forbid(unsafe_code)]

pub mod align;
pub mod bridge;
mod card;
mod check;
#[cfg(feature = "persist")]
pub mod checkpoint;
pub mod cluster;
pub mod columns;
mod describe;
mod diff;
mod ensemble;
mod error;
mod evaluate;
#[cfg(feature = "persist")]
pub mod files;
mod fit;
pub mod history;
mod kept;
mod label_column;
mod method;
pub mod metrics;
mod model;
mod novelty;
pub mod offset;
pub mod passes;
#[cfg(feature = "persist")]
mod persist;
mod predict;
mod problem;
pub mod range;
mod rows_at;
pub mod scale;
pub mod separation;
pub mod settings;
mod side;
mod suggest;
pub mod synth;
pub mod update;

pub use bridged_math::memory;
pub use bridged_math::seed::Rng;
pub use bridged_math::{
    Cancelled, Event, Matrix, MatrixRef, Scope, Seed, ShapeError, Silent, Stage, Watch,
};
pub use check::{
    ClusterShare, ColumnDrift, Contradiction, DistanceShare, Drift, DriftAsk, DriftTest,
    DriftVerdict, Grade, LeaveOneOut, NewPairs, NewRows, Nowhere, PairContradiction, PairDrift,
    SideDrift, Verdict, quantile,
};
pub use diff::{
    ClusterMatch, DiffRows, LinkDiff, LinkEnd, MatchedBy, ModelDiff, ParameterDiff, PredictionDiff,
    SideDiff,
};
pub use ensemble::MemberShare;
pub use error::Error;
pub use evaluate::{BridgeScores, ByMetric, Evaluation, Latent, Scores, ValueScores};
pub use fit::local_map::{Anchor, LocalMap};
pub use fit::residual_map::ResidualMap;
pub use method::{Method, MethodError, Predictor, retrieve};
pub use model::{BridgedModel, Direction};
pub use novelty::UNFAMILIAR;
#[cfg(feature = "persist")]
pub use persist::MODEL_FILE;
pub use predict::{
    Answer, Ask, Explanation, LinkRow, LinkTable, Neighbor, Prediction, Ready, Regressor, Source,
    Status,
};
pub use problem::{Keep, Pairs, Pool, Problem, ProblemSize, StoredPool};
pub use rows_at::{PartAt, RowsAt};
pub use settings::{
    Alpha, BridgedClustering, Count, KeepRows, Members, PairRows, Preset, Refine, RefineKind,
    SideSpec, Uncovered,
};
pub use side::{Names, Side, TextColumn};
pub use suggest::{Candidate, Question, Suggestion, Wanted};

/// What the fuzz targets need of the inside; no part of the interface.
#[cfg(feature = "persist")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::persist::reseal::reseal;
}

/// The model format of one clustering of each side.
pub const MODEL_VERSION: u32 = 3;

/// That of pools that were moved ([`offset`]), which an earlier release refuses instead of misreading it.
pub const OFFSET_VERSION: u32 = 4;

/// That of models with several members.
pub const ENSEMBLE_VERSION: u32 = 6;

/// The newest model format that this release reads.
pub const NEWEST_MODEL_VERSION: u32 = ENSEMBLE_VERSION;
