//! What numeric parameters may be: every struct of parameters lists its limits once.
//!
//! The list serves the check before any work begins, the overlay of named keys (which names the
//! parameter and what it needs), and the tests that try every parameter below, at and above its
//! limits.

use std::fmt;
use thiserror::Error;

/// The numbers that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limits {
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// A number from the first to the second, both included.
    From(f64, f64),
    /// A number above the first, up to and including the second.
    Above(f64, f64),
}

impl Limits {
    /// Any whole number from `least` on.
    pub const fn at_least(least: u64) -> Self {
        Self::Whole(least, u64::MAX)
    }

    /// Whether a number is within the limits; NaN never is.
    pub fn allows(self, value: f64) -> bool {
        match self {
            Self::Whole(least, most) => {
                value.fract() == 0.0 && value >= least as f64 && value <= most as f64
            }
            Self::From(least, most) => (least..=most).contains(&value),
            Self::Above(least, most) => value > least && value <= most,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Whole(least, u64::MAX) => write!(f, "a whole number of at least {least}"),
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::From(least, most) => write!(f, "between {} and {}", short(least), short(most)),
            Self::Above(least, most) => {
                write!(f, "above {} and at most {}", short(least), short(most))
            }
        }
    }
}

/// A number as a person writes it: 0.5, 1000, 1e12.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// A parameter that is out of its limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` must be {need}, got {got}")]
pub struct BadParameter {
    /// The parameter; with the path to it where it is part of something larger.
    pub name: String,
    /// What it must be.
    pub need: String,
    /// What it was.
    pub got: String,
}

impl BadParameter {
    /// The error for a parameter of that name.
    pub fn new(name: impl Into<String>, need: impl ToString, got: impl ToString) -> Self {
        Self { name: name.into(), need: need.to_string(), got: got.to_string() }
    }

    /// The same error, with the parameter named from further outside: `tol` in `x.cluster` is
    /// `x.cluster.tol`.
    pub fn inside(self, outer: &str) -> Self {
        Self { name: format!("{outer}.{}", self.name), ..self }
    }
}

/// A struct of parameters that knows its limits. [`limits!`](crate::limits) implements it.
pub trait Check {
    /// Every numeric parameter with what it may be.
    fn limits(&self) -> &'static [(&'static str, Limits)];

    /// Whether every parameter is within its limits.
    fn check(&self) -> Result<(), BadParameter>;
}

/// A value that may hold a number with limits.
pub trait Number {
    /// The number; `None` where a word or nothing stands in its place.
    fn number(&self) -> Option<f64>;
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Number for $type {
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        })+
    };
}

numbers!(f64, u32, u64, usize);

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(Number::number)
    }
}

/// Checks one parameter.
pub fn within(name: &str, value: &impl Number, limits: Limits) -> Result<(), BadParameter> {
    match value.number() {
        Some(number) if !limits.allows(number) => Err(BadParameter::new(name, limits, number)),
        _ => Ok(()),
    }
}

/// Lists the numeric parameters of a struct with their [`Limits`], and implements [`Check`] by them.
///
/// ```
/// use bridged::settings::{Check, Limits};
///
/// struct Smoothing { width: f64, passes: u32 }
/// bridged::limits!(Smoothing { width: Limits::Above(0.0, 1e6), passes: Limits::Whole(1, 100) });
///
/// let error = Smoothing { width: 2.0, passes: 0 }.check().unwrap_err();
/// assert_eq!(error.to_string(), "`passes` must be a whole number from 1 to 100, got 0");
/// ```
#[macro_export]
macro_rules! limits {
    ($type:ty { $($field:ident: $limits:expr),* $(,)? }) => {
        impl $crate::settings::Check for $type {
            fn limits(&self) -> &'static [(&'static str, $crate::settings::Limits)] {
                const LIMITS: &[(&str, $crate::settings::Limits)] =
                    &[$((stringify!($field), $limits)),*];
                LIMITS
            }

            fn check(&self) -> Result<(), $crate::settings::BadParameter> {
                $($crate::settings::within(stringify!($field), &self.$field, $limits)?;)*
                Ok(())
            }
        }
    };
}

/// Runs of an algorithm from different starts.
pub const RESTARTS: Limits = Limits::Whole(1, 1_000_000);
/// Iterations of one run.
pub const ITERATIONS: Limits = Limits::Whole(1, 1_000_000_000);
/// A tolerance relative to the spread of the data.
pub const TOLERANCE: Limits = Limits::From(0.0, 1e6);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_say_what_they_allow() {
        let cases = [
            (Limits::at_least(1), "a whole number of at least 1", vec![1.0, 7.0], vec![0.0, 1.5]),
            (Limits::Whole(1, 9), "a whole number from 1 to 9", vec![1.0, 9.0], vec![10.0, -1.0]),
            (Limits::From(0.0, 1.0), "between 0 and 1", vec![0.0, 1.0], vec![-1e-9, 1.1]),
            (Limits::Above(0.0, 1e9), "above 0 and at most 1e9", vec![1e-9, 1e9], vec![0.0, 2e9]),
        ];
        for (limits, text, good, bad) in cases {
            assert_eq!(limits.to_string(), text);
            assert!(good.into_iter().all(|v| limits.allows(v)), "{text}");
            let never = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            assert!(!bad.into_iter().chain(never).any(|v| limits.allows(v)), "{text}");
        }
    }

    #[test]
    fn the_path_to_a_parameter_is_named_from_the_outside() {
        let bad = BadParameter::new("tol", TOLERANCE, -1.0).inside("cluster").inside("x");
        assert_eq!(bad.to_string(), "`x.cluster.tol` must be between 0 and 1e6, got -1");
    }
}
