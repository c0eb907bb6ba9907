//! Ten daily parts one after the other, against one fit of everything: `docs/how-to/a-year-with-a-model.md` has its table.
//!
//! ```text
//! cargo run --release -p bridged-lab --example daily_parts -- ../shared/data/*.parquet
//! ```
//!
//! Groups in their natural sizes, their number hidden. Every draw is cut into ten parts of equal rows and pairs; a model is
//! fitted to the first and updated with the nine others. Errors are of rows in no pool, in units of that of a constant.

use bridged::update::Update;
use bridged::{BridgedClustering, BridgedModel, Direction, Matrix, Names, Pool, Seed, Silent};
use bridged_lab::protocol::{Draw, Pairing, Protocol, Sizes, StudyCell, TestRows};
use bridged_lab::{Dataset, LabError};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

const PARTS: usize = 10;
const PAIRS: usize = 50;
const DRAWS: u64 = 5;

/// The rows of a side in the order in which they come, and where each part ends.
struct Days {
    order: Vec<usize>,
    ends: Vec<usize>,
}

impl Days {
    /// Rows that are in pairs come on the day of the pair, the others evenly.
    fn of(rows: usize, paired: &[u32]) -> Self {
        let mut day_of: HashMap<usize, usize> = HashMap::new();
        for (at, row) in paired.iter().enumerate() {
            day_of.insert(*row as usize, at * PARTS / paired.len());
        }
        let others: Vec<usize> = (0..rows).filter(|row| !day_of.contains_key(row)).collect();
        for (at, row) in others.iter().enumerate() {
            day_of.insert(*row, at * PARTS / others.len());
        }
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|row| (day_of[row], *row));
        let ends = (0..PARTS).map(|day| order.partition_point(|row| day_of[row] <= day)).collect();
        Self { order, ends }
    }

    fn part(&self, rows: &Matrix, day: usize) -> Pool {
        let first = if day == 0 { 0 } else { self.ends[day - 1] };
        let chosen = &self.order[first..self.ends[day]];
        let ids = chosen.iter().map(|row| format!("r{row}")).collect();
        let names = Names { ids, id: Some("id".into()), ..Names::default() };
        Pool { rows: rows.view().select(chosen.iter().copied()), names, ..Pool::default() }
    }

    fn all(&self, rows: &Matrix) -> Pool {
        let ids = self.order.iter().map(|row| format!("r{row}")).collect();
        let names = Names { ids, id: Some("id".into()), ..Names::default() };
        Pool { rows: rows.view().select(self.order.iter().copied()), names, ..Pool::default() }
    }

    /// Where a row comes.
    fn place(&self) -> HashMap<usize, u32> {
        self.order.iter().enumerate().map(|(at, row)| (*row, at as u32)).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| data | direction | rows of x, y | one fit | ten parts | ratio | worst draw |\n|---|---|---|---|---|---|---|"
    );
    for path in std::env::args().skip(1) {
        let data = Dataset::read(Path::new(&path))?;
        for direction in Direction::BOTH {
            let mut ratios = Vec::new();
            let (mut one, mut ten, mut rows) = (0.0, 0.0, (0, 0));
            for seed in 0..DRAWS {
                let draw = drawn(&data, direction, Seed(seed))?;
                rows = (draw.x.rows(), draw.y.rows());
                let constant = error(&draw, &draw.constant());
                let (of_one, of_ten) = both(&draw)?;
                one += of_one / constant / DRAWS as f64;
                ten += of_ten / constant / DRAWS as f64;
                ratios.push(of_ten / of_one);
            }
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            let name = match direction {
                Direction::Forward => "y from x",
                Direction::Reverse => "x from y",
            };
            println!(
                "| {} | {name} | {}, {} | {one:.3} | {ten:.3} | {:.3} | {worst:.3} |",
                data.name,
                rows.0,
                rows.1,
                ten / one
            );
        }
    }
    Ok(())
}

fn drawn(data: &Dataset, direction: Direction, seed: Seed) -> Result<Draw, LabError> {
    let protocol = Protocol {
        pairing: Pairing::Iid,
        sizes: Sizes::Natural,
        output_share: 0.5,
        ..Protocol::default()
    };
    let mut allowed = data.groups.clone();
    allowed.sort_unstable();
    allowed.dedup();
    let cell = StudyCell { groups: allowed.len(), pairs: PAIRS, direction, ..StudyCell::default() };
    protocol.draw(data, &allowed, cell, seed)
}

/// The errors of one fit of everything and of ten parts.
fn both(draw: &Draw) -> Result<(f64, f64), Box<dyn Error>> {
    let (x_paired, y_paired): (Vec<u32>, Vec<u32>) = draw.pairs.iter().copied().unzip();
    let (x, y) = (Days::of(draw.x.rows(), &x_paired), Days::of(draw.y.rows(), &y_paired));
    let (x_place, y_place) = (x.place(), y.place());
    let placed: Vec<(u32, u32)> = draw
        .pairs
        .iter()
        .map(|(a, b)| (x_place[&(*a as usize)], y_place[&(*b as usize)]))
        .collect();
    let settings = BridgedClustering::default();
    let all = settings.fit_pools(x.all(&draw.x), y.all(&draw.y), &placed, Seed(0), &Silent)?;
    let of_day = |day: usize| {
        let is_of = |at: &usize| at * PARTS / placed.len() == day;
        (0..placed.len()).filter(is_of).map(|at| placed[at]).collect::<Vec<_>>()
    };
    let (first_x, first_y) = (x.part(&draw.x, 0), y.part(&draw.y, 0));
    let mut model = settings.fit_pools(first_x, first_y, &of_day(0), Seed(0), &Silent)?;
    for day in 1..PARTS {
        let new_x = model.x().changed("x", Some(x.part(&draw.x, day)), &[])?;
        let new_y = model.y().changed("y", Some(y.part(&draw.y, day)), &[])?;
        let update = Update { pairs: of_day(day), ..model.begin_update(new_x, new_y) };
        model = model.update(update, &Silent)?.model;
    }
    Ok((predicted(draw, &all)?, predicted(draw, &model)?))
}

fn predicted(draw: &Draw, model: &BridgedModel) -> Result<f64, Box<dyn Error>> {
    let TestRows::Unseen(rows) = &draw.test else { unreachable!("the draw is inductive") };
    Ok(error(draw, &model.predict(Direction::Forward, rows.view())?.values))
}

fn error(draw: &Draw, values: &Matrix) -> f64 {
    let pairs = values.data().iter().zip(draw.truth.data());
    pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
}
