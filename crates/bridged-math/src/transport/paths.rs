//! The exact end: rows that are in the wrong place move along cheapest column-to-column paths.
//!
//! Moving one row from column a to b costs w(a, b) = min over rows i of a of c(i, b) − c(i, a). With
//! prices under which every row is in a cheapest column, all reduced costs w(a, b) + p_b − p_a are
//! ≥ 0, so Dijkstra's algorithm on k + 1 nodes finds the cheapest way from a column with rows too
//! many to one with rows too few. Raising the prices by the distances keeps the reduced costs ≥ 0,
//! and on the path zero; so every state on the way is optimal for its sizes.
//!
//! A heap for each pair of columns keeps the cheapest few offers and the cost below which it is
//! complete. A path that would need more is not trusted: the heaps of that column are filled anew.

use super::offers::{Offer, Offers, keep_cheapest, round_up};
use super::pass::{Choice, least_moves};
use super::prices::quantile;
use super::{Capacity, Imbalance};
use crate::cancel::checkpoint;
use crate::chunks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Moves the rows that are in the wrong place, and brings the price of the sink to zero.
pub(super) fn finish(
    costs: &[f32],
    capacity: &Capacity,
    prices: &mut [f64],
    rows: &mut [Choice],
    sizes: &[u32],
) {
    let k = prices.len();
    let imbalance = Imbalance::new(capacity, prices, sizes);
    let mut todo = imbalance.total();
    let mut nodes = prices.to_vec();
    nodes.push(imbalance.sink);
    if todo > 0 {
        let mut network = Network::new(costs, capacity, nodes, rows, imbalance);
        while todo > 0 {
            checkpoint();
            network.find_path();
            todo -= network.augment();
        }
        nodes = network.prices;
    }
    for (price, p) in prices.iter_mut().zip(&nodes) {
        *price = p - nodes[k];
    }
}

/// Columns 0..k and the sink k.
struct Network<'a> {
    costs: &'a [f32],
    capacity: &'a Capacity,
    rows: &'a mut [Choice],
    prices: Vec<f64>,       // (k + 1)
    flow: Vec<u32>,         // (k), from column to sink
    excess: Vec<i64>,       // (k + 1)
    members: Vec<Vec<u32>>, // (k), the rows of a column, and some that have left
    offers: Vec<Offers>,    // (k, k), of column a to b at a · k + b
    cheapest: Vec<f64>,     // (k, k), a lower bound of the cheapest offer, mostly the offer itself
    first: Vec<u32>,        // (k, k), the row of the cheapest offer
    /// How many offers of a pair are kept at least.
    keep: usize,
    reach: Vec<f64>, // (k), how far the heaps of a column look
    start: Vec<f64>, // (k), the prices at which margins were measured
    least: Vec<f64>, // (k, k), no row that was there at the start offers less
    tree: Tree,
}

/// The shortest paths from all columns with rows too many.
struct Tree {
    distance: Vec<f64>,
    from: Vec<usize>,
    settled: Vec<bool>,
    /// The node with rows too few that is nearest.
    target: usize,
}

impl Tree {
    fn new(nodes: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; nodes],
            from: vec![usize::MAX; nodes],
            settled: vec![false; nodes],
            target: 0,
        }
    }

    /// The nearest node that is not settled, the first of equals.
    fn next(&self) -> usize {
        let mut best = usize::MAX;
        let mut least = f64::INFINITY;
        for (u, (&d, &settled)) in self.distance.iter().zip(&self.settled).enumerate() {
            if !settled && d < least {
                (best, least) = (u, d);
            }
        }
        assert!(best < self.settled.len(), "feasible bounds leave a way to every column");
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

impl<'a> Network<'a> {
    fn new(
        costs: &'a [f32],
        capacity: &'a Capacity,
        prices: Vec<f64>,
        rows: &'a mut [Choice],
        imbalance: Imbalance,
    ) -> Self {
        let k = capacity.columns();
        let todo = imbalance.total() as usize;
        let n = rows.len();
        // Offers for many rows in the wrong place may take as much room as half the costs, and no more.
        let of_wrong = (4 * todo / k).min(n / (16 * k));
        let keep = (4096 / k).min(n / (8 * k)).clamp(8, 128).max(of_wrong);
        // Rows that are far from every other column are looked at only when paths get that long.
        let reach = quantile(rows, (32 * todo + 64 * k).min(n / 8) as f64 / n as f64);
        let start = prices[..k].to_vec();
        let mut members = vec![Vec::new(); k];
        rows.iter().zip(0u32..).for_each(|(row, i)| members[row.label as usize].push(i));
        let least = least_moves(costs, &members, k);
        let mut network = Self {
            costs,
            capacity,
            rows,
            prices,
            flow: imbalance.flow,
            excess: imbalance.excess,
            members,
            offers: Vec::new(),
            cheapest: vec![f64::INFINITY; k * k],
            first: vec![u32::MAX; k * k],
            keep,
            reach: vec![reach; k],
            start,
            least,
            tree: Tree::new(k + 1),
        };
        let offers: Vec<_> = chunks::par_map(k, |a| network.cheapest_offers(a));
        network.offers = offers.into_iter().flatten().collect();
        (0..k * k).for_each(|pair| network.refresh(pair));
        network
    }

    fn k(&self) -> usize {
        self.flow.len()
    }

    fn row_costs(&self, row: u32) -> &'a [f32] {
        let k = self.k();
        &self.costs[row as usize * k..(row as usize + 1) * k]
    }

    /// The cheapest offers of column `a` to each column, of those with a reduced cost at the start
    /// within the reach of the column.
    fn cheapest_offers(&self, a: usize) -> Vec<Offers> {
        let (k, keep, reach) = (self.k(), self.keep, self.reach[a]);
        let mut offers = vec![Vec::new(); k];
        let reaches = self.start.iter().zip(&self.least[a * k..]);
        let mut complete: Vec<f64> =
            reaches.map(|(p, &least)| (self.start[a] - p + reach).max(least)).collect();
        complete[a] = f64::NEG_INFINITY;
        let mut rough: Vec<f32> = complete.iter().map(|&c| round_up(c)).collect();
        let near = |i: &&u32| f64::from(self.rows[**i as usize].margin) <= reach;
        for &row in self.members[a].iter().filter(near) {
            let costs = self.row_costs(row);
            let own = f64::from(costs[a]);
            for (at, c) in costs.chunks(8).enumerate() {
                // Few rows are among the cheapest; eight at a time are ruled out by a rough look.
                if !c
                    .iter()
                    .zip(&rough[8 * at..])
                    .fold(false, |hit, (c, r)| hit | (c - costs[a] <= *r))
                {
                    continue;
                }
                for (b, &c) in (8 * at..).zip(c) {
                    let cost = f64::from(c) - own;
                    if cost < complete[b] {
                        offers[b].push(Reverse(Offer { cost, row }));
                        if offers[b].len() == 2 * keep {
                            complete[b] = keep_cheapest(&mut offers[b], keep);
                            rough[b] = round_up(complete[b]);
                        }
                    }
                }
            }
        }
        complete[a] = f64::INFINITY;
        let pairs = offers.into_iter().zip(complete);
        pairs.map(|(o, complete)| Offers { heap: BinaryHeap::from(o), complete }).collect()
    }

    /// Looks at the rows of column `a` again, and at more of them, so that there is an offer to `b`.
    fn refill(&mut self, a: usize, b: usize) {
        let k = self.k();
        let needed = self.offers[a * k + b].complete + self.start[b] - self.start[a];
        self.reach[a] = (2.0 * needed).max(4.0 * self.reach[a]);
        if self.reach[a] <= 0.0 {
            self.reach[a] = f64::INFINITY;
        }
        let members = std::mem::take(&mut self.members[a]);
        let rows = &self.rows;
        self.members[a] =
            members.into_iter().filter(|&i| rows[i as usize].label as usize == a).collect();
        // A row that left and came back is there twice.
        self.members[a].sort_unstable();
        self.members[a].dedup();
        let offers = self.cheapest_offers(a);
        for (pair, o) in (a * k..).zip(offers) {
            self.offers[pair] = o;
            self.refresh(pair);
        }
    }

    /// Drops offers of rows that have left from the top of the heap of a pair a · k + b.
    fn refresh(&mut self, pair: usize) {
        let a = pair / self.k();
        let Offers { heap, complete } = &mut self.offers[pair];
        while heap.peek().is_some_and(|o| self.rows[o.0.row as usize].label as usize != a) {
            heap.pop();
        }
        let top = heap.peek().map_or(Offer::NONE, |o| o.0);
        if top.cost <= *complete {
            self.cheapest[pair] = top.cost;
            self.first[pair] = top.row;
        } else {
            self.cheapest[pair] = *complete;
            self.first[pair] = u32::MAX;
        }
    }

    /// Finds the nearest node with rows too few, and prices under which the way there is free.
    fn find_path(&mut self) {
        loop {
            self.grow_tree();
            let k = self.k();
            let mut v = self.tree.target;
            let mut doubtful = None;
            while self.excess[v] <= 0 {
                let u = self.tree.from[v];
                if u != k && v != k && self.first[u * k + v] == u32::MAX {
                    doubtful = Some((u, v));
                }
                v = u;
            }
            match doubtful {
                Some((u, v)) => self.refill(u, v),
                None => break,
            }
        }
        let length = self.tree.distance[self.tree.target];
        for (price, &d) in self.prices.iter_mut().zip(&self.tree.distance) {
            *price += length - d.min(length);
        }
    }

    /// Dijkstra's algorithm up to the first node with rows too few.
    fn grow_tree(&mut self) {
        let k = self.k();
        let tree = &mut self.tree;
        tree.settled.fill(false);
        for (d, &e) in tree.distance.iter_mut().zip(&self.excess) {
            *d = if e > 0 { 0.0 } else { f64::INFINITY };
        }
        loop {
            let u = tree.next();
            if self.excess[u] < 0 {
                tree.target = u;
                break;
            }
            tree.settled[u] = true;
            let p = self.prices[u];
            if u == k {
                for v in (0..k).filter(|&v| self.flow[v] > self.capacity.lower[v]) {
                    tree.relax(u, v, self.prices[v] - p);
                }
                continue;
            }
            let cheapest = &self.cheapest[u * k..(u + 1) * k];
            for (v, (w, price)) in cheapest.iter().zip(&self.prices).enumerate() {
                tree.relax(u, v, w + price - p);
            }
            if self.flow[u] < self.capacity.upper[u] {
                tree.relax(u, k, self.prices[k] - p);
            }
        }
    }

    /// Moves rows along the path that was found while it costs the same, and says how many.
    fn augment(&mut self) -> i64 {
        let target = self.tree.target;
        let mut path = vec![target];
        let mut source = target;
        while self.excess[source] <= 0 {
            source = self.tree.from[source];
            path.push(source);
        }
        path.reverse();
        let arcs: Vec<(usize, usize)> = path.windows(2).map(|w| (w[0], w[1])).collect();
        let costs: Vec<f64> = arcs.iter().map(|&(u, v)| self.arc_cost(u, v)).collect();
        let most = self.excess[source].min(-self.excess[target]);
        let mut moved = 0;
        while moved < most && arcs.iter().zip(&costs).all(|(&(u, v), &c)| self.arc_cost(u, v) == c)
        {
            arcs.iter().for_each(|&(u, v)| self.shift(u, v));
            moved += 1;
        }
        self.excess[source] -= moved;
        self.excess[target] += moved;
        moved
    }

    /// The cost of moving one row, infinite where it is not known that one can move.
    fn arc_cost(&self, u: usize, v: usize) -> f64 {
        let k = self.k();
        let open = match (u == k, v == k) {
            (true, _) => self.flow[v] > self.capacity.lower[v],
            (_, true) => self.flow[u] < self.capacity.upper[u],
            _ if self.first[u * k + v] != u32::MAX => return self.cheapest[u * k + v],
            _ => false,
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
            let row = self.first[u * k + v];
            // Its margin was that of another column: from now on it counts as near.
            self.rows[row as usize] = Choice { label: v as u32, margin: f32::NEG_INFINITY };
            for pair in u * k..(u + 1) * k {
                if self.first[pair] == row {
                    self.refresh(pair);
                }
            }
            self.add_member(row);
        }
    }

    /// Puts a row that is new in its column among its members, and its offers into the heaps.
    fn add_member(&mut self, row: u32) {
        let k = self.k();
        let a = self.rows[row as usize].label as usize;
        self.members[a].push(row);
        let costs = self.row_costs(row);
        let own = f64::from(costs[a]);
        for (b, &c) in costs.iter().enumerate() {
            let cost = f64::from(c) - own;
            let pair = a * k + b;
            if b != a && cost <= self.offers[pair].complete {
                self.offers[pair].heap.push(Reverse(Offer { cost, row }));
                self.refresh(pair);
            }
        }
    }
}
