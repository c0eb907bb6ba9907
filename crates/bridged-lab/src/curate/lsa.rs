//! Sparse rows in a few numbers: the truncated singular value decomposition of latent semantic
//! analysis.
//!
//! ```text
//! M ≈ U Σ Vᵀ,   row i becomes (M V)_i
//! ```
//!
//! V are the largest eigenvectors of MᵀM, by block Krylov spaces; a product costs O(nnz). Rows are
//! not centred, so that sparse rows stay sparse; this is scikit-learn's `TruncatedSVD`.
//!
//! Deerwester et al. 1990.

use super::sparse::Sparse;
use bridged::math::chunks::map_blocks_mut;
use bridged::math::linalg::{Krylov, largest_eigenpairs};
use bridged::math::{Cancelled, Matrix, Seed, Watch};

/// Rows in at most `dim` numbers; as they are where they have no more columns than that.
pub fn reduce(
    rows: &Sparse,
    dim: usize,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Matrix, Cancelled> {
    if rows.cols() <= dim {
        return Ok(rows.to_dense());
    }
    let turned = rows.transpose();
    let apply = |width: usize, x: &[f64], y: &mut [f64]| {
        let mut middle = vec![0.0; rows.rows() * width];
        times(rows, width, x, &mut middle);
        times(&turned, width, &middle, y);
    };
    // Scores of a picture of the texts, not a proof: six digits are plenty.
    let options = Krylov { tol: 1e-6, max_iter: 30, lower: 0.0 };
    let found = largest_eigenpairs(rows.cols(), dim, apply, options, seed, watch)?;
    let vectors = &found.eigen.vectors; // (dim, cols)
    let scores = |i: usize, j: usize| {
        let vector = &vectors[j * rows.cols()..(j + 1) * rows.cols()];
        rows.row(i).map(|(c, v)| f64::from(v) * vector[c]).sum::<f64>() as f32
    };
    Ok(Matrix::from_fn(rows.rows(), dim, scores))
}

/// M·X for a row-major block X of `width` columns.
fn times(m: &Sparse, width: usize, x: &[f64], out: &mut [f64]) {
    map_blocks_mut(out, width, |range, out| {
        for (i, sum) in range.zip(out.chunks_exact_mut(width)) {
            sum.fill(0.0);
            for (c, v) in m.row(i) {
                let x = &x[c * width..(c + 1) * width];
                sum.iter_mut().zip(x).for_each(|(s, x)| *s += f64::from(v) * x);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::tfidf::Tfidf;
    use super::*;
    use bridged::math::Silent;

    #[test]
    fn singular_values_agree_with_scikit_learn() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/tfidf.json")).unwrap();
        let texts: Vec<&str> =
            golden["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let rows = Tfidf::default().fit(&texts).rows(&texts);
        let expected = golden["singular_values"].as_array().unwrap();
        let reduced = reduce(&rows, expected.len(), Seed(1), &Silent).unwrap();
        for (j, value) in expected.iter().enumerate() {
            let squares = (0..reduced.rows()).map(|i| f64::from(reduced.row(i)[j]).powi(2));
            let got = squares.sum::<f64>().sqrt();
            assert!((got - value.as_f64().unwrap()).abs() < 1e-5, "{j}: {got} {value}");
        }
    }

    #[test]
    fn few_columns_stay_as_they_are() {
        let rows = Sparse::from_rows(3, [vec![(0, 1.0)], vec![(1, 0.6), (2, 0.8)]]);
        assert_eq!(reduce(&rows, 3, Seed(0), &Silent).unwrap(), rows.to_dense());
    }
}
