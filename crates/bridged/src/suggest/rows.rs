//! The rows that may be asked about: those that the model keeps, in no pair, typical of a cluster.

use super::coverage::{Coverage, Features, features};
use super::cuts::LinkedCut;
use super::knob;
use crate::ensemble::Cut;
use crate::Error;
use crate::cluster::NOISE;
use crate::model::{BridgedModel, Direction};
use std::collections::BTreeSet;

/// A row of which no more than this share of the pool is as far out is an outlier.
const OUTLYING: f64 = 0.1;
/// Memberships below this play no part.
const SLIGHT: f64 = 0.02;

/// What a row speaks for: cluster i of cut c, how surely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice {
    pub cut: usize,
    pub cluster: usize,
    pub sure: f64,
}

/// A row that may be asked about.
pub(super) struct AskedRow {
    pub row: usize,
    pub voices: Vec<Voice>,
    pub features: Features,
    pub typical: f64,
}

/// What may be asked about, and what is known already.
pub(super) struct Askable {
    pub rows: Vec<AskedRow>,
    pub coverage: Coverage,
}

/// All rows of the side that a direction starts from that may be asked about.
pub(super) fn askable(
    model: &BridgedModel,
    direction: Direction,
    cuts: &[LinkedCut<'_>],
) -> Result<Askable, Error> {
    let side = model.from(direction);
    let pool = side.rows()?;
    let scaled = side.scaler().apply(pool.view());
    let paired: BTreeSet<usize> = (model.pairs().iter())
        .map(|&(x, y)| if direction == Direction::Forward { x } else { y } as usize)
        .collect();
    let typical = match &side.novelty {
        Some(novelty) => novelty.own_p_values(&side.clustering, scaled.view()),
        None => vec![1.0; side.len()],
    };
    let members: Vec<Vec<f64>> = cuts.iter().map(|c| c.from.memberships(scaled.view())).collect();
    let every: Vec<Cut<'_>> = match model.oriented(direction) {
        Some(oriented) => oriented.from_cuts.clone(),
        None => cuts.iter().map(|c| c.from).collect(),
    };
    let everywhere: Vec<Vec<f64>> = every.iter().map(|c| c.memberships(scaled.view())).collect();
    let widths: Vec<usize> = every.iter().map(|c| c.k()).collect();
    let seen = features(&everywhere, &widths);
    let of_pairs: Vec<Features> = paired.iter().map(|&row| seen[row].clone()).collect();
    let coverage = Coverage::new(widths.iter().sum(), &seen, &of_pairs);
    let (typ, out) = (knob("TYP", 1.0), knob("OUT", OUTLYING));
    let asks = |row: &usize| {
        side.labels()[*row] != NOISE && !paired.contains(row) && typical[*row] > out
    };
    let of_row = |row: usize| {
        let of_cut = |(cut, all): (usize, &Vec<f64>)| {
            let k = cuts[cut].from.k();
            let members = all[row * k..(row + 1) * k].iter().enumerate();
            let surely = members.map(|(cluster, p)| (cluster, p * typical[row].powf(typ)));
            surely.filter(|(_, sure)| *sure > SLIGHT).map(move |(cluster, sure)| Voice { cut, cluster, sure }).collect::<Vec<_>>()
        };
        AskedRow {
            row,
            features: seen[row].clone(),
            typical: typical[row],
            voices: members.iter().enumerate().flat_map(of_cut).collect(),
        }
    };
    Ok(Askable { rows: (0..side.len()).filter(asks).map(of_row).collect(), coverage })
}
