//! Prices from nowhere near: a column with rows too many becomes more expensive by just as much as
//! makes the surplus leave, one column after the other, a few times round.
//!
//! Where one column is the cheapest of most rows by about the same amount, as with the first centres
//! of k-means in many dimensions, its price must be right to within a fraction of that amount:
//! `prices` sees one thick wall there, and paths would move the rows one by one.

use super::Capacity;
use super::pass::{Choice, PricesF32};

/// Times round. Most of the surplus is gone after a few.
const ROUNDS: usize = 12;

/// A row that leaves its column when that becomes more expensive by `margin`.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    margin: f32,
    row: u32,
}

/// Raises prices until no more than `enough` rows move in a round. The rows are in the cheapest
/// column at the prices as they are.
pub(super) fn reduce(
    costs: &[f32],
    capacity: &Capacity,
    prices: &mut [f64],
    rows: &[Choice],
    enough: usize,
) {
    let k = prices.len();
    let costs_of = |row: u32| &costs[row as usize * k..(row as usize + 1) * k];
    let mut members = vec![Vec::new(); k];
    rows.iter().zip(0u32..).for_each(|(row, i)| members[row.label as usize].push(i));
    let mut candidates: Vec<Candidate> = Vec::new();
    for _ in 0..ROUNDS {
        let mut moved = 0;
        for j in 0..k {
            let surplus = members[j].len().saturating_sub(capacity.upper[j] as usize);
            if surplus == 0 {
                continue;
            }
            let prices_f32 = PricesF32::new(prices);
            candidates.clear();
            candidates.extend(members[j].iter().map(|&row| {
                let least = prices_f32.two_least(costs_of(row));
                Candidate { margin: least.next - least.least, row }
            }));
            candidates.select_nth_unstable_by(surplus - 1, |a, b| {
                a.margin.total_cmp(&b.margin).then(a.row.cmp(&b.row))
            });
            let rise = candidates[surplus - 1].margin;
            if !rise.is_finite() {
                return; // Numbers of this size are left to paths.
            }
            prices[j] += f64::from(rise);
            members[j].clear();
            members[j].extend(candidates[surplus..].iter().map(|l| l.row));
            for candidate in &candidates[..surplus] {
                let costs = costs_of(candidate.row);
                let least = prices_f32.two_least(costs);
                let to = prices_f32.second(costs, least.first, least.next);
                members[to].push(candidate.row);
            }
            moved += surplus;
        }
        if moved <= enough {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::transport::pass;
    use rand::RngExt;

    #[test]
    fn one_column_that_all_rows_prefer_by_about_the_same_is_priced_right() {
        let (n, k) = (2_000, 5);
        let mut rng = Seed(1).rng();
        let costs: Vec<f32> = (0..n * k)
            .map(|at| rng.random::<f32>() - if at % k == 2 { 100.0 } else { 0.0 })
            .collect();
        let (mut prices, mut rows) = (vec![0.0; k], vec![Choice::default(); n]);
        assert_eq!(pass::assign(&costs, &prices, &mut rows).unwrap()[2], n as u32);
        reduce(&costs, &Capacity::even(n, k), &mut prices, &rows, 0);
        let sizes = pass::assign(&costs, &prices, &mut rows).unwrap();
        assert!(sizes.iter().all(|s| s.abs_diff(400) < 20), "{sizes:?}");
        assert!((prices[2] - 100.0).abs() < 1.0, "{prices:?}");
    }
}
