//! Statistics over runs: who wins, how sure that is, and what goes together.
//!
//! | module | what it computes |
//! |---|---|
//! | [`wins`] | who wins a draw, ties shared |
//! | [`interval`] | 95 % intervals: Wilson's of shares, Student's of means over draws |
//! | [`mod@wilcoxon`] | the signed-rank test of paired differences, and Holm's correction |
//! | [`mod@friedman`] | mean ranks over many draws and the test that they differ |
//! | [`mod@standings`] | the table of a study: who stands where |
//! | [`correlation`] | Pearson and Spearman with intervals, and the line of a scatter |

pub mod correlation;
pub mod friedman;
pub mod interval;
pub mod standings;
pub mod wilcoxon;
pub mod wins;

pub use correlation::{Correlation, Line, line, pearson, spearman};
pub use friedman::{Friedman, friedman};
pub use interval::{Interval, mean_within, wilson};
pub use standings::{PValue, Standing, Standings, standings};
pub use wilcoxon::{Wilcoxon, holm, wilcoxon};
pub use wins::win_shares;

/// Ranks from 1, equal values sharing the mean of theirs; and Σ (t³ − t) over groups of t equals.
pub(crate) fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let t = equal.len() as f64;
        equal.iter().for_each(|&i| ranks[i] = before as f64 + (t + 1.0) / 2.0);
        ties += t * t * t - t;
        before += equal.len();
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        let (ranks, ties) = ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!(ranks, [4.0, 1.0, 4.0, 2.0, 4.0]);
        assert_eq!(ties, 24.0);
    }
}
