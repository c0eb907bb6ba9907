//! Layer norm: γ (x − mean) / √(variance + ε) + β over the numbers of a row. Ba, Kiros, Hinton (2016).

use bridged_math::simd::LANES;

/// Its parameters.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// γ.
    pub weight: Vec<f32>,
    /// β.
    pub bias: Vec<f32>,
    /// ε.
    pub eps: f32,
}

impl LayerNorm {
    /// Normalises every row of x (rows, width) into y.
    pub fn forward(&self, x: &[f32], y: &mut [f32]) {
        let width = self.weight.len().max(1);
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            let mean = sum(x, |v| v) / width as f32;
            let variance = sum(x, |v| (v - mean) * (v - mean)) / width as f32;
            let scale = 1.0 / (variance + self.eps).sqrt();
            for i in 0..width {
                y[i] = (x[i] - mean) * scale * self.weight[i] + self.bias[i];
            }
        }
    }
}

/// Σ f(x), in eight sums at a time.
pub fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    for part in whole {
        sums.iter_mut().zip(part).for_each(|(s, &v)| *s += f(v));
    }
    sums.iter().sum::<f32>() + rest.iter().map(|&v| f(v)).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_mean_and_the_deviation_that_were_asked_for() {
        let width = 37;
        let norm = LayerNorm { weight: vec![2.0; width], bias: vec![5.0; width], eps: 1e-12 };
        let x: Vec<f32> = (0..2 * width).map(|i| ((i * i) % 41) as f32 * 1e3).collect();
        let mut y = vec![0.0; x.len()];
        norm.forward(&x, &mut y);
        for row in y.chunks(width) {
            let mean = sum(row, |v| v) / width as f32;
            let variance = sum(row, |v| (v - mean) * (v - mean)) / width as f32;
            assert!(
                (mean - 5.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4,
                "{mean} {variance}"
            );
        }
    }

    #[test]
    fn a_constant_row_gives_the_bias() {
        let norm = LayerNorm { weight: vec![1.0; 5], bias: vec![0.5; 5], eps: 1e-6 };
        let mut y = vec![0.0; 5];
        norm.forward(&[3.0; 5], &mut y);
        assert_eq!(y, [0.5; 5]);
    }
}
