//! Whether good clusters make good predictions: errors and bridging accuracy against AMI.

use crate::Setting;
use crate::record::{Clusters, Run};
use crate::report::bench::{Bench, clusters, relative, setting_name};
use crate::report::charts::scatter::{Point, scatter};
use crate::report::page::{Cell, Colour, Figure, Section, Table, digits};
use crate::stats::{Correlation, pearson, spearman};
use bridged::Direction;

/// What is held against what.
struct Pairing {
    caption: &'static str,
    names: (&'static str, &'static str),
    x: fn(&Clusters) -> f64,
    y: fn(&Run) -> Option<f64>,
}

const PAIRINGS: [Pairing; 3] = [
    Pairing {
        caption: "Error of Bridged Clustering against the mean AMI of both clusterings.",
        names: ("mean AMI of both sides", "error ÷ that of the mean"),
        x: |c| (c.ami_x + c.ami_y) / 2.0,
        y: relative,
    },
    Pairing {
        caption: "Bridging accuracy against the AMI of the input clusters.",
        names: ("AMI of inputs", "bridging accuracy"),
        x: |c| c.ami_x,
        y: |r| clusters(r).map(|c| c.accuracy),
    },
    Pairing {
        caption: "Bridging accuracy against the AMI of the output clusters.",
        names: ("AMI of outputs", "bridging accuracy"),
        x: |c| c.ami_y,
        y: |r| clusters(r).map(|c| c.accuracy),
    },
];

pub fn section(bench: &Bench) -> Option<Section> {
    let figures: Vec<Figure> = PAIRINGS.iter().filter_map(|p| figure(bench, p)).collect();
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

fn figure(bench: &Bench, pairing: &Pairing) -> Option<Figure> {
    let mut table = Table::new(["experiment", "runs", "Pearson's r", "95 %", "Spearman's", "95 %"]);
    let (mut panels, mut everything) = (Vec::new(), Vec::new());
    for (at, set) in bench.sets.iter().enumerate() {
        for direction in [Direction::Forward, Direction::Reverse] {
            let runs = set.main.runs.iter().filter(|r| {
                r.method == "bridged" && r.cell.extra_clusters == 0 && r.cell.direction == direction
            });
            let point = |run: &Run, colour| {
                let (x, y) = ((pairing.x)(clusters(run)?), (pairing.y)(run)?);
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
                |run: &Run| Colour::nth(usize::from(run.cell.setting == Setting::Inductive));
            let runs: Vec<&Run> = runs.collect();
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
    if bench.sets.len() > 1 && !everything.is_empty() {
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
        None => [Cell::number("–"), "one of them does not vary".into()],
        Some(c) => [
            Cell::number(format!("{:.2}", c.r.value)),
            format!("{:.2} to {:.2}", c.r.low, c.r.high).into(),
        ],
    };
    let [r, r_range] = cells(pearson(&x, &y));
    let [s, s_range] = cells(spearman(&x, &y));
    table.row(vec![label.into(), Cell::number(points.len().to_string()), r, r_range, s, s_range]);
}
