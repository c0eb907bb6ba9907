//! The twin network: what two rows differ by, antisymmetric by construction.
//!
//! ```text
//! (p, q) = A relu(W x + b) + c                              the representation, seen from either side
//! s(a, b) = ½ (relu(p_a + q_b) − relu(p_b + q_a))           so s(a, b) = −s(b, a) and s(a, a) = 0
//! F(a, b) = V s(a, b)
//! ```
//!
//! This is a head with one hidden layer on (r_a, r_b), minus itself on (r_b, r_a). Everything after
//! the representation of a row is a sum: that of a pair costs O(rep_dim), and sums of differences,
//! round a loop or over all anchors, pass V once.

use crate::nn::{Mlp, Real, Tape};
use bridged::Rng;
use bridged_math::linalg::{Accum, View, product};
use rand::RngExt;

/// The shape of a twin network; its parameters are one vector, V at the end.
#[derive(Clone, Debug)]
pub(super) struct Twin {
    embed: Mlp,
    rep: usize,
    outputs: usize,
}

/// F(a, b) belongs to the sum of this item; a and b are rows of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) item: usize,
    pub(super) a: usize,
    pub(super) b: usize,
}

/// What a pass remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass<T = f32> {
    tape: Tape<T>,
    sums: Vec<T>,
    d_sums: Vec<T>,
    /// Σ F over the steps of each item, (items, outputs).
    pub(super) output: Vec<T>,
    /// The gradient of the loss by it.
    pub(super) d_output: Vec<T>,
}

impl Twin {
    pub(super) fn new(inputs: usize, rep: usize, outputs: usize) -> Self {
        Self { embed: Mlp::new(&[inputs, rep, 2 * rep]), rep, outputs }
    }

    /// How many parameters there are.
    pub(super) fn len(&self) -> usize {
        self.embed.end() + self.rep * self.outputs
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// New parameters, all uniform within 1/√inputs of their layer.
    pub(super) fn init<T: Real>(&self, rng: &mut Rng) -> Vec<T> {
        let mut params: Vec<T> = self.embed.init(rng);
        let bound = 1.0 / (self.rep as f64).sqrt();
        params.extend(
            (self.embed.end()..self.len()).map(|_| rng.random_range(-bound..=bound)).map(T::of),
        );
        params
    }

    /// Leaves F = 0: no two rows differ.
    pub(super) fn forget<T: Real>(&self, params: &mut [T]) {
        params[self.embed.end()..].fill(T::ZERO);
    }

    /// Takes rows `x` and the differences between them to [`Pass::output`].
    pub(super) fn forward<T: Real>(
        &self,
        params: &[T],
        x: &[T],
        steps: &[Step],
        pass: &mut Pass<T>,
    ) {
        let items = steps.last().map_or(0, |s| s.item + 1);
        self.embed.forward(params, x, &mut pass.tape);
        pass.sums.clear();
        pass.sums.resize(items * self.rep, T::ZERO);
        let seen = pass.tape.output();
        for s in steps {
            let sum = &mut pass.sums[s.item * self.rep..][..self.rep];
            self.add_difference(self.seen(seen, s.a), self.seen(seen, s.b), sum);
        }
        pass.output.resize(items * self.outputs, T::ZERO);
        pass.d_output.resize(items * self.outputs, T::ZERO);
        self.read_out(params, &pass.sums, &mut pass.output);
    }

    /// Takes [`Pass::d_output`] back: adds the gradient of every parameter to `grads`.
    pub(super) fn backward<T: Real>(
        &self,
        params: &[T],
        x: &[T],
        steps: &[Step],
        pass: &mut Pass<T>,
        grads: &mut [T],
    ) {
        let rep = self.rep;
        let items = pass.sums.len() / rep;
        let delta = View::new(&pass.d_output, items, self.outputs);
        let start = self.embed.end();
        product(delta.t(), View::new(&pass.sums, items, rep), Accum::Add, &mut grads[start..]);
        pass.d_sums.resize(items * rep, T::ZERO);
        let weight = View::new(&params[start..], self.outputs, rep);
        product(delta, weight, Accum::Replace, &mut pass.d_sums);

        let (seen, d_seen) = pass.tape.output_and_gradient();
        d_seen.fill(T::ZERO);
        let half = T::of(0.5);
        for s in steps {
            let (a, b) = (2 * rep * s.a, 2 * rep * s.b);
            for (j, &d) in pass.d_sums[s.item * rep..][..rep].iter().enumerate() {
                if seen[a + j] + seen[b + rep + j] > T::ZERO {
                    d_seen[a + j] += half * d;
                    d_seen[b + rep + j] += half * d;
                }
                if seen[b + j] + seen[a + rep + j] > T::ZERO {
                    d_seen[b + j] -= half * d;
                    d_seen[a + rep + j] -= half * d;
                }
            }
        }
        self.embed.backward(params, x, &mut pass.tape, grads, None);
    }

    /// (p, q) of rows, (rows, 2 rep).
    pub(super) fn embed(&self, params: &[f32], x: &[f32]) -> Vec<f32> {
        let mut tape = Tape::default();
        self.embed.forward(params, x, &mut tape);
        tape.output().to_vec()
    }

    /// The mean of F(x, anchor) over the anchors, given by their (p, q), for each row of `x`.
    pub(super) fn mean_difference(
        &self,
        params: &[f32],
        x: &[f32],
        anchors: &[f32],
        out: &mut [f32],
    ) {
        let width = 2 * self.rep;
        let seen = self.embed(params, x);
        let mut sums = vec![0.0; seen.len() / 2];
        let share = width as f32 / anchors.len() as f32;
        for (row, sum) in seen.chunks_exact(width).zip(sums.chunks_exact_mut(self.rep)) {
            anchors.chunks_exact(width).for_each(|anchor| self.add_difference(row, anchor, sum));
            sum.iter_mut().for_each(|s| *s *= share);
        }
        self.read_out(params, &sums, out);
    }

    fn seen<'a, T>(&self, seen: &'a [T], row: usize) -> &'a [T] {
        &seen[2 * self.rep * row..][..2 * self.rep]
    }

    /// Adds s(a, b).
    fn add_difference<T: Real>(&self, a: &[T], b: &[T], sum: &mut [T]) {
        let ((pa, qa), (pb, qb)) = (a.split_at(self.rep), b.split_at(self.rep));
        let positive = |v: T| if v > T::ZERO { v } else { T::ZERO };
        let half = T::of(0.5);
        for (((s, &pa), &qa), (&pb, &qb)) in sum.iter_mut().zip(pa).zip(qa).zip(pb.iter().zip(qb)) {
            *s += half * (positive(pa + qb) - positive(pb + qa));
        }
    }

    fn read_out<T: Real>(&self, params: &[T], sums: &[T], out: &mut [T]) {
        let weight = View::new(&params[self.embed.end()..], self.outputs, self.rep);
        let sums = View::new(sums, sums.len() / self.rep, self.rep);
        product(sums, weight.t(), Accum::Replace, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};
    use crate::nn::weighted_squared_error;
    use bridged::Seed;

    const TWIN: (usize, usize, usize) = (3, 8, 2);

    /// Rows far enough apart for units to switch between them.
    fn rows(n: usize, seed: u64) -> Vec<f64> {
        random(3 * n, seed).iter().map(|v| 4.0 * v).collect()
    }

    fn step(item: usize, a: usize, b: usize) -> Step {
        Step { item, a, b }
    }

    fn output(params: &[f64], x: &[f64], steps: &[Step]) -> Vec<f64> {
        let mut pass = Pass::default();
        Twin::new(TWIN.0, TWIN.1, TWIN.2).forward(params, x, steps, &mut pass);
        pass.output
    }

    #[test]
    fn swapping_two_rows_changes_the_sign_and_a_row_does_not_differ_from_itself() {
        let params: Vec<f64> = Twin::new(TWIN.0, TWIN.1, TWIN.2).init(&mut Seed(1).rng());
        let x = rows(3, 2);
        let f = output(&params, &x, &[step(0, 0, 1), step(1, 1, 0), step(2, 2, 2)]);
        assert!(f[0] != 0.0 && f[0] == -f[2] && f[1] == -f[3] && f[4..] == [0.0, 0.0]);
        // Loops do not close by construction: that is left to learn.
        let open = output(&params, &x, &[step(0, 0, 1), step(0, 1, 2), step(0, 2, 0)]);
        assert!(open.iter().any(|v| v.abs() > 1e-4), "{open:?}");
    }

    #[test]
    fn gradients_of_differences_and_of_loops_agree_with_central_differences() {
        let twin = Twin::new(TWIN.0, TWIN.1, TWIN.2);
        let params: Vec<f64> = twin.init(&mut Seed(3).rng());
        let (x, mut target) = (rows(5, 4), random(6, 5));
        target[4..].fill(0.0);
        let pair = [step(0, 0, 1), step(1, 1, 0)];
        let a_loop = [step(2, 2, 3), step(2, 3, 4), step(2, 4, 2)];
        let steps = [&pair[..], &a_loop].concat();
        let weights = [0.5, 0.5, 0.7];
        let loss = |params: &[f64], pass: &mut Pass<f64>| {
            twin.forward(params, &x, &steps, pass);
            weighted_squared_error(&pass.output, &target, &weights, &mut pass.d_output)
        };
        let (mut pass, mut grads) = (Pass::default(), vec![0.0; params.len()]);
        loss(&params, &mut pass);
        twin.backward(&params, &x, &steps, &mut pass, &mut grads);
        assert!(grads.iter().filter(|&&g| g != 0.0).count() > grads.len() / 2);
        assert_gradient(&params, &grads, |p| loss(p, &mut Pass::default()));
    }
}
