//! The walls between columns as a sparse network, and the prices that balance it.
//!
//! As in `prices`: raising p_a − p_b by δ moves from a to b the rows whose margin to b is below δ, and
//! the step solves Σ_b N_ab(Δp_a − Δp_b) = excess_a with secants of N. With many columns most pairs have
//! no wall in common, so only those that some row is near to are kept, and the linear systems are solved
//! by conjugate gradients: O(walls) memory and a few hundred products instead of k² and k³.

use crate::transport::Imbalance;

/// Bins of a histogram of margins; each is twice as wide as the one before.
const BINS: usize = 16;
/// Linear systems solved for one step.
const SECANTS: usize = 6;
/// Conjugate gradients end when the residual is this part of the excess, or after this many steps.
const RESIDUAL: f64 = 1e-4;
const STEPS: usize = 300;

/// A row near a wall in one number: the pair, which way it would go, and the bin of its margin.
pub(super) fn hit(k: usize, from: usize, to: usize, part: f64) -> u64 {
    let (low, high, way) = if from < to { (from, to, 0) } else { (to, from, 1) };
    (((low * k + high) * 2 + way) * BINS + bin(part)) as u64
}

/// The bin of a margin that is `part` of the reach, from 0 to 1.
fn bin(part: f64) -> usize {
    let halvings = -(part.max(f64::MIN_POSITIVE)).log2();
    (BINS - 1).saturating_sub(halvings as usize)
}

/// Rows within reach of one column's wall to another: cumulative counts of margins up to
/// reach · 2^(bin − BINS + 1).
#[derive(Clone, Copy, Debug, Default)]
struct Within([f32; BINS]);

impl Within {
    /// Rows that move for each unit by which the difference of prices grows, on average over a growth
    /// of `difference`.
    fn secant(&self, reach: f64, difference: f64) -> f64 {
        let edge = |bin: usize| reach * f64::powi(2.0, bin as i32 - (BINS as i32 - 1));
        // The first bin that holds the difference; below a few rows, counts are but noise.
        let at = (0..BINS - 1).find(|&bin| difference <= edge(bin) && self.0[bin] >= 4.0);
        let at = at.unwrap_or(BINS - 1);
        let (high, count) = (edge(at), f64::from(self.0[at]));
        if at == 0 || difference >= high || difference <= edge(at - 1) {
            return count / high;
        }
        let (low, below) = (edge(at - 1), f64::from(self.0[at - 1]));
        (below + (count - below) * (difference - low) / (high - low)) / difference
    }
}

#[derive(Clone, Copy, Debug)]
struct Wall {
    a: u32,
    b: u32,
    there: Within,
    back: Within,
}

/// The walls that rows are near to, by pairs a < b in order.
#[derive(Clone, Debug)]
pub(super) struct Walls {
    k: usize,
    reach: f64,
    walls: Vec<Wall>,
}

impl Walls {
    /// From one row in `every`.
    pub fn new(k: usize, reach: f64, every: usize, mut hits: Vec<u64>) -> Self {
        hits.sort_unstable();
        let mut walls: Vec<Wall> = Vec::new();
        let mut last = u64::MAX;
        for hit in hits {
            let (pair, way, bin) =
                (hit / (2 * BINS as u64), hit / BINS as u64 % 2, hit % BINS as u64);
            if pair != last {
                last = pair;
                let (a, b) = ((pair / k as u64) as u32, (pair % k as u64) as u32);
                walls.push(Wall { a, b, there: Within::default(), back: Within::default() });
            }
            let wall = walls.last_mut().expect("a wall was pushed for the first hit");
            let within = if way == 0 { &mut wall.there } else { &mut wall.back };
            within.0[bin as usize] += every as f32;
        }
        for Within(counts) in walls.iter_mut().flat_map(|w| [&mut w.there, &mut w.back]) {
            (1..BINS).for_each(|b| counts[b] += counts[b - 1]);
        }
        Self { k, reach, walls }
    }

    /// The step after which the walls say that all is balanced. Columns that are in balance at the
    /// price of the sink stay.
    pub fn equilibrium(&self, prices: &[f64], imbalance: &Imbalance) -> Vec<f64> {
        let k = self.k;
        let free: Vec<bool> =
            (0..k).map(|j| imbalance.excess[j] != 0 || prices[j] != imbalance.sink).collect();
        let mut excess: Vec<f64> =
            (0..k).map(|j| if free[j] { imbalance.excess[j] as f64 } else { 0.0 }).collect();
        let all_free = free.iter().all(|&f| f);
        if all_free {
            // A common shift moves no row: what the sink lacks is nobody's.
            let mean = excess.iter().sum::<f64>() / k as f64;
            excess.iter_mut().for_each(|e| *e -= mean);
        }
        let mut step = vec![0.0; k];
        let mut conductances = vec![0.0; self.walls.len()];
        for iteration in 0..SECANTS {
            for (g, wall) in conductances.iter_mut().zip(&self.walls) {
                let difference = step[wall.a as usize] - step[wall.b as usize];
                let secant = match iteration {
                    // As far as the walls reach: a careful start.
                    0 => {
                        0.5 * (wall.there.secant(self.reach, f64::MAX)
                            + wall.back.secant(self.reach, f64::MAX))
                    }
                    _ if difference > 0.0 => wall.there.secant(self.reach, difference),
                    _ => wall.back.secant(self.reach, -difference),
                };
                // The mean of the old and the new damps the swing between them.
                *g = if iteration == 0 { secant } else { (*g * secant).sqrt() };
            }
            self.solve(&conductances, &free, &excess, &mut step);
            if all_free {
                let mean = step.iter().sum::<f64>() / k as f64;
                step.iter_mut().for_each(|s| *s -= mean);
            }
        }
        step
    }

    /// Solves Σ_b g(a, b) (s_a − s_b) = excess_a over the columns that are free, from `step` on; the
    /// others stay at zero.
    fn solve(&self, g: &[f64], free: &[bool], excess: &[f64], step: &mut [f64]) {
        let k = self.k;
        let mut diagonal = vec![0.0; k];
        for (g, wall) in g.iter().zip(&self.walls) {
            diagonal[wall.a as usize] += g;
            diagonal[wall.b as usize] += g;
        }
        // Without a ridge a column without walls would fly off.
        let mean = diagonal.iter().sum::<f64>() / k as f64;
        diagonal.iter_mut().for_each(|d| *d += (1e-6 * mean).max(f64::MIN_POSITIVE));
        let apply = |v: &[f64], out: &mut [f64]| {
            out.iter_mut().zip(v).zip(&diagonal).for_each(|((o, v), d)| *o = d * v);
            for (g, wall) in g.iter().zip(&self.walls) {
                let (a, b) = (wall.a as usize, wall.b as usize);
                out[a] -= g * v[b];
                out[b] -= g * v[a];
            }
            out.iter_mut().zip(free).filter(|(_, free)| !**free).for_each(|(o, _)| *o = 0.0);
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut product = vec![0.0; k];
        apply(step, &mut product);
        let mut residual: Vec<f64> = excess.iter().zip(&product).map(|(e, p)| e - p).collect();
        let precondition =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut preconditioned = precondition(&residual);
        let mut direction = preconditioned.clone();
        let mut rho = dot(&residual, &preconditioned);
        let enough = RESIDUAL * RESIDUAL * dot(excess, excess);
        for _ in 0..STEPS {
            if dot(&residual, &residual) <= enough {
                break;
            }
            apply(&direction, &mut product);
            let curvature = dot(&direction, &product);
            if !(curvature > 0.0 && curvature.is_finite()) {
                break;
            }
            let alpha = rho / curvature;
            for j in 0..k {
                step[j] += alpha * direction[j];
                residual[j] -= alpha * product[j];
            }
            preconditioned = precondition(&residual);
            let next = dot(&residual, &preconditioned);
            let beta = next / rho;
            rho = next;
            for (d, z) in direction.iter_mut().zip(&preconditioned) {
                *d = z + beta * *d;
            }
        }
        // Numbers beyond all range: no step there.
        step.iter_mut().filter(|s| !s.is_finite()).for_each(|s| *s = 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Capacity;

    #[test]
    fn a_wall_with_rows_at_even_distances_moves_as_far_as_it_must() {
        // Column 0 has 60 of 100 rows; its margins to column 1 are 0.01, 0.02, …, 0.6.
        let hits = (1..=60).map(|i| hit(2, 0, 1, f64::from(i) / 60.0));
        let back = (1..=40).map(|i| hit(2, 1, 0, f64::from(i) / 60.0));
        let walls = Walls::new(2, 0.6, 1, hits.chain(back).collect());
        let imbalance = Imbalance::new(&Capacity::even(100, 2), &[0.0, 0.0], &[60, 40]);
        let prices = [0.0, 1e-9];
        let step = walls.equilibrium(&prices, &imbalance);
        assert!((step[0] - step[1] - 0.1).abs() < 0.02, "{step:?}");
    }

    #[test]
    fn columns_in_a_row_pass_rows_on() {
        // A line of five columns, dense walls between neighbours, all excess at one end.
        let mut hits = Vec::new();
        for a in 0..4 {
            for i in 1..=200 {
                hits.push(hit(5, a, a + 1, f64::from(i) / 200.0));
                hits.push(hit(5, a + 1, a, f64::from(i) / 200.0));
            }
        }
        let walls = Walls::new(5, 1.0, 1, hits);
        let capacity = Capacity::uniform(5, 500, 500);
        let prices = [0.0, 0.1, 0.2, 0.3, 0.4];
        let imbalance = Imbalance::new(&capacity, &prices, &[540, 500, 500, 500, 460]);
        let step = walls.equilibrium(&prices, &imbalance);
        // 40 rows through each of four walls of 200 rows per unit.
        for a in 0..4 {
            assert!((step[a] - step[a + 1] - 0.2).abs() < 0.03, "{step:?}");
        }
    }
}
