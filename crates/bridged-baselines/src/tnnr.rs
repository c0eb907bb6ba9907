//! TNNR: a network learns what two rows differ by, and every pair is an anchor to add that to.
//!
//! ```text
//! ŷ(x) = mean over the pairs i of F(x, x_i) + y_i
//! loss = mean over pairs i ≠ j of (F(x_i, x_j) − (y_i − y_j))²
//!      + β · mean over loops of pool rows a, b, c of (F(a, b) + F(b, c) + F(c, a))²
//! ```
//!
//! F has a shared representation of `rep_dim` units and a head with one hidden layer of as many on
//! both representations. F(a, b) = −F(b, a) holds by construction: the original gets it by training on
//! both orders and averaging them, which this equals. Loops do not close by construction, so the
//! unlabelled rows have something to say.
//!
//! x is taken as standard scores of its pool, y around the mean of the paired outputs and on unit
//! scale. A step sees `batch_size` differences, drawn with replacement, and as many loops: pool rows in
//! a ring, each with the two after it. It costs O(batch · d · rep_dim); a prediction O(d · rep_dim) and
//! O(rep_dim) for each pair.
//!
//! With fewer than two different paired inputs or outputs there is no difference to learn: no step is
//! taken, and every row is given the mean of the paired outputs (of one pair, its y).
//!
//! Choose it where outputs change smoothly with x and pairs are so few that squaring their number
//! helps. Wetzel, Ryczko, Melko & Tamblyn, "Twin neural network regression", Applied AI Letters 2022;
//! Wetzel, Melko & Tamblyn, "Twin neural network regression is a semi-supervised regression
//! algorithm", Machine Learning: Science and Technology 2022. The published experiments dropped
//! partial batches of 256 differences, and so took no step in most settings.

mod twin;

use crate::limits::{BATCH, LEARNING_RATE, NOT_NEGATIVE, STEPS, UNITS, check};
use crate::nn::{Adam, Epochs, Record, in_bands, squared_error};
use crate::prepare::{Centred, Prepared, Standard, prepared_memory};
use bridged::Rng;
use bridged::Stage;
use bridged::settings::TOLERANCE;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use twin::{Pass, Step, Twin};

/// The name in the list and in errors.
const NAME: &str = "tnnr";

/// A twin network whose differences are added to the outputs of the pairs.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Tnnr;
///
/// let x = Matrix::from_fn(21, 1, |i, _| i as f32);
/// let y = Matrix::from_rows(&[[10.0], [20.0], [30.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (10, 1), (20, 2)]);
/// let predicted = Tnnr::default().fit(problem, Seed(0), &Silent)?.predict(x.view())?;
/// let line = |i: usize| 10.0 + i as f32; // through the three pairs
/// assert!((0..21).all(|i| (predicted.row(i)[0] - line(i)).abs() < 1.5));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tnnr {
    /// Units of the representation and of the head: more follow finer changes.
    pub rep_dim: usize,
    /// β: how much closed loops in the pool count beside the pairs.
    pub beta: f64,
    /// Adam's step size.
    pub lr: f64,
    /// Differences of a step, and as many loops.
    pub batch_size: usize,
    /// Most gradient steps; 0 leaves the network as it was drawn.
    pub max_iter: usize,
    /// Training ends early once the loss, averaged over the last steps, is below this part of the
    /// outputs' variance.
    pub tol: f64,
}

impl Default for Tnnr {
    fn default() -> Self {
        Self { rep_dim: 64, beta: 0.1, lr: 1e-3, batch_size: 64, max_iter: 2000, tol: 1e-4 }
    }
}

bridged::limits!(Tnnr {
    rep_dim: UNITS,
    beta: NOT_NEGATIVE,
    lr: LEARNING_RATE,
    batch_size: BATCH,
    max_iter: STEPS,
    tol: TOLERANCE,
});

impl Tnnr {
    /// The 27 settings of the paper's appendix.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for rep_dim in [32, 64, 128] {
            for beta in [0.01, 0.1, 1.0] {
                for lr in [1e-4, 3e-4, 1e-3] {
                    grid.push(Self { rep_dim, beta, lr, ..Self::default() });
                }
            }
        }
        grid
    }

    fn train(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Fitted, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let seed = seed.child(NAME);
        let stage = Stage::begin(watch, NAME, Some(self.max_iter as u64))?;
        let Prepared { standard, centred, pool, labelled, answers } = Prepared::of(problem);
        let twin = Twin::new(problem.x.cols(), self.rep_dim, problem.y.cols());
        let mut params = twin.init(&mut seed.child("init").rng());
        let mut record = Record::default();
        let equal = |m: &Matrix| m.view().iter_rows().all(|row| row == m.row(0));
        if equal(&labelled) || equal(&answers) {
            twin.forget(&mut params);
        } else {
            let mut adam = Adam::new(params.len(), self.lr);
            let (mut pass, mut grads) = (Pass::default(), vec![0.0; params.len()]);
            let mut batch = Batch::new(self.batch_size, [&pool, &labelled, &answers]);
            let mut rng = seed.child("batches").rng();
            let mut recent = None;
            while record.steps < self.max_iter as u64 && recent.is_none_or(|r| r >= self.tol) {
                stage.step(record.steps)?;
                batch.draw(&mut rng);
                twin.forward(&params, &batch.x, &batch.steps, &mut pass);
                let (pairs, loops) = batch.loss(self.beta, &mut pass);
                record.push(NAME, pairs)?;
                recent = Some(0.95 * recent.unwrap_or(pairs + loops) + 0.05 * (pairs + loops));
                grads.fill(0.0);
                twin.backward(&params, &batch.x, &batch.steps, &mut pass, &mut grads);
                adam.step(&mut params, &grads);
            }
        }
        let anchors = twin.embed(&params, labelled.data());
        Ok(Fitted { standard, centred, twin, params, anchors, record })
    }
}

/// What a step sees: labelled rows and the differences between them, a ring of pool rows and the
/// loops along it. Memory is kept from step to step.
struct Batch<'a> {
    pool: &'a Matrix,
    labelled: &'a Matrix,
    answers: &'a Matrix,
    labelled_epochs: Epochs,
    pool_epochs: Epochs,
    /// The labelled rows of this step, then those of the ring.
    picked: Vec<usize>,
    anchors: usize,
    /// Their standard scores.
    x: Vec<f32>,
    /// One for each difference, then three for each loop.
    steps: Vec<Step>,
    /// y_i − y_j of the differences, then 0 for the loops.
    target: Vec<f32>,
    size: usize,
}

impl<'a> Batch<'a> {
    fn new(size: usize, [pool, labelled, answers]: [&'a Matrix; 3]) -> Self {
        let anchors = labelled.rows().min(size.max(2));
        let mut steps = vec![Step { item: 0, a: 0, b: 0 }; size];
        for i in 0..size {
            let [a, b, c] = [i, i + 1, i + 2].map(|k| anchors + k % size);
            let item = size + i;
            steps.extend([(a, b), (b, c), (c, a)].map(|(a, b)| Step { item, a, b }));
        }
        Self {
            pool,
            labelled,
            answers,
            labelled_epochs: Epochs::new(labelled.rows()),
            pool_epochs: Epochs::new(pool.rows()),
            picked: vec![0; anchors + size],
            anchors,
            x: Vec::new(),
            steps,
            target: vec![0.0; 2 * size * answers.cols()],
            size,
        }
    }

    /// Draws rows and differences; at least two labelled rows are needed.
    fn draw(&mut self, rng: &mut Rng) {
        let (anchors, ring) = self.picked.split_at_mut(self.anchors);
        self.labelled_epochs.fill(anchors, rng);
        self.pool_epochs.fill(ring, rng);
        self.x.clear();
        anchors.iter().for_each(|&i| self.x.extend_from_slice(self.labelled.row(i)));
        ring.iter().for_each(|&i| self.x.extend_from_slice(self.pool.row(i)));
        let differences = self.target.chunks_exact_mut(self.answers.cols());
        for (item, (step, target)) in
            self.steps[..self.size].iter_mut().zip(differences).enumerate()
        {
            let a = rng.random_range(0..anchors.len());
            let b = (a + rng.random_range(1..anchors.len())) % anchors.len();
            *step = Step { item, a, b };
            let (ya, yb) = (self.answers.row(anchors[a]), self.answers.row(anchors[b]));
            target.iter_mut().zip(ya.iter().zip(yb)).for_each(|(t, (a, b))| *t = a - b);
        }
    }

    /// The losses of the differences and of the loops; leaves the gradient of their sum in the pass.
    fn loss(&self, beta: f64, pass: &mut Pass) -> (f64, f64) {
        let half = self.target.len() / 2;
        let (d_pairs, d_loops) = pass.d_output.split_at_mut(half);
        let pairs = squared_error(&pass.output[..half], &self.target[..half], d_pairs);
        let loops = squared_error(&pass.output[half..], &self.target[half..], d_loops);
        d_loops.iter_mut().for_each(|d| *d *= beta as f32);
        (pairs, beta * loops)
    }
}

struct Fitted {
    standard: Standard,
    centred: Centred,
    twin: Twin,
    params: Vec<f32>,
    /// What the head sees of every pair.
    anchors: Vec<f32>,
    /// Read by tests: that steps were taken, and to what effect.
    #[cfg_attr(not(test), allow(dead_code))]
    record: Record,
}

impl Method for Tnnr {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let h = self.rep_dim as f64;
        let (d, e) = (size.x.1 as f64, size.y.1 as f64);
        let parameters = 4.0 * 5.0 * (h * (2.0 * d + h + e) + 2.0 * h + e);
        let batch = self.batch_size as f64 * 4.0 * (4.0 * d + 24.0 * h + 12.0 * e);
        (prepared_memory(size) + parameters + batch + 4.0 * size.pairs as f64 * (h + d)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        Ok(Box::new(self.train(problem, seed, watch)?))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.standard.cols())?;
        // The outputs are centred on the pairs: the mean of their y is 0 here.
        let mut out = in_bands(self.standard.apply(rows).view(), self.twin.outputs(), |x, out| {
            self.twin.mean_difference(&self.params, x, &self.anchors, out);
        });
        self.centred.decode(&mut out);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{
        assert_same_bits_on_any_threads, assert_survives, problem, smallest_setting, test_error,
    };
    use bridged::Silent;

    #[test]
    fn three_pairs_take_steps_that_lower_the_loss_and_beat_the_untrained_network() {
        let s = smallest_setting();
        let train = |max_iter| {
            let spec = Tnnr { max_iter, ..Tnnr::default() };
            spec.train(problem(&s), Seed(1), &Silent).unwrap()
        };
        let (trained, untrained) = (train(2000), train(0));
        assert_eq!(untrained.record.steps, 0);
        let Record { steps, first, last } = trained.record;
        assert!(steps > 50 && last < 0.01 * first, "{:?}", trained.record);
        let (before, after) = (test_error(&untrained, &s), test_error(&trained, &s));
        assert!(after < 0.5 * before, "{before} → {after}");
    }

    #[test]
    fn one_pair_or_equal_inputs_give_the_mean_of_the_paired_outputs() {
        let x = Matrix::from_rows(&[[1.0, 2.0], [1.0, 2.0], [5.0, 0.0]]);
        let y = Matrix::from_rows(&[[4.0, 8.0], [6.0, 8.0]]);
        for (pairs, mean) in [(&[(2, 0)][..], [4.0, 8.0]), (&[(0, 0), (1, 1)], [5.0, 8.0])] {
            let problem = Problem::new(x.view(), y.view(), pairs);
            let fitted = Tnnr::default().train(problem, Seed(0), &Silent).unwrap();
            assert_eq!(fitted.record.steps, 0);
            assert_eq!(fitted.predict(x.view()).unwrap().data(), [mean; 3].concat());
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads_and_odd_shapes_give_numbers() {
        let short = Tnnr { max_iter: 20, ..Tnnr::default() };
        assert_same_bits_on_any_threads(&short);
        assert_survives(&short);
    }

    #[test]
    fn the_grid_is_that_of_the_paper_and_bad_parameters_are_named() {
        assert_eq!(Tnnr::grid().len(), 27);
        let bad = Tnnr { lr: 0.0, ..Tnnr::default() };
        let error = bad.fit(problem(&smallest_setting()), Seed(0), &Silent).err().unwrap();
        let need = "tnnr: `lr` must be above 0 and at most 1000, got 0";
        assert_eq!(error.to_string(), need);
    }
}
