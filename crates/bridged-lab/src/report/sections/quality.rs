//! Whether good clusters make good predictions: errors and bridging accuracy against AMI.

use crate::Setting;
use crate::record::RunRecord;
use crate::report::charts::scatter::{Point, scatter};
use crate::report::data::{ReportData, is_usual, metric, relative, setting_name};
use crate::report::page::{Colour, Figure, Section, Table, TableCell, digits};
use crate::stats::{Correlation, pearson, spearman};
use bridged::Direction;

/// Two numbers of a run that are plotted against each other.
struct Pairing {
    caption: &'static str,
    names: (&'static str, &'static str),
    x: fn(&RunRecord) -> Option<f64>,
    y: fn(&RunRecord) -> Option<f64>,
}

const PAIRINGS: [Pairing; 3] = [
    Pairing {
        caption: "Error of Bridged Clustering against the mean AMI of both clusterings.",
        names: ("mean AMI of both sides", "error ÷ that of the mean"),
        x: |r| Some((metric(r, "ami_x")? + metric(r, "ami_y")?) / 2.0),
        y: relative,
    },
    Pairing {
        caption: "Bridging accuracy against the AMI of the input clusters.",
        names: ("AMI of inputs", "bridging accuracy"),
        x: |r| metric(r, "ami_x"),
        y: |r| metric(r, "accuracy"),
    },
    Pairing {
        caption: "Bridging accuracy against the AMI of the output clusters.",
        names: ("AMI of outputs", "bridging accuracy"),
        x: |r| metric(r, "ami_y"),
        y: |r| metric(r, "accuracy"),
    },
];

pub fn section(data: &ReportData) -> Option<Section> {
    let figures: Vec<Figure> = PAIRINGS.iter().filter_map(|p| figure(data, p)).collect();
    (!figures.is_empty()).then(|| Section {
        id: "quality",
        title: "Clusters and errors".into(),
        text:
            "Each point is a run of Bridged Clustering as in the paper. AMI is the adjusted mutual \
               information of clusters and latent groups: 1 when they are the same, 0 when they \
               have nothing to do with each other. The lines are least squares; the intervals of \
               the correlations take the draws as independent, which draws from one data set are \
               only nearly."
                .into(),
        figures,
    })
}

fn figure(data: &ReportData, pairing: &Pairing) -> Option<Figure> {
    let mut table = Table::new(["experiment", "runs", "Pearson's r", "95 %", "Spearman's", "95 %"]);
    let (mut panels, mut everything) = (Vec::new(), Vec::new());
    for (at, set) in data.sets.iter().enumerate() {
        for direction in [Direction::Forward, Direction::Reverse] {
            let runs =
                set.main.runs.iter().filter(|r| {
                    r.method == "bridged" && is_usual(r) && r.cell.direction == direction
                });
            let point = |run: &RunRecord, colour| {
                let (x, y) = ((pairing.x)(run)?, (pairing.y)(run)?);
                let about = format!(
                    "{}: C = {}, {} pairs a group, {}\n{} {}\n{} {}",
                    run.data,
                    run.cell.groups,
                    run.cell.pairs,
                    setting_name(run.cell.setting),
                    pairing.names.0,
                    digits(x),
                    pairing.names.1,
                    digits(y)
                );
                Some(Point { x, y, colour, about })
            };
            let colour =
                |run: &RunRecord| Colour::nth(usize::from(run.cell.setting == Setting::Inductive));
            let runs: Vec<&RunRecord> = runs.collect();
            let points: Vec<Point> = runs.iter().filter_map(|r| point(r, colour(r))).collect();
            if points.is_empty() {
                continue;
            }
            let label = match direction {
                Direction::Forward => set.data.clone(),
                Direction::Reverse => format!("{}, reversed", set.data),
            };
            row(&mut table, &label, &points);
            panels.push((label.clone(), scatter(&points, pairing.names, &label)));
            everything.extend(runs.iter().filter_map(|r| point(r, Colour::nth(at))));
        }
    }
    if data.sets.len() > 1 && !everything.is_empty() {
        row(&mut table, "all together", &everything);
        let chart = scatter(&everything, pairing.names, "all together");
        panels.push(("all data sets (each its own colour)".into(), chart));
    }
    let legend = [Setting::Transductive, Setting::Inductive]
        .into_iter()
        .enumerate()
        .map(|(i, s)| (Colour::nth(i), setting_name(s).to_string()));
    let caption = pairing.caption.to_string();
    (!panels.is_empty()).then(|| Figure { caption, legend: legend.collect(), panels, table })
}

fn row(table: &mut Table, label: &str, points: &[Point]) {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|p| (p.x, p.y)).unzip();
    let cells = |c: Option<Correlation>| match c {
        None => [TableCell::number("–"), "one of them does not vary".into()],
        Some(c) => [
            TableCell::number(format!("{:.2}", c.r.value)),
            format!("{:.2} to {:.2}", c.r.low, c.r.high).into(),
        ],
    };
    let [r, r_range] = cells(pearson(&x, &y));
    let [s, s_range] = cells(spearman(&x, &y));
    table.row(vec![
        label.into(),
        TableCell::number(points.len().to_string()),
        r,
        r_range,
        s,
        s_range,
    ]);
}
