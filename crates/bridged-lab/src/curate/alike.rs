//! Which sparse rows point the same way.
//!
//! The cosine of row i to all others follows from an inverted index, Σ_t r_it · (column t): O(Σ_t f_t²) for all pairs,
//! where f_t rows hold entry t. For texts of ten words that is thousands of times less than dense products.

use bridged::cluster::Near;
use bridged_encode::sparse::Sparse;
use std::ops::Range;

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
    use bridged::{Seed, Silent};
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
