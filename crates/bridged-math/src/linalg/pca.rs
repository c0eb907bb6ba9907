//! Principal components: the orthogonal directions along which rows vary most.
//!
//! ```text
//! C = Σ (x − m)(x − m)ᵀ / (n − 1) = Σ_j λ_j v_j v_jᵀ,   λ_1 ≥ λ_2 ≥ …
//! ```
//!
//! Exact and without randomness: from the covariance C when d ≤ n, O(n d² + d³); otherwise from the
//! Gram matrix G = X̃ X̃ᵀ, whose eigenvectors u give v = X̃ᵀ u / ‖X̃ᵀ u‖, O(n² d + n³).

use super::{Accum, View, fix_sign, par_product, product, scatter, symmetric_eigen};
use crate::matrix::{Matrix, MatrixRef};

/// The principal components of a set of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// The mean row, (d).
    pub mean: Vec<f64>,
    /// Unit directions by falling variance, one a row, (components, d); the loading of largest
    /// magnitude is positive.
    pub components: Matrix,
    /// The variance along each, with divisor n − 1.
    pub explained_variance: Vec<f64>,
}

/// The first `components` principal components of `x`, or d of them if that is fewer.
///
/// Directions along which the rows do not vary at all are completed to an orthonormal set, so that
/// there are always as many as were asked for.
pub fn pca(x: MatrixRef<'_>, components: usize) -> Pca {
    let (n, d) = (x.rows(), x.cols());
    let count = components.min(d);
    let mean = x.mean_row();
    let divisor = n.saturating_sub(1).max(1) as f64;
    let (values, mut vectors) =
        if d <= n { from_covariance(x, &mean, count) } else { from_gram(x, &mean, count) };
    complete(&mut vectors, count, d);
    vectors.chunks_exact_mut(d.max(1)).for_each(fix_sign);
    let mut explained_variance: Vec<f64> = values.iter().map(|v| v.max(0.0) / divisor).collect();
    explained_variance.resize(count, 0.0);
    let components = Matrix::from_fn(count, d, |j, c| vectors[j * d + c] as f32);
    Pca { mean, components, explained_variance }
}

/// The bytes that [`pca`] takes at most beside the rows, for rows and columns of these numbers.
pub fn pca_memory(rows: usize, cols: usize) -> f64 {
    let (n, d) = (rows as f64, cols as f64);
    let small = n.min(d);
    // The Gram matrix or the covariance, a copy, its eigenvectors and their workspace; then either
    // the centred rows or the partial sums of the covariance; then the components.
    let matrices = 8.0 * 5.0 * small * small;
    let rows = if d <= n { 1.3e8f64.min(16.0 * 8.0 * d * d) } else { 8.0 * n * d };
    matrices + rows + 12.0 * small * d
}

/// The largest eigenpairs of the scatter matrix, descending.
fn from_covariance(x: MatrixRef<'_>, mean: &[f64], count: usize) -> (Vec<f64>, Vec<f64>) {
    let d = x.cols();
    let eigen = symmetric_eigen(&scatter(x, mean, None), d);
    let values = eigen.values.iter().rev().take(count).copied().collect();
    let vectors = eigen.vectors.chunks_exact(d.max(1)).rev().take(count).flatten().copied();
    (values, vectors.collect())
}

/// The same from the Gram matrix; only directions of positive variance.
fn from_gram(x: MatrixRef<'_>, mean: &[f64], count: usize) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = (x.rows(), x.cols());
    let centred: Vec<f64> =
        x.iter_rows().flat_map(|r| r.iter().zip(mean).map(|(&v, m)| f64::from(v) - m)).collect();
    let centred = View::new(&centred, n, d);
    let mut gram = vec![0.0; n * n];
    par_product(centred, centred.t(), Accum::Replace, &mut gram);
    let eigen = symmetric_eigen(&gram, n);
    // Below this, a direction is rounding: dividing by its length would make it look real.
    let least = eigen.values.last().map_or(0.0, |v| v * 1e-12 * n as f64);
    let kept = eigen.values.iter().rev().take(count).take_while(|&&v| v > least).count();
    let top: Vec<f64> =
        eigen.vectors.chunks_exact(n.max(1)).rev().take(kept).flatten().copied().collect();
    let mut vectors = vec![0.0; kept * d];
    product(View::new(&top, kept, n), centred, Accum::Replace, &mut vectors);
    vectors.chunks_exact_mut(d.max(1)).for_each(|v| {
        normalise(v);
    });
    (eigen.values.iter().rev().take(kept).copied().collect(), vectors)
}

/// Adds unit directions that are orthogonal to all others, by Gram–Schmidt on the axes.
fn complete(vectors: &mut Vec<f64>, count: usize, d: usize) {
    let mut axis = 0;
    while vectors.len() < count * d {
        let mut v = vec![0.0; d];
        v[axis] = 1.0;
        axis += 1;
        for _ in 0..2 {
            for other in vectors.chunks_exact(d) {
                let dot: f64 = v.iter().zip(other).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
            // If every axis were rejected, all d would lie within 1e-3/d of the span, which would
            // then be the whole space: the axes never run out.
            if normalise(&mut v) < 1e-3 / d as f64 {
                v.clear();
                break;
            }
        }
        vectors.extend(v);
    }
}

fn normalise(v: &mut [f64]) -> f64 {
    let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > 0.0 {
        v.iter_mut().for_each(|x| *x /= norm);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use rand::RngExt;

    fn sample(n: usize, d: usize) -> Matrix {
        let mut rng = Seed(1).rng();
        Matrix::from_fn(n, d, |_, j| 3.0 + (rng.random::<f32>() - 0.5) * (d - j) as f32)
    }

    fn assert_orthonormal(m: &Matrix) {
        for i in 0..m.rows() {
            for j in 0..m.rows() {
                let dot: f32 = m.row(i).iter().zip(m.row(j)).map(|(a, b)| a * b).sum();
                assert!((dot - f32::from(i == j)).abs() < 1e-4, "{i} {j} {dot}");
            }
        }
    }

    #[test]
    fn the_gram_matrix_and_the_covariance_give_the_same_components() {
        let x = sample(8, 8);
        let mean = x.view().mean_row();
        let (values, mut vectors) = from_covariance(x.view(), &mean, 7);
        let (gram_values, mut gram_vectors) = from_gram(x.view(), &mean, 7);
        vectors.chunks_exact_mut(8).chain(gram_vectors.chunks_exact_mut(8)).for_each(fix_sign);
        for (a, b) in values.iter().zip(&gram_values).chain(vectors.iter().zip(&gram_vectors)) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn projections_have_the_variances_that_are_named() {
        for (n, d) in [(400, 6), (5, 40)] {
            let x = sample(n, d);
            let p = pca(x.view(), 4);
            assert_orthonormal(&p.components);
            for j in 0..4 {
                let project = |i: usize| -> f64 {
                    let row = x.row(i).iter().zip(&p.mean).zip(p.components.row(j));
                    row.map(|((&v, m), &c)| (f64::from(v) - m) * f64::from(c)).sum()
                };
                let variance = (0..n).map(|i| project(i).powi(2)).sum::<f64>() / (n as f64 - 1.0);
                assert!((variance / p.explained_variance[j] - 1.0).abs() < 1e-5);
                let loadings = p.components.row(j);
                let largest = loadings
                    .iter()
                    .copied()
                    .fold(0.0f32, |a, b| if b.abs() > a.abs() { b } else { a });
                assert!(largest > 0.0);
            }
            assert!(p.explained_variance.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn as_many_components_as_asked_for_even_where_nothing_varies() {
        for (n, d, count) in [(3, 9, 9), (5, 4, 4), (1, 3, 2)] {
            let constant = Matrix::from_fn(n, d, |_, _| 2.0);
            let p = pca(constant.view(), count);
            assert_eq!((p.components.rows(), p.explained_variance.len()), (count, count));
            assert_orthonormal(&p.components);
            assert!(p.explained_variance.iter().all(|&v| v.abs() < 1e-12));
            assert_orthonormal(&pca(sample(n, d).view(), count).components);
        }
        assert_eq!(pca(sample(9, 2).view(), 5).components.rows(), 2);
    }
}
