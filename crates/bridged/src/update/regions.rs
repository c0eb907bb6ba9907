//! New rows that lie together, far from every cluster: a group that nobody had seen at the fit.
//!
//! Of rows that are unfamiliar ([`crate::novelty`]), two are neighbours if they are nearer to each other than half as far as each
//! is from its cluster: what they have in common explains them better than any cluster does. Rows that lie in all
//! directions around a cluster are farther from each other than from it. Groups are those of DBSCAN on these neighbours. A group is a region if
//! its mean is unfamiliar too, so that the fringe around a cluster, whose mean is its middle, is none.

use crate::Error;
use crate::cluster::{NOISE, Near, dense_regions, means_of};
use crate::novelty::UNFAMILIAR;
use crate::side::Side;
use bridged_math::distance::squared_distance;
use bridged_math::{MatrixRef, Watch};
use serde::Serialize;
use std::ops::Range;

/// Fewer rows are no group.
const LEAST: usize = 5;
/// How far from each other neighbours are at most, in their distances to their clusters.
const NEAR: f64 = 0.5;
/// Groups are looked for among this many rows at most, evenly spaced; the others go to the group that is nearest.
const MOST: usize = 2_048;

/// A group of new rows that no cluster explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// What its rows are called.
    pub ids: Vec<String>,
    /// Their places among the new rows.
    #[serde(skip)]
    pub rows: Vec<usize>,
    /// How many of the new rows would be unfamiliar by chance.
    pub by_chance: f64,
    /// The cluster that its mean is nearest to.
    pub nearest: u32,
    /// How far its mean is from there, where the rows of that cluster are 1 away in the mean.
    pub away: f64,
    /// Whether it became a cluster.
    pub added: bool,
}

/// Rows that are nearer to each other than to their clusters.
struct Together<'a> {
    rows: MatrixRef<'a>,
    /// The squared distance of each to its cluster.
    away: Vec<f64>,
}

impl Together<'_> {
    fn are_near(&self, a: usize, b: usize) -> bool {
        let most = NEAR * NEAR * self.away[a].min(self.away[b]);
        squared_distance(self.rows.row(a), self.rows.row(b)) <= most
    }
}

impl Near for Together<'_> {
    fn visit(&self, range: Range<usize>, mut f: impl FnMut(usize, usize)) {
        for row in range {
            for other in (0..self.rows.rows()).filter(|&other| self.are_near(row, other)) {
                f(row, other);
            }
        }
    }
}

/// The regions among new rows of a side, which has these clusters for them; the largest first.
pub(super) fn find(
    side: &Side,
    rows: MatrixRef<'_>,
    labels: &[u32],
    watch: &dyn Watch,
) -> Result<Vec<Region>, Error> {
    let Some(novelty) = &side.novelty else { return Ok(Vec::new()) };
    let scaled = side.scaler.apply(rows);
    let p_values = novelty.p_values(&side.clustering, scaled.view(), labels);
    let far: Vec<usize> = (0..rows.rows()).filter(|&i| p_values[i] <= UNFAMILIAR).collect();
    if far.len() < LEAST {
        return Ok(Vec::new());
    }
    let centroids = &side.clustering.centroids;
    let few = far.len().min(MOST);
    let sample: Vec<usize> = (0..few).map(|at| far[at * far.len() / few]).collect();
    let outside = scaled.view().select(sample.iter().copied());
    let away = sample.iter().enumerate();
    let away = away
        .map(|(at, &row)| squared_distance(outside.row(at), centroids.row(labels[row] as usize)));
    let together = Together { rows: outside.view(), away: away.collect() };
    let groups = dense_regions(&together, few, LEAST, watch)?;
    let (means, _) = means_of(outside.view(), &groups.labels, groups.k);
    let nearest = side.clustering.assign(means.view());
    let of_means = novelty.p_values(&side.clustering, means.view(), &nearest);
    let regions: Vec<usize> = (0..groups.k).filter(|&j| of_means[j] <= UNFAMILIAR).collect();
    // Where all rows were looked at, they are in the group that was found.
    let group_of = |at: usize| -> Option<usize> {
        if few == far.len() {
            let label = groups.labels[at];
            return (label != NOISE).then_some(label as usize);
        }
        let row = scaled.view().row(far[at]);
        let distance = |j: &usize| squared_distance(row, means.row(*j));
        let best = regions.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let cluster = squared_distance(row, centroids.row(labels[far[at]] as usize));
        (distance(best) <= NEAR * NEAR * cluster).then_some(*best)
    };
    let of: Vec<Option<usize>> = (0..far.len()).map(group_of).collect();
    let region = |&j: &usize| {
        let centre = centroids.row(nearest[j] as usize);
        let away = squared_distance(means.row(j), centre).sqrt();
        let inside = of.iter().zip(&far).filter(|(group, _)| **group == Some(j));
        Region {
            ids: Vec::new(),
            rows: inside.map(|(_, &row)| row).collect(),
            by_chance: UNFAMILIAR * rows.rows() as f64,
            nearest: nearest[j],
            away: away / novelty.radii[nearest[j] as usize].max(f64::MIN_POSITIVE),
            added: false,
        }
    };
    let mut found: Vec<Region> = regions.iter().map(region).collect();
    found.retain(|region| region.rows.len() >= LEAST);
    found.sort_by(|a, b| b.rows.len().cmp(&a.rows.len()).then(a.rows.cmp(&b.rows)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Mixture, Pairs, Sizes};
    use crate::{BridgedClustering, Problem};
    use bridged_math::{Matrix, Seed, Silent};
    use rand::RngExt;

    fn side() -> Side {
        let mixture = Mixture { classes: 3, dim_x: 8, separation: 6.0, ..Mixture::default() };
        let sizes = Sizes { x: 600, y: 600, test: 0, pairs: Pairs::Stratified(2) };
        let sample = mixture.draw(sizes, Seed(1));
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        BridgedClustering::with_k(3).fit(problem, Seed(0), &Silent).unwrap().x
    }

    fn found(side: &Side, rows: &Matrix) -> Vec<usize> {
        let labels = side.assign(rows.view());
        let regions = find(side, rows.view(), &labels, &Silent).unwrap();
        regions.iter().map(|region| region.rows.len()).collect()
    }

    fn around(centre: f32, width: f32, n: usize, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(n, 8, |_, _| centre + width * (2.0 * rng.random::<f32>() - 1.0))
    }

    #[test]
    fn a_group_is_found_however_wide_and_however_many_rows_it_has() {
        let side = side();
        for (width, n) in [(0.1, 5), (1.0, 40), (10.0, 300), (3.0, 3 * MOST)] {
            assert_eq!(found(&side, &around(200.0, width, n, 4)), [n], "{width}, {n}");
        }
        let two = [around(200.0, 1.0, 30, 1).into_data(), around(-200.0, 2.0, 50, 2).into_data()];
        assert_eq!(found(&side, &Matrix::new(80, 8, two.concat()).unwrap()), [50, 30]);
    }

    #[test]
    fn what_lies_apart_or_all_around_is_no_group() {
        let side = side();
        // A sphere of outliers around the middle of the pool.
        let sphere = around(0.0, 1.0, 200, 3);
        let rows: Vec<f32> = sphere
            .view()
            .iter_rows()
            .flat_map(|row| {
                let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
                row.iter().map(move |v| v / length * 500.0)
            })
            .collect();
        let near: usize = found(&side, &Matrix::new(200, 8, rows).unwrap()).iter().sum();
        assert!(near < 20, "of 200 in all directions, {near} lie together");
        assert!(found(&side, &around(200.0, 0.1, LEAST - 1, 5)).is_empty());
        assert!(found(&side, &side.values().clone()).is_empty());
    }
}
