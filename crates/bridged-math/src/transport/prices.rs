//! Prices that bring the sizes near their bounds: the equilibrium of a network of walls.
//!
//! The dual is concave; its gradient in p_j is the number of rows too many in column j. Raising
//! p_a − p_b by δ moves from a to b the rows whose margin to b is below δ, N_ab(δ) of them, so the
//! prices that balance the sizes solve, up to rows that meet three columns at once,
//!
//! ```text
//! Σ_b N_ab(Δp_a − Δp_b) = excess_a        with  N_ab(−δ) = −N_ba(δ)
//! ```
//!
//! N is read off a histogram of the margins with bins that double in width: walls differ in
//! density by orders of magnitude. The equations are solved by linear systems whose conductances
//! are the secants N(δ)/δ of the previous solution.
//!
//! A step is taken only if fewer rows are in the wrong place after it, and only as far as the rows
//! that were looked at can tell, so that all others keep their column. Nothing here needs to be
//! exact: `paths` finishes from wherever it ends.

use super::pass::{self, Choice, Walls};
use super::{Capacity, Imbalance};
use crate::linalg::{NotPositiveDefinite, cholesky, solve_cholesky};

/// Rounds over all rows, each with a few steps over the rows near a wall.
const ROUNDS: usize = 16;
/// Steps in a round.
const STEPS: usize = 6;
/// Linear systems solved for one step.
const SECANTS: usize = 8;

/// Improves the prices, gives every row its cheapest column under them and returns the sizes.
pub(super) fn improve(
    costs: &[f32],
    capacity: &Capacity,
    prices: &mut Vec<f64>,
    rows: &mut [Choice],
    mut sizes: Vec<u32>,
) -> Vec<u32> {
    let n = rows.len();
    // Up to here, paths are cheaper than another look at the rows.
    let enough = (n as i64 / 512).max(4 * prices.len() as i64);
    let mut wrong = Imbalance::new(capacity, prices, &sizes).total();
    for _ in 0..ROUNDS {
        if wrong <= enough {
            break;
        }
        // Rows that may move, several times over: a row seldom moves straight to where it is
        // missing.
        let reach = quantile(rows, (16.0 * wrong as f64 / n as f64).clamp(0.02, 0.999));
        let near: Vec<u32> =
            (0..n as u32).filter(|&i| f64::from(rows[i as usize].margin) <= reach).collect();
        let mut far = sizes.clone();
        near.iter().for_each(|&i| far[rows[i as usize].label as usize] -= 1);
        let round = Round { costs, capacity, near: &near, far: &far, reach };
        let Some(better) = round.run(prices, enough) else { break };
        *prices = better;
        sizes = pass::assign(costs, prices, rows).expect("costs were found to be finite");
        let before =
            std::mem::replace(&mut wrong, Imbalance::new(capacity, prices, &sizes).total());
        if wrong as f64 > 0.5 * before as f64 {
            break;
        }
    }
    sizes
}

/// The margin below which about `share` of the rows are; infinite for all of them.
pub(super) fn quantile(rows: &[Choice], share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let step = rows.len().div_ceil(4096);
    let mut some: Vec<f32> = rows.iter().step_by(step).map(|r| r.margin).collect();
    let at = (some.len() as f64 * share) as usize;
    f64::from(*some.select_nth_unstable_by(at, f32::total_cmp).1)
}

/// Improves prices by the rows that are near a wall.
struct Round<'a> {
    costs: &'a [f32],
    capacity: &'a Capacity,
    /// The rows with a margin of at most `reach`.
    near: &'a [u32],
    /// How many of the other rows each column has.
    far: &'a [u32],
    reach: f64,
}

/// Prices with what the rows make of them.
struct State {
    prices: Vec<f64>,
    imbalance: Imbalance,
    walls: Walls,
}

impl Round<'_> {
    /// Better prices, if there are any within reach.
    fn run(&self, prices: &[f64], enough: i64) -> Option<Vec<f64>> {
        let mut state = self.state(prices.to_vec());
        let mut improved = false;
        for _ in 0..STEPS {
            if state.imbalance.total() <= enough {
                break;
            }
            let mut step = equilibrium(&state);
            let room = self.reach - spread(state.prices.iter().zip(prices).map(|(a, b)| a - b));
            if room <= 0.0 {
                break;
            }
            // Column by column, so that one that must go far does not hold back the others.
            step.iter_mut().for_each(|s| *s = s.clamp(-0.5 * room, 0.5 * room));
            let Some(next) = self.try_step(&state, step) else { break };
            let slow = 2 * next.imbalance.total() > state.imbalance.total();
            state = next;
            improved = true;
            if slow {
                break;
            }
        }
        improved.then_some(state.prices)
    }

    /// Goes along `step`, or a half or a quarter of it, if fewer rows are then in the wrong place.
    fn try_step(&self, state: &State, mut step: Vec<f64>) -> Option<State> {
        for _ in 0..3 {
            let prices = state.prices.iter().zip(&step).enumerate();
            let prices = prices.map(|(j, (p, s))| self.moved(state, j, *p, *s)).collect();
            let next = self.state(prices);
            if next.imbalance.total() < state.imbalance.total() {
                return Some(next);
            }
            step.iter_mut().for_each(|s| *s *= 0.5);
        }
        None
    }

    /// A column whose bounds leave it much room stops at the price of the sink, where it may have
    /// any size.
    fn moved(&self, state: &State, j: usize, price: f64, step: f64) -> f64 {
        let sink = state.imbalance.sink;
        let room = i64::from(self.capacity.upper[j]) - i64::from(self.capacity.lower[j]);
        let crosses = (price - sink) * (price + step - sink) < 0.0;
        if crosses && room > state.imbalance.excess[j].abs() { sink } else { price + step }
    }

    fn state(&self, prices: Vec<f64>) -> State {
        let (mut sizes, walls) = pass::respond(self.costs, &prices, self.near, self.reach);
        sizes.iter_mut().zip(self.far).for_each(|(s, f)| *s += f);
        let imbalance = Imbalance::new(self.capacity, &prices, &sizes);
        State { prices, imbalance, walls }
    }
}

fn spread(values: impl Iterator<Item = f64>) -> f64 {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    high - low
}

/// The step after which the walls say that all is balanced. Columns that are in balance at the
/// price of the sink stay.
fn equilibrium(state: &State) -> Vec<f64> {
    let k = state.prices.len();
    let free: Vec<usize> = (0..k)
        .filter(|&j| state.imbalance.excess[j] != 0 || state.prices[j] != state.imbalance.sink)
        .collect();
    let mut step = vec![0.0; k];
    // Conductances; the secants of a step as long as the walls reach are a careful start.
    let mut g = vec![0.0f64; k * k];
    for iteration in 0..SECANTS {
        for a in 0..k {
            for b in 0..a {
                let difference = step[a] - step[b];
                let secant = match iteration {
                    0 => {
                        0.5 * (state.walls.secant(a, b, f64::MAX)
                            + state.walls.secant(b, a, f64::MAX))
                    }
                    _ if difference > 0.0 => state.walls.secant(a, b, difference),
                    _ => state.walls.secant(b, a, -difference),
                };
                // The mean of the old and the new damps the swing between them.
                let new = if iteration == 0 { secant } else { (g[a * k + b] * secant).sqrt() };
                g[a * k + b] = new;
                g[b * k + a] = new;
            }
        }
        let solved = solve_laplacian(&g, &free, &state.imbalance.excess);
        free.iter().zip(solved).for_each(|(&j, s)| step[j] = if s.is_finite() { s } else { 0.0 });
    }
    step
}

/// Solves Σ_b g(a, b) (s_a − s_b) = excess_a over the columns `free`; the others stay at zero.
fn solve_laplacian(g: &[f64], free: &[usize], excess: &[i64]) -> Vec<f64> {
    let k = excess.len() - 1;
    let m = free.len();
    let mut matrix = vec![0.0f64; m * m];
    for (r, &a) in free.iter().enumerate() {
        matrix[r * m + r] = g[a * k..(a + 1) * k].iter().sum();
        for (s, &b) in free.iter().enumerate().filter(|&(s, _)| s != r) {
            matrix[r * m + s] = -g[a * k + b];
        }
    }
    // Without a ridge the system is singular when every column is free, and a column without
    // walls would fly off.
    let mean = (0..m).map(|r| matrix[r * m + r]).sum::<f64>() / m.max(1) as f64;
    (0..m).for_each(|r| matrix[r * m + r] += (1e-6 * mean).max(f64::MIN_POSITIVE));
    let mut right: Vec<f64> = free.iter().map(|&j| excess[j] as f64).collect();
    match cholesky(&matrix, m) {
        Ok(factor) => solve_cholesky(&factor, m, &mut right, 1),
        // Numbers beyond all range: no step, and `paths` finishes from here.
        Err(NotPositiveDefinite) => right.fill(0.0),
    }
    right
}
