//! One of the two networks while it trains.

use super::Ucvme;
use super::bayes::{Bayes, Pass};
use super::loss::Belief;
use crate::nn::{Adam, Mask};
use bridged::Rng;
use bridged::Seed;

/// A network and what its training remembers. It draws from streams of its own, so that both may run
/// at the same time.
pub(super) struct Member {
    pub(super) params: Vec<f32>,
    /// The networks of its ensemble.
    pub(super) draws: Vec<Mask<f32>>,
    grads: Vec<f32>,
    adam: Adam,
    pass: Pass,
    dropout: f64,
    rng: Rng,
}

/// What both networks see in a step.
#[derive(Default)]
pub(super) struct Batch {
    /// Distinct labelled rows, then unlabelled ones.
    pub(super) x: Vec<f32>,
    /// The place in `x` of each row of the batch, labelled ones first.
    pub(super) of: Vec<usize>,
    /// Where the unlabelled rows begin in `x`.
    pub(super) unlabelled: usize,
    /// The outputs of the labelled ones, (rows, outputs).
    pub(super) y: Vec<f32>,
    /// What both networks together believe of the unlabelled ones: constants of the step.
    pub(super) pseudo: Belief,
    /// How much that counts.
    pub(super) weight: f64,
}

impl Member {
    pub(super) fn new(spec: &Ucvme, net: &Bayes, seed: Seed) -> Self {
        let params = net.init(&mut seed.child("init").rng());
        let mut adam = Adam::new(params.len(), spec.lr);
        adam.weight_decay = spec.weight_decay;
        Self {
            draws: vec![Mask::default(); spec.mc_t],
            grads: vec![0.0; params.len()],
            params,
            adam,
            pass: Pass::default(),
            dropout: spec.dropout,
            rng: seed.child("dropout").rng(),
        }
    }

    /// A pass to learn from, and what T passes believe of the unlabelled rows.
    pub(super) fn believe(&mut self, net: &Bayes, batch: &Batch) -> Belief {
        let Self { params, draws, pass, dropout, rng, .. } = self;
        net.drop(*dropout, batch.of.len(), pass, rng);
        net.forward(params, (&batch.x, &batch.of), pass);
        net.draw(*dropout, draws, rng);
        net.ensemble(params, pass.early(batch.unlabelled, net), draws)
    }

    /// The log-variances of the labelled rows in that pass.
    pub(super) fn sure(&self, net: &Bayes, batch: &Batch) -> Vec<f32> {
        self.pass.z()[..batch.y.len() / net.outputs()].to_vec()
    }

    /// Takes a step, given the other network's log-variances of the labelled rows; returns the
    /// heteroscedastic loss.
    pub(super) fn learn(&mut self, net: &Bayes, batch: &Batch, other: &[f32], lr: f64) -> f64 {
        let Self { params, grads, adam, pass, .. } = self;
        let [mut labelled, mut unlabelled] = pass.split(other.len());
        let loss = labelled.heteroscedastic(&batch.y);
        labelled.agreement(other);
        unlabelled.pseudo(&batch.pseudo, batch.weight);
        grads.fill(0.0);
        net.backward(params, (&batch.x, &batch.of), pass, grads);
        adam.lr = lr;
        adam.step(params, grads);
        loss
    }
}
