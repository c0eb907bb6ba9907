//! SPUD: shortest paths through the two pools, which the pairs join.
//!
//! ```text
//! each pool: a graph of k nearest neighbours, edges as long as rows are apart, divided by the mean
//!            length of the pool's paths from the pairs
//! a pair: an edge of length 0 between its two rows
//! s_j(x) = −(the shortest path from x to y_j in the joined graph)
//!        = −min_{s,t} d_X(x, s) + c(s, t) + d_Y(t, y_j)
//! c(s, t) = the shortest path between pairs s and t, closed from min(d_X(s, t), d_Y(s, t))
//! d_X(x, s) = min over the k rows i of the pool nearest to x of |x − x_i| + d_X(i, s)
//! ```
//!
//! Every path from one side to the other runs through a pair, so tables from the pairs to all rows are
//! all that is needed: O(P (n + m)) memory for P pairs, never n × m. Paths that change sides more than
//! once are among them. **Choose it** where rows lie along curves or in clumps that straight distances
//! cut across, and where the group of a row matters more than its exact partner. Cost: O((n² + m²) d)
//! for the graphs, O(P (n + m) k log n) for the paths, O(P (P + m)) a row.
//!
//! Rustad et al. (2024), *Graph Integration for Diffusion-Based Manifold Alignment*, with the code
//! `rustadadam/mashspud`. What differs: there, distances are divided by the largest of their side, by
//! which one far row decides how the sides compare, and here by the mean path; there, the shortest
//! paths add up similarities (weights of the kernel), and here lengths; parts of a graph that nothing
//! joins are at the largest distance there, and joined at their nearest rows here; there, the table of
//! paths is compared row by row once more before it is embedded in the plane, which for pools of equal
//! size takes row i of x for the partner of row i of y: it is left out. Rows that were not in the pool
//! have no place there.

mod paths;

use crate::limits::COUNT;
use crate::manifold::Pool;
use crate::retrieval::{Folds, Retrieval, Scores};
use bridged::{MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use paths::{close, from_each, lengths, min_plus};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The name in the list and in errors.
const NAME: &str = "spud";

/// Shortest paths through both pools.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Spud;
///
/// // Two clumps on each side; one pair for each.
/// let x = Matrix::from_rows(&[[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]);
/// let y = Matrix::from_rows(&[[70.0], [71.0], [72.0], [10.0], [11.0], [12.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (5, 5)]);
/// let fitted = Spud { k: 2 }.fit(problem, Seed(0), &Silent)?;
/// let found = fitted.retrieve(Matrix::from_rows(&[[5.0]]).view(), 3)?;
/// assert_eq!(found, Some(vec![5, 4, 3]));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spud {
    /// Neighbours that each row is joined to, or all others where there are fewer: more cut across
    /// gaps between what is apart.
    pub k: usize,
}

impl Default for Spud {
    fn default() -> Self {
        Self { k: 10 }
    }
}

bridged::limits!(Spud { k: COUNT });

impl Spud {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

/// The paths between all pairs and all rows, which no pair that is left out changes.
struct Paths {
    pool: Pool,
    /// One over the mean path of x.
    factor: f64,
    /// From each row of x to the pairs, (n, pairs).
    from_x: Vec<f64>,
    /// From the pairs to each row of y, (pairs, m).
    from_y: Vec<f64>,
    /// Where a pair is in the tables.
    place: HashMap<(usize, usize), usize>,
    /// The rows of the pairs.
    pairs: Vec<(usize, usize)>,
}

impl Paths {
    fn of(problem: Problem<'_>, k: usize, watch: &dyn Watch) -> Result<Self, MethodError> {
        let stage = Stage::begin(watch, "shortest paths", Some(4))?;
        let pairs: Vec<(usize, usize)> = problem.pairs.iter().collect();
        let side = |pool: &Pool, rows: MatrixRef<'_>, paired: Vec<usize>, done: u64| {
            let graph = lengths(pool, rows);
            stage.step(done)?;
            let mut table = from_each(&graph, &paired);
            let mean = table.iter().sum::<f64>() / table.len() as f64;
            let factor = if mean > 0.0 { 1.0 / mean } else { 1.0 };
            table.iter_mut().for_each(|v| *v *= factor);
            stage.step(done + 1)?;
            Ok::<_, MethodError>((table, factor))
        };
        let y = Pool::new(problem.y, k);
        let (from_y, _) = side(&y, problem.y, pairs.iter().map(|p| p.1).collect(), 1)?;
        drop(y);
        let pool = Pool::new(problem.x, k);
        let (table, factor) = side(&pool, problem.x, pairs.iter().map(|p| p.0).collect(), 3)?;
        let n = problem.x.rows();
        let from_x = (0..n).flat_map(|i| (0..pairs.len()).map(move |s| (i, s)));
        let from_x = from_x.map(|(i, s)| table[s * n + i]).collect();
        let place = pairs.iter().enumerate().map(|(s, &pair)| (pair, s)).collect();
        Ok(Self { pool, factor, from_x, from_y, place, pairs })
    }

    /// c of some of the pairs, (kept, kept).
    fn between(&self, kept: &[usize]) -> Vec<f64> {
        let (count, m) = (self.pairs.len(), self.from_y.len() / self.pairs.len());
        let mut table = Vec::with_capacity(kept.len() * kept.len());
        for &s in kept {
            table.extend(kept.iter().map(|&t| {
                let (x, y) = self.pairs[t];
                self.from_x[x * count + s].min(self.from_y[s * m + y])
            }));
        }
        close(&mut table, kept.len());
        table
    }
}

struct Fitted {
    paths: Arc<Paths>,
    /// The pairs that are used.
    kept: Vec<usize>,
    between: Vec<f64>,
}

impl Method for Spud {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (pairs, n, m) = (size.pairs as f64, size.x.0 as f64, size.y.0 as f64);
        let graphs = Pool::memory(size.x, self.k).max(Pool::memory(size.y, self.k));
        let tables = 8.0 * pairs * (2.0 * n + m + 3.0 * pairs);
        (Retrieval::memory(size) + graphs + tables) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let paths = Arc::new(Paths::of(problem, self.k, watch)?);
        let learn = |problem: Problem<'_>, _: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
            let kept: Vec<usize> = problem.pairs.iter().map(|pair| paths.place[&pair]).collect();
            let between = paths.between(&kept);
            Ok(Box::new(Fitted { paths: Arc::clone(&paths), kept, between }))
        };
        Retrieval::fit(NAME, problem, 1, Folds::Each, (seed, watch), &learn)
    }
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let paths = &*self.paths;
        let (count, kept) = (paths.pairs.len(), self.kept.len());
        let m = paths.from_y.len() / count;
        let joined = paths.pool.join(rows);
        let mut into = vec![f64::INFINITY; rows.rows() * kept];
        for (i, into) in into.chunks_exact_mut(kept).enumerate() {
            for (&j, squared) in joined.rows_of(i).iter().zip(joined.squared_of(i)) {
                let first = squared.sqrt() * paths.factor;
                let then = &paths.from_x[j as usize * count..][..count];
                for (v, &s) in into.iter_mut().zip(&self.kept) {
                    *v = v.min(first + then[s]);
                }
            }
        }
        let through = min_plus(&into, (kept, kept), |s| &self.between[s * kept..][..kept]);
        let mut out = min_plus(&through, (kept, m), |s| &paths.from_y[self.kept[s] * m..][..m]);
        out.iter_mut().for_each(|v| *v = -*v);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Silent};
    use rand::RngExt;

    #[test]
    fn paths_are_those_of_the_joined_graph() {
        let mut rng = Seed(6).rng();
        let x = Matrix::from_fn(40, 3, |_, _| rng.random());
        let y = Matrix::from_fn(30, 2, |_, _| rng.random::<f32>() * 50.0);
        let pairs = [(0, 3), (7, 3), (20, 11), (33, 29), (39, 0)];
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let paths = Arc::new(Paths::of(problem, 3, &Silent).unwrap());
        for kept in [vec![0, 1, 2, 3, 4], vec![1, 3], vec![2]] {
            // All 70 rows and one that was in no pool, in one table.
            let size = 71;
            let mut table = vec![f64::INFINITY; size * size];
            let mut join = |i: usize, j: usize, length: f64| {
                table[i * size + j] = length;
                table[j * size + i] = length;
            };
            let mut of_side = |rows: &Matrix, from: usize, paired: Vec<usize>| {
                let graph = lengths(&Pool::new(rows.view(), 3), rows.view());
                let all = from_each(&graph, &paired);
                let factor = all.len() as f64 / all.iter().sum::<f64>();
                for i in 0..rows.rows() {
                    join(from + i, from + i, 0.0);
                    for (j, length) in graph.edges_of(i) {
                        join(from + i, from + j, length * factor);
                    }
                }
                factor
            };
            let factor = of_side(&x, 0, pairs.iter().map(|p| p.0 as usize).collect());
            of_side(&y, 40, pairs.iter().map(|p| p.1 as usize).collect());
            let unseen = Matrix::from_rows(&[[0.5, 0.4, 0.3]]);
            let joined = Pool::new(x.view(), 3).join(unseen.view());
            for (&j, s) in joined.rows.iter().zip(&joined.squared) {
                join(70, j as usize, s.sqrt() * factor);
            }
            kept.iter().for_each(|&s| join(pairs[s].0 as usize, 40 + pairs[s].1 as usize, 0.0));
            close(&mut table, size);

            let between = paths.between(&kept);
            let fitted = Fitted { paths: Arc::clone(&paths), kept, between };
            let rows =
                Matrix::from_fn(41, 3, |i, j| if i < 40 { x.row(i)[j] } else { unseen.row(0)[j] });
            let scores = fitted.scores(rows.view());
            for i in 0..41 {
                let at = if i < 40 { i } else { 70 };
                for j in 0..30 {
                    let (found, exact) = (-scores[i * 30 + j], table[at * size + 40 + j]);
                    assert!((found - exact).abs() < 1e-9, "{i} {j}: {found} {exact}");
                }
            }
        }
    }
}
