//! Clustering of a sample: for rows that are too many for an algorithm, or too many to be worth its time.
//!
//! So many rows are drawn without replacement and clustered; every other row is assigned by the rule that this
//! gives, as a new row would be. Centroids, sizes and inertia are those of all rows. One pass over the rows for
//! the draw and three for the rest, beside the clustering of the sample.

use super::{ClusterError, ClusterSpec, Clusterer, Clustering};
use bridged_math::cancel::cancellable;
use bridged_math::{Rows, Seed, Watch};
use rand::seq::index;

impl ClusterSpec {
    /// Clusters `most` of the rows and assigns the others; all of them if they are no more than that. The rows are
    /// finite and the parameters were checked.
    pub(crate) fn fit_sample(
        &self,
        rows: &dyn Rows,
        most: usize,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        if rows.rows() <= most {
            return self.fit_finite_rows(rows, seed, watch);
        }
        let mut chosen =
            index::sample(&mut seed.child("sampled").rng(), rows.rows(), most).into_vec();
        chosen.sort_unstable();
        let sample = cancellable(watch, || rows.select(&chosen))??;
        let found = self.fit_finite(sample.view(), seed, watch)?;
        drop(sample);
        cancellable(watch, || {
            let mut labels = Vec::with_capacity(rows.rows());
            rows.scan(&mut |_, part| {
                labels.extend(found.rule.assign(part));
                Ok(())
            })?;
            // Rows that were clustered stay where they are, so that no cluster runs empty.
            chosen.iter().zip(&found.labels).for_each(|(&row, &label)| labels[row] = label);
            let all = Clustering::from_labels_of(rows, labels, found.k(), found.rule)?;
            Ok(Clustering { iterations: found.iterations, converged: found.converged, ..all })
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Mixture, Pairs, Sizes};
    use bridged_math::rows::InParts;
    use bridged_math::{Matrix, Silent};

    fn blobs() -> (Matrix, Vec<u32>) {
        let mixture = Mixture { classes: 3, separation: 12.0, ..Mixture::default() };
        let sizes = Sizes { x: 900, y: 3, test: 0, pairs: Pairs::Stratified(0) };
        let drawn = mixture.draw(sizes, Seed(2));
        (drawn.x, drawn.latent_x)
    }

    #[test]
    fn every_clustering_of_a_sample_finds_separated_groups_of_all_rows() {
        let (x, truth) = blobs();
        for entry in ClusterSpec::ALL {
            let spec = ClusterSpec::named(entry.name).expect("listed").with_k(3);
            let found = spec.fit_sample(&x.view(), 300, Seed(1), &Silent).expect(entry.name);
            assert_eq!(found.labels.len(), 900, "{}", entry.name);
            let same = |i: usize, j: usize| found.labels[i] == found.labels[j];
            let agree = (0..899).filter(|&i| same(i, i + 1) == (truth[i] == truth[i + 1])).count();
            assert!(agree > 860, "{}: {agree} of 899", entry.name);
            let parts = InParts::new(x.view(), 71);
            assert_eq!(spec.fit_sample(&parts, 300, Seed(1), &Silent).unwrap(), found);
        }
    }

    #[test]
    fn a_sample_of_all_rows_is_the_clustering_itself() {
        let (x, _) = blobs();
        let spec = ClusterSpec::named("kmeans").expect("listed").with_k(3);
        let whole = spec.fit(x.view(), Seed(1), &Silent).unwrap();
        assert_eq!(spec.fit_sample(&x.view(), 900, Seed(1), &Silent).unwrap(), whole);
    }
}
