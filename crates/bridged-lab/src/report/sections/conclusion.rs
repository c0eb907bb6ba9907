//! The conclusion in three sentences, and the standings that it is drawn from.
//!
//! 1. Who has the smallest mean error.
//! 2. How it and the best rival compare on the same draws, and how often it wins.
//! 3. Where that does not hold, and what else limits the claim.
//!
//! A method is ours if it is a form of Bridged Clustering; rivals are the others. Every sentence is true of one method,
//! one draw, ties and failures too.

use crate::contender::{DEFAULT, PAPER};
use crate::report::charts::curves::{Curve, Curves, curves, highlight};
use crate::report::charts::dots::{DotRow, Dots, Scale, draw};
use crate::report::data::{ReportData, range, scores};
use crate::report::page::{Colour, Figure, Section, Table, TableCell, digits, is_ours, percent};
use crate::report::shared::{Comparison, Shared};
use crate::stats::Interval;

/// Cells with fewer draws than this are few.
const FEW: usize = 10;
/// Rivals whose lines stand out.
const LINES: usize = 3;

const OURS: Colour = Colour::Series(0);
const RIVAL: Colour = Colour::Series(9);

pub fn section(data: &ReportData) -> Option<Section> {
    let comparison = Comparison::new(data);
    let mut figures = Vec::new();
    let text = match &comparison.main {
        None => "No draw has a run of every method, so there is nothing to conclude. The methods ran on draws of their \
                 own, or the study is not finished. Carry it out, then make this page again."
            .to_string(),
        Some(shared) => {
            let standings = Standings::new(shared);
            let slow = comparison.with_slow.as_ref();
            let which = if slow.is_some() { "the methods that ran on every draw" } else { "all methods" };
            figures.extend(standings.figure(which));
            figures.extend(standings.by_pairs(data.pairs_name()));
            if let Some(slow) = slow {
                let which = "all methods, on the draws that all of them ran on";
                figures.extend(Standings::new(slow).figure(which));
            }
            format!(
                "{}\n\n{}\n\n{}",
                standings.first(data, slow.is_some()),
                standings.second(),
                standings.third(data, &comparison)
            )
        }
    };
    Some(Section { id: "conclusion", title: "Conclusion".into(), text, figures })
}

/// The methods in order, and those that the sentences are about.
struct Standings<'a> {
    shared: &'a Shared,
    /// By mean error.
    order: Vec<usize>,
    /// The smallest mean error of those that failed least.
    best: usize,
    /// Whom it is compared with; none where it is alone.
    rival: Option<usize>,
}

impl<'a> Standings<'a> {
    fn new(shared: &'a Shared) -> Self {
        let order = shared.by_error();
        // A mean over fewer draws flatters, so who failed comes after who did not.
        let mut reliable = order.clone();
        reliable.sort_by_key(|m| shared.failed(*m));
        let best = reliable[0];
        let ours = |m: usize| is_ours(shared.methods[m]);
        let others = || reliable.iter().copied().filter(|m| *m != best);
        // Ours against the best rival, a rival against the best of ours; where there is one kind only, the next.
        let rival = others().find(|m| ours(*m) != ours(best)).or(others().next());
        Self { shared, order, best, rival }
    }

    fn name(&self, m: usize) -> &'static str {
        self.shared.methods[m]
    }

    /// The name in a sentence.
    fn said(&self, m: usize) -> String {
        match self.name(m) {
            "mean" => "the constant (mean)".to_string(),
            name => name.to_string(),
        }
    }

    /// The rivals, with the best of ours where `m` is a rival itself: what its wins are counted among.
    fn field(&self, m: usize) -> Vec<usize> {
        let all = 0..self.shared.methods.len();
        let first = self.order.iter().copied().find(|m| is_ours(self.name(*m)));
        all.filter(|&o| !is_ours(self.name(o)) || (!is_ours(self.name(m)) && Some(o) == first))
            .collect()
    }

    fn wins(&self, m: usize) -> Option<Interval> {
        self.shared.wins(m, &self.field(m))
    }

    /// Who has the smallest mean error.
    fn first(&self, data: &ReportData, slow: bool) -> String {
        let name = self.said(self.best);
        let draws = count(self.shared.draws(), "draw");
        let Some(error) = self.shared.error(self.best) else {
            let methods = self.shared.methods.len();
            return format!(
                "There is no error to compare: all runs of {} failed.",
                count(methods, "method")
            );
        };
        let sets = match (self.shared.sets, data.sets.len()) {
            (1, 1) => format!("of {}", data.sets[0].data),
            (n, _) => format!("of {}", count(n, "data set")),
        };
        let value = format!("{} of the constant's ({})", digits(error.value), interval(error));
        if self.rival.is_none() {
            return format!(
                "The only method here, {name}, has a mean error of {value}, over {draws} {sets}."
            );
        }
        let among = match slow {
            true => {
                format!("{} that ran on every draw", count(self.shared.methods.len(), "method"))
            }
            false => count(self.shared.methods.len(), "method"),
        };
        let failed = self.shared.failed(self.best) == 0
            && (0..self.shared.methods.len()).any(|m| self.shared.failed(m) > 0);
        let among = if failed { format!("{among}, among those that never failed,") } else { among };
        let equals: Vec<&str> = self
            .order
            .iter()
            .filter(|&&m| m != self.best && self.shared.failed(m) == self.shared.failed(self.best))
            .filter(|&&m| self.shared.error(m).is_some_and(|e| e.value == error.value))
            .map(|&m| self.name(m))
            .collect();
        let who = match equals.is_empty() {
            true => name,
            false => format!("{name}, equal to that of {}", list(&equals)),
        };
        let constant = match error.value >= 1.0 {
            true => "; none of them beats the constant",
            false => "",
        };
        format!(
            "The smallest mean error of {among} is that of {who}: {value}, over {draws} {sets}{constant}."
        )
    }

    /// The best and its rival on the same draws.
    fn second(&self) -> String {
        let (best, Some(rival)) = (self.best, self.rival) else {
            return "There is nothing to compare it with.".to_string();
        };
        let Some(error) = self.shared.error(rival) else {
            return format!("Its best rival, {}, failed on every draw.", self.said(rival));
        };
        let kind = match (is_ours(self.name(best)), is_ours(self.name(rival))) {
            (true, false) => "Its best rival",
            (false, true) => "The best form of Bridged Clustering here",
            _ => "The next",
        };
        let difference = self.shared.difference(best, rival);
        let chance = difference.is_some_and(|d| d.is_known() && d.low <= 0.0 && d.high >= 0.0);
        let lower = difference.map_or(String::new(), |d| {
            let words = if d.value < 0.0 { "higher" } else { "lower" };
            let flip = |d: Interval| Interval { value: -d.value, low: -d.high, high: -d.low };
            let d = if d.value < 0.0 { flip(d) } else { d };
            let doubt = if chance { ", which may be chance" } else { "" };
            match d.value == 0.0 && d.low == d.high {
                true => "; on the same draws their errors are equal".to_string(),
                false => format!(
                    "; on the same draws {} is {words} by {} ({}){doubt}",
                    self.said(best),
                    digits(d.value),
                    interval(d)
                ),
            }
        });
        let beats = self.shared.beats(best, rival).map_or(String::new(), |b| {
            format!(
                ", has the smaller error of the two on {} of them ({})",
                percent(b.value),
                share(b)
            )
        });
        let any_ours = self.shared.methods.iter().any(|m| is_ours(m));
        let of = match (is_ours(self.name(best)), any_ours) {
            (true, _) => "wins against all rivals",
            (false, true) => "wins against that form and all other rivals",
            (false, false) => "wins against all others",
        };
        let wins = self
            .wins(best)
            .map_or(String::new(), |w| format!(" and {of} on {} ({})", percent(w.value), share(w)));
        let name = self.said(rival);
        let error = format!("{} ({})", digits(error.value), interval(error));
        format!("{kind}, {name}, has {error}{lower}{beats}{wins}.")
    }

    /// What limits the claim.
    fn third(&self, data: &ReportData, comparison: &Comparison) -> String {
        let mut limits: Vec<String> = Vec::new();
        limits.extend(self.cells());
        limits.extend(self.shipped());
        let least = self.shared.least_draws();
        if least < FEW {
            limits.push(format!("a cell has only {}", count(least, "draw")));
        }
        if self.shared.sets == 1 {
            limits.push("all draws are of one data set".into());
        }
        limits.extend(failures(data));
        if let (Some(slow), Some(main)) = (&comparison.with_slow, &comparison.main) {
            let late: Vec<&str> =
                slow.methods.iter().copied().filter(|m| !main.methods.contains(m)).collect();
            let standings = Standings::new(slow);
            let who = match late.contains(&standings.name(standings.best)) {
                true => format!(
                    ", where {} has the smallest mean error",
                    standings.name(standings.best)
                ),
                false => ", where none of them has the smallest mean error".to_string(),
            };
            limits.push(format!(
                "{} ran on {} of these draws only{who}",
                list(&late),
                slow.draws()
            ));
        }
        if !comparison.left_out.is_empty() {
            limits.push(format!("{} did not run on every data set", list(&comparison.left_out)));
        }
        if !comparison.lacking.is_empty() {
            let names: Vec<&str> = comparison.lacking.iter().map(String::as_str).collect();
            limits.push(format!("not all methods ran on {}, which is left out", list(&names)));
        }
        match limits.is_empty() {
            true => "Nothing here speaks against it, but draws of one data set share rows, so the intervals are a \
                     little narrow."
                .to_string(),
            false => format!("What limits this: {}.", limits.join("; ")),
        }
    }

    /// In how many cells a rival has the smaller mean error.
    fn cells(&self) -> Option<String> {
        self.rival?;
        let all = 0..self.shared.methods.len();
        let ours = is_ours(self.name(self.best)) && all.clone().any(|m| !is_ours(self.name(m)));
        // Forms of one method are not each other's rivals.
        let field: Vec<usize> =
            all.filter(|&m| m == self.best || !ours || !is_ours(self.name(m))).collect();
        let best = self.shared.best_in_cells(&field);
        let total = self.shared.cells.len();
        let own = field.iter().position(|m| *m == self.best).map_or(0, |at| best[at]);
        let rival = if ours { "a rival" } else { "another method" };
        if total < 2 {
            return Some("there is only one cell".into());
        }
        if own == total {
            return None;
        }
        let most = (0..field.len())
            .filter(|at| field[*at] != self.best)
            .max_by_key(|at| (best[*at], usize::MAX - at))?;
        let who = self.said(field[most]);
        let who = match best[most] == total - own {
            true => who,
            false => format!("{rival}, most often {who} ({}),", best[most]),
        };
        Some(format!(
            "in {} of {total} cells (a cell is a direction, setting, number of groups and number of \
             pairs of a data set) {who} has a smaller mean error",
            total - own
        ))
    }

    /// Where what `bridged fit` ships stands, unless the other sentences say so.
    fn shipped(&self) -> Option<String> {
        let Some(at) = self.order.iter().position(|m| self.name(*m) == DEFAULT) else {
            return Some(format!("the shipped default, {DEFAULT}, did not run"));
        };
        let m = self.order[at];
        if m == self.best || Some(m) == self.rival {
            return None;
        }
        let Some(error) = self.shared.error(m) else {
            return Some(format!("the shipped default, {DEFAULT}, failed on every draw"));
        };
        let methods = self.shared.methods.len();
        Some(format!(
            "the shipped default, {DEFAULT}, has {} ({}), place {} of {methods}",
            digits(error.value),
            interval(error),
            at + 1
        ))
    }

    /// Mean errors and wins side by side, the smallest mean error first.
    fn figure(&self, which: &str) -> Option<Figure> {
        let mut table = Table::new([
            "method",
            "error ÷ mean's",
            "95 %",
            "wins",
            "95 % of wins",
            "better than the best rival",
            "95 % of better",
            "failed",
        ]);
        let (mut errors, mut wins) = (Vec::new(), Vec::new());
        let mut best = None;
        for &m in &self.order {
            let name = self.name(m);
            let (error, won) = (self.shared.error(m), self.wins(m));
            let rival = self.order.iter().copied().find(|o| *o != m && !is_ours(self.name(*o)));
            let beats = rival.and_then(|r| self.shared.beats(m, r));
            let of_share = |s: Option<Interval>| s.map_or("–".to_string(), share_range);
            table.row(vec![
                name.into(),
                TableCell::value(error.map(|e| e.value)).best(m == self.best && error.is_some()),
                error.map_or(String::new(), range).into(),
                TableCell::number(won.map_or("–".into(), |w| percent(w.value))),
                of_share(won).into(),
                TableCell::number(beats.map_or("–".into(), |b| percent(b.value))),
                of_share(beats).into(),
                TableCell::number(self.shared.failed(m).to_string()),
            ]);
            let Some(error) = error else { continue };
            if m == self.best {
                best = Some(errors.len());
            }
            let colour = if is_ours(name) { OURS } else { RIVAL };
            let row =
                |value| DotRow { name: name.into(), values: vec![(String::new(), colour, value)] };
            errors.push(row(error));
            wins.extend(won.map(row));
        }
        let chart = |rows: &[DotRow], scale, line, name| {
            draw(rows, &Dots { scale, line, name, label: name, best })
        };
        let panels = vec![
            (
                "Mean error".to_string(),
                chart(
                    &errors,
                    Scale::Log,
                    Some(1.0),
                    "error ÷ the constant's, logarithmic: left is better",
                ),
            ),
            ("Wins".to_string(), chart(&wins, Scale::Share, None, "% of draws: right is better")),
        ];
        let caption = format!(
            "Standings of {which}: {}, the smallest mean error first. The constant is the mean of the output pool, the \
             dashed line. Intervals are for new draws of the same data: Student's for errors, from the spread \
             within cells, and Wilson's for wins. A win is \
             the smallest error of a draw; a form of Bridged Clustering is held against the rivals, a rival against the \
             other rivals and the best form.",
            count(self.shared.draws(), "draw")
        );
        (!errors.is_empty()).then(|| Figure {
            caption,
            legend: legend(&self.order, self),
            panels,
            table,
        })
    }

    /// Mean errors against the number of pairs.
    fn by_pairs(&self, pairs_name: &str) -> Option<Figure> {
        let pairs = self.shared.pairs();
        let there: Vec<usize> =
            self.order.iter().copied().filter(|m| self.shared.error(*m).is_some()).collect();
        if pairs.len() < 2 || there.is_empty() {
            return None;
        }
        let names: Vec<&str> = there.iter().map(|m| self.name(*m)).collect();
        let ours: Vec<&str> = names.iter().copied().filter(|n| is_ours(n)).take(1).collect();
        let follow = [ours, vec![DEFAULT, PAPER]].concat();
        // Other forms of ours are not among the few: rivals are what a reader looks for.
        let rivals: Vec<&str> =
            names.iter().copied().filter(|n| follow.contains(n) || !is_ours(n)).collect();
        let colours = highlight(&rivals, &follow, LINES);
        let colour = |name: &str| {
            rivals.iter().position(|n| *n == name).map_or(Colour::Other, |at| colours[at])
        };
        let columns = ["method".to_string()].into_iter();
        let columns = columns.chain(pairs.iter().map(|s| count(*s, "pair")));
        let mut table = Table::new(columns);
        let mut lines = Vec::new();
        for (&m, name) in there.iter().zip(&names) {
            let values: Vec<Option<Interval>> =
                pairs.iter().map(|s| self.shared.error_with(m, *s)).collect();
            let mut row = vec![TableCell::from(*name)];
            row.extend(values.iter().map(|v| {
                let tip = v.map_or(String::new(), |v| format!("95 %: {}", range(v)));
                TableCell::value(v.map(|v| v.value)).tip(tip)
            }));
            table.row(row);
            let points = pairs.iter().zip(values).filter_map(|(s, v)| Some((*s as f64, v?)));
            lines.push(Curve {
                name: name.to_string(),
                colour: colour(name),
                points: points.collect(),
            });
        }
        let about = Curves {
            across: &format!("{pairs_name}, logarithmic"),
            up: "error ÷ the constant's, logarithmic",
            scale: Scale::Log,
            line: Some(1.0),
            label: "mean error against the number of pairs",
        };
        let panels =
            vec![("Mean error by the number of pairs".to_string(), curves(&lines, &about))];
        let caption = format!(
            "Mean error ÷ the constant's against the number of {pairs_name}, over the same draws, with 95 % \
             intervals. Named are the best form of Bridged Clustering, the shipped default, the paper's form \
             and the three best rivals; the others are grey."
        );
        Some(Figure { caption, legend: Vec::new(), panels, table })
    }
}

/// What the colours of the standings stand for, of those that are there.
fn legend(order: &[usize], standings: &Standings<'_>) -> Vec<(Colour, String)> {
    let any = |ours: bool| order.iter().any(|m| is_ours(standings.name(*m)) == ours);
    let all = [(any(true), OURS, "Bridged Clustering (ours)"), (any(false), RIVAL, "rivals")];
    all.into_iter().filter(|l| l.0).map(|(_, colour, name)| (colour, name.to_string())).collect()
}

/// Runs that failed, and whose they are.
fn failures(data: &ReportData) -> Option<String> {
    let runs = || data.sets.iter().flat_map(|set| &set.main.runs);
    let mut methods: Vec<&str> =
        runs().filter(|r| scores(r).is_none()).map(|r| r.method.as_str()).collect();
    let failed = methods.len();
    methods.sort_unstable();
    methods.dedup();
    let were = if failed == 1 { "run" } else { "runs" };
    (failed > 0)
        .then(|| format!("{failed} of {} {were} failed ({})", runs().count(), list(&methods)))
}

fn interval(i: Interval) -> String {
    if i.is_known() { format!("95 %: {}", range(i)) } else { range(i) }
}

fn share(i: Interval) -> String {
    format!("95 %: {}", share_range(i))
}

fn share_range(i: Interval) -> String {
    format!("{} to {}", percent(i.low), percent(i.high))
}

fn count(n: usize, of: &str) -> String {
    if n == 1 { format!("1 {of}") } else { format!("{n} {of}s") }
}

/// Names in a row: up to four, or the first three and how many more.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [some @ .., last] if names.len() <= 4 => format!("{} and {last}", some.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, RunRecord, RunScores};
    use crate::report::data::DatasetResults;
    use crate::{Experiment, Results, Setting, StudyCell};

    /// A page about one data set with two cells: for each method its errors on the draws of both, a failure where the
    /// error is infinite.
    fn data(methods: &[(&str, &[f64])]) -> ReportData {
        let run = |method: &str, at: usize, error: f64| RunRecord {
            data: "d".into(),
            cell: StudyCell {
                groups: 3,
                pairs: 1 + at % 2,
                setting: Setting::Inductive,
                ..StudyCell::default()
            },
            run: at / 2,
            seed: 0,
            method: method.into(),
            version: "0".into(),
            outcome: match error.is_finite() {
                true => Outcome::Scores(Box::new(RunScores {
                    metrics: [("mse".to_string(), Some(2.0 * error))].into(),
                    mse_of_mean: 2.0,
                    ..RunScores::default()
                })),
                false => Outcome::Failed("no".into()),
            },
        };
        let runs = methods.iter().flat_map(|(method, errors)| {
            errors.iter().enumerate().map(move |(at, e)| run(method, at, *e))
        });
        let study = Experiment::from_table("data = \"d.parquet\"".parse().unwrap()).unwrap();
        let runs = runs.collect();
        let main = Results { name: "s".into(), study, runs, spaces: None, made: None };
        let set = DatasetResults { data: "d".into(), main, others: Vec::new() };
        ReportData { sets: vec![set], apart: Vec::new(), command: String::new() }
    }

    fn sentences(methods: &[(&str, &[f64])]) -> [String; 3] {
        let text = section(&data(methods)).unwrap().text;
        let all: Vec<String> = text.split("\n\n").map(str::to_string).collect();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        all.try_into().unwrap_or_else(|all| panic!("three sentences: {all:?}"))
    }

    const INF: f64 = f64::INFINITY;

    #[test]
    fn the_best_its_rival_and_the_limits_are_named() {
        let [first, second, third] = sentences(&[
            ("bridged-default", &[0.5, 0.6, 0.52, 0.61]),
            ("knn", &[0.9, 0.5, 0.95, 0.52]),
            ("mean", &[1.0; 4]),
        ]);
        assert!(
            first.starts_with(
                "The smallest mean error of 3 methods is that of bridged-default: 0.557 "
            ),
            "{first}"
        );
        assert!(first.ends_with("over 4 draws of d."), "{first}");
        assert!(second.starts_with("Its best rival, knn, has 0.718 (95 %: "), "{second}");
        assert!(second.contains("on the same draws bridged-default is lower by 0.160"), "{second}");
        assert!(second.contains("on 50.0 % of them (95 %: 15.0 % to 85.0 %)"), "{second}");
        assert!(
            third.contains("in 1 of 2 cells") && third.contains("knn has a smaller"),
            "{third}"
        );
        assert!(third.contains("a cell has only 2 draws"), "{third}");
    }

    #[test]
    fn a_rival_that_is_best_is_said_to_be() {
        let [first, second, third] =
            sentences(&[("bridged", &[0.8, 0.8]), ("eot", &[0.4, 0.6]), ("knn", &[0.9, 0.9])]);
        assert!(first.contains("is that of eot: 0.500"), "{first}");
        assert!(
            second.starts_with("The best form of Bridged Clustering here, bridged, has"),
            "{second}"
        );
        assert!(third.contains("the shipped default, bridged-default, did not run"), "{third}");
    }

    #[test]
    fn one_method_and_one_draw_claim_nothing() {
        let [first, second, third] = sentences(&[("knn", &[0.7])]);
        assert_eq!(
            first,
            "The only method here, knn, has a mean error of 0.700 of the constant's (one draw, no interval), \
             over 1 draw of d."
        );
        assert_eq!(second, "There is nothing to compare it with.");
        assert!(third.contains("a cell has only 1 draw;"), "{third}");
    }

    #[test]
    fn ties_are_ties() {
        let [first, second, _] = sentences(&[("knn", &[0.7, 0.8]), ("eot", &[0.7, 0.8])]);
        assert!(first.contains("is that of knn, equal to that of eot: 0.750"), "{first}");
        assert!(second.contains("their errors are equal") && second.contains("50.0 %"), "{second}");
    }

    #[test]
    fn who_failed_is_not_best_by_the_draws_that_were_easy() {
        let [first, _, third] =
            sentences(&[("bridged", &[0.9, 0.9, 0.9, 0.9]), ("eot", &[0.1, INF, INF, INF])]);
        assert!(
            first.contains("among those that never failed, is that of bridged: 0.900"),
            "{first}"
        );
        assert!(third.contains("3 of 8 runs failed (eot)"), "{third}");
    }

    #[test]
    fn where_all_runs_failed_nothing_is_claimed() {
        let methods: &[(&str, &[f64])] = &[("bridged", &[INF, INF]), ("eot", &[INF, INF])];
        let section = section(&data(methods)).unwrap();
        assert!(section.text.starts_with("There is no error to compare"), "{}", section.text);
        assert!(section.figures.is_empty());
    }

    #[test]
    fn where_none_beats_the_constant_it_says_so() {
        let [first, second, _] = sentences(&[("bridged", &[1.2, 1.3]), ("mean", &[1.0, 1.0])]);
        assert!(first.contains("is that of the constant (mean): 1.00"), "{first}");
        assert!(first.ends_with("none of them beats the constant."), "{first}");
        assert!(second.contains("the constant (mean) is lower by 0.250"), "{second}");
    }

    #[test]
    fn methods_on_draws_of_their_own_are_not_compared() {
        let mut data = data(&[("bridged", &[0.5, 0.6]), ("eot", &[0.1, 0.2])]);
        data.sets[0].main.runs.iter_mut().filter(|r| r.method == "eot").for_each(|r| r.run += 7);
        assert!(section(&data).unwrap().text.contains("nothing to conclude"));
    }

    #[test]
    fn standings_are_sorted_by_mean_error_with_wins_beside_and_best_alone_bold() {
        let methods: &[(&str, &[f64])] =
            &[("bridged", &[0.8, 0.7]), ("knn", &[0.9, 0.9]), ("eot", &[0.5, 0.6])];
        let section = section(&data(methods)).unwrap();
        let Figure { panels, table, .. } = &section.figures[0];
        let names: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(names, ["eot", "bridged", "knn"]);
        assert_eq!(panels.len(), 2, "errors and wins");
        assert_eq!(table.rows[2][4].text, "0.0 % to 65.8 %", "0 of 2 is not never");
        let bold = table.rows.iter().flatten().filter(|cell| cell.best).count();
        assert_eq!(bold, 1);
    }
}
