//! One question after the other: each is worth what those before it are expected to leave.
//!
//! ```text
//! value = v_links · Σ_c w_c Σ_i R_ci left_ci r_ci  +  v_pairs · fall
//! ```
//!
//! v_links and v_pairs are the shares of the predictions that come from links, and from regressions on the pairs and rows
//! matched through them. A model of one member has links alone.

use super::coverage::Coverage;
use super::cuts::{LinkedCut, table};
use super::rows::{Askable, AskedRow, askable};
use super::why::{Likely, Typical};
use super::{Question, Wanted};
use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::cancel::checkpoint;
use bridged_math::chunks;

/// Questions that save less than this share of the variance are not worth asking.
const WORTHLESS: f64 = 1e-9;

/// One side whose rows are asked about.
pub(super) struct Asked<'a> {
    pub direction: Direction,
    pub kind: Question,
    pub typical: Typical,
    pub likely: Likely,
    cuts: Vec<LinkedCut<'a>>,
    /// What is expected to be left of R, 0 to 1, of each cluster of each cut.
    left: Vec<Vec<f64>>,
    coverage: Option<Coverage>,
    /// v_links; the rest is v_pairs.
    links: f64,
    rows: Vec<AskedRow>,
    questions: Vec<Open>,
}

/// A question that was not asked yet.
struct Open {
    /// The place of its row among those that may be asked about.
    at: usize,
    /// The row of the other side that it is compared with, of a match.
    with: Option<usize>,
    /// How likely the answer is a pair.
    pair: f64,
    saves: Vec<Saving>,
}

/// The share of R that an answer is expected to save, of a cluster that the row speaks for.
struct Saving {
    cut: usize,
    cluster: usize,
    share: f64,
}

/// A question that was chosen.
pub(super) struct Chosen {
    pub side: usize,
    pub row: usize,
    pub with: Option<usize>,
    pub gain: f64,
}

impl<'a> Asked<'a> {
    pub fn new(
        model: &'a BridgedModel,
        direction: Direction,
        kind: Question,
    ) -> Result<Self, Error> {
        let cuts = LinkedCut::all(model, direction);
        let Askable { rows, coverage } = askable(model, direction, &cuts)?;
        let likely = Likely::new(model, direction, table(model, direction))?;
        let typical = Typical::new(model, direction)?;
        let questions = match kind {
            Question::Partner => {
                (0..rows.len()).map(|at| Open::partner(at, &rows[at], &cuts)).collect()
            }
            Question::Match => {
                let outputs = typical.clusters(model, direction, &cuts)?;
                let of = |at: usize| {
                    let row: &AskedRow = &rows[at];
                    let with = likely.of(row.row).into_iter().filter_map(|(j, p)| {
                        let y = typical.row(j)?;
                        Some(Open::compared(at, row, (y, p), outputs.get(&y)?, &cuts))
                    });
                    with.collect::<Vec<_>>()
                };
                (0..rows.len()).flat_map(of).collect()
            }
        };
        let left = cuts.iter().map(|cut| vec![1.0; cut.links.len()]).collect();
        let links = share_of_links(model, direction);
        Ok(Self { direction, kind, typical, likely, cuts, left, coverage, links, rows, questions })
    }

    /// What an answer is expected to save now.
    fn value(&self, question: &Open) -> f64 {
        let of = |s: &Saving| {
            let cut = &self.cuts[s.cut];
            cut.weight * cut.links[s.cluster].open * self.left[s.cut][s.cluster] * s.share
        };
        let of_links: f64 = question.saves.iter().map(of).sum();
        let row = &self.rows[question.at];
        let fall = |c: &Coverage| question.pair * row.typical.sqrt() * c.fall(&row.features);
        self.links * of_links + (1.0 - self.links) * self.coverage.as_ref().map_or(0.0, fall)
    }

    /// The best question; of equally good ones the first.
    fn best(&self) -> Option<(usize, f64)> {
        let better = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
        let values = chunks::map_blocks(self.questions.len(), |range| {
            range.map(|at| (at, self.value(&self.questions[at]))).reduce(better)
        });
        values.into_iter().flatten().reduce(better).filter(|(_, value)| *value > WORTHLESS)
    }

    /// Takes a question off the list; what is left is what its answer is expected to leave.
    fn ask(&mut self, at: usize) -> (usize, Option<usize>) {
        let question = self.questions.swap_remove(at);
        for s in &question.saves {
            self.left[s.cut][s.cluster] *= 1.0 - s.share;
        }
        if let Some(coverage) = &mut self.coverage {
            coverage.answered(&self.rows[question.at].features);
        }
        // A row is asked about once.
        self.questions.retain(|other| other.at != question.at);
        (self.rows[question.at].row, question.with)
    }
}

impl Open {
    fn partner(at: usize, row: &AskedRow, cuts: &[LinkedCut<'_>]) -> Self {
        let saves = row.voices.iter().map(|v| Saving {
            cut: v.cut,
            cluster: v.cluster,
            share: cuts[v.cut].links[v.cluster].by_partner(v.sure),
        });
        Self { at, with: None, pair: 1.0, saves: saves.collect() }
    }

    /// Compared with row y, which its partner is like with that probability, and which lies in these clusters of each cut.
    fn compared(
        at: usize,
        row: &AskedRow,
        (y, pair): (usize, f64),
        outputs: &[u32],
        cuts: &[LinkedCut<'_>],
    ) -> Self {
        let saves = row.voices.iter().map(|v| Saving {
            cut: v.cut,
            cluster: v.cluster,
            share: cuts[v.cut].links[v.cluster].by_match(v.sure, outputs[v.cut]),
        });
        Self { at, with: Some(y), pair, saves: saves.collect() }
    }
}

/// v_links.
fn share_of_links(model: &BridgedModel, direction: Direction) -> f64 {
    let Some(oriented) = model.oriented(direction) else { return 1.0 };
    let stack = oriented.stack;
    let links: f64 = stack.bridges.iter().map(|m| m.weight).sum();
    let regressions: f64 = stack.regressions.iter().map(|m| m.weight).sum();
    let matchings: f64 = stack.matchings.iter().map(|m| m.weight).sum();
    let all = links + regressions + matchings;
    if all > 0.0 { links / all } else { 1.0 }
}

/// The best questions of all sides, one after the other.
pub(super) fn choose(sides: &mut [Asked<'_>], wanted: Wanted) -> Vec<Chosen> {
    let mut chosen = Vec::new();
    while chosen.len() < wanted.count {
        checkpoint();
        let of_side = |(side, asked): (usize, &Asked<'_>)| Some((side, asked.best()?));
        let best = sides.iter().enumerate().filter_map(of_side);
        let Some((side, (at, gain))) = best.reduce(|a, b| if b.1.1 > a.1.1 { b } else { a }) else {
            break;
        };
        let (row, with) = sides[side].ask(at);
        chosen.push(Chosen { side, row, with, gain });
    }
    chosen
}
