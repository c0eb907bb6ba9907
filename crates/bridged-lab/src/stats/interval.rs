//! Estimates with 95 % intervals: of shares by Wilson, of means by Student's t within cells.
//!
//! ```text
//! share   (s + z²/2 ± z √(s(n − s)/n + z²/4)) / (n + z²)          s of n draws, z = 1.96
//! mean    x̄ ± t √(Σ_c n_c s_c²) / n                               n_c draws in cell c, s_c² their variance
//! ```
//!
//! Wilson's interval (1927) has a width also where all draws say the same: 0 of 8 is 0 % to 32 %. It holds for a sum of
//! values between 0 and 1 too, such as shared wins, and is then too wide rather than too narrow.
//!
//! Cells are fixed and draws within them random, so only the spread inside cells counts. The degrees of freedom are
//! Satterthwaite's. Where every cell has one draw, the spread between cells stands in, which is too wide rather than
//! too narrow. A single draw has no interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// An estimate with a range that holds the truth with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end; not a number where it is not known.
    pub low: f64,
    /// The upper end; not a number where it is not known.
    pub high: f64,
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

impl Interval {
    /// Whether the ends are known: one draw says nothing of its spread.
    pub fn is_known(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The same for what cannot be negative, such as an error: Student's interval is symmetric and may reach below 0.
    pub fn not_negative(self) -> Self {
        Self { low: if self.low < 0.0 { 0.0 } else { self.low }, ..self }
    }
}

/// Wilson's interval of `successes` in `n` draws; shared ones may be fractions. None without draws.
///
/// ```
/// let never = bridged_lab::stats::wilson(0.0, 8).unwrap();
/// assert_eq!((never.value, never.low), (0.0, 0.0));
/// assert!((never.high - 0.324).abs() < 1e-3);
/// ```
pub fn wilson(successes: f64, n: usize) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let draws = n as f64;
    let s = successes.clamp(0.0, draws);
    let middle = s + Z * Z / 2.0;
    let half = Z * (s * (draws - s) / draws + Z * Z / 4.0).sqrt();
    let end = |sum: f64| (sum / (draws + Z * Z)).clamp(0.0, 1.0);
    // At the ends the terms cancel; what rounding leaves of them is no bound.
    let low = if s == 0.0 { 0.0 } else { end(middle - half) };
    let high = if s == draws { 1.0 } else { end(middle + half) };
    Some(Interval { value: s / draws, low, high })
}

/// The mean of all values with its interval, from the spread within cells. None without values.
pub fn mean_within(cells: &[Vec<f64>]) -> Option<Interval> {
    let count: usize = cells.iter().map(Vec::len).sum();
    if count == 0 {
        return None;
    }
    let n = count as f64;
    let value = cells.iter().flatten().sum::<f64>() / n;
    if cells.iter().all(|cell| cell.len() < 2) && cells.len() > 1 {
        return mean_within(&[cells.concat()]);
    }
    // The variance of the mean, and Satterthwaite's degrees of freedom, cell by cell.
    let (mut variance, mut squares) = (0.0, 0.0);
    for cell in cells.iter().filter(|cell| cell.len() > 1) {
        let size = cell.len() as f64;
        let mean = cell.iter().sum::<f64>() / size;
        let spread = cell.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (size - 1.0);
        let part = size * spread / (n * n);
        variance += part;
        squares += part * part / (size - 1.0);
    }
    let half = match (count, variance > 0.0) {
        (1, _) => f64::NAN,
        (_, false) => 0.0,
        (_, true) => {
            let freedom = (variance * variance / squares).max(1.0);
            let t = StudentsT::new(0.0, 1.0, freedom).map_or(Z, |t| t.inverse_cdf(0.975));
            t * variance.sqrt()
        }
    };
    Some(Interval { value, low: value - half, high: value + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;
    use rand::RngExt;

    fn close(found: Interval, low: f64, high: f64) {
        assert!((found.low - low).abs() < 1e-3 && (found.high - high).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_share_of_none_or_all_still_has_a_width() {
        close(wilson(0.0, 8).unwrap(), 0.0, 0.324);
        close(wilson(8.0, 8).unwrap(), 0.676, 1.0);
        assert_eq!(wilson(0.0, 8).unwrap().low, 0.0);
        assert_eq!(wilson(8.0, 8).unwrap().high, 1.0);
        assert_eq!(wilson(0.0, 0), None);
    }

    #[test]
    fn shares_are_those_of_the_textbook() {
        // Newcombe (1998), table I: 81 of 263, 15 of 148, 1 of 29.
        close(wilson(81.0, 263).unwrap(), 0.2553, 0.3662);
        close(wilson(15.0, 148).unwrap(), 0.0624, 0.1605);
        close(wilson(1.0, 29).unwrap(), 0.0061, 0.1718);
    }

    #[test]
    fn one_cell_has_the_interval_of_students_t() {
        // t of 0.975 with 2 degrees of freedom is 4.3027.
        close(mean_within(&[vec![1.0, 2.0, 3.0]]).unwrap(), 2.0 - 2.484, 2.0 + 2.484);
    }

    #[test]
    fn what_differs_between_cells_alone_is_no_doubt() {
        let i = mean_within(&[vec![1.0, 1.1], vec![9.0, 9.1]]).unwrap();
        assert!((i.value - 5.05).abs() < 1e-12 && i.high - i.low < 0.5, "{i:?}");
        let alone = mean_within(&[vec![1.0], vec![9.0]]).unwrap();
        assert!(alone.high - alone.low > 8.0, "a draw a cell leaves only the spread of cells");
    }

    #[test]
    fn a_single_draw_has_no_interval() {
        let one = mean_within(&[vec![3.0]]).unwrap();
        assert!(one.value == 3.0 && !one.is_known());
        assert_eq!(mean_within(&[]), None);
    }

    #[test]
    fn an_interval_covers_the_truth_about_as_often_as_it_says() {
        // Few draws in cells with other means: the truth is the mean of the means, 3.
        let mut rng = Seed(1).rng();
        let mut covered = 0;
        for _ in 0..400 {
            let mut draws = |centre: f64| {
                let normal =
                    |r: &mut bridged::Rng| (0..12).map(|_| r.random::<f64>()).sum::<f64>() - 6.0;
                (0..3).map(|_| centre + normal(&mut rng)).collect::<Vec<f64>>()
            };
            let i = mean_within(&[draws(1.0), draws(5.0)]).unwrap();
            covered += usize::from(i.low <= 3.0 && 3.0 <= i.high);
        }
        assert!((365..=396).contains(&covered), "{covered} of 400");
    }
}
