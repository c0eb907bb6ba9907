//! A dense layer, y = f(x W + b + r), by a product whose weights were packed once.
//!
//! W is kept in panels of 16 columns (a last one of 8 where that is enough), k after k, as the product reads them. A
//! tile of 6 rows × 16 columns is summed over all of k in twelve registers; bias, the shortcut r and the activation f
//! are applied before it is stored. Rows go in blocks that stay in the second-level cache while every panel passes.
//! Each number is one chain of multiply-adds over k in order, whatever its row's place: a row's result never depends on
//! how many rows there are. Cost: m n k.
//!
//! Goto, van de Geijn: *Anatomy of High-Performance Matrix Multiplication* (2008).

use super::simd::{Kernel, LANES, Lanes, dispatch};

/// What follows a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// max(x, 0).
    Relu,
    /// min(max(x, 0), 6).
    Relu6,
    /// x σ(x).
    Silu,
    /// σ(x).
    Sigmoid,
    /// x Φ(x), with the error function itself.
    Gelu,
}

impl Activation {
    /// f of eight numbers.
    #[inline(always)]
    pub fn apply<V: Lanes>(self, x: V) -> V {
        match self {
            Self::Identity => x,
            Self::Relu => x.max(V::splat(0.0)),
            Self::Relu6 => x.max(V::splat(0.0)).min(V::splat(6.0)),
            Self::Silu => x.mul(x.sigmoid()),
            Self::Sigmoid => x.sigmoid(),
            Self::Gelu => {
                let erf = x.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2)).erf();
                x.mul(V::splat(0.5)).mul(erf.add(V::splat(1.0)))
            }
        }
    }
}

/// Columns of a full panel.
const PANEL: usize = 2 * LANES;
/// Rows of a tile.
const TILE: usize = 6;
/// Numbers of x that a block of rows should have: 128 KB. At least 96 rows share what reading the weights costs.
const BLOCK: usize = 32 * 1024;

/// Weights and bias of a dense layer.
#[derive(Clone, Debug)]
pub struct Dense {
    inputs: usize,
    outputs: usize,
    panels: Vec<f32>,
    bias: Vec<f32>,
}

impl Dense {
    /// Packs `weight` (outputs, inputs), as checkpoints hold it, and `bias` (outputs).
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn new(weight: &[f32], bias: &[f32], inputs: usize) -> Self {
        let outputs = bias.len();
        assert_eq!(weight.len(), outputs * inputs, "a weight for every input and output");
        let padded = outputs.next_multiple_of(LANES);
        let mut panels = Vec::with_capacity(padded * inputs);
        for start in (0..padded).step_by(PANEL) {
            for k in 0..inputs {
                let columns = start..(start + PANEL).min(padded);
                panels.extend(
                    columns.map(|o| if o < outputs { weight[o * inputs + k] } else { 0.0 }),
                );
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(padded, 0.0);
        Self { inputs, outputs, panels, bias }
    }

    /// Numbers of a row of x.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers of a row of y.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Rows of x that stay in cache while all weights pass.
    pub fn block(&self) -> usize {
        (BLOCK / self.inputs.max(1) / TILE).clamp(16, 400) * TILE
    }

    /// y = f(x W + b), or f(x W + b + r) with a shortcut r (m, outputs), of x (m, inputs).
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn forward(&self, x: &[f32], shortcut: Option<&[f32]>, f: Activation, y: &mut [f32]) {
        let rows = y.len() / self.outputs.max(1);
        assert_eq!(y.len(), rows * self.outputs, "whole rows come out");
        assert_eq!(x.len(), rows * self.inputs, "a row in for each row out");
        assert!(
            shortcut.is_none_or(|r| r.len() == y.len()),
            "a shortcut is as large as the output"
        );
        dispatch(Forward { dense: self, x, shortcut, f, y, rows });
    }
}

struct Forward<'a> {
    dense: &'a Dense,
    x: &'a [f32],
    shortcut: Option<&'a [f32]>,
    f: Activation,
    y: &'a mut [f32],
    rows: usize,
}

impl Kernel for Forward<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(mut self) {
        let (block, padded) = (self.dense.block(), self.dense.bias.len());
        for start in (0..self.rows).step_by(block) {
            let end = (start + block).min(self.rows);
            for column in (0..padded).step_by(PANEL) {
                let wide = column + PANEL <= padded;
                let mut row = start;
                while row < end {
                    row += match (end - row, wide) {
                        (TILE.., true) => self.tile::<V, TILE, 2>(row, column),
                        (4.., true) => self.tile::<V, 4, 2>(row, column),
                        (2.., true) => self.tile::<V, 2, 2>(row, column),
                        (_, true) => self.tile::<V, 1, 2>(row, column),
                        (TILE.., false) => self.tile::<V, TILE, 1>(row, column),
                        (4.., false) => self.tile::<V, 4, 1>(row, column),
                        (2.., false) => self.tile::<V, 2, 1>(row, column),
                        (_, false) => self.tile::<V, 1, 1>(row, column),
                    };
                }
            }
        }
    }
}

impl Forward<'_> {
    /// R rows × W vectors of y; returns R.
    #[inline(always)]
    fn tile<V: Lanes, const R: usize, const W: usize>(
        &mut self,
        row: usize,
        column: usize,
    ) -> usize {
        let (inputs, outputs) = (self.dense.inputs, self.dense.outputs);
        let x = &self.x[row * inputs..(row + R) * inputs];
        let panel = &self.dense.panels[column * inputs..(column + W * LANES) * inputs];
        let mut sums = [[V::splat(0.0); W]; R];
        for k in 0..inputs {
            let mut weights = [V::splat(0.0); W];
            for w in 0..W {
                // SAFETY: `panel` holds `inputs` steps of W vectors, and k < inputs.
                weights[w] = unsafe { V::load(panel.as_ptr().add((k * W + w) * LANES)) };
            }
            for r in 0..R {
                // SAFETY: `x` holds R rows of `inputs` numbers.
                let x = V::splat(unsafe { *x.get_unchecked(r * inputs + k) });
                for w in 0..W {
                    sums[r][w] = x.mul_add(weights[w], sums[r][w]);
                }
            }
        }
        for r in 0..R {
            for w in 0..W {
                let first = column + w * LANES;
                let at = (row + r) * outputs + first;
                let part = at..at + LANES.min(outputs - first);
                let mut sum = sums[r][w].add(V::load_part(&self.dense.bias[first..first + LANES]));
                if let Some(shortcut) = self.shortcut {
                    sum = sum.add(V::load_part(&shortcut[part.clone()]));
                }
                self.f.apply(sum).store_part(&mut self.y[part]);
            }
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(len: usize, seed: u64) -> Vec<f32> {
        let next = |s: &mut u64| {
            *s = s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((*s >> 40) as f32 / (1 << 23) as f32 - 1.0)
        };
        let mut state = seed;
        std::iter::from_fn(|| next(&mut state)).take(len).collect()
    }

    fn exact(f: Activation, x: f64) -> f64 {
        match f {
            Activation::Identity => x,
            Activation::Relu => x.max(0.0),
            Activation::Relu6 => x.clamp(0.0, 6.0),
            Activation::Silu => x / (1.0 + (-x).exp()),
            Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Activation::Gelu => unreachable!("its error function has its own test"),
        }
    }

    proptest! {
        #[test]
        fn a_dense_layer_agrees_with_plain_loops_in_double_precision(
            rows in 1usize..20, inputs in 1usize..40, outputs in 1usize..50, f in 0usize..5, with in any::<bool>(),
        ) {
            use Activation::*;
            let f = [Identity, Relu, Relu6, Silu, Sigmoid][f];
            let (x, w) = (numbers(rows * inputs, 1), numbers(outputs * inputs, 2));
            let (b, r) = (numbers(outputs, 3), numbers(rows * outputs, 4));
            let mut y = vec![f32::NAN; rows * outputs];
            Dense::new(&w, &b, inputs).forward(&x, with.then_some(&r), f, &mut y);
            for (at, y) in y.iter().enumerate() {
                let (i, o) = (at / outputs, at % outputs);
                let sum: f64 = (0..inputs)
                    .map(|k| f64::from(x[i * inputs + k]) * f64::from(w[o * inputs + k]))
                    .sum();
                let r = if with { f64::from(r[at]) } else { 0.0 };
                let exact = exact(f, sum + f64::from(b[o]) + r);
                prop_assert!((f64::from(*y) - exact).abs() < 1e-5, "{y} {exact}");
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        let (rows, inputs, outputs) = (1001, 37, 41);
        let (x, w, b) =
            (numbers(rows * inputs, 5), numbers(outputs * inputs, 6), numbers(outputs, 7));
        let dense = Dense::new(&w, &b, inputs);
        let mut all = vec![0.0; rows * outputs];
        dense.forward(&x, None, Activation::Silu, &mut all);
        for row in [0, 5, 6, 990, 996, 999, 1000] {
            let mut one = vec![0.0; outputs];
            dense.forward(&x[row * inputs..][..inputs], None, Activation::Silu, &mut one);
            assert_eq!(one, all[row * outputs..][..outputs], "row {row}");
        }
    }

    #[test]
    fn gelu_is_the_exact_one() {
        let mut y = [0.0; 3];
        let dense = Dense::new(&[1.0], &[0.0], 1);
        dense.forward(&[-1.0, 0.5, 3.0], None, Activation::Gelu, &mut y);
        for (y, exact) in y.iter().zip([-0.158_655_26, 0.345_731_23, 2.995_950_3]) {
            assert!((y - exact).abs() < 1e-6f32, "{y} {exact}");
        }
    }
}
