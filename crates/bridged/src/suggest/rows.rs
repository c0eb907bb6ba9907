//! The rows that may be asked about: those that the model keeps, in no pair, typical of a cluster.

use super::coverage::{Coverage, Features, features};
use super::cuts::LinkedCut;
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
    /// The share of the pool's rows that are as far out.
    pub typical: f64,
    pub voices: Vec<Voice>,
    /// Its memberships in all cuts, of a model with regressions on the pairs.
    pub features: Features,
}

/// What may be asked about, and what the pairs leave open.
pub(super) struct Askable {
    pub rows: Vec<AskedRow>,
    /// `None` of a model of one member.
    pub coverage: Option<Coverage>,
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
    let own = |&(x, y): &(u32, u32)| if direction == Direction::Forward { x } else { y } as usize;
    let paired: BTreeSet<usize> = model.pairs().iter().map(own).collect();
    let typical = match &side.novelty {
        Some(novelty) => novelty.own_p_values(&side.clustering, scaled.view()),
        None => vec![1.0; side.len()],
    };
    let (mut seen, mut coverage) = (Vec::new(), None);
    if let Some(oriented) = model.oriented(direction) {
        let every = &oriented.from_cuts;
        let members: Vec<_> = every.iter().map(|cut| cut.memberships(scaled.view())).collect();
        let widths: Vec<usize> = every.iter().map(|cut| cut.k()).collect();
        seen = features(&members, &widths);
        let of_pairs: Vec<&Features> = paired.iter().map(|&row| &seen[row]).collect();
        coverage = Some(Coverage::new(widths.iter().sum(), &seen, &of_pairs));
    }
    let members: Vec<_> = cuts.iter().map(|cut| cut.from.memberships(scaled.view())).collect();
    let asks = |row: &usize| {
        side.labels()[*row] != NOISE && !paired.contains(row) && typical[*row] > OUTLYING
    };
    let of_row = |row: usize| {
        let of_cut = |(cut, all): (usize, &Vec<f64>)| {
            let k = cuts[cut].from.k();
            let members = all[row * k..(row + 1) * k].iter().enumerate();
            let voices = members.map(|(cluster, p)| Voice { cut, cluster, sure: p * typical[row] });
            voices.filter(|voice| voice.sure > SLIGHT).collect::<Vec<_>>()
        };
        AskedRow {
            row,
            typical: typical[row],
            voices: members.iter().enumerate().flat_map(of_cut).collect(),
            features: seen.get(row).cloned().unwrap_or_default(),
        }
    };
    Ok(Askable { rows: (0..side.len()).filter(asks).map(of_row).collect(), coverage })
}
