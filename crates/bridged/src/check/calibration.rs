//! What the errors of pairs that were left out say about all errors: how large they are, and how
//! large a ball must be.

/// Pairs that the prior of the calibration weighs.
const PRIOR: f64 = 4.0;

/// By how much errors are larger than expected.
pub(crate) fn calibration(scores: &[f64]) -> f64 {
    (scores.iter().sum::<f64>() + PRIOR) / (scores.len() as f64 + PRIOR)
}

/// The factor Q of the balls at a level, from the scores of pairs that were left out, ascending; or
/// the highest level that this many scores allow.
pub fn quantile(scores: &[f64], level: f64) -> Result<f64, f64> {
    let n = scores.len();
    let place = ((n as f64 + 1.0) * level - 1e-9).ceil().max(1.0) as usize;
    match scores.get(place - 1) {
        Some(&score) if level > 0.0 => Ok(score),
        _ => Err(n as f64 / (n as f64 + 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_takes_its_place_among_the_scores_or_is_said_to_be_too_high() {
        let scores = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&scores, 0.8), Ok(4.0));
        assert_eq!(quantile(&scores, 0.5), Ok(3.0));
        assert_eq!(quantile(&scores, 0.4), Ok(2.0));
        assert_eq!(quantile(&scores, 0.81), Err(0.8));
        assert_eq!(quantile(&[], 0.5), Err(0.0));
    }
}
