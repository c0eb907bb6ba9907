//! What every network checks and remembers while it trains.

use bridged::MethodError;

/// How a training went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Record {
    /// Gradient steps that were taken.
    pub steps: u64,
    /// The loss on the labelled rows at the first step.
    pub first: f64,
    /// The same at the last step.
    pub last: f64,
}

impl Record {
    /// Notes the loss of a step; one that is not a number ends the training with an error.
    pub fn push(&mut self, method: &'static str, loss: f64) -> Result<(), MethodError> {
        if !loss.is_finite() {
            let reason = format!("the loss is no longer finite after {} steps", self.steps);
            let remedy = "choose a smaller `lr`".to_string();
            return Err(MethodError::NoSolution { method, reason, remedy });
        }
        if self.steps == 0 {
            self.first = loss;
        }
        self.last = loss;
        self.steps += 1;
        Ok(())
    }
}

/// The range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// 1, 2, …
    AtLeastOne,
    /// 2, 3, …
    AtLeastTwo,
    /// Finite and > 0.
    Positive,
    /// Finite and ≥ 0.
    NotNegative,
    /// 0 ≤ v < 1.
    BelowOne,
}

impl Range {
    /// An error that names the parameters which are out of their range, or nothing.
    pub fn check(
        method: &'static str,
        parameters: &[(&'static str, f64, Range)],
    ) -> Result<(), MethodError> {
        for &(name, got, range) in parameters {
            let (holds, need) = match range {
                Range::AtLeastOne => (got >= 1.0, "at least 1"),
                Range::AtLeastTwo => (got >= 2.0, "at least 2"),
                Range::Positive => (got > 0.0 && got.is_finite(), "a number above 0"),
                Range::NotNegative => (got >= 0.0 && got.is_finite(), "a number from 0 on"),
                Range::BelowOne => ((0.0..1.0).contains(&got), "from 0 to below 1"),
            };
            if !holds {
                return Err(MethodError::BadParameter { method, name, need: need.into(), got });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_is_not_finite_ends_the_training_with_the_remedy() {
        let mut record = Record::default();
        record.push("net", 2.0).unwrap();
        record.push("net", 1.0).unwrap();
        assert_eq!(record, Record { steps: 2, first: 2.0, last: 1.0 });
        let error = record.push("net", f64::NAN).unwrap_err().to_string();
        assert!(error.starts_with("net:") && error.ends_with("smaller `lr`"), "{error}");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let check = |v: f64, range| Range::check("net", &[("p", v, range)]);
        assert!(check(0.0, Range::BelowOne).is_ok() && check(1.0, Range::BelowOne).is_err());
        assert!(check(0.0, Range::NotNegative).is_ok() && check(0.0, Range::Positive).is_err());
        let error = check(f64::NAN, Range::Positive).unwrap_err().to_string();
        assert_eq!(error, "net: `p` must be a number above 0, got NaN");
    }
}
