//! All that only measures: how good a fitted model is, and what to know before trusting it.
//!
//! | file | what it measures |
//! |---|---|
//! | `leave_one_out.rs` | how well the pairs predict each other, beside two constants |
//! | `calibration.rs` | how large errors are, and how large a ball must be |
//! | `sureness.rs` | how far the probabilities of links can be believed |
//! | `chance.rs` | whether chance could have predicted left-out pairs as well |
//! | `verdict.rs` | will it work: good, weak, none; pairs that contradict the others |
//! | `advice.rs` | warnings in plain sentences |
//! | `drift/` | whether new data are as those of the fit: same, shifted, broken |

mod advice;
mod calibration;
mod chance;
mod drift;
mod leave_one_out;
mod sureness;
mod verdict;

pub use calibration::quantile;
pub use drift::{
    ClusterShare, ColumnDrift, DistanceShare, Drift, DriftAsk, DriftTest, DriftVerdict, NewPairs,
    NewRows, Nowhere, PairContradiction, PairDrift, SideDrift,
};
pub use leave_one_out::LeaveOneOut;
pub use verdict::{Contradiction, Grade, Verdict};

pub(crate) use calibration::calibration;
pub(crate) use chance::chance;
pub(crate) use leave_one_out::{Trial, TrialAnswer};
pub(crate) use sureness::sureness;
