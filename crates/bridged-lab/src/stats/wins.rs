//! Win rates: the share of draws on which a method has the smallest error.
//!
//! Methods that are equally good share the win. The draws of a cell come from the same data set and
//! share rows, so an interval is taken over draws within cells: a bootstrap resamples the draws of
//! every cell by themselves, and each cell keeps its weight.

use bridged::Rng;
use bridged::Seed;
use rand::RngExt;
use rayon::prelude::*;

/// An estimate with a range that holds the truth with the probability that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Each method's share of the win on one draw, from the errors of all of them. An error that is not
/// a number never wins; where nobody has one, nobody wins.
pub fn win_shares(errors: &[f64]) -> Vec<f64> {
    let least = errors.iter().copied().filter(|e| !e.is_nan()).fold(f64::INFINITY, f64::min);
    let winners = errors.iter().filter(|&&e| e == least).count();
    errors.iter().map(|&e| if e == least { 1.0 / winners as f64 } else { 0.0 }).collect()
}

/// Resamplings of a bootstrap, and how many of them share a stream of random numbers.
const RESAMPLINGS: usize = 2000;
const STREAM: usize = 250;

/// The mean over all values with an interval at `level`, resampling within each cell.
///
/// # Panics
/// If there are no values.
pub fn bootstrap(cells: &[Vec<f64>], level: f64, seed: Seed) -> Interval {
    let count: usize = cells.iter().map(Vec::len).sum();
    assert!(count > 0, "an interval needs values");
    let value = cells.iter().flatten().sum::<f64>() / count as f64;
    let seed = seed.child("bootstrap");
    let mut means = vec![0.0; RESAMPLINGS];
    means.par_chunks_mut(STREAM).enumerate().for_each(|(stream, means)| {
        let mut rng = seed.nth(stream).rng();
        for mean in means {
            let sums = cells.iter().map(|cell| -> f64 {
                (0..cell.len()).map(|_| cell[below(cell.len(), &mut rng)]).sum()
            });
            *mean = sums.sum::<f64>() / count as f64;
        }
    });
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((RESAMPLINGS - 1) as f64 * share).round() as usize];
    Interval { value, low: at((1.0 - level) / 2.0), high: at((1.0 + level) / 2.0) }
}

/// A number below `n`, up to a bias of n / 2³²: a report draws a billion of them.
fn below(n: usize, rng: &mut Rng) -> usize {
    ((u64::from(rng.random::<u32>()) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_share_a_win_and_what_failed_does_not_take_part() {
        assert_eq!(win_shares(&[2.0, 1.0, 3.0]), [0.0, 1.0, 0.0]);
        assert_eq!(win_shares(&[1.0, 1.0, f64::NAN]), [0.5, 0.5, 0.0]);
        assert_eq!(win_shares(&[f64::NAN, f64::NAN]), [0.0, 0.0]);
    }

    #[test]
    fn an_interval_covers_the_truth_about_as_often_as_it_says() {
        // Two cells of coin flips with different odds; the truth is the mean of the odds.
        let mut rng = Seed(1).rng();
        let mut covered = 0;
        for trial in 0..200 {
            let mut flips =
                |odds: f64| (0..60).map(|_| f64::from(rng.random::<f64>() < odds)).collect();
            let cells: Vec<Vec<f64>> = vec![flips(0.9), flips(0.3)];
            let i = bootstrap(&cells, 0.9, Seed(trial));
            assert!(i.low <= i.value && i.value <= i.high);
            covered += usize::from(i.low <= 0.6 && 0.6 <= i.high);
        }
        assert!((165..=195).contains(&covered), "{covered} of 200");
    }
}
