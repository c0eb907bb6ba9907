//! One question after the other: each is worth what those before it are expected to leave.

use super::Question;
use super::coverage::{Coverage, Features};
use super::cuts::{LinkedCut, table};
use super::rows::{AskedRow, askable};
use super::why::{Likely, Typical};
use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::chunks;

/// Questions that save less than this share of the variance are not worth asking.
const WORTHLESS: f64 = 1e-9;

/// One side whose rows are asked about.
pub(super) struct Asked<'a> {
    pub direction: Direction,
    pub kind: Question,
    pub cuts: Vec<LinkedCut<'a>>,
    /// What is expected to be left of R, 0 to 1, of each cluster of each cut.
    left: Vec<Vec<f64>>,
    questions: Vec<Open>,
    coverage: Coverage,
    falls: Vec<f64>,
    g: f64,
    pub typical: Typical,
    pub likely: Likely,
}

/// A question that was not asked yet.
struct Open {
    row: usize,
    /// The row of the other side that it is compared with, of a match.
    with: Option<usize>,
    /// The share of R that the answer is expected to save, of each cluster that the row speaks for.
    saves: Vec<Saving>,
    features: Features,
    typical: f64,
}

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
    pub fn new(model: &'a BridgedModel, direction: Direction, kind: Question) -> Result<Self, Error> {
        let cuts = LinkedCut::all(model, direction);
        let super::rows::Askable { rows, coverage } = askable(model, direction, &cuts)?;
        let likely = Likely::new(model, direction, table(model, direction))?;
        let typical = Typical::new(model, direction)?;
        let questions = match kind {
            Question::Partner => rows.iter().map(|row| Open::partner(row, &cuts)).collect(),
            Question::Match => {
                let outputs = typical.clusters(model, direction, &cuts);
                let of = |row: &AskedRow| {
                    let likely = likely.of(row.row);
                    let with = likely.iter().filter_map(|(j, _)| typical.row(*j));
                    with.map(|y| Open::compared(row, y, &outputs[&y], &cuts)).collect::<Vec<_>>()
                };
                rows.iter().flat_map(of).collect()
            }
        };
        let left = cuts.iter().map(|cut| vec![1.0; cut.links.len()]).collect();
        let g = super::knob("G", 0.0);
        let mut asked = Self { direction, kind, cuts, left, questions, typical, likely, coverage, falls: vec![], g };
        asked.refresh();
        Ok(asked)
    }

    fn refresh(&mut self) {
        let power = super::knob("GT", 0.5);
        self.falls = match self.g > 0.0 {
            true => self.questions.iter().map(|q| self.g * self.coverage.fall(&q.features) * q.typical.powf(power)).collect(),
            false => vec![0.0; self.questions.len()],
        };
    }

    /// What an answer is expected to save now.
    fn value(&self, question: &Open) -> f64 {
        let of = |s: &Saving| {
            let cut = &self.cuts[s.cut];
            cut.weight * cut.links[s.cluster].open * self.left[s.cut][s.cluster] * s.share
        };
        question.saves.iter().map(of).sum()
    }

    /// The best question; of equally good ones the first.
    fn best(&self) -> Option<(usize, f64)> {
        let values = chunks::map_blocks(self.questions.len(), |range| {
            let of = range.map(|at| (at, (1.0 - self.g) * self.value(&self.questions[at]) + self.falls[at]));
            of.reduce(|a, b| if b.1 > a.1 { b } else { a })
        });
        let best = values.into_iter().flatten().reduce(|a, b| if b.1 > a.1 { b } else { a });
        best.filter(|(_, value)| *value > WORTHLESS)
    }

    /// Takes a question off the list; what is left is what its answer is expected to leave.
    fn ask(&mut self, at: usize) -> (usize, Option<usize>) {
        let question = self.questions.swap_remove(at);
        for s in &question.saves {
            self.left[s.cut][s.cluster] *= 1.0 - s.share;
        }
        // A row is asked about once.
        self.questions.retain(|other| other.row != question.row);
        self.coverage.answered(&question.features);
        self.refresh();
        (question.row, question.with)
    }
}

impl Open {
    fn partner(row: &AskedRow, cuts: &[LinkedCut<'_>]) -> Self {
        let save = |v: &super::rows::Voice| Saving {
            cut: v.cut,
            cluster: v.cluster,
            share: cuts[v.cut].links[v.cluster].by_partner(v.sure),
        };
        Self { row: row.row, with: None, saves: row.voices.iter().map(save).collect(), features: row.features.clone(), typical: row.typical }
    }

    /// Compared with row y, which lies in these clusters of each cut.
    fn compared(row: &AskedRow, y: usize, outputs: &[u32], cuts: &[LinkedCut<'_>]) -> Self {
        let save = |v: &super::rows::Voice| Saving {
            cut: v.cut,
            cluster: v.cluster,
            share: cuts[v.cut].links[v.cluster].by_match(v.sure, outputs[v.cut]),
        };
        Self { row: row.row, with: Some(y), saves: row.voices.iter().map(save).collect(), features: row.features.clone(), typical: row.typical }
    }
}

/// The best questions of all sides, one after the other.
pub(super) fn choose(sides: &mut [Asked<'_>], count: usize) -> Vec<Chosen> {
    let mut chosen = Vec::new();
    while chosen.len() < count {
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
