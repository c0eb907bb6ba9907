//! Which rows a gradient step sees.
//!
//! A handful of labelled rows never fills a batch, and a loader that drops partial batches then
//! never takes a step. So labelled rows are drawn with replacement, and unlabelled ones come by
//! shuffled epochs that run on into one another: every batch is full.

use bridged::MatrixRef;
use bridged::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// Fills a batch with rows of `0..n`, drawn with replacement.
///
/// # Panics
/// If there are no rows.
pub fn resample(n: usize, batch: &mut [usize], rng: &mut Rng) {
    batch.iter_mut().for_each(|row| *row = rng.random_range(0..n));
}

/// The distinct rows of a batch, in order, and into `of` the place among them of each row.
pub fn distinct(batch: &[usize], of: &mut Vec<usize>) -> Vec<usize> {
    let mut rows = batch.to_vec();
    rows.sort_unstable();
    rows.dedup();
    of.clear();
    of.extend(batch.iter().map(|row| rows.binary_search(row).expect("a row of the batch")));
    rows
}

/// Rows of `0..n` in shuffled epochs, each row once an epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Epochs {
    order: Vec<usize>,
    next: usize,
}

impl Epochs {
    /// Epochs over `n` rows.
    pub fn new(n: usize) -> Self {
        Self { order: (0..n).collect(), next: n }
    }

    /// Fills a batch with the next rows, and begins another epoch where one ends.
    ///
    /// # Panics
    /// If there are no rows.
    pub fn fill(&mut self, batch: &mut [usize], rng: &mut Rng) {
        for row in batch {
            if self.next == self.order.len() {
                self.order.shuffle(rng);
                self.next = 0;
            }
            *row = self.order[self.next];
            self.next += 1;
        }
    }
}

/// Copies the picked rows into `out`, whose memory is kept.
pub fn gather(rows: MatrixRef<'_>, picked: &[usize], out: &mut Vec<f32>) {
    out.clear();
    picked.iter().for_each(|&i| out.extend_from_slice(rows.row(i)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Seed};

    #[test]
    fn distinct_rows_give_the_batch_back() {
        let (batch, mut of) = ([7, 2, 7, 9, 2], vec![99]);
        let rows = distinct(&batch, &mut of);
        assert_eq!(rows, [2, 7, 9]);
        assert!(of.iter().map(|&i| rows[i]).eq(batch));
    }

    #[test]
    fn three_labelled_rows_fill_a_batch_of_sixty_four() {
        let mut batch = [usize::MAX; 64];
        resample(3, &mut batch, &mut Seed(1).rng());
        assert!((0..3).all(|row| batch.iter().filter(|&&b| b == row).count() > 8));
        assert!(batch.iter().all(|&b| b < 3));
    }

    #[test]
    fn every_row_comes_once_an_epoch_in_another_order() {
        let (mut epochs, mut rng) = (Epochs::new(10), Seed(2).rng());
        let mut seen = vec![0; 40];
        seen.chunks_mut(4).for_each(|batch| epochs.fill(batch, &mut rng));
        for epoch in seen.chunks(10) {
            let mut sorted = epoch.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        }
        assert_ne!(seen[..10], seen[10..20]);
        let mut rows = vec![9.0];
        gather(Matrix::from_rows(&[[1.0], [2.0]]).view(), &[1, 1, 0], &mut rows);
        assert_eq!(rows, [2.0, 2.0, 1.0]);
    }
}
