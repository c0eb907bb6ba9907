//! The cheapest assignment of n rows to k columns when every column takes a bounded number of rows.
//!
//! ```text
//! minimise  Σ_i c(i, a(i))   over labels a   with   l_j ≤ |{i : a(i) = j}| ≤ u_j
//! ```
//!
//! A price p_j for every column turns it into n small problems: row i takes the column with the
//! least c(i, j) + p_j. The prices are right when no row wants to move and every column with
//! p_j > 0 is full, every column with p_j < 0 is at its least: then the labels are optimal, and
//! [`duality_gap`] proves it for any labels and prices.
//!
//! 1. Prices of the previous call; where they are far off, none, those that make all columns cost the
//!    same on average, or those of every sixteenth row, solved the same way.
//! 2. While very many rows are in the wrong place, columns with rows too many become more expensive (`surplus`);
//!    while many are, ascent on the concave dual (`prices`), which sees the columns as cells of a
//!    power diagram and moves their walls.
//! 3. The few rows that remain move one by one along cheapest column-to-column paths (`paths`).
//!    Each path keeps the labels optimal for the sizes reached so far, so the end is the exact
//!    optimum whatever the first two steps did.
//!
//! Cost: a few passes over the n × k costs, plus O(k² + k log n) for each row that moves in step 3.
//! Memory: 12 n bytes plus 16 bytes for each offer that is kept, a hundred or so per pair of columns.
//!
//! Ahuja, Magnanti & Orlin 1993, chapter 9 (successive shortest paths); Aurenhammer, Hoffmann &
//! Aronov 1998 (least-squares assignment and power diagrams); Kitagawa, Mérigot & Thibert 2019
//! (Newton's method for the prices).

pub mod large;
mod offers;
mod pass;
mod paths;
mod prices;
mod surplus;
#[cfg(test)]
mod tests;

pub use pass::Choice;
use std::fmt;

/// How many rows each column takes at least and at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    lower: Vec<u32>,
    upper: Vec<u32>,
}

impl Capacity {
    /// Bounds of each column; both slices have one entry per column.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn new(lower: Vec<u32>, upper: Vec<u32>) -> Self {
        assert_eq!(lower.len(), upper.len(), "a lower and an upper bound for each column");
        Self { lower, upper }
    }

    /// The same bounds for each of `k` columns.
    pub fn uniform(k: usize, lower: u32, upper: u32) -> Self {
        Self { lower: vec![lower; k], upper: vec![upper; k] }
    }

    /// Sizes as equal as they can be: ⌊n/k⌋ to ⌈n/k⌉.
    pub fn even(n: usize, k: usize) -> Self {
        Self::uniform(k, (n / k) as u32, n.div_ceil(k) as u32)
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.lower.len()
    }

    /// The least and the most rows of a column.
    pub fn bounds(&self, column: usize) -> (u32, u32) {
        (self.lower[column], self.upper[column])
    }

    /// Whether `n` rows can be assigned.
    pub fn check(&self, n: usize) -> Result<(), TransportError> {
        let sum = |b: &[u32]| b.iter().map(|&v| v as usize).sum::<usize>();
        let ordered = self.lower.iter().zip(&self.upper).all(|(l, u)| l <= u);
        if ordered && sum(&self.lower) <= n && n <= sum(&self.upper) {
            return Ok(());
        }
        Err(TransportError::Infeasible { rows: n, least: sum(&self.lower), most: sum(&self.upper) })
    }

    /// Bounds for a sample of `part` of `n` rows that the scaled sizes satisfy.
    pub fn scaled(&self, part: usize, n: usize) -> Self {
        let of = |b: u32| u64::from(b) * part as u64;
        Self {
            lower: self.lower.iter().map(|&l| (of(l) / n as u64) as u32).collect(),
            upper: self.upper.iter().map(|&u| of(u).div_ceil(n as u64) as u32).collect(),
        }
    }
}

/// Why there is no cheapest assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// No assignment has sizes within the bounds.
    Infeasible {
        /// The rows to assign.
        rows: usize,
        /// The sum of the lower bounds.
        least: usize,
        /// The sum of the upper bounds.
        most: usize,
    },
    /// A cost is NaN or infinite.
    NotFinite,
    /// A column has more rows than can be counted.
    TooManyRows,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infeasible { rows, least, most } => write!(
                f,
                "{rows} rows cannot be assigned to columns that take {least} to {most} rows in \
                 all; each lower bound must be at most its upper bound, and the sums must enclose \
                 the rows"
            ),
            Self::NotFinite => f.write_str("a cost of the assignment is not a finite number"),
            Self::TooManyRows => write!(f, "a column takes more than {} rows", u32::MAX),
        }
    }
}

impl std::error::Error for TransportError {}

/// Solves assignments one after the other, each from the prices of the one before.
///
/// ```
/// use bridged_math::transport::{Capacity, Transport};
///
/// // Three rows prefer column 0, which takes two; the one that loses least moves.
/// let costs = [0.0, 5.0, 0.0, 1.0, 0.0, 9.0, 7.0, 0.0];
/// let mut transport = Transport::new(Capacity::even(4, 2));
/// transport.solve(&costs)?;
/// assert_eq!(transport.labels().collect::<Vec<_>>(), [0, 1, 0, 1]);
/// # Ok::<(), bridged_math::transport::TransportError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transport {
    capacity: Capacity,
    prices: Vec<f64>,
    rows: Vec<Choice>,
}

/// From this many rows on, prices that are far off are first found on a sample.
const SAMPLE_FROM: usize = 32_768;
/// One row in this many is in the sample.
const SAMPLE_EVERY: usize = 16;

impl Transport {
    /// Nothing is assigned yet, and every price is zero.
    pub fn new(capacity: Capacity) -> Self {
        let prices = vec![0.0; capacity.columns()];
        Self { capacity, prices, rows: Vec::new() }
    }

    /// Finds the optimum for row-major `costs` (n, k).
    ///
    /// Of several optima, which one is found follows from the costs and the prices of the previous
    /// call alone.
    ///
    /// # Panics
    /// If the costs are not whole rows of k.
    pub fn solve(&mut self, costs: &[f32]) -> Result<(), TransportError> {
        let k = self.capacity.columns();
        if k == 0 {
            return if costs.is_empty() { Ok(()) } else { self.capacity.check(costs.len()) };
        }
        assert!(costs.len().is_multiple_of(k), "costs are whole rows");
        let n = costs.len() / k;
        self.capacity.check(n)?;
        self.rows.resize(n, Choice::default());
        let mut sizes = pass::assign(costs, &self.prices, &mut self.rows)?;
        let mut wrong = self.wrong(&sizes);
        // Prices of a problem that was too different may be worse than none.
        if wrong > n / 8 && self.prices.iter().any(|&p| p != 0.0) {
            (sizes, wrong) = self.try_prices(vec![0.0; k], costs, sizes, wrong)?;
        }
        // Columns that are dear for every row alike: the first centres of k-means in many columns.
        if wrong > n / 8 && n < SAMPLE_FROM {
            (sizes, wrong) = self.try_prices(pass::levelling(costs, k), costs, sizes, wrong)?;
        }
        if n >= SAMPLE_FROM && wrong > n / 64 {
            self.prices = self.prices_of_sample(costs, n)?;
            sizes = pass::assign(costs, &self.prices, &mut self.rows)?;
        }
        if n < SAMPLE_FROM && wrong > n / 8 {
            surplus::reduce(costs, &self.capacity, &mut self.prices, &self.rows, n / 64);
            sizes = pass::assign(costs, &self.prices, &mut self.rows)?;
        }
        let sizes = prices::improve(costs, &self.capacity, &mut self.prices, &mut self.rows, sizes);
        paths::finish(costs, &self.capacity, &mut self.prices, &mut self.rows, &sizes);
        Ok(())
    }

    /// Takes other prices if fewer rows are in the wrong place then; returns the sizes and how many
    /// are, at the prices that are kept.
    fn try_prices(
        &mut self,
        other: Vec<f64>,
        costs: &[f32],
        sizes: Vec<u32>,
        wrong: usize,
    ) -> Result<(Vec<u32>, usize), TransportError> {
        let old = std::mem::replace(&mut self.prices, other);
        let rows = self.rows.clone();
        let other_sizes = pass::assign(costs, &self.prices, &mut self.rows)?;
        let other_wrong = self.wrong(&other_sizes);
        if other_wrong < wrong {
            return Ok((other_sizes, other_wrong));
        }
        (self.prices, self.rows) = (old, rows);
        Ok((sizes, wrong))
    }

    /// How many rows are in the wrong place.
    fn wrong(&self, sizes: &[u32]) -> usize {
        Imbalance::new(&self.capacity, &self.prices, sizes).total() as usize
    }

    fn prices_of_sample(&self, costs: &[f32], n: usize) -> Result<Vec<f64>, TransportError> {
        let k = self.capacity.columns();
        let mut some = Vec::with_capacity(costs.len() / SAMPLE_EVERY + k);
        costs.chunks_exact(k).step_by(SAMPLE_EVERY).for_each(|row| some.extend_from_slice(row));
        let mut sample = Transport::new(self.capacity.scaled(some.len() / k, n));
        sample.prices.clone_from(&self.prices);
        sample.solve(&some)?;
        Ok(sample.prices)
    }

    /// The column of each row.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = u32> {
        self.rows.iter().map(|r| r.label)
    }

    /// The price of each column: positive only where it is full, negative only where it is at its
    /// least.
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }
}

/// How far the cost of `labels` can be above the optimum, by the prices as a witness:
///
/// ```text
/// Σ_i c(i, a(i)) − [ Σ_i min_j (c(i, j) + p_j) − Σ_j max(l_j p_j, u_j p_j) ]
/// ```
///
/// Zero, up to rounding, proves that labels within the bounds are optimal.
pub fn duality_gap(costs: &[f32], capacity: &Capacity, labels: &[u32], prices: &[f64]) -> f64 {
    let rows = costs.chunks_exact(capacity.columns()).zip(labels);
    // Choice by row, so that large sums do not cancel.
    let of_rows: f64 = rows
        .map(|(row, &a)| {
            let priced = row.iter().zip(prices).map(|(&c, p)| f64::from(c) + p);
            let a = a as usize;
            f64::from(row[a]) + prices[a] - priced.fold(f64::INFINITY, f64::min)
        })
        .sum();
    let mut sizes = vec![0u32; capacity.columns()];
    labels.iter().for_each(|&a| sizes[a as usize] += 1);
    let of_columns: f64 = (0..prices.len())
        .map(|j| {
            let full = if prices[j] > 0.0 { capacity.upper[j] } else { capacity.lower[j] };
            (f64::from(full) - f64::from(sizes[j])) * prices[j]
        })
        .sum();
    of_rows + of_columns
}

/// Where rows are too many or too few, given prices and sizes.
///
/// The sink is one more node, which takes from column j a flow between l_j and u_j and n in all. A
/// column dearer than the sink must be full, a cheaper one at its least.
#[derive(Clone, Debug)]
struct Imbalance {
    /// The price of the sink.
    sink: f64,
    /// What each column passes on to the sink.
    flow: Vec<u32>,
    /// Rows too many (positive) or too few in each column, and last in the sink; the sum is zero.
    excess: Vec<i64>,
}

impl Imbalance {
    fn new(capacity: &Capacity, prices: &[f64], sizes: &[u32]) -> Self {
        let n: i64 = sizes.iter().map(|&s| i64::from(s)).sum();
        let sink = sink_price(capacity, prices, n);
        let flow: Vec<u32> = (0..prices.len())
            .map(|j| match prices[j].total_cmp(&sink) {
                std::cmp::Ordering::Greater => capacity.upper[j],
                std::cmp::Ordering::Less => capacity.lower[j],
                std::cmp::Ordering::Equal => sizes[j].clamp(capacity.lower[j], capacity.upper[j]),
            })
            .collect();
        let mut excess: Vec<i64> =
            sizes.iter().zip(&flow).map(|(&s, &f)| i64::from(s) - i64::from(f)).collect();
        excess.push(flow.iter().map(|&f| i64::from(f)).sum::<i64>() - n);
        Self { sink, flow, excess }
    }

    /// How many rows must move.
    fn total(&self) -> i64 {
        self.excess.iter().filter(|&&e| e > 0).sum()
    }
}

/// The price at which filling the dearer columns and emptying the cheaper ones accounts for all n
/// rows: a weighted median, which maximises the dual over a common shift of the prices.
fn sink_price(capacity: &Capacity, prices: &[f64], n: i64) -> f64 {
    let mut order: Vec<usize> = (0..prices.len()).collect();
    order.sort_by(|&a, &b| prices[b].total_cmp(&prices[a]).then(a.cmp(&b)));
    let mut taken: i64 = capacity.lower.iter().map(|&l| i64::from(l)).sum();
    for &j in &order {
        taken += i64::from(capacity.upper[j] - capacity.lower[j]);
        if taken >= n {
            return prices[j];
        }
    }
    prices[order[order.len() - 1]]
}
