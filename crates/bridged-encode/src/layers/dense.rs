//! A dense layer, y = f(x W + b + r), by a product whose weights were packed once.
//!
//! The product is that of [`Panels`], which k-means uses too; bias, the shortcut r and the activation f are applied
//! while a tile of it is in the cache. Each sum is one chain of multiply-adds over the inputs in order, whatever its
//! row's place: a row's result never depends on how many rows there are. Cost: m n k.

use bridged_math::MatrixRef;
use bridged_math::simd::{Epilogue, LANES, Lanes, Panels, Tail};

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

/// Numbers of x that a block of rows should have: 128 KB. At least 96 rows share what reading the weights costs.
const BLOCK: usize = 32 * 1024;
/// Rows of a block are a multiple of this: whole tiles of the product.
const TILE: usize = 6;

/// Weights and bias of a dense layer.
#[derive(Clone, Debug)]
pub struct Dense {
    weights: Panels,
    bias: Vec<f32>,
}

impl Dense {
    /// Packs `weight` (outputs, inputs), as checkpoints hold it, and `bias` (outputs).
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn new(weight: &[f32], bias: &[f32], inputs: usize) -> Self {
        let rows = MatrixRef::new(bias.len(), inputs, weight)
            .expect("a weight for every input and output");
        Self { weights: Panels::of_rows(rows, Tail::InOrder), bias: bias.to_vec() }
    }

    /// Numbers of a row of x.
    pub fn inputs(&self) -> usize {
        self.weights.depth()
    }

    /// Numbers of a row of y.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Rows of x that stay in cache while all weights pass.
    pub fn block(&self) -> usize {
        (BLOCK / self.inputs().max(1) / TILE).clamp(16, 400) * TILE
    }

    /// y = f(x W + b), or f(x W + b + r) with a shortcut r (m, outputs), of x (m, inputs).
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn forward(&self, x: &[f32], shortcut: Option<&[f32]>, f: Activation, y: &mut [f32]) {
        assert!(
            shortcut.is_none_or(|r| r.len() == y.len()),
            "a shortcut is as large as the output"
        );
        self.weights.product_then(x, &self.bias, &Finish { shortcut, f }, y);
    }
}

/// What a layer does with its sums.
struct Finish<'a> {
    shortcut: Option<&'a [f32]>,
    f: Activation,
}

impl Epilogue for Finish<'_> {
    #[inline(always)]
    fn finish<V: Lanes>(&self, position: usize, sums: &mut [f32]) {
        let mut at = position;
        for part in sums.chunks_mut(LANES) {
            let mut sum = V::load_part(part);
            if let Some(shortcut) = self.shortcut {
                sum = sum.add(V::load_part(&shortcut[at..at + part.len()]));
            }
            self.f.apply(sum).store_part(part);
            at += LANES;
        }
    }

    fn is_nothing(&self) -> bool {
        self.shortcut.is_none() && self.f == Activation::Identity
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
