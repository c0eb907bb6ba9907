//! The way in from words to parameters: a preset, an overlay of named keys, a check.
//!
//! ```text
//! Preset::Paper.with_k(7).overlay(&keys)? -> BridgedClustering
//! ```
//!
//! The command, studies in TOML and Python only collect [`Keys`]; none of them knows a default.

mod limits;
mod overlay;
mod parameters;
mod preset;
mod refine;

pub use limits::{BadParameter, Check, ITERATIONS, Limits, Number, RESTARTS, TOLERANCE, within};
pub use overlay::{Keys, Named, SettingsError, overlay};
pub use parameters::{BridgedClustering, Count, KeepRows, Members, PairRows, SideSpec, Uncovered};
pub use preset::Preset;
pub use refine::{Alpha, Refine, RefineKind};
