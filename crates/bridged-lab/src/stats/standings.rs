//! Who stands where in a study: wins, ranks and errors of every method on the draws that all of them
//! share.
//!
//! Only draws on which every method has a run are compared, so that all methods face the same draws; a run
//! that failed counts as an error above all others. The test of a method against the first one is
//! Wilcoxon's over those draws, corrected by Holm for the number of methods; where no smaller p-value is possible with so
//! few draws, it says so.

use super::Wilcoxon;
use super::{Interval, friedman, holm, mean_within, wilcoxon, wilson, win_shares};
use crate::record::{Outcome, RunRecord};
use crate::{Clusters, StudyCell};
use std::collections::HashMap;

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The method.
    pub method: String,
    /// Its share of the wins, with Wilson's interval.
    pub wins: Interval,
    /// The mean over the draws of its error ÷ the error of the mean of y, of those it did not fail on; none where it
    /// failed on all.
    pub error: Option<Interval>,
    /// Its mean rank; 1 is best everywhere.
    pub rank: f64,
    /// Draws that it failed on.
    pub failed: usize,
    /// The test of its difference from the first method; none for that method itself.
    pub p: Option<PValue>,
}

/// A p-value of Wilcoxon's test, corrected by Holm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PValue {
    /// The corrected p-value.
    pub p: f64,
    /// Draws on which the methods differ.
    pub draws: usize,
    /// Whether all draws say the same, so that this many could not give a smaller one.
    pub at_floor: bool,
}

/// The table of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// One line per method, most wins first.
    pub lines: Vec<Standing>,
    /// Draws that were compared.
    pub draws: usize,
    /// Draws that were left out, because some method has no run on them.
    pub incomplete: usize,
    /// The p-value of Friedman's test that all rank alike.
    pub p: f64,
}

/// Compares the methods of these runs; none where no draw has them all. The first method in the
/// order of the runs' names is `first`, against which the others are tested.
pub fn standings(runs: &[&RunRecord], first: &str) -> Option<Standings> {
    let mut methods: Vec<&str> = runs.iter().map(|r| r.method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    methods.sort_by_key(|m| *m != first);
    let place: HashMap<&str, usize> = methods.iter().enumerate().map(|(i, m)| (*m, i)).collect();

    let mut draws: HashMap<(StudyCell, usize), Vec<Option<&RunRecord>>> = HashMap::new();
    for &run in runs {
        let of = draws.entry((run.cell, run.run)).or_insert_with(|| vec![None; methods.len()]);
        of[place[run.method.as_str()]] = Some(run);
    }
    let all = draws.len();
    let mut complete: Vec<((StudyCell, usize), Vec<&RunRecord>)> = draws
        .into_iter()
        .filter_map(|(key, runs)| Some((key, runs.into_iter().collect::<Option<Vec<_>>>()?)))
        .collect();
    if complete.is_empty() {
        return None;
    }
    complete.sort_by_key(|((cell, run), _)| (order(*cell), *run));

    let errors: Vec<Vec<f64>> =
        complete.iter().map(|(_, runs)| runs.iter().map(|r| error(r)).collect()).collect();
    let mut wins = vec![0.0; methods.len()];
    for row in &errors {
        wins.iter_mut().zip(win_shares(row)).for_each(|(of, share)| *of += share);
    }
    // The errors of a method by cell, without those of failed runs.
    let by_cell = |m: usize| -> Vec<Vec<f64>> {
        let cells = complete.chunk_by(|a, b| a.0.0 == b.0.0);
        cells
            .map(|c| c.iter().map(|(_, r)| error(r[m])).filter(|e| e.is_finite()).collect())
            .collect()
    };
    let tests: Vec<Wilcoxon> = (1..methods.len())
        .map(|m| {
            // Two failures are equally bad; one is worse than any error.
            let difference = |row: &Vec<f64>| match (row[0].is_finite(), row[m].is_finite()) {
                (true, true) => row[0] - row[m],
                (a, b) => f64::from(u8::from(b)) - f64::from(u8::from(a)),
            };
            wilcoxon(&errors.iter().map(difference).collect::<Vec<_>>())
        })
        .collect();
    let corrected = holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
    let ranked = friedman(&errors);
    let mut lines: Vec<Standing> = (0..methods.len())
        .map(|m| {
            let test = |m: usize| PValue {
                p: corrected[m],
                draws: tests[m].n,
                at_floor: tests[m].at_floor(),
            };
            Standing {
                method: methods[m].to_string(),
                wins: wilson(wins[m], errors.len()).expect("there are draws: checked above"),
                error: mean_within(&by_cell(m)).map(Interval::not_negative),
                rank: ranked.as_ref().map_or(1.0, |f| f.mean_ranks[m]),
                failed: errors.iter().filter(|row| !row[m].is_finite()).count(),
                p: (m > 0).then(|| test(m - 1)),
            }
        })
        .collect();
    lines.sort_by(|a, b| b.wins.value.total_cmp(&a.wins.value).then(a.rank.total_cmp(&b.rank)));
    Some(Standings {
        lines,
        draws: errors.len(),
        incomplete: all - errors.len(),
        p: ranked.map_or(1.0, |f| f.p),
    })
}

fn order(cell: StudyCell) -> (bool, bool, usize, usize, i64, Clusters) {
    let StudyCell { groups, pairs, setting, direction, extra_clusters, clusters } = cell;
    let reverse = direction == bridged::Direction::Reverse;
    (reverse, setting == crate::Setting::Inductive, groups, pairs, extra_clusters, clusters)
}

/// Error ÷ that of the mean of y; infinite where a run failed.
fn error(run: &RunRecord) -> f64 {
    match &run.outcome {
        Outcome::Scores(s) => s.relative_error().unwrap_or(f64::INFINITY),
        Outcome::Failed(_) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::record::RunScores;
    use bridged::Direction;

    fn run(method: &str, groups: usize, number: usize, mse: f64) -> RunRecord {
        let cell = StudyCell {
            groups,
            pairs: 1,
            setting: Setting::Inductive,
            direction: Direction::Forward,
            ..StudyCell::default()
        };
        let outcome = if mse.is_finite() {
            let metrics = [("mse".to_string(), Some(mse))].into();
            let scores = RunScores { metrics, mse_of_mean: 2.0, ..RunScores::default() };
            Outcome::Scores(Box::new(scores))
        } else {
            Outcome::Failed("no".into())
        };
        RunRecord {
            data: "d".into(),
            cell,
            run: number,
            seed: 0,
            method: method.into(),
            version: "0".into(),
            outcome,
        }
    }

    #[test]
    fn wins_ranks_and_errors_are_those_of_the_shared_draws() {
        let mut runs = Vec::new();
        for i in 0..10 {
            runs.push(run("ours", 3, i, 1.0 + 0.01 * i as f64));
            runs.push(run("theirs", 3, i, if i < 2 { 0.5 } else { 1.9 + 0.01 * i as f64 }));
            runs.push(run("broken", 3, i, f64::INFINITY));
        }
        runs.push(run("ours", 4, 0, 9.0)); // nobody else ran on this draw
        let table = standings(&runs.iter().collect::<Vec<_>>(), "ours").unwrap();
        assert_eq!((table.draws, table.incomplete), (10, 1));
        let names: Vec<&str> = table.lines.iter().map(|l| l.method.as_str()).collect();
        assert_eq!(names, ["ours", "theirs", "broken"]);
        let [ours, theirs, broken] = &table.lines[..] else { panic!("three lines") };
        assert_eq!((ours.wins.value, theirs.wins.value, broken.wins.value), (0.8, 0.2, 0.0));
        assert!(ours.wins.low < 0.8 && ours.wins.high > 0.8);
        let error = ours.error.unwrap();
        assert!((error.value - 0.5225).abs() < 1e-12 && (ours.rank - 1.2).abs() < 1e-12);
        assert!(error.low < error.value && error.value < error.high);
        assert_eq!((broken.failed, broken.error, broken.rank), (10, None, 3.0));
        assert!(broken.wins.low == 0.0 && broken.wins.high > 0.2, "10 draws do not prove never");
        assert_eq!(ours.p, None);
        let (broken, theirs) = (broken.p.unwrap(), theirs.p.unwrap());
        assert!(broken.p < 0.01 && theirs.p > broken.p);
        assert!(broken.at_floor && !theirs.at_floor, "nothing is worse than failing 10 times");
        assert_eq!(broken.draws, 10);
        assert!(table.p < 0.01);
    }

    #[test]
    fn methods_that_share_no_draw_are_not_compared() {
        assert_eq!(standings(&[&run("a", 3, 0, 1.0), &run("b", 3, 1, 1.0)], "a"), None);
        assert_eq!(standings(&[], "a"), None);
    }
}
