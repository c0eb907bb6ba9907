//! Every cluster needs a distinct row of its own: how many there are, up to as many as are needed.

use super::{ClusterError, ClusterSpec, Metric};
use bridged_math::rows::scan_until;
use bridged_math::{MatrixRef, Rows, RowsError};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

impl ClusterSpec {
    /// Whether there is a distinct row for each cluster that is asked for. With fewer, equal rows
    /// would have to part, and which of them goes where would mean nothing.
    ///
    /// ```
    /// use bridged::Matrix;
    /// use bridged::cluster::ClusterSpec;
    ///
    /// let x = Matrix::from_fn(90, 2, |i, _| (i % 3) as f32);
    /// let spec = ClusterSpec::default();
    /// assert!(spec.clone().with_k(3).check_distinct(x.view()).is_ok());
    /// let error = spec.with_k(7).check_distinct(x.view()).unwrap_err();
    /// let need = "there are 3 distinct rows, and 7 clusters need at least 7; ask for 3 clusters or fewer";
    /// assert_eq!(error.to_string(), need);
    /// ```
    pub fn check_distinct(&self, x: MatrixRef<'_>) -> Result<(), ClusterError> {
        self.check_distinct_rows(&x)
    }

    /// The same for rows that need not be in memory.
    pub(crate) fn check_distinct_rows(&self, rows: &dyn Rows) -> Result<(), ClusterError> {
        let Some(k) = self.k() else { return Ok(()) };
        match distinct_rows(rows, self.metric(), k)? {
            // No rows, and more clusters than rows, have errors of their own.
            distinct if distinct < k && k <= rows.rows() => {
                Err(ClusterError::TooFewDistinct { distinct, k })
            }
            _ => Ok(()),
        }
    }

    /// What rows are compared by.
    fn metric(&self) -> Metric {
        match self {
            ClusterSpec::KMeans(c) => c.metric,
            ClusterSpec::BalancedKMeans(c) => c.metric,
            ClusterSpec::MiniBatchKMeans(c) => c.metric,
            ClusterSpec::Spectral(c) => c.metric,
            ClusterSpec::Agglomerative(c) => c.metric,
            ClusterSpec::Dbscan(c) => c.metric,
            ClusterSpec::GaussianMixture(_) => Metric::Euclidean,
        }
    }
}

/// How many distinct rows there are, as the metric sees them; counting ends at `most`.
pub(crate) fn distinct_rows(
    rows: &dyn Rows,
    metric: Metric,
    most: usize,
) -> Result<usize, RowsError> {
    let mut found: HashMap<u64, Vec<Vec<f32>>> = HashMap::new();
    let mut distinct = 0;
    scan_until(rows, &mut |_, part| {
        for i in 0..part.rows() {
            if distinct == most {
                return ControlFlow::Break(());
            }
            let seen = metric.view(part.slice(i..i + 1));
            let alike = found.entry(hash(&seen)).or_default();
            if !alike.iter().any(|row| row[..] == seen[..]) {
                alike.push(seen.into_owned());
                distinct += 1;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(distinct)
}

/// Equal rows have equal hashes: zero has no sign here.
fn hash(row: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.iter().for_each(|v| (v + 0.0).to_bits().hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Matrix;

    #[test]
    fn rows_are_counted_as_the_metric_sees_them_and_no_further_than_needed() {
        let x = Matrix::from_rows(&[[1.0, 0.0], [2.0, -0.0], [1.0, -0.0], [0.0, 3.0], [0.0, 1.0]]);
        assert_eq!(distinct_rows(&x.view(), Metric::Euclidean, 9), Ok(4));
        assert_eq!(distinct_rows(&x.view(), Metric::Cosine, 9), Ok(2));
        assert_eq!(distinct_rows(&x.view(), Metric::Euclidean, 2), Ok(2));
        assert_eq!(distinct_rows(&Matrix::zeros(0, 2).view(), Metric::Euclidean, 2), Ok(0));
    }
}
