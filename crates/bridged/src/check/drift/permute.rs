//! What chance does: the names "old" and "new" given to the same rows at random.
//!
//! Under the hypothesis that old and new rows come alike, every choice of which rows are the new ones is equally likely, so the
//! rank of what was found among what random choices give is a p-value, exactly and without any assumption:
//!
//! ```text
//! p = (1 + #{draws with a statistic ≥ the one found}) / (1 + draws)
//! ```

use bridged_math::{Seed, chunks};
use rand::seq::SliceRandom;

/// Random choices of rows of two samples that were put together.
pub(super) struct Relabellings {
    total: usize,
    chosen: usize,
    count: usize,
    seed: Seed,
}

impl Relabellings {
    /// `count` choices. Which of the two samples is chosen makes no difference, so it is the smaller one.
    pub fn new(old: usize, new: usize, count: usize) -> Self {
        let seed = Seed(0).child("old and new");
        Self { total: old + new, chosen: old.min(new), count, seed }
    }

    /// How many choices there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The rows of the `i`-th choice, in no order.
    pub fn draw(&self, i: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.total as u32).collect();
        let (chosen, _) = rows.partial_shuffle(&mut self.seed.nth(i).rng(), self.chosen);
        chosen.to_vec()
    }

    /// What `statistic` gives for each choice.
    pub fn map<T: Send>(&self, statistic: impl Fn(&[u32]) -> T + Sync) -> Vec<T> {
        chunks::par_map(self.count, |i| statistic(&self.draw(i)))
    }
}

/// The share of draws that reach what was found, which is one of them.
pub(super) fn p_value(found: f64, drawn: impl IntoIterator<Item = f64>) -> f64 {
    // Sums in another order may differ in their last digits.
    let least = found - 1e-6 * found.abs();
    let (mut reached, mut all) = (1usize, 1usize);
    for value in drawn {
        all += 1;
        reached += usize::from(value >= least);
    }
    reached as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_chosen_as_often_as_any_other() {
        let draws = Relabellings::new(7, 3, 2000);
        let mut times = [0usize; 10];
        for i in 0..draws.count() {
            let mut rows = draws.draw(i);
            assert_eq!(rows, draws.draw(i), "a draw is the same each time");
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), 3);
            rows.iter().for_each(|&row| times[row as usize] += 1);
        }
        // 600 expected, standard deviation 20.5.
        assert!(times.iter().all(|&t| t.abs_diff(600) < 90), "{times:?}");
    }

    #[test]
    fn a_p_value_counts_what_was_found_itself() {
        assert_eq!(p_value(3.0, [1.0, 2.0, 4.0]), 0.5);
        assert_eq!(p_value(9.0, [1.0, 2.0, 4.0]), 0.25);
        assert_eq!(p_value(0.0, [0.0, 0.0]), 1.0);
    }
}
