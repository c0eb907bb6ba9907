//! The exact end: rows that are in the wrong place move along cheapest column-to-column paths.
//!
//! Moving one row from column a to b costs w(a, b) = min over rows i of a of c(i, b) − c(i, a). With
//! prices under which every row is in a cheapest column, all reduced costs w(a, b) + p_b − p_a are
//! ≥ 0, so Dijkstra's algorithm on k + 1 nodes finds the cheapest way from a column with rows too
//! many to one with rows too few. Raising the prices by the distances keeps the reduced costs ≥ 0,
//! and on the path zero; so every state on the way is optimal for its sizes.
//!
//! Only pairs (row, column) within `reach` of being cheapest are in the heaps. As long as the
//! prices have spread by less than that since the heaps were built, none of the others can be on a
//! cheapest path; when they have, the heaps are built again with a longer reach.

use super::pass::{self, Row};
use super::prices::Improved;
use super::{Bounds, Imbalance};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Moves the rows that are in the wrong place, and brings the price of the sink to zero.
pub(super) fn finish(
    costs: &[f32],
    bounds: &Bounds,
    prices: &mut [f64],
    rows: &mut [Row],
    improved: &Improved,
) {
    let k = prices.len();
    let imbalance = Imbalance::new(bounds, prices, &improved.sizes);
    let mut todo = imbalance.total();
    if todo == 0 {
        prices.iter_mut().for_each(|p| *p -= imbalance.sink);
        return;
    }
    let mut nodes = prices.to_vec();
    nodes.push(imbalance.sink);
    let mut network = Network {
        costs,
        bounds,
        rows,
        prices: nodes,
        flow: imbalance.flow,
        excess: imbalance.excess,
        heaps: (0..k * k).map(|_| BinaryHeap::new()).collect(),
        cheapest: vec![f64::INFINITY; k * k],
        first: vec![u32::MAX; k * k],
        start: Vec::new(),
        reach: 0.0,
        tree: Tree::new(k + 1),
    };
    // A path moves a row through a few columns, each of which needs some rows to choose from.
    let mut share = (8 * todo + 64 * k as i64) as f64 / network.rows.len() as f64;
    let mut built = false;
    while todo > 0 {
        match built.then(|| network.find_path()).flatten() {
            Some(target) => todo -= network.augment(target),
            None => {
                if built {
                    pass::measure(costs, &network.prices[..k], network.rows);
                }
                network.build(quantile(network.rows, share).max(improved.reach));
                built = true;
                share *= 8.0;
            }
        }
    }
    for (price, p) in prices.iter_mut().zip(&network.prices) {
        *price = p - network.prices[k];
    }
}

/// The margin below which about `share` of the rows are.
pub(super) fn quantile(rows: &[Row], share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let step = rows.len().div_ceil(4096);
    let mut some: Vec<f32> = rows.iter().step_by(step).map(|r| r.margin).collect();
    let at = (some.len() as f64 * share) as usize;
    f64::from(*some.select_nth_unstable_by(at, f32::total_cmp).1)
}

/// A row that can leave a column for another, at a cost.
#[derive(Clone, Copy, Debug)]
struct Offer {
    cost: f64,
    row: u32,
}

impl Offer {
    const NONE: Offer = Offer { cost: f64::INFINITY, row: u32::MAX };
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.row.cmp(&other.row))
    }
}

/// Columns 0..k and the sink k.
struct Network<'a> {
    costs: &'a [f32],
    bounds: &'a Bounds,
    rows: &'a mut [Row],
    prices: Vec<f64>, // (k + 1)
    flow: Vec<u32>,   // (k), from column to sink
    excess: Vec<i64>, // (k + 1)
    /// Offers of column a to b at a · k + b, cheapest first; those of rows that have left a since
    /// are dropped when they come to the top.
    heaps: Vec<BinaryHeap<Reverse<Offer>>>,
    cheapest: Vec<f64>, // (k, k), the cost of the top of each heap
    first: Vec<u32>,    // (k, k), the row of the top of each heap
    start: Vec<f64>,    // (k + 1), the prices when the heaps were built
    reach: f64,
    tree: Tree,
}

/// The shortest paths from all columns with rows too many.
struct Tree {
    distance: Vec<f64>,
    from: Vec<usize>,
    settled: Vec<bool>,
}

impl Tree {
    fn new(nodes: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; nodes],
            from: vec![usize::MAX; nodes],
            settled: vec![false; nodes],
        }
    }

    /// The nearest node that is not settled, the first of equals.
    fn next(&self) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (u, &d) in self.distance.iter().enumerate() {
            if !self.settled[u] && d < best.map_or(f64::INFINITY, |b| self.distance[b]) {
                best = Some(u);
            }
        }
        best
    }

    fn relax(&mut self, u: usize, v: usize, reduced: f64) {
        // Rounding may leave a reduced cost a hair below zero.
        let d = self.distance[u] + reduced.max(0.0);
        if d < self.distance[v] {
            self.distance[v] = d;
            self.from[v] = u;
        }
    }
}

impl Network<'_> {
    fn k(&self) -> usize {
        self.flow.len()
    }

    fn row_costs(&self, row: u32) -> &[f32] {
        let k = self.k();
        &self.costs[row as usize * k..(row as usize + 1) * k]
    }

    /// Fills the heaps with the offers within `reach`.
    fn build(&mut self, reach: f64) {
        let k = self.k();
        self.start.clone_from(&self.prices);
        self.reach = reach;
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
        let mut offers: Vec<Vec<Reverse<Offer>>> =
            self.heaps.iter_mut().map(|h| std::mem::take(h).into_vec()).collect();
        for i in 0..self.rows.len() {
            if f64::from(self.rows[i].margin) <= self.reach {
                let a = self.rows[i].label as usize;
                self.offers_of(i as u32, |b, offer| offers[a * k + b].push(Reverse(offer)));
            }
        }
        self.heaps = offers.into_iter().map(BinaryHeap::from).collect();
        for pair in 0..k * k {
            self.refresh(pair);
        }
    }

    /// Calls `f(column, offer)` for every column within reach of a row.
    fn offers_of(&self, row: u32, mut f: impl FnMut(usize, Offer)) {
        let a = self.rows[row as usize].label as usize;
        let costs = self.row_costs(row);
        let own = f64::from(costs[a]);
        let limit = self.start[a] + self.reach;
        for (b, (&c, p)) in costs.iter().zip(&self.start).enumerate() {
            let cost = f64::from(c) - own;
            if b != a && cost + p <= limit {
                f(b, Offer { cost, row });
            }
        }
    }

    /// Drops offers of rows that have left from the top of the heap of a pair a · k + b.
    fn refresh(&mut self, pair: usize) {
        let a = pair / self.k();
        let heap = &mut self.heaps[pair];
        while heap.peek().is_some_and(|o| self.rows[o.0.row as usize].label as usize != a) {
            heap.pop();
        }
        let top = heap.peek().map_or(Offer::NONE, |o| o.0);
        self.cheapest[pair] = top.cost;
        self.first[pair] = top.row;
    }

    /// The nearest node with rows too few, and new prices under which the way there is free;
    /// nothing if it is further than the heaps can tell.
    fn find_path(&mut self) -> Option<usize> {
        let k = self.k();
        let drift = self.prices.iter().zip(&self.start).map(|(p, s)| p - s);
        let (low, high) = drift
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), d| (low.min(d), high.max(d)));
        let limit = self.reach - (high - low);
        let tree = &mut self.tree;
        tree.settled.fill(false);
        for (d, &e) in tree.distance.iter_mut().zip(&self.excess) {
            *d = if e > 0 { 0.0 } else { f64::INFINITY };
        }
        let target = loop {
            let u = tree.next().filter(|&u| tree.distance[u] <= limit)?;
            if self.excess[u] < 0 {
                break u;
            }
            tree.settled[u] = true;
            let p = self.prices[u];
            if u == k {
                for v in (0..k).filter(|&v| self.flow[v] > self.bounds.lower[v]) {
                    tree.relax(u, v, self.prices[v] - p);
                }
                continue;
            }
            for v in 0..k {
                tree.relax(u, v, self.cheapest[u * k + v] + self.prices[v] - p);
            }
            if self.flow[u] < self.bounds.upper[u] {
                tree.relax(u, k, self.prices[k] - p);
            }
        };
        let length = tree.distance[target];
        for (price, &d) in self.prices.iter_mut().zip(&tree.distance) {
            *price += length - d.min(length);
        }
        Some(target)
    }

    /// Moves rows along the path to `target` while it costs the same, and says how many.
    fn augment(&mut self, target: usize) -> i64 {
        let mut path = vec![target];
        let mut source = target;
        while self.excess[source] <= 0 {
            source = self.tree.from[source];
            path.push(source);
        }
        path.reverse();
        let costs: Vec<f64> = path.windows(2).map(|w| self.arc_cost(w[0], w[1])).collect();
        let most = self.excess[source].min(-self.excess[target]);
        let mut moved = 0;
        while moved < most {
            let same = path.windows(2).zip(&costs).all(|(w, &c)| self.arc_cost(w[0], w[1]) == c);
            if !same {
                break;
            }
            for w in path.windows(2) {
                self.shift(w[0], w[1]);
            }
            moved += 1;
        }
        self.excess[source] -= moved;
        self.excess[target] += moved;
        moved
    }

    /// The cost of moving one row, infinite where none can move.
    fn arc_cost(&self, u: usize, v: usize) -> f64 {
        let k = self.k();
        let open = match (u == k, v == k) {
            (true, _) => self.flow[v] > self.bounds.lower[v],
            (_, true) => self.flow[u] < self.bounds.upper[u],
            _ => return self.cheapest[u * k + v],
        };
        if open { 0.0 } else { f64::INFINITY }
    }

    fn shift(&mut self, u: usize, v: usize) {
        let k = self.k();
        if u == k {
            self.flow[v] -= 1;
        } else if v == k {
            self.flow[u] += 1;
        } else {
            let Reverse(offer) = self.heaps[u * k + v].pop().expect("an arc has an offer");
            self.rows[offer.row as usize].label = v as u32;
            for pair in u * k..(u + 1) * k {
                if self.first[pair] == offer.row {
                    self.refresh(pair);
                }
            }
            self.offer(offer.row);
        }
    }

    /// Puts the offers of a row that is new in its column into the heaps.
    fn offer(&mut self, row: u32) {
        let k = self.k();
        let a = self.rows[row as usize].label as usize;
        let mut heaps = std::mem::take(&mut self.heaps);
        let mut changed = Vec::new();
        self.offers_of(row, |b, offer| {
            heaps[a * k + b].push(Reverse(offer));
            changed.push(a * k + b);
        });
        self.heaps = heaps;
        changed.into_iter().for_each(|pair| self.refresh(pair));
    }
}
