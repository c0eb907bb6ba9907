//! The two layers, the part of the graph that their loss sees, and its gradient.

use crate::nn::{Mlp, Real, Sparse, Tape, squared_error};
use bridged::Matrix;
use bridged::Rng;

/// The two layers; their parameters follow one another in one vector.
pub(super) struct Network {
    pub(super) first: Mlp,
    pub(super) second: Mlp,
}

/// What the loss depends on: `near` are the rows of ÂX that reach a paired node, `reach` the rows of
/// Â of the paired nodes, over those.
pub(super) struct Labelled<T> {
    near: Vec<T>,
    pub(super) reach: Sparse<T>,
    target: Vec<T>,
}

impl Labelled<f32> {
    /// Cuts ÂX and Â down to what reaches the nodes `at`.
    pub(super) fn cut(adjacency: &Sparse, smooth: &Matrix, at: &[usize], target: Vec<f32>) -> Self {
        let mut near: Vec<usize> =
            at.iter().flat_map(|&i| adjacency.row(i).map(|(j, _)| j)).collect();
        near.sort_unstable();
        near.dedup();
        let place = |j: usize| near.binary_search(&j).expect("every neighbour was listed");
        let rows = at.iter().map(|&i| adjacency.row(i).map(|(j, w)| (place(j), w)));
        let reach = Sparse::from_rows(rows, near.len());
        Self { near: smooth.view().select(near.iter().copied()).into_data(), reach, target }
    }
}

/// What a pass remembers.
#[derive(Default)]
pub(super) struct Pass<T> {
    pub(super) first: Tape<T>,
    second: Tape<T>,
    joined: Vec<T>,
    d_joined: Vec<T>,
}

impl Network {
    pub(super) fn new(inputs: usize, hidden: usize, outputs: usize) -> Self {
        let first = Mlp::new(&[inputs, hidden]).activate_last();
        let second = Mlp::new(&[hidden, outputs]).at(first.end());
        Self { first, second }
    }

    pub(super) fn init<T: Real>(&self, rng: &mut Rng) -> Vec<T> {
        let mut params = vec![T::ZERO; self.second.end()];
        self.first.init_into(&mut params, rng);
        self.second.init_into(&mut params, rng);
        params
    }

    /// The loss with the masks of the pass; adds its gradient to `grads`.
    pub(super) fn loss<T: Real>(
        &self,
        params: &[T],
        data: &Labelled<T>,
        pass: &mut Pass<T>,
        grads: &mut [T],
    ) -> f64 {
        let hidden = self.first.outputs();
        let Pass { first, second, joined, d_joined } = pass;
        joined.resize(data.reach.rows() * hidden, T::ZERO);
        d_joined.resize(joined.len(), T::ZERO);
        self.first.forward(params, &data.near, first);
        data.reach.apply(hidden, first.output(), joined);
        self.second.forward(params, joined, second);
        let (output, d_output) = second.output_and_gradient();
        let loss = squared_error(output, &data.target, d_output);
        self.second.backward(params, joined, second, grads, Some(d_joined));
        data.reach.apply_transposed(hidden, d_joined, first.output_and_gradient().1);
        self.first.backward(params, &data.near, first, grads, None);
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Sharing;
    use crate::nn::testing::{assert_gradient, random};
    use bridged::Seed;

    #[test]
    fn gradients_agree_with_central_differences() {
        let network = Network::new(3, 5, 2);
        let params: Vec<f64> = network.init(&mut Seed(1).rng());
        let rows = [vec![(0, 0.5), (1, 0.3)], vec![(1, 0.2), (2, 0.7), (3, 0.1)]];
        let data = Labelled {
            near: random(12, 2),
            reach: Sparse::from_rows(rows, 4),
            target: random(4, 3),
        };
        for dropout in [0.0, 0.3] {
            let mut pass = Pass::default();
            let masks = (dropout, Sharing::EachRow);
            network.first.draw_masks(masks, 4, &mut pass.first, &mut Seed(4).rng());
            let masks = pass.first.masks.clone();
            let mut grads = vec![0.0; params.len()];
            network.loss(&params, &data, &mut pass, &mut grads);
            assert_gradient(&params, &grads, |p| {
                let mut pass = Pass::default();
                pass.first.masks = masks.clone();
                network.loss(p, &data, &mut pass, &mut vec![0.0; p.len()])
            });
        }
    }
}
