//! Multi-head attention: softmax(Q Kᵀ / √d) V for every head. Vaswani et al. (2017).
//!
//! Queries, keys and values are the three thirds of each row of one buffer, as their fused layer leaves them, and heads
//! are strided views of it. Cost: 2 n² · width.

use super::Arena;
use super::norm::sum;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::simd::{Kernel, LANES, Lanes, dispatch};

/// The heads side by side, `out` (n, width), of `qkv` (n, 3 · width).
///
/// # Panics
/// If the lengths do not fit.
pub fn attention(qkv: &[f32], width: usize, heads: usize, out: &mut [f32], arena: &mut Arena) {
    let (n, d) = (out.len() / width.max(1), width / heads.max(1));
    assert_eq!(
        (out.len(), qkv.len(), width),
        (n * width, 3 * n * width, heads * d),
        "n rows of all heads"
    );
    if n == 0 {
        return;
    }
    let mut scores = arena.take(n * n);
    let mut mixed = arena.take(n * d);
    for head in 0..heads {
        let third = |t: usize| View::with_stride(&qkv[t * width + head * d..], n, d, 3 * width);
        product(third(0), third(1).t(), Accum::Replace, &mut scores);
        let scale = 1.0 / (d as f32).sqrt();
        scores.chunks_exact_mut(n).for_each(|row| dispatch(Softmax { row, scale }));
        product(View::new(&scores, n, n), third(2), Accum::Replace, &mut mixed);
        for (mixed, out) in mixed.chunks_exact(d).zip(out.chunks_exact_mut(width)) {
            out[head * d..(head + 1) * d].copy_from_slice(mixed);
        }
    }
    arena.give(scores);
    arena.give(mixed);
}

/// e^{scale · x − max}, divided by its sum.
struct Softmax<'a> {
    row: &'a mut [f32],
    scale: f32,
}

impl Kernel for Softmax<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let largest = self.row.iter().fold(f32::NEG_INFINITY, |m, &v| v.max(m));
        let (scale, shift) = (V::splat(self.scale), V::splat(-largest * self.scale));
        for part in self.row.chunks_mut(LANES) {
            V::load_part(part).mul_add(scale, shift).exp().store_part(part);
        }
        let total = 1.0 / sum(self.row, |v| v);
        self.row.iter_mut().for_each(|v| *v *= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_agrees_with_its_formula_in_double_precision() {
        let (n, width, heads) = (13, 12, 3);
        let d = width / heads;
        let qkv: Vec<f32> =
            (0..n * 3 * width).map(|i| ((i * i) % 31) as f32 / 10.0 - 1.5).collect();
        let mut out = vec![0.0; n * width];
        attention(&qkv, width, heads, &mut out, &mut Arena::default());
        let at = |t: usize, i: usize, h: usize, j: usize| {
            f64::from(qkv[i * 3 * width + t * width + h * d + j])
        };
        for (i, h) in (0..n).flat_map(|i| (0..heads).map(move |h| (i, h))) {
            let score = |k: usize| (0..d).map(|j| at(0, i, h, j) * at(1, k, h, j)).sum::<f64>();
            let weight: Vec<f64> = (0..n).map(|k| (score(k) / (d as f64).sqrt()).exp()).collect();
            let total: f64 = weight.iter().sum();
            for j in 0..d {
                let exact = (0..n).map(|k| weight[k] * at(2, k, h, j)).sum::<f64>() / total;
                let got = f64::from(out[i * width + h * d + j]);
                assert!((got - exact).abs() < 2e-6, "{got} {exact}");
            }
        }
    }

    #[test]
    fn large_scores_do_not_overflow() {
        let mut out = vec![0.0; 4];
        attention(
            &[1e4, 1e4, 1.0, -1e4, 1e4, 2.0].repeat(2),
            2,
            1,
            &mut out,
            &mut Arena::default(),
        );
        assert!(out.iter().all(|v| v.is_finite()), "{out:?}");
    }
}
