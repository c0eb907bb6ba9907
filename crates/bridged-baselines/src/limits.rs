//! What the parameters of several methods may be, and the check that every fit begins with.

use bridged::MethodError;
use bridged::settings::{Check, Limits};

/// A number of rows, neighbours or components; where the data have fewer, all of them.
pub(crate) const COUNT: Limits = Limits::at_least(1);
/// Something that cannot be nothing: a width, a penalty that makes a problem solvable.
pub(crate) const POSITIVE: Limits = Limits::Above(0.0, 1e9);
/// A weight or a penalty; 0 leaves it out.
pub(crate) const NOT_NEGATIVE: Limits = Limits::From(0.0, 1e9);
/// A share of a whole.
pub(crate) const SHARE: Limits = Limits::From(0.0, 1.0);
/// A share that leaves something over, so that what is left can be scaled up again.
pub(crate) const BELOW_ONE: Limits = Limits::From(0.0, 0.999_999);
/// Adam's step size.
pub(crate) const LEARNING_RATE: Limits = Limits::Above(0.0, 1e3);
/// Gradient steps; 0 leaves a network as it was drawn.
pub(crate) const STEPS: Limits = Limits::at_least(0);
/// Units of a hidden layer: two such layers of the most still fit into memory.
pub(crate) const UNITS: Limits = Limits::Whole(1, 16_384);
/// Rows of a gradient step.
pub(crate) const BATCH: Limits = Limits::Whole(1, 1_000_000);

/// Checks the parameters of a method, which errors name.
pub(crate) fn check(parameters: &impl Check, method: &'static str) -> Result<(), MethodError> {
    parameters.check().map_err(|source| MethodError::BadParameter { method, source })
}
