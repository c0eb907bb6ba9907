//! What every network remembers while it trains.

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
}
