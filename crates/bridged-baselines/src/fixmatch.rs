//! FixMatch for regression: a student that agrees with its teacher on strongly perturbed inputs,
//! wherever the two are sure.
//!
//! ```text
//! loss = mean over labelled (f(weak(x)) − y)²  +  λ(t) · mean over unlabelled m(x) (f(strong(x)) − t(x))²
//! t(x) = mean over V weak views of teacher(weak_v(x))
//! m(x) = [spread of those outputs ≤ conf_threshold and |f(weak_1(x)) − t(x)| ≤ conf_threshold]
//! teacher ← α teacher + (1 − α) f after each step;   λ(t) = λ_max exp(−5 (1 − min(1, epoch/rampup))²)
//! ```
//!
//! x is taken as standard scores of its pool: weak(x) adds a little Gaussian noise; strong(x) adds
//! more and drops some columns to their mean, as dropout does, so that it is right on average. y is
//! taken around the mean of the paired outputs and on unit scale: a distance (root mean square over
//! the columns) of 0.05 is 5 % of the outputs' deviation. The mask stands for the confidence of a
//! class, which regression has not: the spread alone is always small in many columns, where noise
//! averages out, but a student that has just learned better is far from its teacher and is not held
//! back. t is a constant of the step: no gradient passes through the teacher. The teacher predicts.
//!
//! Labelled rows are drawn with replacement until they fill a batch; the published experiments
//! dropped partial batches, and with at most 28 pairs for a batch of 32 or 64 they never took a step.
//! There is no early stop: a loss whose target moves says little by standing still.
//!
//! A step costs O(batch · parameters). Choose it where small changes of x should not matter and the
//! pairs alone are too few to learn that. Sohn et al., "FixMatch: Simplifying Semi-Supervised Learning with
//! Consistency and Confidence", NeurIPS 2020; teacher and ramp-up of Tarvainen & Valpola 2017.

mod views;

use crate::limits::{BATCH, BELOW_ONE, LEARNING_RATE, NOT_NEGATIVE, STEPS, UNITS, check};
use crate::nn::{
    Adam, Epochs, Mlp, Noise, Record, Tape, follow, gather, resample, squared_error,
    weighted_squared_error,
};
use crate::prepare::{Centred, Prepared, Standard, prepared_memory};
use bridged::Stage;
use bridged::settings::Limits;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use serde::{Deserialize, Serialize};
use views::{Perturb, Views};

/// The name in the list and in errors.
const NAME: &str = "fixmatch";

/// Steps that an epoch counts for at least: in small pools agreement would otherwise count in full
/// before anything is learned that is worth agreeing on.
const LEAST_EPOCH: f64 = 10.0;

/// A network trained on the pairs and on its own confident predictions.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::FixMatch;
///
/// let x = Matrix::from_fn(40, 2, |i, j| (i % 2) as f32 * 4.0 + ((i * (j + 3)) % 7) as f32 * 0.1);
/// let y = Matrix::from_rows(&[[-1.0], [1.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1)]);
/// let method = FixMatch { lr: 1e-3, max_iter: 200, ..FixMatch::default() };
/// let predicted = method.fit(problem, Seed(0), &Silent)?.predict(x.view())?;
/// assert!((0..40).all(|i| (predicted.row(i)[0] > 0.0) == (i % 2 == 1)));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FixMatch {
    /// Adam's step size.
    pub lr: f64,
    /// Labelled rows of a step, and as many unlabelled ones.
    pub batch_size: usize,
    /// α: how slowly the teacher follows. Early on it follows faster, as the plain mean of the steps.
    pub alpha_ema: f64,
    /// λ_max: how much agreement with the teacher counts beside the pairs.
    pub lambda_u_max: f64,
    /// Epochs until agreement counts in full: passes over the pool, of ten steps at least.
    pub rampup_length: usize,
    /// How far apart the outputs for weak views may be, of the teacher and of the student from it, for
    /// a row to be believed; in deviations of the outputs.
    pub conf_threshold: f64,
    /// Units of each of the two hidden layers.
    pub hidden: usize,
    /// Weak views that the teacher's output and its spread are taken over; at least 2.
    pub views: usize,
    /// The noise of a weak view, in deviations of the inputs.
    pub weak_noise: f64,
    /// The noise of a strong view.
    pub strong_noise: f64,
    /// The share of columns that a strong view sets to their mean.
    pub strong_mask: f64,
    /// Decoupled weight decay (AdamW).
    pub weight_decay: f64,
    /// Gradient steps (the paper allows 2,000); 0 leaves the network as it was drawn.
    pub max_iter: usize,
}

impl Default for FixMatch {
    fn default() -> Self {
        Self {
            lr: 3e-4,
            batch_size: 32,
            alpha_ema: 0.99,
            lambda_u_max: 0.5,
            rampup_length: 30,
            conf_threshold: 0.1,
            hidden: 128,
            views: 2,
            weak_noise: 0.1,
            strong_noise: 0.3,
            strong_mask: 0.2,
            weight_decay: 5e-4,
            max_iter: 600,
        }
    }
}

bridged::limits!(FixMatch {
    lr: LEARNING_RATE,
    batch_size: BATCH,
    alpha_ema: BELOW_ONE,
    lambda_u_max: NOT_NEGATIVE,
    rampup_length: STEPS,
    conf_threshold: NOT_NEGATIVE,
    hidden: UNITS,
    views: Limits::Whole(2, 1000),
    weak_noise: NOT_NEGATIVE,
    strong_noise: NOT_NEGATIVE,
    strong_mask: BELOW_ONE,
    weight_decay: NOT_NEGATIVE,
    max_iter: STEPS,
});

impl FixMatch {
    /// The 96 settings of the paper's appendix.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for lr in [1e-4, 3e-4, 1e-3] {
            for batch_size in [32, 64] {
                for alpha_ema in [0.99, 0.999] {
                    for lambda_u_max in [0.5, 1.0] {
                        for rampup_length in [10, 30] {
                            for conf_threshold in [0.05, 0.1] {
                                let rest = Self::default();
                                grid.push(Self {
                                    lr,
                                    batch_size,
                                    alpha_ema,
                                    lambda_u_max,
                                    rampup_length,
                                    conf_threshold,
                                    ..rest
                                });
                            }
                        }
                    }
                }
            }
        }
        grid
    }

    /// λ after this many epochs.
    fn lambda(&self, epoch: f64) -> f64 {
        let ahead = match self.rampup_length {
            0 => 0.0,
            length => 1.0 - (epoch / length as f64).min(1.0),
        };
        self.lambda_u_max * (-5.0 * ahead * ahead).exp()
    }
}

struct Fitted {
    standard: Standard,
    centred: Centred,
    network: Mlp,
    /// The teacher's parameters.
    params: Vec<f32>,
    /// Read by tests: that steps were taken, and to what effect.
    #[cfg_attr(not(test), allow(dead_code))]
    record: Record,
    /// The mean share of unlabelled rows that were believed.
    #[cfg_attr(not(test), allow(dead_code))]
    confident: f64,
}

impl FixMatch {
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
        let (inputs, outputs) = (problem.x.cols(), problem.y.cols());
        let network = Mlp::new(&[inputs, self.hidden, self.hidden, outputs]);
        let noise = Noise::new(inputs, seed.child("noise"));
        let perturb = Perturb { spec: self, noise, cols: inputs };

        let mut student: Vec<f32> = network.init(&mut seed.child("init").rng());
        let mut teacher = student.clone();
        let mut adam = Adam::new(student.len(), self.lr);
        adam.weight_decay = self.weight_decay;
        let mut rng = seed.child("batches").rng();
        let mut epochs = Epochs::new(pool.rows());
        let mut picked = vec![0; self.batch_size];
        let (mut rows, mut truth, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let (mut grads, mut tape, mut views) =
            (vec![0.0; student.len()], Tape::default(), Views::default());
        let (mut record, mut confident) = (Record::default(), 0.0);
        let epoch = (pool.rows() as f64 / self.batch_size as f64).max(LEAST_EPOCH);
        for step in 0..self.max_iter {
            stage.step(step as u64)?;
            resample(labelled.rows(), &mut picked, &mut rng);
            gather(labelled.view(), &picked, &mut rows);
            gather(answers.view(), &picked, &mut truth);
            perturb.weakly(&mut rows, &mut rng);
            epochs.fill(&mut picked, &mut rng);
            gather(pool.view(), &picked, &mut plain);
            views.make(&plain, &perturb, &mut rng);
            confident += views.ask(&network, (&teacher, &student), self);
            let weight = (self.lambda(step as f64 / epoch) / self.batch_size as f64) as f32;
            views.weights.iter_mut().for_each(|w| *w *= weight);

            // Labelled rows and strong views pass through the student as one batch.
            rows.extend_from_slice(&views.strong);
            network.forward(&student, &rows, &mut tape);
            let (output, d_output) = tape.output_and_gradient();
            let ((given, asked), (d_given, d_asked)) =
                (output.split_at(truth.len()), d_output.split_at_mut(truth.len()));
            record.push(NAME, squared_error(given, &truth, d_given))?;
            weighted_squared_error(asked, &views.target, &views.weights, d_asked);
            grads.fill(0.0);
            network.backward(&student, &rows, &mut tape, &mut grads, None);
            adam.step(&mut student, &grads);
            follow(&mut teacher, &student, self.alpha_ema.min(1.0 - 1.0 / (step + 1) as f64));
        }
        let confident = confident / self.max_iter.max(1) as f64;
        Ok(Fitted { standard, centred, network, params: teacher, record, confident })
    }
}

impl Method for FixMatch {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (h, views) = (self.hidden as f64, self.views as f64);
        let (d, e) = (size.x.1 as f64, size.y.1 as f64);
        let parameters = 4.0 * 5.0 * (h * (d + h + e) + 2.0 * h + e);
        let batch = self.batch_size as f64 * (views + 4.0) * 4.0 * (4.0 * d + 8.0 * h + 6.0 * e);
        (prepared_memory(size) + parameters + batch) as u64
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
        let mut out = self.network.predict(&self.params, self.standard.apply(rows).view());
        self.centred.decode(&mut out);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{
        assert_same_bits_on_any_threads, assert_survives, smallest_setting, test_error,
    };
    use bridged::Silent;

    #[test]
    fn three_groups_with_one_pair_each_are_learned() {
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let fit = |max_iter| {
            FixMatch { max_iter, ..FixMatch::default() }.train(problem, Seed(1), &Silent).unwrap()
        };
        let (untrained, trained) = (fit(0), fit(400));
        assert_eq!((untrained.record.steps, trained.record.steps), (0, 400));
        assert!(trained.record.last < 0.1 * trained.record.first, "{:?}", trained.record);
        let (before, after) = (test_error(&untrained, &sample), test_error(&trained, &sample));
        assert!(after < 0.5 * before, "{before} → {after}");
        // The mask does something, and not everything, at the paper's thresholds.
        assert!((0.1..0.9).contains(&trained.confident), "{}", trained.confident);
    }

    #[test]
    fn only_confident_rows_count_and_they_matter() {
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let fit = |conf_threshold, lambda_u_max| {
            let (hidden, max_iter) = (32, 60);
            let rest = FixMatch::default();
            let method = FixMatch { conf_threshold, lambda_u_max, hidden, max_iter, ..rest };
            method.train(problem, Seed(2), &Silent).unwrap()
        };
        let (never, always, alone) = (fit(0.0, 1.0), fit(1e3, 1.0), fit(1e3, 0.0));
        assert_eq!((never.confident, always.confident), (0.0, 1.0));
        assert_eq!(never.params, alone.params); // either way the pairs alone
        assert_ne!(always.params, alone.params);
    }

    #[test]
    fn the_weight_of_agreement_rises_to_its_maximum() {
        let method = FixMatch { rampup_length: 10, lambda_u_max: 0.5, ..FixMatch::default() };
        let lambdas: Vec<f64> = (0..=12).map(|e| method.lambda(f64::from(e))).collect();
        assert!(lambdas.is_sorted() && lambdas[0] < 0.01 && lambdas[9] < 0.5);
        assert_eq!(lambdas[10..], [0.5; 3]);
        assert_eq!(FixMatch { rampup_length: 0, ..method }.lambda(0.0), 0.5);
    }

    #[test]
    fn a_student_that_believes_everything_does_not_run_away_with_its_teacher() {
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let (conf_threshold, strong_mask, lambda_u_max) = (1e3, 0.7, 5.0);
        let (lr, alpha_ema, rampup_length, max_iter) = (1e-3, 0.9, 0, 300);
        let rest = FixMatch { conf_threshold, strong_mask, lambda_u_max, ..FixMatch::default() };
        let method = FixMatch { lr, alpha_ema, rampup_length, max_iter, ..rest };
        let fitted = method.train(problem, Seed(3), &Silent).unwrap();
        let predicted = fitted.predict(sample.x.view()).unwrap();
        let predicted = fitted.centred.encode(predicted.view());
        let square = predicted.data().iter().map(|v| v * v).sum::<f32>();
        assert!(square / (predicted.data().len() as f32) < 2.0, "{square}");
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        assert_same_bits_on_any_threads(&FixMatch { max_iter: 10, ..FixMatch::default() });
    }

    #[test]
    fn odd_pools_and_bad_parameters_are_met_without_nan() {
        assert_survives(&FixMatch { max_iter: 5, hidden: 8, ..FixMatch::default() });
        assert_eq!(FixMatch::grid().len(), 96);
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let error = |m: FixMatch| m.train(problem, Seed(0), &Silent).err().unwrap().to_string();
        assert!(error(FixMatch { views: 1, ..FixMatch::default() }).contains("`views`"));
        assert!(error(FixMatch { lr: 1e30, ..FixMatch::default() }).contains("`lr` must be"));
        // Every step multiplies the weights by −10¹².
        let diverging = FixMatch { lr: 1e3, weight_decay: 1e9, ..FixMatch::default() };
        assert!(error(diverging).contains("smaller `lr`"));
    }
}
