//! Methods that rank the rows of y for a row of x: from their scores to a ranking and to a value.
//!
//! ```text
//! s_j(x)                 a score for each row j of the y pool; greater is better
//! w(x) = softmax(β z(x)) z: the scores of x, brought to mean 0 and deviation 1
//! ŷ(x) = ȳ + α (Σ_j w_j(x) y_j − ȳ)
//! ```
//!
//! A method of this kind implements [`Scores`] and hands a function that learns them to
//! [`Retrieval::fit`]. How sharp the softmax is (β) and how far the value goes from the mean of y (α)
//! are chosen by pairs that are left out ([`softness`]).

mod softness;

pub(crate) use softness::Folds;
use softness::Softness;

use crate::transport::barycentre::{Barycentre, in_full_bands};
use bridged::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::carry;
use rayon::prelude::*;

/// Rows whose scores are held at once.
const BAND: usize = 128;

/// What a method learned: how well each row of the y pool fits a row of x.
pub(crate) trait Scores: Send + Sync {
    /// A finite score for every row of the y pool, (rows, m), greater is better. The scores of a row
    /// depend on no other row; a row of zeros has scores too.
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64>;
}

/// Learns scores from a problem: the whole one, or one with pairs left out.
pub(crate) type Learn<'a> =
    dyn Fn(Problem<'_>, &dyn Watch) -> Result<Box<dyn Scores>, MethodError> + 'a;

/// Scores, and what turns them into a value.
pub(crate) struct Retrieval {
    method: &'static str,
    scores: Box<dyn Scores>,
    outputs: Outputs,
    softness: Softness,
    /// Columns of x.
    cols: usize,
}

/// The y pool, to be averaged.
struct Outputs {
    barycentre: Barycentre,
    mean: Vec<f32>,
    rows: usize,
}

impl Retrieval {
    /// Learns from all pairs, and the softness from pairs that are left out.
    ///
    /// `need` is the fewest pairs that the method can learn from.
    pub fn fit(
        method: &'static str,
        problem: Problem<'_>,
        need: usize,
        folds: Folds,
        (seed, watch): (Seed, &dyn Watch),
        learn: &Learn<'_>,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let pairs = problem.pairs.len();
        if pairs < need {
            let remedy = "give more pairs, or choose another method".to_string();
            return Err(MethodError::TooFewPairs { method, need, got: pairs, remedy });
        }
        let folds = folds.of(pairs, need, seed.child("folds"));
        let stage = Stage::begin(watch, method, Some(folds.len() as u64 + 1))?;
        let outputs = Outputs::of(problem.y);
        let scores = learn(problem, watch)?;
        stage.step(1)?;
        let mut left_out = softness::LeftOut::new(problem, &outputs);
        for (done, fold) in folds.iter().enumerate() {
            let kept: Vec<(u32, u32)> = (0..pairs)
                .filter(|i| !fold.contains(i))
                .map(|i| problem.pairs.get(i))
                .map(|(x, y)| (x as u32, y as u32))
                .collect();
            let scores = learn(Problem::new(problem.x, problem.y, &kept), watch)?;
            left_out.add(fold, &*scores);
            stage.step(done as u64 + 2)?;
        }
        let softness = left_out.best();
        Ok(Box::new(Self { method, scores, outputs, softness, cols: problem.x.cols() }))
    }

    /// The bytes of all this beside what the method itself takes.
    pub fn memory(size: ProblemSize) -> f64 {
        let (rows, cols) = (size.y.0 as f64, size.y.1 as f64);
        8.0 * (rows * cols + 3.0 * BAND as f64 * rows + 4.0 * BAND as f64 * cols)
            + softness::memory(size)
    }

    /// Scores of rows in whole bands: what `use_band` gets depends on no other band.
    fn bands(&self, rows: MatrixRef<'_>, mut use_band: impl FnMut(Vec<f64>, usize)) {
        for from in (0..rows.rows()).step_by(BAND) {
            let band = rows.slice(from..(from + BAND).min(rows.rows()));
            let mut scores = Vec::new();
            in_full_bands(band, |full| {
                scores = self.scores.scores(full);
                full.to_matrix()
            });
            scores.truncate(band.rows() * self.outputs.rows);
            use_band(scores, band.rows());
        }
    }
}

impl Predictor for Retrieval {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(self.method, rows, self.cols)?;
        let mut values = Vec::with_capacity(rows.rows() * self.outputs.mean.len());
        self.bands(rows, |scores, count| {
            let mean = self.outputs.soft_mean(scores, self.softness.sharpness, count);
            values.extend_from_slice(mean.data());
        });
        let cols = self.outputs.mean.len();
        let alpha = self.softness.alpha as f32;
        for row in values.chunks_exact_mut(cols) {
            row.iter_mut().zip(&self.outputs.mean).for_each(|(v, m)| *v = m + alpha * (*v - m));
        }
        Ok(Matrix::new(rows.rows(), cols, values).expect("a value for each row and column"))
    }

    fn retrieve(&self, rows: MatrixRef<'_>, n: usize) -> Result<Option<Vec<u32>>, MethodError> {
        MethodError::check_rows(self.method, rows, self.cols)?;
        let m = self.outputs.rows;
        let n = n.min(m);
        let mut found = Vec::with_capacity(rows.rows() * n);
        self.bands(rows, |scores, _| {
            let best = |row: &[f64]| {
                let mut order: Vec<u32> = (0..m as u32).collect();
                let by = |&a: &u32, &b: &u32| {
                    row[b as usize].total_cmp(&row[a as usize]).then(a.cmp(&b))
                };
                if n < m {
                    order.select_nth_unstable_by(n, by);
                    order.truncate(n);
                }
                order.sort_unstable_by(by);
                order
            };
            let ranked: Vec<Vec<u32>> = scores.par_chunks(m).map(carry(best)).collect();
            found.extend(ranked.into_iter().flatten());
        });
        Ok(Some(found))
    }
}

impl Outputs {
    fn of(y: MatrixRef<'_>) -> Self {
        let mean = y.mean_row().into_iter().map(|m| m as f32).collect();
        Self { barycentre: Barycentre::new(y, vec![0.0; y.rows()], 1.0), mean, rows: y.rows() }
    }

    /// Σ_j w_j y_j for each row of scores.
    fn soft_mean(&self, mut scores: Vec<f64>, sharpness: f64, rows: usize) -> Matrix {
        scores.par_chunks_mut(self.rows).for_each(carry(|row: &mut [f64]| {
            standardise(row);
            row.iter_mut().for_each(|s| *s *= -sharpness);
        }));
        // Whole bands are summed in one way, whatever rows are asked for.
        scores.resize(rows.next_multiple_of(BAND) * self.rows, 0.0);
        self.barycentre.map(scores).view().slice(0..rows).to_matrix()
    }
}

/// Brings the finite entries to mean 0 and deviation 1; those that are −∞ stay so.
fn standardise(row: &mut [f64]) {
    let finite = || row.iter().filter(|s| s.is_finite());
    let count = finite().count().max(1) as f64;
    let mean = finite().sum::<f64>() / count;
    let variance = finite().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    // Scores that are all alike but for rounding prefer nobody.
    let factor = if deviation > 1e-12 * mean.abs() { 1.0 / deviation } else { 0.0 };
    for s in row.iter_mut().filter(|s| s.is_finite()) {
        *s = (*s - mean) * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Silent;

    /// The score of y_j is −|x − y_j|.
    struct Near(Vec<f32>);

    impl Scores for Near {
        fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
            let of = |x: f32| self.0.iter().map(move |y| -f64::from((x - y).abs()));
            rows.data().iter().flat_map(|&x| of(x)).collect()
        }
    }

    fn fit(pairs: &[(u32, u32)], need: usize) -> Result<Box<dyn Predictor>, MethodError> {
        let x = Matrix::from_fn(200, 1, |i, _| i as f32 / 20.0);
        let y = Matrix::from_fn(200, 1, |i, _| 0.013 + i as f32 / 20.0);
        let learn = |problem: Problem<'_>, _: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
            Ok(Box::new(Near(problem.y.data().to_vec())))
        };
        let problem = Problem::new(x.view(), y.view(), pairs);
        Retrieval::fit("near", problem, need, Folds::Each, (Seed(1), &Silent), &learn)
    }

    fn pairs(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|i| (i * 9, i * 9)).collect()
    }

    #[test]
    fn a_ranking_begins_with_the_best_and_is_no_longer_than_the_pool() {
        let fitted = fit(&pairs(5), 1).unwrap();
        let rows = Matrix::from_rows(&[[0.0], [5.0]]);
        let found = fitted.retrieve(rows.view(), 3).unwrap().unwrap();
        assert_eq!(found, [0, 1, 2, 100, 99, 101]);
        assert_eq!(fitted.retrieve(rows.view(), 999).unwrap().unwrap().len(), 400);
        assert_eq!(fitted.retrieve(rows.view().slice(0..0), 3).unwrap(), Some(vec![]));
    }

    #[test]
    fn good_scores_earn_a_sharp_softmax_and_little_shrinkage() {
        let fitted = fit(&pairs(20), 1).unwrap();
        let rows = Matrix::from_fn(300, 1, |i, _| 1.0 + i as f32 / 40.0);
        let values = fitted.predict(rows.view()).unwrap();
        for (v, x) in values.data().iter().zip(rows.data()) {
            assert!((v - x).abs() < 0.5, "{v} {x}");
        }
        let alone = fitted.predict(rows.view().slice(170..171)).unwrap();
        assert_eq!(alone.data()[0].to_bits(), values.data()[170].to_bits());
    }

    #[test]
    fn pairs_that_the_scores_contradict_lead_to_the_mean() {
        let crossed: Vec<(u32, u32)> = (0..20).map(|i| (i * 9, 199 - i * 9)).collect();
        let fitted = fit(&crossed, 1).unwrap();
        let values = fitted.predict(Matrix::from_rows(&[[0.0], [10.0]]).view()).unwrap();
        assert!(values.data().iter().all(|v| (v - 4.988).abs() < 0.3), "{values:?}");
    }

    #[test]
    fn too_few_pairs_are_refused_by_name() {
        let error = fit(&pairs(2), 3).err().unwrap().to_string();
        assert!(error.starts_with("near needs at least 3 pairs, got 2"), "{error}");
        assert!(fit(&pairs(1), 1).is_ok(), "one pair has nothing to be left out for");
    }

    #[test]
    fn a_row_that_is_left_out_weighs_nothing() {
        let outputs = Outputs::of(Matrix::from_rows(&[[1.0], [2.0], [50.0]]).view());
        let scores = vec![0.0, 1.0, f64::NEG_INFINITY];
        let mean = outputs.soft_mean(scores, 1.0, 1).data()[0];
        let expected = (1.0 * 1.0f32 + 2.0 * 2.0f32.exp()) / (1.0 + 2.0f32.exp());
        assert!((mean - expected).abs() < 1e-5, "{mean} {expected}");
    }

    #[test]
    fn equal_scores_prefer_nobody() {
        let mut row = [3.0, 3.0, f64::NEG_INFINITY];
        standardise(&mut row);
        assert_eq!(row, [0.0, 0.0, f64::NEG_INFINITY]);
    }
}
