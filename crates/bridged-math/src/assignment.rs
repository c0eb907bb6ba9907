//! The linear assignment problem, exactly, with its dual prices.
//!
//! For costs c (r × c, rectangular allowed), choose min(r, c) entries, no two in one row or one
//! column, with the smallest (or largest) sum. Rows enter one at a time by a shortest augmenting
//! path over reduced costs c_ij − u_i − v_j (Jonker & Volgenant 1987; the rectangular form of
//! Crouse 2016 that SciPy uses too). Cost O(s² · l) time and O(r · c) memory, with s the smaller
//! and l the larger side.
//!
//! Only sums, differences and comparisons of costs are formed, so integer-valued costs are solved
//! without any rounding as long as their sums stay below 2⁵³.

use crate::cancel::checkpoint;
use serde::{Deserialize, Serialize};

/// Whether a small or a large sum is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The smallest sum.
    Minimise,
    /// The largest sum.
    Maximise,
}

/// An optimal assignment and the prices that prove it.
///
/// The prices u, v satisfy u_i + v_j ≤ c_ij when minimising (≥ when maximising), with equality on
/// every matched pair, and an unmatched row or column has price 0; so Σu + Σv is the total.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column of each row; `None` where there are more rows than columns.
    pub row_to_col: Vec<Option<usize>>,
    /// The row of each column; `None` where there are more columns than rows.
    pub col_to_row: Vec<Option<usize>>,
    /// The sum of the matched costs.
    pub total: f64,
    /// u, one price for each row.
    pub row_duals: Vec<f64>,
    /// v, one price for each column.
    pub col_duals: Vec<f64>,
}

/// Solves the assignment problem for row-major `costs` (rows, cols).
///
/// Among several optimal assignments the one returned follows from the costs alone;
/// [`Assignment::unique_links`] tells which of its pairs all of them share.
///
/// ```
/// use bridged_math::assignment::{Goal, assign};
/// let votes = [
///     3.0, 1.0, //
///     2.0, 0.0, //
///     0.0, 2.0,
/// ];
/// let best = assign(&votes, 3, 2, Goal::Maximise);
/// assert_eq!(best.row_to_col, [Some(0), None, Some(1)]);
/// assert_eq!(best.total, 5.0);
/// assert_eq!(best.row_duals.iter().sum::<f64>() + best.col_duals.iter().sum::<f64>(), 5.0);
/// ```
///
/// # Panics
/// If `costs` has not `rows × cols` entries or one of them is not finite.
pub fn assign(costs: &[f64], rows: usize, cols: usize, goal: Goal) -> Assignment {
    assert_eq!(costs.len(), rows * cols, "costs are rows × cols");
    assert!(costs.iter().all(|c| c.is_finite()), "costs are finite");
    let sign = match goal {
        Goal::Minimise => 1.0,
        Goal::Maximise => -1.0,
    };
    let (small, large) = (rows.min(cols), rows.max(cols));
    let mut oriented = Vec::with_capacity(costs.len()); // (small, large), to be minimised
    for i in 0..small {
        for j in 0..large {
            let at = if rows <= cols { i * cols + j } else { j * cols + i };
            oriented.push(sign * costs[at]);
        }
    }
    let mut solver = Solver::new(&oriented, small, large);
    for row in 0..small {
        checkpoint();
        solver.insert(row);
    }

    let price = |prices: Vec<f64>| -> Vec<f64> {
        // `+ 0.0` turns the −0 of a negated zero into a plain one.
        prices.into_iter().map(|p| sign * p + 0.0).collect()
    };
    let (small_duals, large_duals) = (price(solver.u), price(solver.v));
    let (row_to_col, col_to_row, row_duals, col_duals) = if rows <= cols {
        (solver.col_of, solver.row_of, small_duals, large_duals)
    } else {
        (solver.row_of, solver.col_of, large_duals, small_duals)
    };
    let total = matched(&row_to_col).map(|(i, j)| costs[i * cols + j]).sum();
    Assignment { row_to_col, col_to_row, total, row_duals, col_duals }
}

fn matched(row_to_col: &[Option<usize>]) -> impl Iterator<Item = (usize, usize)> {
    row_to_col.iter().enumerate().filter_map(|(i, j)| Some((i, (*j)?)))
}

/// The state between two augmentations, for n ≤ m.
struct Solver<'a> {
    costs: &'a [f64], // (n, m)
    m: usize,
    u: Vec<f64>,
    v: Vec<f64>,
    col_of: Vec<Option<usize>>,
    row_of: Vec<Option<usize>>,
    /// Length of the shortest path found to each column, and the row it arrives from.
    length: Vec<f64>,
    from: Vec<usize>,
    /// Columns whose shortest path is not settled yet.
    open: Vec<usize>,
}

impl<'a> Solver<'a> {
    fn new(costs: &'a [f64], n: usize, m: usize) -> Self {
        Self {
            costs,
            m,
            u: vec![0.0; n],
            v: vec![0.0; m],
            col_of: vec![None; n],
            row_of: vec![None; m],
            length: vec![0.0; m],
            from: vec![0; m],
            open: Vec::with_capacity(m),
        }
    }

    /// Matches one more row along a shortest alternating path (Dijkstra on reduced costs).
    fn insert(&mut self, row: usize) {
        self.length.fill(f64::INFINITY);
        self.open.clear();
        self.open.extend((0..self.m).rev());
        let (mut i, mut reached) = (row, 0.0f64);
        let mut settled = Vec::new();
        let free = loop {
            let costs = &self.costs[i * self.m..(i + 1) * self.m];
            let mut best = 0;
            for at in 0..self.open.len() {
                let j = self.open[at];
                let through = reached + costs[j] - self.u[i] - self.v[j];
                if through < self.length[j] {
                    self.length[j] = through;
                    self.from[j] = i;
                }
                // Of equally near columns a free one ends the search at once.
                let (this, champion) = (self.length[j], self.open[best]);
                let nearest = self.length[champion];
                if this < nearest
                    || (this == nearest
                        && self.row_of[j].is_none()
                        && self.row_of[champion].is_some())
                {
                    best = at;
                }
            }
            let j = self.open.swap_remove(best);
            reached = self.length[j];
            settled.push(j);
            match self.row_of[j] {
                None => break j,
                Some(next) => i = next,
            }
        };
        self.u[row] += reached;
        for &j in &settled {
            let slack = reached - self.length[j];
            self.v[j] -= slack;
            if let Some(i) = self.row_of[j] {
                self.u[i] += slack;
            }
        }
        let mut j = free;
        loop {
            let i = self.from[j];
            self.row_of[j] = Some(i);
            match self.col_of[i].replace(j) {
                Some(previous) => j = previous,
                None => break,
            }
        }
    }
}

impl Assignment {
    /// For each row, whether its pair belongs to *every* optimal assignment of these costs; false
    /// for a row that is not matched.
    ///
    /// Another optimum differs from this one by alternating cycles of tight pairs (reduced cost 0).
    /// So draw an arrow from row i to row i' if i could tightly take the column of i'; a pair can be
    /// swapped away exactly if its row lies on a cycle, that is, in a strongly connected component
    /// of two or more (Tarjan 1972). With more columns than rows (or the reverse), one more node
    /// stands for all the zero-cost rows that would make the problem square. Cost O(rows · cols).
    ///
    /// ```
    /// use bridged_math::assignment::{Goal, assign};
    /// let votes = [
    ///     1.0, 1.0, 0.0, //
    ///     1.0, 1.0, 0.0, //
    ///     0.0, 0.0, 2.0,
    /// ];
    /// let best = assign(&votes, 3, 3, Goal::Maximise);
    /// assert_eq!(best.unique_links(&votes), [false, false, true]);
    /// ```
    ///
    /// # Panics
    /// If `costs` are not those that were solved (by their number).
    pub fn unique_links(&self, costs: &[f64]) -> Vec<bool> {
        let (rows, cols) = (self.row_to_col.len(), self.col_to_row.len());
        assert_eq!(costs.len(), rows * cols, "costs are rows × cols");
        let largest = costs.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        // What rounding may leave of a reduced cost of 0; far below 1 for integer-valued costs.
        let zero = 16.0 * f64::EPSILON * rows.max(cols) as f64 * largest;
        let tight = |i: usize, j: usize| {
            (costs[i * cols + j] - self.row_duals[i] - self.col_duals[j]).abs() <= zero
        };
        // The smaller side is matched completely; its members are the nodes. Node n is the padding.
        let by_row = rows <= cols;
        let (n, other) = if by_row { (rows, cols) } else { (cols, rows) };
        let partner = |other: usize| {
            if by_row { self.col_to_row[other] } else { self.row_to_col[other] }
        };
        let other_duals = if by_row { &self.col_duals } else { &self.row_duals };
        // Neighbours of a node, as positions on the other side; their partners are the targets.
        let edge = |node: usize, to: usize| match (node == n, by_row) {
            (true, _) => other_duals[to].abs() <= zero,
            (false, true) => tight(node, to),
            (false, false) => tight(to, node),
        };
        let target = |to: usize| partner(to).unwrap_or(n);
        let cyclic = on_a_cycle(n + 1, other, edge, target);
        self.row_to_col
            .iter()
            .enumerate()
            .map(|(i, col)| col.is_some_and(|j| !cyclic[if by_row { i } else { j }]))
            .collect()
    }
}

/// Which of `nodes` lie in a strongly connected component of two or more; node a has an arrow to
/// `target(t)` for every t < `targets` with `edge(a, t)`. Tarjan's algorithm without recursion.
fn on_a_cycle(
    nodes: usize,
    targets: usize,
    edge: impl Fn(usize, usize) -> bool,
    target: impl Fn(usize) -> usize,
) -> Vec<bool> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; nodes];
    let mut low = vec![0; nodes];
    let mut pending = vec![false; nodes];
    let mut cyclic = vec![false; nodes];
    let (mut stack, mut calls, mut clock) = (Vec::new(), Vec::new(), 0);
    for root in 0..nodes {
        if order[root] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some((a, next)) = calls.pop() {
            if next == 0 && order[a] == UNSEEN {
                order[a] = clock;
                low[a] = clock;
                clock += 1;
                stack.push(a);
                pending[a] = true;
            }
            let mut child = None;
            for t in next..targets {
                if !edge(a, t) {
                    continue;
                }
                let b = target(t);
                if order[b] == UNSEEN {
                    child = Some((b, t));
                    break;
                }
                if pending[b] {
                    low[a] = low[a].min(low[b]);
                }
            }
            if let Some((b, t)) = child {
                // Coming back to `t` then folds the low mark of `b` into that of `a`.
                calls.push((a, t));
                calls.push((b, 0));
                continue;
            }
            if low[a] == order[a] {
                let start = stack.iter().rposition(|&s| s == a).expect("a is on the stack");
                let component = stack.split_off(start);
                for &member in &component {
                    pending[member] = false;
                    cyclic[member] = component.len() > 1;
                }
            }
        }
    }
    cyclic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    /// Every way to match the smaller side completely, as (total, column of each row).
    fn all(costs: &[f64], rows: usize, cols: usize) -> Vec<(f64, Vec<Option<usize>>)> {
        fn go(
            costs: &[f64],
            (rows, cols): (usize, usize),
            taken: &mut Vec<Option<usize>>,
            total: f64,
            out: &mut Vec<(f64, Vec<Option<usize>>)>,
        ) {
            let i = taken.len();
            if i == rows {
                if taken.iter().flatten().count() == rows.min(cols) {
                    out.push((total, taken.clone()));
                }
                return;
            }
            for j in (0..cols).filter(|j| !taken.contains(&Some(*j))).collect::<Vec<_>>() {
                taken.push(Some(j));
                go(costs, (rows, cols), taken, total + costs[i * cols + j], out);
                taken.pop();
            }
            if rows > cols {
                taken.push(None);
                go(costs, (rows, cols), taken, total, out);
                taken.pop();
            }
        }
        let mut out = Vec::new();
        go(costs, (rows, cols), &mut Vec::new(), 0.0, &mut out);
        out
    }

    fn best_total(all: &[(f64, Vec<Option<usize>>)], goal: Goal) -> f64 {
        let totals = all.iter().map(|(t, _)| *t);
        match goal {
            Goal::Minimise => totals.fold(f64::INFINITY, f64::min),
            Goal::Maximise => totals.fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Feasible prices, equality on matched pairs, zero for the unmatched.
    fn check_duals(a: &Assignment, costs: &[f64], goal: Goal, within: f64) {
        let (rows, cols) = (a.row_to_col.len(), a.col_to_row.len());
        let sign = if goal == Goal::Minimise { 1.0 } else { -1.0 };
        for i in 0..rows {
            for j in 0..cols {
                let reduced = costs[i * cols + j] - a.row_duals[i] - a.col_duals[j];
                assert!(sign * reduced >= -within, "({i}, {j}) has reduced cost {reduced}");
                if a.row_to_col[i] == Some(j) {
                    assert!(reduced.abs() <= within);
                    assert_eq!(a.col_to_row[j], Some(i));
                }
            }
        }
        assert_eq!(a.row_to_col.iter().flatten().count(), rows.min(cols));
        for i in (0..rows).filter(|&i| a.row_to_col[i].is_none()) {
            assert_eq!(a.row_duals[i], 0.0);
        }
        for j in (0..cols).filter(|&j| a.col_to_row[j].is_none()) {
            assert_eq!(a.col_duals[j], 0.0);
        }
        let dual: f64 = a.row_duals.iter().chain(&a.col_duals).sum();
        assert!((dual - a.total).abs() <= within * (rows + cols) as f64);
    }

    fn goals() -> impl Strategy<Value = Goal> {
        prop_oneof![Just(Goal::Minimise), Just(Goal::Maximise)]
    }

    proptest! {
        #[test]
        fn no_other_assignment_of_tied_integer_costs_is_better(
            rows in 1usize..=6, cols in 1usize..=6, spread in 1i32..6, goal in goals(), seed in 0u64..1_000_000,
        ) {
            let mut rng = Seed(seed).rng();
            let costs: Vec<f64> =
                (0..rows * cols).map(|_| f64::from(rng.random_range(-spread..=spread))).collect();
            let a = assign(&costs, rows, cols, goal);
            let every = all(&costs, rows, cols);
            prop_assert_eq!(a.total, best_total(&every, goal));
            check_duals(&a, &costs, goal, 0.0);

            let optimal: Vec<_> = every.iter().filter(|(t, _)| *t == a.total).collect();
            let shared: Vec<bool> = a.row_to_col.iter().enumerate()
                .map(|(i, col)| col.is_some() && optimal.iter().all(|(_, m)| m[i] == *col))
                .collect();
            prop_assert_eq!(a.unique_links(&costs), shared);
        }

        #[test]
        fn no_other_assignment_of_real_costs_is_better(
            n in 1usize..=7, goal in goals(), seed in 0u64..1_000_000,
        ) {
            let mut rng = Seed(seed).rng();
            let costs: Vec<f64> = (0..n * n).map(|_| rng.random::<f64>() * 100.0 - 50.0).collect();
            let a = assign(&costs, n, n, goal);
            prop_assert!((a.total - best_total(&all(&costs, n, n), goal)).abs() < 1e-9);
            check_duals(&a, &costs, goal, 1e-11);
            prop_assert!(a.unique_links(&costs).iter().all(|&u| u));
        }
    }

    #[test]
    fn an_empty_problem_has_an_empty_answer() {
        for (rows, cols) in [(0, 0), (0, 3), (2, 0)] {
            let a = assign(&[], rows, cols, Goal::Minimise);
            assert_eq!((a.row_to_col.len(), a.col_to_row.len(), a.total), (rows, cols, 0.0));
            assert_eq!(a.unique_links(&[]), vec![false; rows]);
        }
    }

    #[test]
    fn a_tie_with_an_unmatched_column_is_not_unique() {
        let costs = [2.0, 2.0, 1.0];
        let a = assign(&costs, 1, 3, Goal::Maximise);
        assert_eq!(a.unique_links(&costs), [false]);
        assert_eq!(assign(&costs, 1, 3, Goal::Minimise).unique_links(&costs), [true]);
        // The same with rows in the place of columns.
        let a = assign(&costs, 3, 1, Goal::Maximise);
        assert_eq!(a.unique_links(&costs), [false; 3]);
        assert_eq!(assign(&costs, 3, 1, Goal::Minimise).unique_links(&costs), [false, false, true]);
    }

    #[test]
    fn ties_among_decimal_costs_survive_rounding() {
        let n = 40;
        let costs: Vec<f64> =
            (0..n * n).map(|at| 0.1 * (at / n) as f64 + 0.7 * (at % n) as f64).collect();
        let a = assign(&costs, n, n, Goal::Minimise);
        assert_eq!(a.unique_links(&costs), vec![false; n]);
    }

    #[test]
    fn two_hundred_clusters_are_linked_within_50_milliseconds() {
        let n = 200;
        let mut rng = Seed(5).rng();
        for spread in [3, 1_000_000] {
            let costs: Vec<f64> =
                (0..n * n).map(|_| f64::from(rng.random_range(0..spread))).collect();
            let timed = || {
                let start = std::time::Instant::now();
                let a = assign(&costs, n, n, Goal::Maximise);
                let links = a.unique_links(&costs);
                (start.elapsed(), a, links)
            };
            // The best of three, as other tests share the machine; it takes 3 ms.
            let (took, a, links) = (0..3).map(|_| timed()).min_by_key(|run| run.0).unwrap();
            check_duals(&a, &costs, Goal::Maximise, 0.0);
            assert_eq!(links.len(), n);
            assert!(took.as_millis() < 50, "took {took:?}");
        }
    }

    #[derive(serde::Deserialize)]
    struct Golden {
        assignment: Vec<GoldenCase>,
    }

    #[derive(serde::Deserialize)]
    struct GoldenCase {
        rows: usize,
        cols: usize,
        goal: Goal,
        costs: Vec<f64>,
        total: f64,
        row_to_col: Vec<Option<usize>>,
    }

    #[test]
    fn totals_and_matchings_agree_with_scipy() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../../tests/golden/metrics.json")).unwrap();
        assert!(golden.assignment.len() >= 30);
        for case in golden.assignment {
            let a = assign(&case.costs, case.rows, case.cols, case.goal);
            assert!((a.total - case.total).abs() <= 1e-12 * case.total.abs().max(1.0));
            check_duals(&a, &case.costs, case.goal, 1e-12 * 100.0);
            // A matching is only comparable where it is the only optimal one.
            for (i, unique) in a.unique_links(&case.costs).into_iter().enumerate() {
                if unique {
                    assert_eq!(a.row_to_col[i], case.row_to_col[i]);
                }
            }
        }
    }
}
