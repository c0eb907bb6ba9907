//! Pairs that are asked for, one batch after the other, of a collection as it comes.
//!
//! ```text
//! 3 pairs by chance ─► model ─► rows whose partner is asked for ─► 3 + b pairs ─► model ─► … ─► P pairs
//! ```
//!
//! Everything begins as in `natural.rs` with three pairs. A row of the x pool that is asked for gets its partner: the
//! output joins the y pool, and the two are a pair. Which rows, the model says (`suggested`), or chance (`chance`), for
//! comparison: both begin with the same pools, pairs and test rows, and so do all numbers of pairs of one run.

use super::division::Division;
use super::{Draw, Pairing, Protocol, StudyCell};
use crate::{Dataset, LabError};
use bridged::Seed;
use rand::seq::SliceRandom;
use std::collections::HashSet;

/// Pairs to begin with.
pub(crate) const START: usize = 3;
/// Rows that are asked for at once: at least so many, and a quarter of the pairs so far.
const LEAST: usize = 3;

/// Says which rows of the x pool of a draw to ask for next, at most so many.
pub(crate) type Ask<'a> = dyn FnMut(&Draw, usize) -> Result<Vec<usize>, LabError> + 'a;

impl Pairing {
    /// Whether pairs are asked for one batch after the other.
    pub fn is_asked(self) -> bool {
        matches!(self, Pairing::Suggested | Pairing::Chance)
    }
}

impl StudyCell {
    /// What its draws begin with.
    pub(crate) fn start(self) -> Self {
        Self { pairs: START.min(self.pairs), ..self }
    }
}

impl Protocol {
    /// An error where there are not rows enough to ask for.
    pub(crate) fn check_asked(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
    ) -> Result<(), LabError> {
        self.check(cell)?;
        let division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        let entities = division.pairs.len() + division.input.len();
        match cell.pairs < entities {
            true => Ok(()),
            false => Err(LabError::TooManyPairs {
                dataset: data.name.clone(),
                pairs: cell.pairs,
                entities,
                most: entities - 1,
            }),
        }
    }

    /// The rows of the data set that are asked for, in order, until a run has the pairs of its cell.
    pub(crate) fn rows_asked_for(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
        ask: &mut Ask<'_>,
    ) -> Result<Vec<usize>, LabError> {
        let mut division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        let mut by_chance = division.input.clone();
        by_chance.sort_unstable();
        by_chance.shuffle(&mut seed.child("rows asked for by chance").rng());
        let mut all = Vec::new();
        while division.pairs.len() < cell.pairs {
            let pairs = division.pairs.len();
            let many = LEAST.max(pairs / 4).min(cell.pairs - pairs);
            let mut asked: Vec<usize> = match self.pairing {
                Pairing::Suggested => {
                    let draw = self.draw_divided(data, std::slice::from_ref(&division), cell, seed);
                    ask(&draw, many)?.into_iter().map(|row| draw.x_rows[row]).collect()
                }
                _ => Vec::new(),
            };
            // Where no row is worth asking for, any row is.
            let left: HashSet<usize> = division.input.iter().copied().collect();
            let others = by_chance.iter().filter(|row| left.contains(row) && !asked.contains(row));
            let others: Vec<usize> = others.take(many - asked.len()).copied().collect();
            asked.extend(others);
            division.answer(&asked);
            all.extend(asked);
        }
        Ok(all)
    }

    /// A run in which the first of these rows got their partners, as many as its cell has pairs.
    pub(crate) fn draw_asked(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
        asked: &[usize],
    ) -> Result<Draw, LabError> {
        let mut division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        division.answer(&asked[..cell.pairs - cell.start().pairs]);
        Ok(self.draw_divided(data, std::slice::from_ref(&division), cell, seed))
    }
}

impl Division {
    /// Gives these rows of the x pool their partners.
    fn answer(&mut self, rows: &[usize]) {
        self.input.retain(|row| !rows.contains(row));
        self.pairs.extend(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Setting, Sizes};
    use bridged::{Direction, Matrix};

    /// Six groups of 10, 20, … 60 rows; x is the row's number.
    fn data() -> Dataset {
        let sizes = [10, 20, 30, 40, 50, 60];
        let groups: Vec<u32> =
            sizes.iter().enumerate().flat_map(|(g, &n)| vec![g as u32; n]).collect();
        let rows = groups.len();
        Dataset {
            name: "numbers".into(),
            x: Matrix::from_fn(rows, 1, |i, _| i as f32),
            y: Matrix::from_fn(rows, 2, |i, j| (1000 * (j + 1) + i) as f32),
            groups,
            group_names: (0..6).map(|g| format!("group {g}")).collect(),
            entities: None,
            texts: None,
        }
    }

    const ALL: [u32; 6] = [0, 1, 2, 3, 4, 5];

    fn protocol(pairing: Pairing) -> Protocol {
        Protocol { sizes: Sizes::Natural, pairing, output_share: 0.5, ..Protocol::default() }
    }

    fn cell(pairs: usize) -> StudyCell {
        let (setting, direction) = (Setting::Inductive, Direction::Forward);
        StudyCell { groups: 6, pairs, setting, direction, ..StudyCell::default() }
    }

    /// Draws with so many pairs of one run, in which the first rows of the pool are asked for.
    fn draws(pairing: Pairing, counts: [usize; 3]) -> [Draw; 3] {
        let (data, protocol) = (data(), protocol(pairing));
        let mut ask = |draw: &Draw, many: usize| {
            let known: Vec<usize> = draw.pairs.iter().map(|p| p.0 as usize).collect();
            Ok((0..draw.x.rows()).filter(|row| !known.contains(row)).take(many).collect())
        };
        let asked = protocol.rows_asked_for(&data, &ALL, cell(40), Seed(1), &mut ask).unwrap();
        assert_eq!(asked.len(), 40 - START);
        counts.map(|pairs| protocol.draw_asked(&data, &ALL, cell(pairs), Seed(1), &asked).unwrap())
    }

    #[test]
    fn more_pairs_of_a_run_go_on_from_fewer_and_everything_else_stays() {
        for pairing in [Pairing::Suggested, Pairing::Chance] {
            let counts = [3, 10, 40];
            let draws = draws(pairing, counts);
            let paired = |draw: &Draw| -> HashSet<usize> {
                draw.pairs
                    .iter()
                    .map(|&(x, y)| {
                        assert_eq!(draw.x_rows[x as usize], draw.y_rows[y as usize]);
                        draw.x_rows[x as usize]
                    })
                    .collect()
            };
            for (draw, count) in draws.iter().zip(counts) {
                assert_eq!(draw.pairs.len(), count);
                assert_eq!(draw.x.rows(), draws[0].x.rows(), "the x pool has the same rows");
                assert_eq!(draw.y.rows(), draws[0].y.rows() + count - START, "outputs join");
                assert_eq!(draw.test_rows, draws[0].test_rows);
                assert!(paired(&draws[0]).is_subset(&paired(draw)));
            }
            assert!(paired(&draws[1]).is_subset(&paired(&draws[2])));
        }
    }

    #[test]
    fn what_is_asked_for_is_paired_and_chance_asks_otherwise() {
        let [_, suggested, _] = draws(Pairing::Suggested, [3, 10, 40]);
        let [_, chance, _] = draws(Pairing::Chance, [3, 10, 40]);
        assert_eq!(suggested.test_rows, chance.test_rows);
        assert_ne!(suggested.y_rows, chance.y_rows);
    }

    #[test]
    fn what_cannot_be_asked_for_is_said() {
        let data = data();
        let error = |protocol: Protocol, pairs| {
            protocol.check_asked(&data, &ALL, cell(pairs), Seed(1)).unwrap_err().to_string()
        };
        let many = error(protocol(Pairing::Suggested), 200);
        assert!(many.contains("does not allow 200 pairs"), "{many}");
        let missing = Protocol { missing: 0.2, ..protocol(Pairing::Suggested) };
        assert!(error(missing, 5).contains("`missing` must be 0 where pairs are asked for"));
        let equal = Protocol { sizes: Sizes::Equal, ..protocol(Pairing::Suggested) };
        assert!(error(equal, 5).contains("`sizes` must be \"natural\" where pairs are asked for"));
    }
}
