//! A stack of dense layers with ReLU and dropout between them, and the tape of a pass through it.

use super::activation::{Mask, Sharing, relu, relu_backward};
use super::bands::in_bands;
use super::{Linear, Real};
use bridged::Rng;
use bridged::{Matrix, MatrixRef};

/// The shape of a network: dense → ReLU → dropout → … → dense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlp {
    layers: Vec<Linear>,
    /// The first layers, this many, are followed by ReLU and dropout.
    activated: usize,
}

/// What one pass remembers: masks, activations, and the gradients on the way back. Its memory is
/// kept from pass to pass.
#[derive(Clone, Debug, Default)]
pub struct Tape<T = f32> {
    /// The dropout after each activation; none are dropped where there is no mask.
    pub masks: Vec<Mask<T>>,
    activations: Vec<Vec<T>>,
    gradients: Vec<Vec<T>>,
}

impl<T: Real> Tape<T> {
    /// The output of the pass, (rows, outputs).
    pub fn output(&self) -> &[T] {
        self.activations.last().expect("a pass went forward")
    }

    /// The output, and the place for the gradient of the loss by it, which [`Mlp::backward`] reads.
    pub fn output_and_gradient(&mut self) -> (&[T], &mut [T]) {
        let output = self.activations.last().expect("a pass went forward");
        (output, self.gradients.last_mut().expect("a pass went forward"))
    }

    /// Drops nothing from here on: passes that evaluate.
    pub fn keep_all(&mut self) {
        self.masks.fill(Mask::Keep);
    }
}

impl Mlp {
    /// Layers between these widths: `[inputs, hidden, …, outputs]`. The last one is linear.
    ///
    /// # Panics
    /// If there are fewer than two widths.
    pub fn new(widths: &[usize]) -> Self {
        assert!(widths.len() >= 2, "a network has inputs and outputs");
        let mut at = 0;
        let layers: Vec<Linear> = widths
            .windows(2)
            .map(|w| {
                let layer = Linear { inputs: w[0], outputs: w[1], at };
                at = layer.end();
                layer
            })
            .collect();
        Self { activated: layers.len() - 1, layers }
    }

    /// The last layer is followed by ReLU and dropout too: a trunk that heads sit on.
    pub fn activate_last(mut self) -> Self {
        self.activated = self.layers.len();
        self
    }

    /// The same shape with its parameters from `start` on: behind another's, in one vector.
    pub fn at(mut self, start: usize) -> Self {
        let first = self.layers[0].at;
        self.layers.iter_mut().for_each(|l| l.at = l.at - first + start);
        self
    }

    /// One past the last parameter.
    pub fn end(&self) -> usize {
        self.layers[self.layers.len() - 1].end()
    }

    /// Columns that come in.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Columns that go out.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// New parameters up to [`Mlp::end`], those of the layers drawn as PyTorch does.
    pub fn init<T: Real>(&self, rng: &mut Rng) -> Vec<T> {
        let mut params = vec![T::ZERO; self.end()];
        self.init_into(&mut params, rng);
        params
    }

    /// Draws the parameters of its layers, and leaves all others alone.
    pub fn init_into<T: Real>(&self, params: &mut [T], rng: &mut Rng) {
        self.layers.iter().for_each(|l| l.init(params, rng));
    }

    /// Draws what the next passes of this tape drop: each activated unit with probability `p`.
    pub fn draw_masks<T: Real>(
        &self,
        (p, sharing): (f64, Sharing),
        rows: usize,
        tape: &mut Tape<T>,
        rng: &mut Rng,
    ) {
        tape.masks.resize(self.activated, Mask::Keep);
        for (mask, layer) in tape.masks.iter_mut().zip(&self.layers) {
            mask.draw(p, sharing, (rows, layer.outputs), rng);
        }
    }

    /// Takes `x` (rows, inputs) to [`Tape::output`], with the masks of the tape.
    pub fn forward<T: Real>(&self, params: &[T], x: &[T], tape: &mut Tape<T>) {
        debug_assert!(x.len().is_multiple_of(self.inputs()), "whole rows");
        let rows = x.len() / self.inputs();
        tape.masks.resize(self.activated, Mask::Keep);
        tape.activations.resize(self.layers.len(), Vec::new());
        tape.gradients.resize(self.layers.len(), Vec::new());
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, rest) = tape.activations.split_at_mut(l);
            let (input, out) = (before.last().map_or(x, |a| a), &mut rest[0]);
            out.resize(rows * layer.outputs, T::ZERO);
            tape.gradients[l].resize(rows * layer.outputs, T::ZERO);
            layer.forward(params, input, out);
            if l < self.activated {
                relu(out);
                tape.masks[l].apply(layer.outputs, out);
            }
        }
    }

    /// Takes the gradient by the output, left in the tape, back through the pass of that tape with
    /// `x`: adds those of the parameters to `grads`, writes that of `x` to `dx` where it is wanted.
    pub fn backward<T: Real>(
        &self,
        params: &[T],
        x: &[T],
        tape: &mut Tape<T>,
        grads: &mut [T],
        mut dx: Option<&mut [T]>,
    ) {
        let Tape { masks, activations, gradients } = tape;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let (before, rest) = gradients.split_at_mut(l);
            let d_out = &mut rest[0];
            if l < self.activated {
                masks[l].apply(layer.outputs, d_out);
                relu_backward(&activations[l], d_out);
            }
            let (input, d_input) = match before.last_mut() {
                Some(d) => (&activations[l - 1][..], Some(&mut d[..])),
                None => (x, dx.take()),
            };
            layer.backward(params, input, d_out, grads, d_input);
        }
    }

    /// The output for rows to predict, nothing dropped, in parallel; the bits of a row do not
    /// depend on the rows beside it.
    pub fn predict(&self, params: &[f32], rows: MatrixRef<'_>) -> Matrix {
        in_bands(rows, self.outputs(), |band, out| {
            let mut tape = Tape::default();
            self.forward(params, band, &mut tape);
            out.copy_from_slice(tape.output());
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_gradient, random};
    use super::*;
    use bridged::Seed;

    fn weighted_sum(net: &Mlp, params: &[f64], x: &[f64], masks: &[Mask<f64>], c: &[f64]) -> f64 {
        let mut tape = Tape { masks: masks.to_vec(), ..Tape::default() };
        net.forward(params, x, &mut tape);
        tape.output().iter().zip(c).map(|(o, c)| o * c).sum()
    }

    #[test]
    fn gradients_agree_with_central_differences_with_and_without_dropout() {
        let shapes = [Mlp::new(&[3, 6, 5, 2]), Mlp::new(&[3, 6, 2]).activate_last()];
        for (net, sharing) in shapes.iter().zip([Sharing::EachRow, Sharing::AllRows]) {
            for p in [0.0, 0.4] {
                let net = net.clone().at(7);
                let mut rng = Seed(1).rng();
                let params: Vec<f64> = net.init(&mut rng);
                let (x, c) = (random(12, 2), random(8, 3));
                let mut tape = Tape::default();
                net.draw_masks((p, sharing), 4, &mut tape, &mut rng);
                net.forward(&params, &x, &mut tape);
                tape.output_and_gradient().1.copy_from_slice(&c);
                let (mut grads, mut dx) = (vec![0.0; params.len()], vec![0.0; 12]);
                net.backward(&params, &x, &mut tape, &mut grads, Some(&mut dx));
                assert!(grads[..7].iter().all(|&g| g == 0.0));
                assert!(grads.iter().any(|&g| g != 0.0));
                let masks = &tape.masks;
                assert_gradient(&params, &grads, |p| weighted_sum(&net, p, &x, masks, &c));
                assert_gradient(&x, &dx, |x| weighted_sum(&net, &params, x, masks, &c));
            }
        }
    }

    #[test]
    fn a_trunk_and_two_heads_share_one_vector() {
        let trunk = Mlp::new(&[3, 5]).activate_last();
        let (mean, spread) = (Mlp::new(&[5, 2]).at(trunk.end()), Mlp::new(&[5, 2]));
        let spread = spread.at(mean.end());
        let mut params = vec![0.0f64; spread.end()];
        let mut rng = Seed(5).rng();
        [&trunk, &mean, &spread].iter().for_each(|part| part.init_into(&mut params, &mut rng));
        let (x, c) = (random(9, 6), random(6, 7));
        // Σ c ∘ (mean + 2 spread)
        let f = |params: &[f64]| {
            let mut tapes: [Tape<f64>; 3] = Default::default();
            trunk.forward(params, &x, &mut tapes[0]);
            let hidden = tapes[0].output().to_vec();
            mean.forward(params, &hidden, &mut tapes[1]);
            spread.forward(params, &hidden, &mut tapes[2]);
            let sums = tapes[1].output().iter().zip(tapes[2].output()).zip(&c);
            (sums.map(|((m, s), c)| c * (m + 2.0 * s)).sum::<f64>(), tapes)
        };
        let (_, [mut base, mut one, mut two]) = f(&params);
        let mut grads = vec![0.0; params.len()];
        let hidden = base.output().to_vec();
        let mut from = [vec![0.0; 15], vec![0.0; 15]];
        one.output_and_gradient().1.copy_from_slice(&c);
        two.output_and_gradient().1.iter_mut().zip(&c).for_each(|(d, c)| *d = 2.0 * c);
        mean.backward(&params, &hidden, &mut one, &mut grads, Some(&mut from[0]));
        spread.backward(&params, &hidden, &mut two, &mut grads, Some(&mut from[1]));
        let d_hidden = base.output_and_gradient().1;
        d_hidden.iter_mut().zip(from[0].iter().zip(&from[1])).for_each(|(d, (a, b))| *d = a + b);
        trunk.backward(&params, &x, &mut base, &mut grads, None);
        assert_gradient(&params, &grads, |p| f(p).0);
    }

    #[test]
    fn the_bits_of_a_prediction_do_not_depend_on_the_rows_beside_it() {
        let net = Mlp::new(&[37, 50, 19]);
        let params: Vec<f32> = net.init(&mut Seed(8).rng());
        let x = Matrix::new(150, 37, random(150 * 37, 9).iter().map(|&v| v as f32).collect());
        let x = x.unwrap();
        let all = net.predict(&params, x.view());
        for i in [0, 63, 64, 149] {
            let alone = net.predict(&params, x.view().slice(i..i + 1));
            assert_eq!(alone.data(), all.row(i), "{i}");
        }
        let reversed = x.view().select((0..150).rev());
        let reversed = net.predict(&params, reversed.view());
        assert!((0..150).all(|i| reversed.row(149 - i) == all.row(i)));
        assert_eq!(net.predict(&params, x.view().slice(0..0)).rows(), 0);
    }
}
