//! The Ward dendrogram without a distance matrix.
//!
//! Merging clusters A and B raises the inertia by
//!
//! ```text
//! w(A, B) = |A| |B| / (|A| + |B|) · ‖c_A − c_B‖²
//! ```
//!
//! which centroids and sizes give at any time, so O(n d) memory is enough. Ward's criterion is
//! reducible: merging two clusters never brings a third closer than the nearer of the two was.
//! Clusters that are each other's nearest therefore merge at some point whatever else happens, and
//! may do so at once. Each *round* merges all such pairs and searches again for those clusters whose
//! nearest one is gone, all in one matrix product (Sumengen et al. 2021). The dendrogram is that of
//! merging one closest pair after another.
//!
//! Data with hubs, a cluster that is the nearest of very many, make rounds wasteful. Past a budget
//! of searches the rest is merged along a nearest-neighbour chain (Murtagh 1983), which needs at most
//! three searches a merge. Time O(n² d) in all, `f64` throughout.

use super::clustering::NOISE;
use bridged_math::cancel::checkpoint;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Cancelled, MatrixRef, Stage, chunks};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Two clusters become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Merge {
    /// w at the time; never below those of the merges that made the two.
    pub height: f64,
    /// A row of the one.
    pub a: u32,
    /// A row of the other.
    pub b: u32,
}

/// Searches a merge, on average, before rounds give way to the chain. A search in a round costs
/// about a tenth of one on its own.
const BUDGET: usize = 24;

/// All n − 1 merges, children before parents.
pub(super) fn ward(x: MatrixRef<'_>, stage: &Stage<'_>) -> Result<Vec<Merge>, Cancelled> {
    let mut merges = Vec::with_capacity(x.rows().saturating_sub(1));
    let mut clusters = Clusters::of_distinct_rows(x, &mut merges);
    let mut searches = 0;
    while clusters.len() > 1 {
        let open: Vec<u32> =
            (0..clusters.len() as u32).filter(|&i| clusters.nearest[i as usize] == NOISE).collect();
        searches += open.len();
        if searches > x.rows() + BUDGET * merges.len() {
            break;
        }
        clusters.search(&open);
        for (i, j) in clusters.mutual_pairs() {
            merges.push(clusters.merge(i, j));
        }
        clusters.compact(&mut []);
        stage.step(merges.len() as u64)?;
    }
    chain(&mut clusters, &mut merges, stage)?;
    Ok(merges)
}

/// Merges what is left along a chain of nearest neighbours.
fn chain(
    clusters: &mut Clusters,
    merges: &mut Vec<Merge>,
    stage: &Stage<'_>,
) -> Result<(), Cancelled> {
    let mut path: Vec<u32> = Vec::new();
    let mut gone = 0;
    while clusters.len() - gone > 1 {
        if path.is_empty() {
            let first = (0..clusters.len()).find(|&i| clusters.is_alive(i));
            path.push(first.expect("more than one cluster is alive") as u32);
        }
        let top = path[path.len() - 1] as usize;
        clusters.search(&[top as u32]);
        // Of equally near clusters the one that the chain came from, or it could run in a circle.
        let back = path.len().checked_sub(2).map(|p| path[p]);
        let next = back
            .filter(|&b| clusters.distance(top, b as usize) <= clusters.nearest_at[top])
            .unwrap_or(clusters.nearest[top]);
        let Some(at) = path.iter().position(|&p| p == next) else {
            path.push(next);
            continue;
        };
        // Where it came from as a rule; further back only if rounding made a circle of near ties.
        path.truncate(at);
        merges.push(clusters.merge(top.min(next as usize), top.max(next as usize)));
        gone += 1;
        if gone * 4 > clusters.len() {
            clusters.compact(&mut path);
            gone = 0;
        }
        stage.step(merges.len() as u64)?;
    }
    Ok(())
}

/// For each row the first one that equals it, which may be itself.
fn first_of_equal_rows(x: MatrixRef<'_>) -> Vec<u32> {
    let compare = |a: u32, b: u32| {
        let (a, b) = (x.row(a as usize), x.row(b as usize));
        a.partial_cmp(b).unwrap_or(Ordering::Equal) // finite numbers always compare
    };
    let mut order: Vec<u32> = (0..x.rows() as u32).collect();
    order.par_sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
    let mut first = vec![0; x.rows()];
    for same in order.chunk_by(|&a, &b| compare(a, b) == Ordering::Equal) {
        same.iter().for_each(|&i| first[i as usize] = same[0]);
    }
    first
}

/// The clusters that are left, in the order of their first rows.
struct Clusters {
    d: usize,
    centroids: Vec<f64>,  // (len, d)
    norms: Vec<f64>,      // ‖centroid‖²; infinite for one that was merged into another
    sizes: Vec<f64>,      // as numbers of rows
    rows: Vec<u32>,       // the first row of each
    heights: Vec<f64>,    // of the merge that made it
    nearest: Vec<u32>,    // NOISE where not known
    nearest_at: Vec<f64>, // w to it
}

impl Clusters {
    /// One cluster for each distinct row: equal rows merge at height zero, whatever else happens.
    fn of_distinct_rows(x: MatrixRef<'_>, merges: &mut Vec<Merge>) -> Self {
        let shift = x.mean_row();
        let mut clusters = Self {
            d: x.cols(),
            centroids: Vec::with_capacity(x.data().len()),
            norms: Vec::new(),
            sizes: Vec::new(),
            rows: Vec::new(),
            heights: Vec::new(),
            nearest: Vec::new(),
            nearest_at: Vec::new(),
        };
        let first = first_of_equal_rows(x);
        let mut place = vec![0; x.rows()];
        for (i, row) in x.iter_rows().enumerate() {
            let same = first[i] as usize;
            if same < i {
                clusters.sizes[place[same]] += 1.0;
                merges.push(Merge { height: 0.0, a: first[i], b: i as u32 });
                continue;
            }
            place[i] = clusters.rows.len();
            let from = clusters.centroids.len();
            clusters.centroids.extend(row.iter().zip(&shift).map(|(&v, m)| f64::from(v) - m));
            clusters.norms.push(clusters.centroids[from..].iter().map(|v| v * v).sum());
            clusters.sizes.push(1.0);
            clusters.rows.push(i as u32);
            clusters.heights.push(0.0);
            clusters.nearest.push(NOISE);
            clusters.nearest_at.push(f64::INFINITY);
        }
        clusters
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn is_alive(&self, i: usize) -> bool {
        self.norms[i].is_finite()
    }

    fn centroid(&self, i: usize) -> &[f64] {
        &self.centroids[i * self.d..(i + 1) * self.d]
    }

    /// w, from the centroids themselves; the same both ways.
    fn distance(&self, i: usize, j: usize) -> f64 {
        let squares = self.centroid(i).iter().zip(self.centroid(j)).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>() / (self.sizes[i].recip() + self.sizes[j].recip())
    }

    /// Finds the nearest cluster of each of `queries`; of equally near ones the first.
    fn search(&mut self, queries: &[u32]) {
        /// Queries and clusters that meet in one product.
        const TILE: usize = 128;
        const CHUNK: usize = 512;
        let tiles = queries.len().div_ceil(TILE);
        // A round with few queries is cut along the clusters instead, by its shape alone.
        let groups = 16usize.div_ceil(tiles.max(1)).min(self.len().div_ceil(CHUNK));
        let group_len = self.len().div_ceil(groups).next_multiple_of(CHUNK);
        let this = &*self;
        let found: Vec<Vec<(f64, u32)>> = chunks::par_map(tiles * groups, |task| {
            let (tile, group) = (task / groups, task % groups);
            let queries = &queries[tile * TILE..((tile + 1) * TILE).min(queries.len())];
            let left: Vec<f64> =
                queries.iter().flat_map(|&q| this.centroid(q as usize)).copied().collect();
            let mut best = vec![(f64::INFINITY, NOISE); queries.len()];
            let mut products = vec![0.0; queries.len() * CHUNK];
            let end = ((group + 1) * group_len).min(this.len());
            for start in (group * group_len..end).step_by(CHUNK) {
                checkpoint();
                let chunk = start..(start + CHUNK).min(end);
                let right = &this.centroids[chunk.start * this.d..chunk.end * this.d];
                let products = &mut products[..queries.len() * chunk.len()];
                product(
                    View::new(&left, queries.len(), this.d),
                    View::new(right, chunk.len(), this.d).t(),
                    Accum::Replace,
                    products,
                );
                for (q, dots) in products.chunks_exact(chunk.len()).enumerate() {
                    this.nearest_in(queries[q] as usize, chunk.start, dots, &mut best[q]);
                }
            }
            best
        });
        for (tile, groups) in found.chunks(groups.max(1)).enumerate() {
            for q in 0..groups[0].len() {
                let at = queries[tile * TILE + q] as usize;
                let best = groups.iter().map(|g| g[q]).reduce(|a, b| if b.0 < a.0 { b } else { a });
                self.nearest[at] = best.expect("there is at least one group").1;
            }
        }
        for &q in queries {
            let (q, nearest) = (q as usize, self.nearest[q as usize]);
            self.nearest_at[q] = self.distance(q, nearest as usize);
        }
    }

    /// Takes the nearest of the clusters `start..` to `query` into `best`.
    fn nearest_in(&self, query: usize, start: usize, dots: &[f64], best: &mut (f64, u32)) {
        let range = start..start + dots.len();
        let (norm, inverse) = (self.norms[query], self.sizes[query].recip());
        for (((j, dot), other), size) in
            range.clone().zip(dots).zip(&self.norms[range.clone()]).zip(&self.sizes[range])
        {
            // |A||B|/(|A|+|B|) is below |A|: most candidates are out before the division.
            let squared = (norm + other - 2.0 * dot).max(0.0);
            if squared * size < best.0 * (1.0 + inverse * size) && j != query {
                *best = (squared / (inverse + size.recip()), j as u32);
            }
        }
    }

    /// The pairs that are each other's nearest. If rounding left none, the closest pair.
    fn mutual_pairs(&self) -> Vec<(usize, usize)> {
        let mutual: Vec<(usize, usize)> = (0..self.len())
            .map(|i| (i, self.nearest[i] as usize))
            .filter(|&(i, j)| i < j && self.nearest[j] as usize == i)
            .collect();
        if !mutual.is_empty() {
            return mutual;
        }
        let closest =
            (0..self.len()).min_by(|&a, &b| self.nearest_at[a].total_cmp(&self.nearest_at[b]));
        let i = closest.expect("more than one cluster is left");
        let j = self.nearest[i] as usize;
        vec![(i.min(j), i.max(j))]
    }

    /// Merges cluster `j` into cluster `i` < `j`.
    fn merge(&mut self, i: usize, j: usize) -> Merge {
        let height = self.distance(i, j).max(self.heights[i]).max(self.heights[j]);
        let merge = Merge { height, a: self.rows[i], b: self.rows[j] };
        let (a, b) = (self.sizes[i], self.sizes[j]);
        let (left, right) = self.centroids.split_at_mut(j * self.d);
        let into = &mut left[i * self.d..(i + 1) * self.d];
        for (c, other) in into.iter_mut().zip(&right[..self.d]) {
            *c = (*c * a + other * b) / (a + b);
        }
        self.norms[i] = self.centroid(i).iter().map(|v| v * v).sum();
        self.norms[j] = f64::INFINITY;
        self.sizes[i] = a + b;
        self.heights[i] = height;
        self.nearest[i] = NOISE;
        merge
    }

    /// Drops clusters that were merged into others, and forgets nearest ones that are gone or have
    /// grown. `path` follows its clusters to their new places.
    fn compact(&mut self, path: &mut [u32]) {
        let mut places = vec![NOISE; self.len()];
        let alive: Vec<usize> = (0..self.len()).filter(|&i| self.is_alive(i)).collect();
        alive.iter().enumerate().for_each(|(to, &i)| places[i] = to as u32);
        let len = alive.len();
        // A cluster that has grown does not know its own nearest one.
        let unchanged = |i: u32| i != NOISE && self.nearest[i as usize] != NOISE;
        let nearest: Vec<u32> = alive
            .iter()
            .map(|&i| self.nearest[i])
            .map(|n| if unchanged(n) { places[n as usize] } else { NOISE })
            .collect();
        self.nearest = nearest;
        for (to, &i) in alive.iter().enumerate() {
            self.centroids.copy_within(i * self.d..(i + 1) * self.d, to * self.d);
            (self.norms[to], self.sizes[to]) = (self.norms[i], self.sizes[i]);
            (self.rows[to], self.heights[to]) = (self.rows[i], self.heights[i]);
            self.nearest_at[to] = self.nearest_at[i];
        }
        path.iter_mut().for_each(|p| *p = places[*p as usize]);
        self.centroids.truncate(len * self.d);
        for v in [&mut self.norms, &mut self.sizes, &mut self.heights, &mut self.nearest_at] {
            v.truncate(len);
        }
        self.rows.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing;
    use bridged_math::{Matrix, Seed, Silent};
    use proptest::prelude::*;
    use rand::RngExt;

    fn heights(merges: &[Merge]) -> Vec<f64> {
        let mut heights: Vec<f64> = merges.iter().map(|m| m.height).collect();
        heights.sort_by(f64::total_cmp);
        heights
    }

    /// kodama's Ward heights are √(2 w).
    fn by_kodama(x: &Matrix) -> Vec<f64> {
        let n = x.rows();
        let mut distances: Vec<f64> = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .map(|(i, j)| bridged_math::distance::squared_distance(x.row(i), x.row(j)).sqrt())
            .collect();
        let steps = kodama::linkage(&mut distances, n, kodama::Method::Ward);
        steps.steps().iter().map(|s| s.dissimilarity * s.dissimilarity / 2.0).collect()
    }

    fn run(x: &Matrix) -> Vec<Merge> {
        ward(x.view(), &Stage::begin(&Silent, "ward", None).unwrap()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn heights_agree_with_a_distance_matrix(n in 2usize..250, d in 1usize..6, seed in 0u64..1000) {
            let mut rng = Seed(seed).rng();
            // Far from 0, where squared norms cancel; but one column there has ties, and so several trees.
            let offset = if d == 1 { 0.0 } else { 100.0 };
            let x = Matrix::from_fn(n, d, |_, _| offset + rng.random::<f32>());
            let (found, expected) = (heights(&run(&x)), by_kodama(&x));
            prop_assert_eq!(found.len(), n - 1);
            for (a, b) in found.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-9 * b.max(1.0), "{} {}", a, b);
            }
        }
    }

    #[test]
    fn the_chain_and_the_rounds_build_the_same_tree() {
        let (x, _) = testing::blobs(700, 4, 6, 5.0);
        let stage = Stage::begin(&Silent, "ward", None).unwrap();
        let mut merges = Vec::new();
        let mut clusters = Clusters::of_distinct_rows(x.view(), &mut merges);
        chain(&mut clusters, &mut merges, &stage).unwrap();
        for (a, b) in heights(&merges).iter().zip(&heights(&run(&x))) {
            assert!((a - b).abs() < 1e-9 * b.max(1.0), "{a} {b}");
        }
    }

    #[test]
    fn hubs_exhaust_the_budget_and_the_chain_finishes() {
        // Orthogonal rows of rising length: the shortest is the nearest of all others.
        let x = Matrix::from_fn(200, 200, |i, c| if i == c { 1.0 + i as f32 * 0.01 } else { 0.0 });
        for (a, b) in heights(&run(&x)).iter().zip(&by_kodama(&x)) {
            assert!((a - b).abs() < 1e-9 * b.max(1.0), "{a} {b}");
        }
    }

    #[test]
    fn equal_rows_merge_first_and_parents_follow_children() {
        let x = Matrix::from_fn(90, 2, |i, c| ((i % 9) * (c + 1)) as f32);
        let merges = run(&x);
        assert_eq!(merges.iter().filter(|m| m.height == 0.0).count(), 81);
        let mut tallest = vec![0.0f64; 90];
        let mut forest = crate::cluster::forest::Forest::new(90);
        for m in &merges {
            let (a, b) = (forest.find(m.a as usize), forest.find(m.b as usize));
            assert!(a != b && m.height >= tallest[a].max(tallest[b]));
            forest.union(a, b);
            tallest[a.min(b)] = m.height;
        }
    }
}
