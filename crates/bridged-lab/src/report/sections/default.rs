//! The default of `bridged fit` draw by draw: against a constant, the paper's rules and all others.
//! And the same bridge on the paper's clusterings and on plain k-means.

use crate::contender::{DEFAULT, PAPER, POSTERIOR, POSTERIOR_KMEANS};
use crate::record::RunRecord;
use crate::report::data::{
    DatasetResults, Difference, ReportData, better, field, methods, parts, quick_methods, relative,
};
use crate::report::page::{Figure, Section, Table, TableCell, digits, percent};
use crate::stats::{standings, wilson};

const VARIANTS: [&str; 3] = [DEFAULT, POSTERIOR, POSTERIOR_KMEANS];
const RIVALS: [&str; 3] = [PAPER, "bridged-soft", "eot"];

/// An error this many times that of the constant is harm that a user would notice.
const HARM: f64 = 1.05;

pub fn section(data: &ReportData) -> Option<Section> {
    let figures: Vec<Figure> =
        VARIANTS.iter().filter_map(|variant| figure(data, variant)).collect();
    (!figures.is_empty()).then(|| Section {
        id: "default",
        title: "The posterior bridge, draw by draw".into(),
        text: "The posterior bridge of bridged fit on balanced k-means: bridged-default as it is unless \
               told otherwise, bridged-posterior on the clusterings of the paper, by Lloyd's \
               iteration; below them the same bridge on plain k-means. Mean error relative to \
               the constant, over all draws and in the worst of the two directions and \
               settings; the share of draws on \
               which it is more than 5 % worse than the constant; the share on which its error is \
               below that of the majority vote, of soft votes and of EOT; its share of wins among all \
               quick baselines, bold where nobody has more, and that of the next best. Point at a share \
               for its 95 % interval, which is Wilson's."
            .into(),
        figures,
    })
}

/// One variant under every condition of every data set, and all of them together.
fn figure(data: &ReportData, variant: &'static str) -> Option<Figure> {
    let mut table = Table::new([
        "data set",
        "condition",
        "draws",
        "error ÷ mean's",
        "worst of directions and settings",
        "above 1.05",
        "better than majority",
        "than soft",
        "than eot",
        "wins",
        "next",
    ]);
    let mut all = Tally::default();
    for set in &data.sets {
        for (condition, runs) in conditions(set) {
            if methods(runs.iter().copied()).contains(&variant) {
                let (tally, next) = Tally::of(&runs, variant);
                table.row(tally.cells(&set.data, &condition, &next));
                all.add(&tally);
            }
        }
    }
    if table.rows.len() > 1 {
        table.row(all.cells("all", "", "–"));
    }
    let caption = format!("{variant} under each way of drawing rows and pairs.");
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

/// The ways in which draws of a data set come about, the usual one first.
fn conditions(set: &DatasetResults) -> Vec<(String, Vec<&RunRecord>)> {
    let others = set.others.iter().filter(|o| o.kind == Difference::Condition);
    let others = others.map(|o| (o.condition.clone(), &o.results));
    let all = [("as usual".to_string(), &set.main)].into_iter().chain(others);
    let runs = all.map(|(name, results)| {
        (name, parts(&set.data, results).into_iter().flat_map(|p| p.runs).collect())
    });
    runs.collect()
}

/// Sums over draws.
#[derive(Default)]
struct Tally {
    draws: f64,
    error: f64,
    worst: f64, // the largest mean of a direction and setting
    harmed: f64,
    better: [f64; RIVALS.len()],
    compared: [f64; RIVALS.len()],
    wins: f64,
    best: bool, // whether nobody has more wins
}

impl Tally {
    /// The sums, and the method with the most wins beside this variant.
    fn of(runs: &[&RunRecord], variant: &'static str) -> (Self, String) {
        let mut ours: Vec<&RunRecord> =
            runs.iter().copied().filter(|r| r.method == variant).collect();
        ours.sort_by_key(|r| part(r));
        let sum = |of: &[&RunRecord]| of.iter().filter_map(|r| relative(r)).sum::<f64>();
        let means = ours.chunk_by(|a, b| part(a) == part(b)).map(|p| sum(p) / p.len() as f64);
        let draws = ours.len() as f64;
        let shares = RIVALS.map(|rival| better(runs, rival, variant));
        let among = field(variant, &quick_methods(runs));
        let compared = runs.iter().copied().filter(|r| among.contains(&r.method.as_str()));
        let compared: Vec<&RunRecord> = compared.collect();
        let lines = standings(&compared, variant).map_or(Vec::new(), |s| s.lines);
        let wins = lines.iter().find(|l| l.method == variant).map_or(0.0, |l| l.wins.value);
        let next = lines.iter().find(|l| l.method != variant);
        let shares = shares.map(|s| s.map(|s| s.value));
        let tally = Self {
            draws,
            error: sum(&ours),
            worst: means.fold(0.0, f64::max),
            harmed: ours.iter().filter(|r| relative(r).is_none_or(|e| e > HARM)).count() as f64,
            better: shares.map(|s| s.unwrap_or(0.0) * draws),
            compared: shares.map(|s| if s.is_some() { draws } else { 0.0 }),
            wins: wins * draws,
            best: next.is_none_or(|l| l.wins.value <= wins),
        };
        let next = next.map(|l| format!("{} {}", l.method, percent(l.wins.value)));
        (tally, next.unwrap_or("–".to_string()))
    }

    fn add(&mut self, other: &Self) {
        self.draws += other.draws;
        self.error += other.error;
        self.worst = self.worst.max(other.worst);
        self.harmed += other.harmed;
        for r in 0..RIVALS.len() {
            self.better[r] += other.better[r];
            self.compared[r] += other.compared[r];
        }
        self.wins += other.wins;
    }

    /// A count as a share of the draws.
    fn share(&self, count: f64) -> TableCell {
        TableCell::share(wilson(count, self.draws as usize))
    }

    fn cells(&self, data: &str, condition: &str, next: &str) -> Vec<TableCell> {
        let mut row: Vec<TableCell> = vec![
            data.into(),
            condition.into(),
            TableCell::number(self.draws.to_string()),
            TableCell::number(digits(self.error / self.draws)),
            TableCell::number(digits(self.worst)),
            self.share(self.harmed),
        ];
        let shares = self.better.iter().zip(self.compared);
        row.extend(shares.map(|(better, of)| match of > 0.0 {
            true => TableCell::share(wilson(*better, of as usize)),
            false => TableCell::number("–"),
        }));
        row.push(self.share(self.wins).best(self.best));
        row.push(next.into());
        row
    }
}

/// The direction and setting of a run, in an order.
fn part(run: &RunRecord) -> (bool, bool) {
    let reverse = run.cell.direction == bridged::Direction::Reverse;
    (reverse, run.cell.setting == crate::Setting::Inductive)
}
