//! UCVME: two Bayesian networks that teach each other outputs and how sure to be of them.
//!
//! Networks a and b give a row a mean μ and a log-variance z. On the pairs each has the
//! heteroscedastic loss, and both should be equally sure; on unlabelled rows both follow what all of
//! them believe together, the ensemble of T dropout passes of each:
//!
//! ```text
//! loss = Σ_{m ∈ {a,b}} [ ½ e^{−z_m} ‖μ_m − y‖²/d' + ½ z_m ]  +  (z_a − z_b)²                        pairs
//!      + w(t) Σ_{m ∈ {a,b}} [ ½ e^{−z̃} ‖μ_m − μ̃‖²/d' + ½ z̃ + (z_m − z̃)² ]                           pool
//! μ̃ = mean over T passes of (μ_a + μ_b)/2,   z̃ = mean over T passes of (z_a + z_b)/2,   both constants
//! w(t) = w_unl exp(−5 (1 − min(1, t/(ramp_up · max_iter)))²)
//! ŷ(x) = mean over T passes of (μ_a + μ_b)/2, dropout still on
//! ```
//!
//! x is taken as standard scores of its pool, y around the mean of the paired outputs and on unit
//! scale. A row has one log-variance for all of its outputs, since a few pairs cannot tell d' of them
//! apart, and |z| stays below 4, so that pairs which are fitted exactly do not claim a variance of 0.
//! The masks of the passes that predict are drawn once, from the seed, and are the same for all rows:
//! each is one network of the ensemble, and a prediction does not depend on the rows beside it.
//!
//! A step costs O(batch · parameters), the two networks in parallel; the large layers are shared, the
//! first by the T passes and by the copies of a pair in the batch, the last by the T passes. There is no early stop: a loss whose targets move
//! says little by standing still. With one pair, or equal paired outputs, there is nothing to learn: no
//! step is taken, and every row is given that output.
//!
//! Choose it where some rows are much noisier than others. Dai, Li & Cheng, "Semi-Supervised Deep
//! Regression with Uncertainty Consistency and Variational Model Ensembling via Bayesian Neural
//! Networks", AAAI 2023, whose own code has no ramp-up and takes (z_a + z_b)/2 for both z_m on the pairs;
//! the ramp-up is that of Laine & Aila, "Temporal Ensembling", ICLR 2017: networks that know nothing
//! yet should not teach. The published experiments turned dropout off at
//! test, which makes all T passes equal, and let gradients flow into the pseudo-targets. Here dropout
//! falls between the hidden layers only, and the step size falls to 0: with a few pairs, more dropout
//! and late steps draw all predictions to the mean.

mod bayes;
mod loss;
mod member;

use crate::limits::{BATCH, BELOW_ONE, LEARNING_RATE, NOT_NEGATIVE, STEPS, UNITS, check};
use crate::nn::{Epochs, Mask, Record, distinct, gather, in_bands, resample};
use crate::prepare::{Centred, Prepared, Standard, prepared_memory};
use bayes::Bayes;
use bridged::Stage;
use bridged::settings::Limits;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::chunks::join;
use loss::Belief;
use member::{Batch, Member};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "ucvme";

/// Two Bayesian networks with consistent uncertainty.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Ucvme;
///
/// let x = Matrix::from_fn(40, 2, |i, j| (i % 2) as f32 * 4.0 + ((i * (j + 3)) % 7) as f32 * 0.1);
/// let y = Matrix::from_rows(&[[-1.0], [1.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1)]);
/// let method = Ucvme { max_iter: 200, ..Ucvme::default() };
/// let predicted = method.fit(problem, Seed(0), &Silent)?.predict(x.view())?;
/// assert!((0..40).all(|i| (predicted.row(i)[0] > 0.5) == (i % 2 == 1)));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ucvme {
    /// Adam's first step size; it falls to 0 along half a cosine.
    pub lr: f64,
    /// How much the pseudo-targets of unlabelled rows count beside the pairs, in the end.
    pub w_unl: f64,
    /// T (`mc_T` in the paper): dropout passes of each network, for pseudo-targets and predictions.
    /// More are less noisy, and cost more.
    pub mc_t: usize,
    /// The probability that a unit of the first hidden layer is dropped: the width of the posterior.
    pub dropout: f64,
    /// Units of each of the two hidden layers.
    pub hidden: usize,
    /// Labelled rows of a step, drawn with replacement, and as many unlabelled ones.
    pub batch_size: usize,
    /// The part of all steps after which the pseudo-targets count in full.
    pub ramp_up: f64,
    /// Decoupled weight decay (AdamW): the prior of the weights.
    pub weight_decay: f64,
    /// Gradient steps; 0 leaves the networks as they were drawn.
    pub max_iter: usize,
}

impl Default for Ucvme {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            w_unl: 5.0,
            mc_t: 5,
            dropout: 0.05,
            hidden: 128,
            batch_size: 32,
            ramp_up: 0.3,
            weight_decay: 1e-3,
            max_iter: 1000,
        }
    }
}

bridged::limits!(Ucvme {
    lr: LEARNING_RATE,
    w_unl: NOT_NEGATIVE,
    mc_t: Limits::Whole(1, 10_000),
    dropout: BELOW_ONE,
    hidden: UNITS,
    batch_size: BATCH,
    ramp_up: NOT_NEGATIVE,
    weight_decay: NOT_NEGATIVE,
    max_iter: STEPS,
});

impl Ucvme {
    /// The 18 settings of the paper's appendix.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for lr in [1e-4, 3e-4, 1e-3] {
            for w_unl in [1.0, 5.0, 10.0] {
                for mc_t in [5, 10] {
                    grid.push(Self { lr, w_unl, mc_t, ..Self::default() });
                }
            }
        }
        grid
    }

    /// w(t).
    fn weight(&self, step: usize) -> f64 {
        let ramp = self.ramp_up * self.max_iter as f64;
        let ahead = 1.0 - (step as f64 / ramp.max(1.0)).min(1.0);
        let ahead = if ramp == 0.0 { 0.0 } else { ahead };
        self.w_unl * (-5.0 * ahead * ahead).exp()
    }

    /// Adam's step size of a step.
    fn rate(&self, step: usize) -> f64 {
        let turn = std::f64::consts::PI * step as f64 / self.max_iter as f64;
        0.5 * self.lr * (1.0 + turn.cos())
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

        let net = Bayes::new(problem.x.cols(), self.hidden, problem.y.cols());
        let [mut a, mut b] = ["a", "b"].map(|name| Member::new(self, &net, seed.child(name)));
        let mut rng = seed.child("batches").rng();
        let (mut batch, mut epochs) = (Batch::default(), Epochs::new(pool.rows()));
        let mut picked = vec![0; self.batch_size];
        let (mut others, mut record) = (Vec::new(), Record::default());
        let nothing_to_learn = answers.view().iter_rows().all(|row| row == answers.row(0));
        if nothing_to_learn {
            [&mut a, &mut b].into_iter().for_each(|m| net.forget(&mut m.params));
        }
        for step in 0..if nothing_to_learn { 0 } else { self.max_iter } {
            stage.step(step as u64)?;
            resample(labelled.rows(), &mut picked, &mut rng);
            gather(answers.view(), &picked, &mut batch.y);
            let rows = distinct(&picked, &mut batch.of);
            gather(labelled.view(), &rows, &mut batch.x);
            epochs.fill(&mut picked, &mut rng);
            gather(pool.view(), &picked, &mut others);
            batch.x.extend_from_slice(&others);
            batch.unlabelled = rows.len();
            batch.of.extend(rows.len()..rows.len() + picked.len());

            let (of_a, of_b) = join(|| a.believe(&net, &batch), || b.believe(&net, &batch));
            batch.pseudo = of_a.together(&of_b);
            batch.weight = self.weight(step);
            let (z_a, z_b) = (a.sure(&net, &batch), b.sure(&net, &batch));
            let lr = self.rate(step);
            let (loss_a, loss_b) =
                join(|| a.learn(&net, &batch, &z_b, lr), || b.learn(&net, &batch, &z_a, lr));
            record.push(NAME, loss_a + loss_b)?;
        }
        let members = [("a", a), ("b", b)].map(|(name, mut m)| {
            net.draw(self.dropout, &mut m.draws, &mut seed.child("predict").child(name).rng());
            (m.params, m.draws)
        });
        Ok(Fitted { standard, centred, net, members, record })
    }
}

struct Fitted {
    standard: Standard,
    centred: Centred,
    net: Bayes,
    /// The parameters of the two networks, and the masks of their passes.
    members: [(Vec<f32>, Vec<Mask<f32>>); 2],
    /// Read by tests: that steps were taken, and to what effect.
    #[cfg_attr(not(test), allow(dead_code))]
    record: Record,
}

impl Fitted {
    fn believe(&self, x: &[f32]) -> Belief {
        let mut early = Vec::new();
        let [a, b] = self.members.each_ref().map(|(params, draws)| {
            self.net.begin(params, x, &mut early);
            self.net.ensemble(params, &early, draws)
        });
        a.together(&b)
    }
}

impl Method for Ucvme {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let h = self.hidden as f64;
        let (d, e) = (size.x.1 as f64, size.y.1 as f64);
        let parameters = 2.0 * 4.0 * 6.0 * (h * (d + h + 2.0 * e) + 2.0 * h + e);
        let batch = 2.0 * self.batch_size as f64 * 4.0 * (2.0 * d + 40.0 * h + 60.0 * e);
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
        let mut out = in_bands(self.standard.apply(rows).view(), self.net.outputs(), |x, out| {
            out.copy_from_slice(&self.believe(x).mean);
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
    use bridged::synth::Sample;

    fn train(max_iter: usize, s: &Sample) -> Fitted {
        let spec = Ucvme { max_iter, hidden: 64, ..Ucvme::default() };
        spec.train(problem(s), Seed(1), &Silent).unwrap()
    }

    #[test]
    fn three_pairs_take_steps_that_lower_the_loss_and_beat_the_untrained_networks() {
        let s = smallest_setting();
        let (trained, untrained) = (train(250, &s), train(0, &s));
        assert_eq!(untrained.record.steps, 0);
        let Record { steps, first, last } = trained.record;
        assert!(steps == 250 && last < first - 1.0, "{:?}", trained.record);
        // Pairs that are fitted exactly do not claim to have no variance.
        let z = trained.believe(trained.standard.apply(s.test_x.view()).data()).z;
        assert!(z.iter().all(|z| (-4.0..0.0).contains(z)), "{z:?}");
        let (before, after) = (test_error(&untrained, &s), test_error(&trained, &s));
        assert!(after < 0.5 * before, "{before} → {after}");
    }

    #[test]
    fn dropout_stays_on_when_it_predicts() {
        let s = smallest_setting();
        let mut fitted = train(20, &s);
        let with = fitted.predict(s.test_x.view()).unwrap();
        fitted.members.iter_mut().for_each(|(_, draws)| draws.fill(Mask::Keep));
        assert_ne!(with, fitted.predict(s.test_x.view()).unwrap());
    }

    #[test]
    fn one_pair_gives_its_output_everywhere() {
        let x = Matrix::from_rows(&[[1.0, 2.0], [1.5, 2.0], [5.0, 0.0]]);
        let y = Matrix::from_rows(&[[4.0, 8.0], [6.0, 8.0]]);
        let problem = Problem::new(x.view(), y.view(), &[(2, 0)]);
        let fitted = Ucvme::default().fit(problem, Seed(0), &Silent).unwrap();
        assert_eq!(fitted.predict(x.view()).unwrap().data(), [[4.0, 8.0]; 3].concat());
    }

    #[test]
    fn pseudo_targets_come_in_slowly() {
        let spec = Ucvme { w_unl: 10.0, max_iter: 100, ..Ucvme::default() };
        assert!(spec.weight(0) < 0.1 && spec.weight(15) < 3.0 && spec.weight(30) == 10.0);
        assert_eq!(Ucvme { ramp_up: 0.0, ..spec }.weight(0), 10.0);
    }

    #[test]
    fn bits_do_not_depend_on_threads_and_odd_shapes_give_numbers() {
        let short = Ucvme { max_iter: 20, ..Ucvme::default() };
        assert_same_bits_on_any_threads(&short);
        assert_survives(&short);
    }

    #[test]
    fn the_grid_is_that_of_the_paper_and_bad_parameters_are_named() {
        assert_eq!(Ucvme::grid().len(), 18);
        let bad = Ucvme { lr: 0.0, ..Ucvme::default() };
        let error = bad.fit(problem(&smallest_setting()), Seed(0), &Silent).err().unwrap();
        let need = "ucvme: `lr` must be above 0 and at most 1000, got 0";
        assert_eq!(error.to_string(), need);
    }
}
