//! The draws that methods share, over all data sets of a page, with their errors side by side: what a conclusion may
//! be drawn from.

use super::data::{ReportData, is_usual, relative};
use crate::Setting;
use crate::record::RunRecord;
use crate::stats::{Interval, mean_within, wilson, win_shares};
use bridged::Direction;
use std::collections::{BTreeMap, HashMap};

/// Errors ÷ the constant's of several methods on the same draws.
#[derive(Debug)]
pub struct Shared {
    pub methods: Vec<&'static str>,
    /// How many data sets the draws are of.
    pub sets: usize,
    pub cells: Vec<Cell>,
}

/// The draws of one data set, direction, setting, number of groups and number of pairs.
#[derive(Debug)]
pub struct Cell {
    pub pairs: usize,
    /// A row for each draw, a column for each method; infinite where a run failed.
    rows: Vec<Vec<f64>>,
}

/// What a page compares.
#[derive(Debug)]
pub struct Comparison {
    /// The methods that ran on every draw, or else all of them on the draws that they share.
    pub main: Option<Shared>,
    /// All methods where some ran on fewer draws than those above.
    pub with_slow: Option<Shared>,
    /// Methods that some data set lacks.
    pub left_out: Vec<&'static str>,
    /// Data sets that are left out, because they lack methods that most others have.
    pub lacking: Vec<String>,
}

impl Comparison {
    pub fn new(data: &ReportData) -> Self {
        let of_sets: Vec<HashMap<&str, usize>> = data
            .sets
            .iter()
            .map(|set| {
                let mut counts = HashMap::new();
                usual(&set.main.runs)
                    .for_each(|r| *counts.entry(r.method.as_str()).or_default() += 1);
                counts
            })
            .collect();
        // Where most data sets have every method, the few that do not are left out; otherwise the methods are.
        let methods = data.methods();
        let whole = |counts: &HashMap<&str, usize>| methods.iter().all(|m| counts.contains_key(m));
        let complete = of_sets.iter().filter(|counts| whole(counts)).count();
        let some_lack = 2 * complete > of_sets.len() && complete < of_sets.len();
        let (sets, of_sets): (Vec<usize>, Vec<_>) = of_sets
            .into_iter()
            .enumerate()
            .filter(|(_, counts)| !some_lack || whole(counts))
            .unzip();
        let names = data.sets.iter().map(|s| s.data.clone()).enumerate();
        let lacking = names.filter(|(at, _)| !sets.contains(at)).map(|(_, name)| name).collect();
        let (everywhere, left_out): (Vec<_>, Vec<_>) = data
            .methods()
            .into_iter()
            .partition(|m| of_sets.iter().all(|counts| counts.contains_key(m)));
        let most: usize = of_sets.iter().map(|c| c.values().max().copied().unwrap_or(0)).sum();
        let runs = |m: &str| of_sets.iter().filter_map(|c| c.get(m)).sum::<usize>();
        let quick: Vec<&str> = everywhere.iter().copied().filter(|m| runs(m) == most).collect();
        let all = Shared::of(data, &sets, &everywhere);
        // One method that ran on more draws than all others is no comparison.
        if quick.len() == everywhere.len() || 2 * quick.len() < everywhere.len() {
            return Self { main: all, with_slow: None, left_out, lacking };
        }
        Self { main: Shared::of(data, &sets, &quick), with_slow: all, left_out, lacking }
    }
}

/// The runs with the right number of clusters.
fn usual(runs: &[RunRecord]) -> impl Iterator<Item = &RunRecord> {
    runs.iter().filter(|r| is_usual(r))
}

impl Shared {
    /// The methods on the draws of these data sets; none where no draw has them all.
    fn of(data: &ReportData, sets: &[usize], methods: &[&'static str]) -> Option<Self> {
        let place: HashMap<&str, usize> =
            methods.iter().enumerate().map(|(i, m)| (*m, i)).collect();
        let mut draws: BTreeMap<_, Vec<Option<f64>>> = BTreeMap::new();
        for &set in sets {
            for run in usual(&data.sets[set].main.runs) {
                let Some(&m) = place.get(run.method.as_str()) else { continue };
                let c = run.cell;
                let kind = (c.direction == Direction::Reverse, c.setting == Setting::Inductive);
                let row = draws
                    .entry(((set, kind, c.groups, c.pairs), run.run))
                    .or_insert_with(|| vec![None; methods.len()]);
                row[m] = Some(relative(run).filter(|e| e.is_finite()).unwrap_or(f64::INFINITY));
            }
        }
        let mut cells: BTreeMap<_, Vec<Vec<f64>>> = BTreeMap::new();
        for ((cell, _), row) in draws {
            if let Some(row) = row.into_iter().collect::<Option<Vec<f64>>>() {
                cells.entry(cell).or_default().push(row);
            }
        }
        let cells: Vec<Cell> =
            cells.into_iter().map(|((_, _, _, pairs), rows)| Cell { pairs, rows }).collect();
        (!cells.is_empty()).then(|| Self { methods: methods.to_vec(), sets: sets.len(), cells })
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.cells.iter().flat_map(|cell| &cell.rows)
    }

    pub fn draws(&self) -> usize {
        self.rows().count()
    }

    /// The draws of the smallest cell.
    pub fn least_draws(&self) -> usize {
        self.cells.iter().map(|cell| cell.rows.len()).min().unwrap_or(0)
    }

    /// Draws that a method failed on.
    pub fn failed(&self, m: usize) -> usize {
        self.rows().filter(|row| !row[m].is_finite()).count()
    }

    /// The mean error of a method over the draws of these cells that it did not fail on.
    fn mean<'a>(
        cells: impl Iterator<Item = &'a Cell>,
        value: impl Fn(&[f64]) -> f64,
    ) -> Option<Interval> {
        let finite =
            |cell: &Cell| cell.rows.iter().map(|r| value(r)).filter(|e| e.is_finite()).collect();
        mean_within(&cells.map(finite).collect::<Vec<_>>())
    }

    /// The mean error of a method; none where it failed on every draw.
    pub fn error(&self, m: usize) -> Option<Interval> {
        Self::mean(self.cells.iter(), |row| row[m]).map(Interval::not_negative)
    }

    /// The same over the draws with this many pairs.
    pub fn error_with(&self, m: usize, pairs: usize) -> Option<Interval> {
        Self::mean(self.cells.iter().filter(|c| c.pairs == pairs), |row| row[m])
            .map(Interval::not_negative)
    }

    /// The numbers of pairs that there are.
    pub fn pairs(&self) -> Vec<usize> {
        let mut pairs: Vec<usize> = self.cells.iter().map(|c| c.pairs).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// By how much the error of `b` exceeds that of `a` on the same draws.
    pub fn difference(&self, a: usize, b: usize) -> Option<Interval> {
        Self::mean(self.cells.iter(), |row| row[b] - row[a])
    }

    /// The share of draws on which `a` has a smaller error than `b`, equals counting half.
    pub fn beats(&self, a: usize, b: usize) -> Option<Interval> {
        let won = |row: &Vec<f64>| match row[a].total_cmp(&row[b]) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.0,
        };
        wilson(self.rows().map(won).sum(), self.draws())
    }

    /// The share of wins of a method among it and these others.
    pub fn wins(&self, m: usize, others: &[usize]) -> Option<Interval> {
        let share = |row: &Vec<f64>| {
            let errors: Vec<f64> =
                [m].iter().chain(others.iter().filter(|o| **o != m)).map(|&o| row[o]).collect();
            win_shares(&errors)[0]
        };
        wilson(self.rows().map(share).sum(), self.draws())
    }

    /// The methods by their mean errors, the smallest first and those that always failed last.
    pub fn by_error(&self) -> Vec<usize> {
        let errors: Vec<f64> = (0..self.methods.len())
            .map(|m| self.error(m).map_or(f64::INFINITY, |e| e.value))
            .collect();
        let mut order: Vec<usize> = (0..self.methods.len()).collect();
        order.sort_by(|a, b| errors[*a].total_cmp(&errors[*b]));
        order
    }

    /// For each of these methods, the cells in which its mean error is the smallest of theirs; who failed there on a draw
    /// takes no part.
    pub fn best_in_cells(&self, methods: &[usize]) -> Vec<usize> {
        let mut best = vec![0; methods.len()];
        for cell in &self.cells {
            let sums: Vec<f64> =
                methods.iter().map(|&m| cell.rows.iter().map(|row| row[m]).sum()).collect();
            let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
            if least.is_finite() {
                best.iter_mut().zip(&sums).for_each(|(n, sum)| *n += usize::from(*sum == least));
            }
        }
        best
    }
}
