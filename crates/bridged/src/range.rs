//! Numbers between which distances fit 32-bit floats.
//!
//! A squared distance of rows beyond 10¹⁵ can overflow `f32`, one of rows below 10⁻¹⁵ vanishes. Both
//! would give a silently wrong clustering, so they are refused with what to do.

use bridged_math::{MatrixRef, chunks};
use std::fmt;

/// The largest magnitude that rows may have.
const MOST: f64 = 1e15;
/// The least that the largest magnitude of rows may be, unless all are zero.
const LEAST: f64 = 1e-15;

/// Rows whose distances do not fit 32-bit floats, by their largest magnitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// That magnitude.
    pub largest: f64,
}

/// To follow the name of a side: "holds numbers up to …".
impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { largest } = self;
        let power = largest.log10().round() as i32;
        let (do_what, power) =
            if *largest > MOST { ("divide", power) } else { ("multiply", -power) };
        write!(
            f,
            "holds numbers up to {largest:.1e}; distances between them do not fit 32-bit floats: \
             change the unit, for instance {do_what} all by 1e{power}"
        )
    }
}

impl std::error::Error for OutOfRange {}

/// Refuses rows whose largest magnitude is out of range; zeros alone are fine.
pub fn check_largest(largest: f64) -> Result<(), OutOfRange> {
    let fits = largest == 0.0 || (LEAST..=MOST).contains(&largest);
    if fits { Ok(()) } else { Err(OutOfRange { largest }) }
}

/// Refuses rows whose largest magnitude is beyond the range, as part of some that may be larger.
pub(crate) fn check_most(largest: f64) -> Result<(), OutOfRange> {
    if largest <= MOST { Ok(()) } else { Err(OutOfRange { largest }) }
}

/// The largest magnitude of rows.
pub(crate) fn largest(rows: MatrixRef<'_>) -> f64 {
    let largest = chunks::map_blocks(rows.rows(), |range| {
        rows.slice(range).data().iter().fold(0.0f32, |most, v| most.max(v.abs()))
    });
    f64::from(largest.into_iter().fold(0.0, f32::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Matrix;

    #[test]
    fn what_distances_cannot_bear_is_refused_with_a_unit_that_they_can() {
        let of = |v: f32| {
            let rows = Matrix::from_rows(&[[v, 0.0]]);
            check_largest(largest(rows.view())).map_err(|e| e.to_string())
        };
        for fine in [0.0, 1.0, -1e15, 1e-15] {
            assert_eq!(of(fine), Ok(()), "{fine}");
        }
        for (bad, unit) in [
            (3e19, "divide all by 1e19"),
            (-1e20, "divide all by 1e20"),
            (1e-30, "multiply all by 1e30"),
            (1e-41, "multiply all by 1e41"),
        ] {
            let error = of(bad).unwrap_err();
            assert!(error.ends_with(unit), "{error}");
        }
        assert!(of(3e19).unwrap_err().starts_with("holds numbers up to 3.0e19; distances"));
    }
}
