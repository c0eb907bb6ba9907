//! GCN: two graph convolutions over the x pool, trained on the paired nodes.
//!
//! ```text
//! Ŷ = Â relu(Â X W₀ + b₀) W₁ + b₁,   Â = D̃^{-1/2} (A + I) D̃^{-1/2},   D̃ = degrees of A + I
//! A_ij = ½ [j ∈ N_k(i)] w_ij + ½ [i ∈ N_k(j)] w_ij,   w_ij = exp(−γ ‖x_i − x_j‖²), γ by the median
//! loss = mean over the pairs of (ŷ − y)² + ½ decay ‖W₀‖²
//! ```
//!
//! x is taken as standard scores of its pool, y around the mean of the paired outputs and on unit
//! scale. Dropout falls on the hidden units, as in the authors' own implementation. ÂX is computed
//! once; the loss reaches only the neighbours of paired nodes, so an epoch costs O(s d h) for those s
//! nodes instead of O(n d h), with the same gradients.
//!
//! A row that was not in the pool is joined, alone, to its k nearest nodes, whose degrees and hidden
//! values stay as they are; so it does not depend on the other rows asked for.
//!
//! Epochs and decay are those of the authors by default; with a few noisy pairs more epochs only make it
//! follow the noise. Choose it where neighbours in x share their outputs and pairs are few. Kipf & Welling,
//! "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017. The published
//! experiments joined all pairs and all unlabelled rows by a complete graph of unit weights, in which
//! every node sees the same average; here the graph is that of nearest neighbours.

mod network;
mod nodes;

use crate::limits::{BELOW_ONE, COUNT, LEARNING_RATE, NOT_NEGATIVE, STEPS, UNITS, check};
use crate::nn::{Adam, Record, Sharing};
use crate::prepare::{Centred, Paired};
use bridged::Stage;
use bridged::settings::TOLERANCE;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::graph::Graph;
use network::{Labelled, Network, Pass};
use nodes::{Nodes, gathered};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "gcn";

/// A graph convolutional network of two layers.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Gcn;
///
/// // Two chains of rows, one pair each: the graph carries an output along its chain.
/// let x = Matrix::from_fn(20, 1, |i, _| i as f32 + if i < 10 { 0.0 } else { 20.0 });
/// let y = Matrix::from_rows(&[[-1.0], [1.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(2, 0), (17, 1)]);
/// let fitted = Gcn { k: 3, ..Gcn::default() }.fit(problem, Seed(0), &Silent)?;
/// let predicted = fitted.predict_pool(x.view())?;
/// assert!((0..20).all(|i| (predicted.row(i)[0] > 0.0) == (i >= 10)));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gcn {
    /// Hidden units: more can tell more groups apart, and follow the noise of few pairs.
    pub hidden: usize,
    /// The probability that a hidden unit is dropped in a step; makes units less dependent on one
    /// another.
    pub dropout: f64,
    /// Adam's step size.
    pub lr: f64,
    /// Neighbours that each row is joined to: more smooth predictions over the pool.
    pub k: usize,
    /// Most gradient steps, each over all pairs; 0 leaves the network as it was drawn.
    pub epochs: usize,
    /// The penalty on the squares of the first layer's weights, as a term of the loss (Kipf &
    /// Welling): without it the network follows the noise of a few pairs, and amplifies it.
    pub weight_decay: f64,
    /// Training ends early once the loss is below this part of the outputs' variance.
    pub tol: f64,
}

impl Default for Gcn {
    fn default() -> Self {
        let (hidden, dropout, lr) = (64, 0.1, 3e-3);
        Self { hidden, dropout, lr, k: 10, epochs: 200, weight_decay: 5e-4, tol: 1e-4 }
    }
}

bridged::limits!(Gcn {
    hidden: UNITS,
    dropout: BELOW_ONE,
    lr: LEARNING_RATE,
    k: COUNT,
    epochs: STEPS,
    weight_decay: NOT_NEGATIVE,
    tol: TOLERANCE,
});

impl Gcn {
    /// The 18 settings of the paper's appendix.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for hidden in [32, 64, 128] {
            for dropout in [0.0, 0.1, 0.3] {
                for lr in [1e-3, 3e-3] {
                    grid.push(Self { hidden, dropout, lr, ..Self::default() });
                }
            }
        }
        grid
    }
}

struct Fitted {
    k: usize,
    nodes: Nodes,
    centred: Centred,
    network: Network,
    params: Vec<f32>,
    /// The hidden values of the nodes.
    hidden: Matrix,
    /// Read by tests: that steps were taken, and to what effect.
    #[cfg_attr(not(test), allow(dead_code))]
    record: Record,
}

impl Gcn {
    fn train(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Fitted, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let seed = seed.child(NAME);
        let stage = Stage::begin(watch, NAME, Some(self.epochs as u64))?;
        let nodes = Nodes::new(problem.x, self.k);
        let smooth = nodes.propagate(&nodes.rows); // ÂX
        let paired = Paired::of(problem);
        let centred = Centred::fit(paired.y.view());
        let target = centred.encode(paired.y.view()).into_data();
        let at: Vec<usize> = problem.pairs.iter().map(|(x, _)| x).collect();
        let data = Labelled::cut(&nodes.adjacency, &smooth, &at, target);

        let network = Network::new(problem.x.cols(), self.hidden, problem.y.cols());
        let mut params: Vec<f32> = network.init(&mut seed.child("init").rng());
        let mut rng = seed.child("dropout").rng();
        let mut adam = Adam::new(params.len(), self.lr);
        let (mut grads, mut pass) = (vec![0.0; params.len()], Pass::default());
        let mut record = Record::default();
        for epoch in 0..self.epochs {
            stage.step(epoch as u64)?;
            let masks = (self.dropout, Sharing::EachRow);
            network.first.draw_masks(masks, data.reach.cols(), &mut pass.first, &mut rng);
            grads.fill(0.0);
            let loss = network.loss(&params, &data, &mut pass, &mut grads);
            record.push(NAME, loss)?;
            let penalty = self.weight_decay as f32;
            let first = grads[..network.first.end()].iter_mut().zip(&params);
            first.for_each(|(g, p)| *g += penalty * p);
            adam.step(&mut params, &grads);
            if loss < self.tol {
                break;
            }
        }
        let hidden = network.first.predict(&params, smooth.view());
        Ok(Fitted { k: self.k, nodes, centred, network, params, hidden, record })
    }
}

impl Method for Gcn {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (n, d, e) = (size.x.0 as f64, size.x.1 as f64, size.y.1 as f64);
        let hidden = self.hidden as f64;
        let reach = (size.pairs as f64 * (2.0 * self.k as f64 + 1.0)).min(n);
        let parameters = 4.0 * 5.0 * hidden * (d + e + 2.0);
        let graph = Graph::memory(size.x.0, size.x.1, self.k);
        let edges = 60.0 * n * (2.0 * self.k.min(size.x.0) as f64 + 1.0);
        let training = 4.0 * (n * (d + hidden) + reach * (d + 6.0 * hidden) + n) + parameters;
        (8.0 * n * d + graph.max(edges + training) + 1.6e7) as u64
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

impl Fitted {
    fn output(&self, joined: &Matrix) -> Matrix {
        let mut out = self.network.second.predict(&self.params, joined.view());
        self.centred.decode(&mut out);
        out
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.nodes.rows.cols())?;
        let rows = self.nodes.scores(rows);
        let joined = self.nodes.join(&rows, self.k);
        let smooth = gathered(&joined, &self.nodes.rows, &rows);
        let hidden = self.network.first.predict(&self.params, smooth.view());
        Ok(self.output(&gathered(&joined, &self.hidden, &hidden)))
    }

    fn predict_pool(&self, x: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_pool(NAME, x, (self.nodes.rows.rows(), self.nodes.rows.cols()))?;
        Ok(self.output(&self.nodes.propagate(&self.hidden)))
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
        let fit =
            |epochs| Gcn { epochs, ..Gcn::default() }.train(problem, Seed(1), &Silent).unwrap();
        let (untrained, trained) = (fit(0), fit(500));
        assert_eq!(untrained.record.steps, 0);
        assert!(trained.record.steps > 50 && trained.record.steps <= 500);
        assert!(trained.record.last < 0.01 * trained.record.first, "{:?}", trained.record);
        let (before, after) = (test_error(&untrained, &sample), test_error(&trained, &sample));
        assert!(after < 0.5 * before, "{before} → {after}");
    }

    #[test]
    fn the_loss_of_the_cut_graph_is_that_of_the_whole() {
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let method = Gcn { dropout: 0.0, epochs: 3, tol: 0.0, ..Gcn::default() };
        let fitted = method.train(problem, Seed(2), &Silent).unwrap();
        // The third step's loss, from the parameters after two, over all nodes.
        let two = Gcn { epochs: 2, ..method }.train(problem, Seed(2), &Silent).unwrap();
        let all = two.predict_pool(sample.x.view()).unwrap();
        let paired = Paired::of(problem);
        let found = all.view().select(problem.pairs.iter().map(|(x, _)| x));
        let squares =
            found.data().iter().zip(paired.y.data()).map(|(a, b)| f64::from(a - b).powi(2));
        let unit = f64::from(two.centred.unit());
        let loss = squares.sum::<f64>() / paired.y.data().len() as f64 / (unit * unit);
        assert!((loss - fitted.record.last).abs() < 1e-4 * loss, "{loss} {:?}", fitted.record);
    }

    #[test]
    fn an_unseen_row_is_predicted_the_same_alone_and_like_its_group() {
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let fitted = Gcn::default().train(problem, Seed(3), &Silent).unwrap();
        let all = fitted.predict(sample.test_x.view()).unwrap();
        for i in [0, 7, 59] {
            let alone = fitted.predict(sample.test_x.view().slice(i..i + 1)).unwrap();
            assert_eq!(alone.data(), all.row(i));
        }
        let oracle = sample.oracle();
        let error = bridged::metrics::mse(all.view(), oracle.view()).unwrap();
        let spread = bridged::metrics::mse(sample.test_y.view(), oracle.view()).unwrap();
        assert!(error < 3.0 * spread, "{error} {spread}"); // one noisy pair a group
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        assert_same_bits_on_any_threads(&Gcn { epochs: 10, hidden: 128, ..Gcn::default() });
    }

    #[test]
    fn odd_pools_and_bad_parameters_are_met_without_nan() {
        assert_survives(&Gcn { epochs: 20, ..Gcn::default() });
        assert_eq!(Gcn::grid().len(), 18);
        let sample = smallest_setting();
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let error = |m: Gcn| m.train(problem, Seed(0), &Silent).err().unwrap().to_string();
        assert!(error(Gcn { dropout: 1.0, ..Gcn::default() }).contains("`dropout`"));
        assert!(error(Gcn { lr: 1e30, ..Gcn::default() }).contains("`lr` must be"));
    }
}
