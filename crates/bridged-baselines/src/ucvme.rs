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
//! A step costs O(batch · parameters), the two networks in parallel; the T passes share the first
//! layer and the output layer, which are the large ones. There is no early stop: a loss whose targets move
//! says little by standing still. With one pair, both networks learn its y for all rows.
//!
//! Choose it where some rows are much noisier than others. Dai, Li & Cheng, "Semi-Supervised Deep
//! Regression with Uncertainty Consistency and Variational Model Ensembling via Bayesian Neural
//! Networks", AAAI 2023; the ramp-up is that of Laine & Aila, "Temporal Ensembling", ICLR 2017, since
//! networks that know nothing yet should not teach. The published experiments turned dropout off at
//! test, which makes all T passes equal, and let gradients flow into the pseudo-targets. Here dropout
//! falls between the hidden layers only, and the step size falls to 0: with a few pairs, more dropout
//! and late steps draw all predictions to the mean.

mod bayes;
mod loss;

use crate::nn::{Adam, Epochs, Mask, Range, Record, gather, in_bands, resample};
use crate::prepare::{Centred, Paired, Standard};
use bayes::{Bayes, Pass};
use bridged::math::seed::Rng;
use bridged::math::watch::Stage;
use bridged::math::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem};
use loss::Belief;
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "ucvme";

/// Two Bayesian networks with consistent uncertainty.
///
/// ```
/// use bridged::math::{Matrix, Seed, Silent};
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
            batch_size: 64,
            ramp_up: 0.3,
            weight_decay: 1e-3,
            max_iter: 1000,
        }
    }
}

/// One of the two networks, and what its training remembers.
struct Member {
    params: Vec<f32>,
    grads: Vec<f32>,
    adam: Adam,
    pass: Pass,
    draws: Vec<Mask<f32>>,
    rng: Rng,
}

/// What both networks see in a step.
#[derive(Default)]
struct Batch {
    /// Labelled rows, then unlabelled ones.
    x: Vec<f32>,
    /// Where the unlabelled ones begin.
    unlabelled: usize,
    /// The outputs of the labelled ones.
    y: Vec<f32>,
}

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

    fn check(&self) -> Result<(), MethodError> {
        Range::check(
            NAME,
            &[
                ("lr", self.lr, Range::Positive),
                ("w_unl", self.w_unl, Range::NotNegative),
                ("mc_t", self.mc_t as f64, Range::AtLeastOne),
                ("dropout", self.dropout, Range::BelowOne),
                ("hidden", self.hidden as f64, Range::AtLeastOne),
                ("batch_size", self.batch_size as f64, Range::AtLeastOne),
                ("ramp_up", self.ramp_up, Range::NotNegative),
                ("weight_decay", self.weight_decay, Range::NotNegative),
            ],
        )
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
        problem.check()?;
        self.check()?;
        let seed = seed.child(NAME);
        let stage = Stage::begin(watch, NAME, Some(self.max_iter as u64))?;
        let standard = Standard::fit(problem.x);
        let paired = Paired::of(problem);
        let centred = Centred::fit(paired.y.view());
        let pool = standard.apply(problem.x);
        let labelled = standard.apply(paired.x.view());
        let answers = centred.encode(paired.y.view());

        let net = Bayes::new(problem.x.cols(), self.hidden, problem.y.cols());
        let [mut a, mut b] = ["a", "b"].map(|name| self.member(&net, seed.child(name)));
        let mut rng = seed.child("batches").rng();
        let mut epochs = Epochs::new(pool.rows());
        let mut picked = vec![0; self.batch_size];
        let (mut batch, mut others, mut record) = (Batch::default(), Vec::new(), Record::default());
        for step in 0..self.max_iter {
            stage.step(step as u64)?;
            resample(labelled.rows(), &mut picked, &mut rng);
            gather(labelled.view(), &picked, &mut batch.x);
            gather(answers.view(), &picked, &mut batch.y);
            batch.unlabelled = batch.x.len();
            epochs.fill(&mut picked, &mut rng);
            gather(pool.view(), &picked, &mut others);
            batch.x.extend_from_slice(&others);

            let (of_a, of_b) = rayon::join(
                || self.believe(&net, &mut a, &batch),
                || self.believe(&net, &mut b, &batch),
            );
            let pseudo = together(of_a, &of_b);
            let z = [&a, &b].map(|m| m.pass.z()[..self.batch_size].to_vec());
            let weight = self.weight(step);
            [&mut a, &mut b].into_iter().for_each(|m| m.adam.lr = self.rate(step));
            let (loss_a, loss_b) = rayon::join(
                || self.learn(&net, &mut a, &batch, (&z[1], &pseudo, weight)),
                || self.learn(&net, &mut b, &batch, (&z[0], &pseudo, weight)),
            );
            record.push(NAME, loss_a + loss_b)?;
        }
        let members = [("a", a), ("b", b)].map(|(name, mut m)| {
            net.draw(self.dropout, &mut m.draws, &mut seed.child("predict").child(name).rng());
            (m.params, m.draws)
        });
        Ok(Fitted { standard, centred, net, members, record })
    }

    fn member(&self, net: &Bayes, seed: Seed) -> Member {
        let params = net.init(&mut seed.child("init").rng());
        let mut adam = Adam::new(params.len(), self.lr);
        adam.weight_decay = self.weight_decay;
        Member {
            grads: vec![0.0; params.len()],
            params,
            adam,
            pass: Pass::default(),
            draws: vec![Mask::default(); self.mc_t],
            rng: seed.child("dropout").rng(),
        }
    }

    /// A pass to learn from, and what T passes believe of the unlabelled rows.
    fn believe(&self, net: &Bayes, member: &mut Member, batch: &Batch) -> Belief {
        let Member { params, pass, draws, rng, .. } = member;
        net.drop(self.dropout, 2 * self.batch_size, pass, rng);
        net.forward(params, &batch.x, pass);
        net.draw(self.dropout, draws, rng);
        net.ensemble(params, &batch.x[batch.unlabelled..], draws)
    }

    /// Takes a step, given the other network's log-variances of the labelled rows, the
    /// pseudo-targets of the others and their weight; returns the heteroscedastic loss.
    fn learn(
        &self,
        net: &Bayes,
        member: &mut Member,
        batch: &Batch,
        (other, pseudo, weight): (&[f32], &Belief, f64),
    ) -> f64 {
        let Member { params, grads, adam, pass, .. } = member;
        let [mut labelled, mut unlabelled] = pass.split(self.batch_size);
        let loss = labelled.heteroscedastic(&batch.y);
        labelled.agreement(other);
        unlabelled.pseudo(pseudo, weight);
        grads.fill(0.0);
        net.backward(params, &batch.x, pass, grads);
        adam.step(params, grads);
        loss
    }
}

/// The mean of two beliefs.
fn together(mut a: Belief, b: &Belief) -> Belief {
    let halve = |a: &mut [f32], b: &[f32]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = 0.5 * (*a + b));
    };
    halve(&mut a.mean, &b.mean);
    halve(&mut a.z, &b.z);
    a
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
        let [a, b] =
            self.members.each_ref().map(|(params, draws)| self.net.ensemble(params, x, draws));
        together(a, &b)
    }
}

impl Method for Ucvme {
    fn fit(
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
    use bridged::math::Silent;
    use bridged::metrics::mse;
    use bridged::synth::{Mixture, Pairs, Sample, Sizes};

    /// The paper's smallest setting: three groups, one pair each.
    fn smallest() -> Sample {
        let mixture = Mixture { classes: 3, separation: 12.0, ..Mixture::default() };
        mixture.draw(Sizes { x: 60, y: 60, test: 60, pairs: Pairs::Stratified(1) }, Seed(3))
    }

    fn train(spec: &Ucvme, s: &Sample) -> Fitted {
        let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
        spec.train(problem, Seed(1), &Silent).unwrap()
    }

    #[test]
    fn three_pairs_take_steps_that_lower_the_loss_and_beat_the_untrained_networks() {
        let s = smallest();
        let score = |fitted: &Fitted| {
            mse(fitted.predict(s.test_x.view()).unwrap().view(), s.test_y.view()).unwrap()
        };
        let spec = Ucvme { max_iter: 300, ..Ucvme::default() };
        let trained = train(&spec, &s);
        let untrained = train(&Ucvme { max_iter: 0, ..spec }, &s);
        assert_eq!(untrained.record.steps, 0);
        let Record { steps, first, last } = trained.record;
        assert!(steps == 300 && last < first - 1.0, "{:?}", trained.record);
        // One pair a group: the noise of its output adds to that of the test row, σ² = 1 each.
        assert!(score(&trained) < 2.4 && score(&untrained) > 4.0, "{}", score(&trained));
    }

    #[test]
    fn pairs_that_are_fitted_exactly_keep_a_bounded_variance() {
        let s = smallest();
        let fitted = train(&Ucvme { max_iter: 300, ..Ucvme::default() }, &s);
        let z = fitted.believe(fitted.standard.apply(s.test_x.view()).data()).z;
        assert!(z.iter().all(|z| (-4.0..0.0).contains(z)), "{z:?}");
    }

    #[test]
    fn one_pair_gives_about_its_output_everywhere() {
        let x = Matrix::from_rows(&[[1.0, 2.0], [1.5, 2.0], [5.0, 0.0]]);
        let y = Matrix::from_rows(&[[4.0, 8.0], [6.0, 8.0]]);
        let problem = Problem::new(x.view(), y.view(), &[(2, 0)]);
        let spec = Ucvme { max_iter: 300, ..Ucvme::default() };
        let out = spec.fit(problem, Seed(0), &Silent).unwrap().predict(x.view()).unwrap();
        assert!(
            (0..3).all(|i| (out.row(i)[0] - 4.0).abs() < 0.5 && (out.row(i)[1] - 8.0).abs() < 0.5)
        );
    }

    #[test]
    fn the_same_bits_come_on_any_number_of_threads_and_for_any_rows_beside() {
        let s = smallest();
        let spec = Ucvme { max_iter: 20, ..Ucvme::default() };
        let predict = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&spec, &s).predict(s.test_x.view()).unwrap())
        };
        let all = predict(1);
        assert_eq!(all, predict(3));
        let alone = train(&spec, &s).predict(s.test_x.view().slice(7..8)).unwrap();
        assert_eq!(alone.data(), all.row(7));
    }

    #[test]
    fn odd_shapes_and_constant_columns_give_numbers() {
        let spec = Ucvme { max_iter: 20, ..Ucvme::default() };
        for (rows, d, pairs) in [(1, 1, 1), (2, 3, 2), (3, 1, 2)] {
            for x in [Matrix::zeros(rows, d), Matrix::from_fn(rows, d, |i, _| 1e6 * i as f32)] {
                let y = Matrix::from_fn(pairs, 1, |i, _| i as f32);
                let pairs: Vec<_> = (0..pairs as u32).map(|i| (i, i)).collect();
                let problem = Problem::new(x.view(), y.view(), &pairs);
                let fitted = spec.fit(problem, Seed(0), &Silent).unwrap();
                assert!(fitted.predict(x.view()).unwrap().data().iter().all(|v| v.is_finite()));
                let flipped = spec.fit(problem.flip(), Seed(0), &Silent).unwrap();
                assert!(flipped.predict(y.view()).unwrap().data().iter().all(|v| v.is_finite()));
            }
        }
    }

    #[test]
    fn the_grid_is_that_of_the_paper_and_bad_parameters_are_named() {
        assert_eq!(Ucvme::grid().len(), 18);
        let s = smallest();
        let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
        let error =
            Ucvme { lr: 0.0, ..Ucvme::default() }.fit(problem, Seed(0), &Silent).err().unwrap();
        assert_eq!(error.to_string(), "ucvme: `lr` must be a number above 0, got 0");
    }
}
