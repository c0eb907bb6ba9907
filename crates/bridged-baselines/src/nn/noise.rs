//! Gaussian noise at the speed of a copy.
//!
//! Normal deviates are drawn once into a table; each row then adds a run of it that begins at a
//! random place (the noise table of Salimans et al. 2017). A deviate costs one addition instead of a
//! logarithm; rows whose runs overlap share some of them, shifted.

use bridged::Rng;
use bridged::Seed;
use rand::RngExt;

/// A table of standard normal deviates.
#[derive(Clone, Debug)]
pub struct Noise {
    table: Vec<f32>,
}

/// Deviates of a table; more where rows are long.
const TABLE: usize = 1 << 16;

impl Noise {
    /// A table for rows of `cols` columns.
    pub fn new(cols: usize, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let mut table = Vec::with_capacity(TABLE.max(4 * cols) + 1);
        while table.len() < TABLE.max(4 * cols) {
            // Marsaglia's polar method.
            let (u, v) = (2.0 * rng.random::<f64>() - 1.0, 2.0 * rng.random::<f64>() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let factor = (-2.0 * s.ln() / s).sqrt();
                table.extend([(u * factor) as f32, (v * factor) as f32]);
            }
        }
        Self { table }
    }

    /// Adds σ times fresh noise to rows of `cols` columns.
    pub fn add(&self, sigma: f32, cols: usize, rows: &mut [f32], rng: &mut Rng) {
        for row in rows.chunks_exact_mut(cols) {
            let start = rng.random_range(0..=self.table.len() - cols);
            row.iter_mut().zip(&self.table[start..]).for_each(|(v, z)| *v += sigma * z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_mean_zero_and_the_given_deviation_and_differs_by_row() {
        let noise = Noise::new(100, Seed(1));
        let mut rows = vec![5.0f32; 50_000];
        noise.add(2.0, 100, &mut rows, &mut Seed(2).rng());
        let off: Vec<f64> = rows.iter().map(|v| (f64::from(*v) - 5.0) / 2.0).collect();
        let moment = |p: i32| off.iter().map(|z| z.powi(p)).sum::<f64>() / 50_000.0;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.02);
        assert!((moment(4) - 3.0).abs() < 0.15);
        assert_ne!(rows[..100], rows[100..200]);
    }
}
