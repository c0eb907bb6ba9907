//! Sparse rows in a few numbers: the truncated singular value decomposition of latent semantic
//! analysis.
//!
//! ```text
//! M ≈ U Σ Vᵀ,   row i becomes (M V)_i
//! ```
//!
//! V are the largest eigenvectors of MᵀM, by a dense decomposition: the values of texts span this many
//! magnitudes that Krylov methods lose the smaller ones. O(Σ_i nnz_i² + d³) for d columns, so the
//! vocabulary is bounded by the caller. Rows are not centred, so that sparse rows stay sparse; this is
//! scikit-learn's `TruncatedSVD`.
//!
//! Deerwester et al. 1990.

use crate::sparse::Sparse;
use bridged_math::Matrix;
use bridged_math::linalg::symmetric_eigen;

/// Rows in at most `dim` numbers; as they are where they have no more columns than that.
pub fn reduce(rows: &Sparse, dim: usize) -> Matrix {
    let d = rows.cols();
    if d <= dim {
        return rows.to_dense();
    }
    let mut gram = vec![0.0; d * d];
    for i in 0..rows.rows() {
        for (a, v) in rows.row(i) {
            rows.row(i).for_each(|(b, w)| gram[a * d + b] += f64::from(v) * f64::from(w));
        }
    }
    let vectors = symmetric_eigen(&gram, d).vectors; // (d, d), ascending
    Matrix::from_fn(rows.rows(), dim, |i, j| {
        let vector = &vectors[(d - 1 - j) * d..(d - j) * d];
        rows.row(i).map(|(c, v)| f64::from(v) * vector[c]).sum::<f64>() as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfidf::Tfidf;

    #[test]
    fn singular_values_agree_with_scikit_learn() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/golden/tfidf.json")).unwrap();
        let texts: Vec<&str> =
            golden["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let rows = Tfidf::default().fit(&texts).rows(&texts);
        let expected = golden["singular_values"].as_array().unwrap();
        let reduced = reduce(&rows, expected.len());
        for (j, value) in expected.iter().enumerate() {
            let squares = (0..reduced.rows()).map(|i| f64::from(reduced.row(i)[j]).powi(2));
            let got = squares.sum::<f64>().sqrt();
            assert!((got - value.as_f64().unwrap()).abs() < 1e-5, "{j}: {got} {value}");
        }
    }

    #[test]
    fn values_of_very_different_size_are_found() {
        // Column c is in 4^c rows that hold nothing else: its singular value is 2^c.
        let rows = (0..6u32).flat_map(|c| vec![vec![(c, 1.0)]; 4usize.pow(c)]);
        let reduced = reduce(&Sparse::from_rows(6, rows), 5);
        for j in 0..5 {
            let squares = (0..reduced.rows()).map(|i| f64::from(reduced.row(i)[j]).powi(2));
            assert!((squares.sum::<f64>().sqrt() - 2f64.powi(5 - j as i32)).abs() < 1e-4);
        }
    }

    #[test]
    fn few_columns_stay_as_they_are() {
        let rows = Sparse::from_rows(3, [vec![(0, 1.0)], vec![(1, 0.6), (2, 0.8)]]);
        assert_eq!(reduce(&rows, 3), rows.to_dense());
    }
}
