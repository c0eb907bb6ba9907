//! Sparse rows, and which of them point the same way.
//!
//! Rows are stored one after the other (compressed sparse rows). The cosine of row i to all others
//! follows from an inverted index, Σ_t r_it · (column t): O(Σ_t f_t²) for all pairs, where f_t rows
//! hold entry t. For texts of ten words that is thousands of times less than dense products.

use bridged::cluster::Near;
use bridged::math::Matrix;
use std::ops::Range;

/// Rows of which most entries are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Sparse {
    /// Rows of (column, value), columns ascending.
    pub fn from_rows(cols: usize, rows: impl IntoIterator<Item = Vec<(u32, f32)>>) -> Self {
        let mut sparse = Self { cols, offsets: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in rows {
            debug_assert!(row.is_sorted_by_key(|(c, _)| *c));
            sparse.columns.extend(row.iter().map(|(c, _)| c));
            sparse.values.extend(row.iter().map(|(_, v)| v));
            sparse.offsets.push(sparse.columns.len());
        }
        sparse
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The entries of a row that are not zero, columns ascending.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.columns[range.clone()]
            .iter()
            .map(|&c| c as usize)
            .zip(self.values[range].iter().copied())
    }

    /// Columns as rows.
    pub fn transpose(&self) -> Self {
        let mut offsets = vec![0; self.cols + 1];
        self.columns.iter().for_each(|&c| offsets[c as usize + 1] += 1);
        (0..self.cols).for_each(|c| offsets[c + 1] += offsets[c]);
        let mut next = offsets.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut values = vec![0.0; self.values.len()];
        for i in 0..self.rows() {
            for (c, v) in self.row(i) {
                columns[next[c]] = i as u32;
                values[next[c]] = v;
                next[c] += 1;
            }
        }
        Self { cols: self.rows(), offsets, columns, values }
    }

    /// With the zeros.
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.rows(), self.cols);
        for i in 0..self.rows() {
            let out = dense.row_mut(i);
            self.row(i).for_each(|(c, v)| out[c] = v);
        }
        dense
    }
}

/// Rows of unit length whose cosine is at least 1 − eps; a row without entries is near to none.
#[derive(Clone, Debug)]
pub struct Alike<'a> {
    rows: &'a Sparse,
    index: &'a Sparse,
    least: f32,
}

impl<'a> Alike<'a> {
    /// Rows, their transpose, and how far alike rows may be apart.
    pub fn new(rows: &'a Sparse, index: &'a Sparse, eps: f64) -> Self {
        debug_assert_eq!((rows.rows(), rows.cols()), (index.cols(), index.rows()));
        Self { rows, index, least: (1.0 - eps) as f32 }
    }
}

impl Near for Alike<'_> {
    fn visit(&self, range: Range<usize>, mut f: impl FnMut(usize, usize)) {
        let mut cosines = vec![0.0f32; self.rows.rows()];
        let mut met = Vec::new();
        for i in range {
            // Terms are added in ascending order for (i, j) and for (j, i): both give the same bits.
            for (term, v) in self.rows.row(i) {
                for (j, w) in self.index.row(term) {
                    if cosines[j] == 0.0 {
                        met.push(j);
                    }
                    cosines[j] += v * w;
                }
            }
            for j in met.drain(..) {
                let cosine = std::mem::take(&mut cosines[j]);
                if cosine >= self.least || (i == j && cosine > 0.0) {
                    f(i, j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::cluster::{Clusterer, Dbscan, Eps, Metric, dense_regions};
    use bridged::math::{Seed, Silent};
    use rand::RngExt;

    /// Rows of unit length around a few dozen patterns; every 50th is empty.
    fn random(rows: usize, cols: usize, seed: u64) -> Sparse {
        let mut rng = Seed(seed).rng();
        let mut pattern =
            |n: usize| -> Vec<u32> { (0..n).map(|_| rng.random_range(0..cols as u32)).collect() };
        let patterns: Vec<Vec<u32>> = (0..30).map(|_| pattern(5)).collect();
        let extra: Vec<u32> = pattern(rows);
        let row = |i: usize| {
            let mut columns = match i % 150 {
                0 | 50 | 100 => Vec::new(),
                at => patterns[at % 30].clone(),
            };
            if i % 50 > 30 {
                columns.push(extra[i]);
            }
            columns.sort_unstable();
            let row: Vec<(u32, f32)> =
                columns.chunk_by(|a, b| a == b).map(|c| (c[0], c.len() as f32)).collect();
            let norm = row.iter().map(|(_, v)| v * v).sum::<f32>().sqrt();
            row.iter().map(|&(c, v)| (c, v / norm)).collect()
        };
        Sparse::from_rows(cols, (0..rows).map(row))
    }

    #[test]
    fn a_transpose_of_a_transpose_is_the_same() {
        let rows = random(50, 12, 1);
        assert_eq!(rows.transpose().transpose(), rows);
        let (dense, turned) = (rows.to_dense(), rows.transpose().to_dense());
        assert!((0..50).all(|i| (0..12).all(|j| dense.row(i)[j] == turned.row(j)[i])));
    }

    #[test]
    fn dense_regions_of_sparse_rows_are_those_of_dbscan() {
        for (seed, eps, least) in [(1, 0.05, 20), (2, 0.15, 20), (3, 0.35, 2)] {
            let rows = random(900, 24, seed);
            let empty: Vec<bool> = (0..900).map(|i| rows.row(i).next().is_none()).collect();
            let found =
                dense_regions(&Alike::new(&rows, &rows.transpose(), eps), 900, 6, &Silent).unwrap();
            let dbscan = Dbscan { eps: Eps::Distance(eps), min_samples: 6, metric: Metric::Cosine };
            let dense = dbscan.fit(rows.to_dense().view(), Seed(0), &Silent).unwrap();
            assert!(found.k >= least, "eps {eps}: {} regions", found.k);
            // DBSCAN on dense rows sees rows without entries as rows at the origin.
            let groups = |labels: &[u32]| -> Vec<Vec<usize>> {
                let mut groups = vec![Vec::new(); 900];
                for i in (0..900).filter(|&i| !empty[i] && labels[i] != u32::MAX) {
                    groups[labels[i] as usize].push(i);
                }
                groups.retain(|g| !g.is_empty());
                groups.sort();
                groups
            };
            assert_eq!(groups(&found.labels), groups(&dense.labels), "eps {eps}");
        }
    }
}
