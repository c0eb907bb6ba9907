//! How one run's pools, pairs and test rows are drawn from a data set.
//!
//! ```text
//! C groups, n rows of each ─┬─ pairs            known on both sides, in both pools
//!                           ├─ output only      in the y pool
//!                           └─ the rest ─┬─ input only   in the x pool; tested when transductive
//!                                        └─ unseen       in no pool;    tested when inductive
//! ```
//!
//! Rows of one entity fall into one part, so that a photograph whose caption is asked for was not
//! seen with another caption. The reverse direction draws the same way with the sides exchanged.
//! Groups in their natural sizes are drawn otherwise: see `protocol/natural.rs`; and pairs that are asked for one after
//! the other are in `protocol/asked.rs`.

pub(crate) mod asked;
mod division;
mod natural;

use crate::{Dataset, LabError};
use bridged::Rng;
use bridged::{Direction, MethodError, Predictor, Problem};
use bridged::{Matrix, Seed};
use bridged_math::neighbors::Neighbors;
use division::Division;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Everything about a draw that does not change from cell to cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Protocol {
    /// Rows of each group; of the largest one where sizes differ.
    pub rows_per_group: usize,
    /// The share of a group's rows that is in the y pool only; in natural sizes, of the rows that
    /// are neither unseen nor paired.
    pub output_share: f64,
    /// The share of the remaining rows that is unseen, in the inductive setting; in natural sizes,
    /// of all rows.
    pub test_share: f64,
    /// How pairs fall on groups.
    pub pairing: Pairing,
    /// What must not straddle a split.
    pub split_by: SplitBy,
    /// How large the groups are.
    pub sizes: Sizes,
    /// The share of the pairs whose outputs are exchanged among each other.
    pub wrong_pairs: f64,
    /// The share of the groups that have rows on one side only, in natural sizes.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: f64,
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            rows_per_group: 25,
            output_share: 0.2,
            test_share: 0.2,
            pairing: Pairing::Stratified,
            split_by: SplitBy::Entity,
            sizes: Sizes::Equal,
            wrong_pairs: 0.0,
            missing: 0.0,
        }
    }
}

/// How pairs fall on groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// The same number in every group: the experiments of the paper.
    #[default]
    Stratified,
    /// As many in all, each in a group drawn by its size.
    Iid,
    /// Three by chance, the others where `bridged suggest` asks, in natural sizes.
    Suggested,
    /// The same start, the others by chance: what suggested pairs are compared with.
    Chance,
}

/// What must not straddle a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitBy {
    /// Rows of one entity stay together, where the data set has entities.
    #[default]
    Entity,
    /// Every row goes its own way, as in the paper.
    Row,
}

/// How large the groups of a run are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All alike.
    #[default]
    Equal,
    /// The t-th has 1/t of the rows of the first.
    Zipf,
    /// As they are in the data set: all groups with all their rows, and `pairs` counts pairs in all.
    Natural,
}

/// What Bridged Clustering is told about the number of groups.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Clusters {
    /// Their number.
    #[default]
    Known,
    /// Nothing.
    Hidden,
    /// Half of it.
    Half,
    /// Twice as many.
    Double,
}

impl Clusters {
    fn is_known(&self) -> bool {
        *self == Self::Known
    }
}

/// Whether the rows that are tested were visible as inputs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// They were: the input-only rows of the pool are tested.
    Transductive,
    /// They were not.
    #[default]
    Inductive,
}

/// One cell of a study: what its runs have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StudyCell {
    /// C, the number of groups.
    pub groups: usize,
    /// Pairs per group; in natural sizes, in all.
    pub pairs: usize,
    /// Whether test rows are visible.
    pub setting: Setting,
    /// Which side is predicted.
    pub direction: Direction,
    /// By how much the clusters that Bridged Clustering is told to find exceed the groups; the draw
    /// is the same.
    pub extra_clusters: i64,
    /// What it is told about their number; the draw is the same.
    #[serde(default, skip_serializing_if = "Clusters::is_known")]
    pub clusters: Clusters,
}

impl StudyCell {
    /// The number of clusters that Bridged Clustering is told to find, if any.
    pub fn k(&self) -> Option<usize> {
        let known = self.groups.saturating_add_signed(self.extra_clusters as isize).max(1);
        match self.clusters {
            Clusters::Known => Some(known),
            Clusters::Hidden => None,
            Clusters::Half => Some(known.div_ceil(2)),
            Clusters::Double => Some(2 * known),
        }
    }
}

/// One run's data. Row numbers of the data set are kept beside every matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The input pool.
    pub x: Matrix,
    /// The output pool.
    pub y: Matrix,
    /// Rows of the pools that belong together.
    pub pairs: Vec<(u32, u32)>,
    /// The rows of the data set that the x pool holds.
    pub x_rows: Vec<usize>,
    /// The rows of the data set that the y pool holds.
    pub y_rows: Vec<usize>,
    /// What is to be predicted.
    pub test: TestRows,
    /// The rows of the data set that are tested.
    pub test_rows: Vec<usize>,
    /// Their true outputs.
    pub truth: Matrix,
}

/// Where the inputs that are tested are.
#[derive(Clone, Debug, PartialEq)]
pub enum TestRows {
    /// Rows of the x pool.
    Pool(Vec<u32>),
    /// Rows that are in no pool.
    Unseen(Matrix),
}

impl Draw {
    /// The task, without what is tested.
    pub fn problem(&self) -> Problem<'_> {
        Problem::new(self.x.view(), self.y.view(), &self.pairs)
    }

    /// What somebody who only knows the y pool says of the rows that are tested: its mean.
    pub fn constant(&self) -> Matrix {
        let mean = self.y.view().mean_row();
        Matrix::from_fn(self.truth.rows(), mean.len(), |_, j| mean[j] as f32)
    }

    /// The rows of the y pool that a predictor retrieves for the rows that are tested, one for each:
    /// by its own ranking, or the nearest to what it predicted.
    pub fn retrieve(
        &self,
        predictor: &dyn Predictor,
        predicted: &Matrix,
    ) -> Result<Vec<u32>, MethodError> {
        let ranked = match &self.test {
            TestRows::Unseen(rows) => predictor.retrieve(rows.view(), 1)?,
            TestRows::Pool(rows) => {
                let rows = self.x.view().select(rows.iter().map(|&r| r as usize));
                predictor.retrieve(rows.view(), 1)?
            }
        };
        let nearest = || Neighbors::new(self.y.view()).nearest(predicted.view(), 1).rows;
        Ok(ranked.unwrap_or_else(nearest))
    }

    /// What a predictor says of the rows that are tested.
    pub fn predict(&self, predictor: &dyn Predictor) -> Result<Matrix, MethodError> {
        match &self.test {
            TestRows::Unseen(rows) => predictor.predict(rows.view()),
            TestRows::Pool(rows) => {
                let pool = predictor.predict_pool(self.x.view())?;
                Ok(pool.view().select(rows.iter().map(|&r| r as usize)))
            }
        }
    }
}

impl Protocol {
    /// Draws the data of one run from the allowed groups.
    pub fn draw(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
    ) -> Result<Draw, LabError> {
        Ok(self.draw_divided(data, &self.divide(data, allowed, cell, seed)?, cell, seed))
    }

    /// The data of a run whose rows were divided.
    fn draw_divided(
        &self,
        data: &Dataset,
        divisions: &[Division],
        cell: StudyCell,
        seed: Seed,
    ) -> Draw {
        let (mut x_rows, mut y_rows, mut test_rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut pair_rows = Vec::new();
        for division in divisions {
            let Division { pairs, output, test, input } = division;
            x_rows.extend(pairs.iter().chain(input));
            y_rows.extend(pairs.iter().chain(output));
            pair_rows.extend(pairs);
            test_rows.extend(match cell.setting {
                Setting::Inductive => test,
                Setting::Transductive => input,
            });
        }
        x_rows.shuffle(&mut seed.child("order of x").rng());
        y_rows.shuffle(&mut seed.child("order of y").rng());
        test_rows.sort_unstable();

        let (from, to) = data.sides(cell.direction);
        let place = |rows: &[usize]| -> HashMap<usize, u32> {
            rows.iter().enumerate().map(|(at, &row)| (row, at as u32)).collect()
        };
        let (x_place, y_place) = (place(&x_rows), place(&y_rows));
        let mut pairs: Vec<(u32, u32)> =
            pair_rows.iter().map(|row| (x_place[row], y_place[row])).collect();
        self.exchange(&mut pairs, &mut seed.child("wrong pairs").rng());
        let test = match cell.setting {
            Setting::Inductive => TestRows::Unseen(from.select(test_rows.iter().copied())),
            Setting::Transductive => TestRows::Pool(test_rows.iter().map(|r| x_place[r]).collect()),
        };
        Draw {
            x: from.select(x_rows.iter().copied()),
            y: to.select(y_rows.iter().copied()),
            truth: to.select(test_rows.iter().copied()),
            pairs,
            x_rows,
            y_rows,
            test,
            test_rows,
        }
    }

    fn check(&self, cell: StudyCell) -> Result<(), LabError> {
        let share = |name, value: f64| {
            let got = value.to_string();
            let ok = (0.0..1.0).contains(&value);
            if ok {
                Ok(())
            } else {
                Err(LabError::BadValue { name, need: "at least 0 and less than 1", got })
            }
        };
        share("output_share", self.output_share)?;
        share("test_share", self.test_share)?;
        share("wrong_pairs", self.wrong_pairs)?;
        share("missing", self.missing)?;
        if self.pairing.is_asked() && self.sizes != Sizes::Natural {
            let need = "\"natural\" where pairs are asked for";
            let got = format!("{:?}", self.sizes).to_lowercase();
            return Err(LabError::BadValue { name: "sizes", need, got });
        }
        if self.pairing.is_asked() && self.missing > 0.0 {
            let need = "0 where pairs are asked for: every row that is asked for has a partner";
            let got = self.missing.to_string();
            return Err(LabError::BadValue { name: "missing", need, got });
        }
        if self.missing > 0.0 && self.sizes != Sizes::Natural {
            let need = "0 unless sizes are \"natural\"";
            let got = self.missing.to_string();
            return Err(LabError::BadValue { name: "missing", need, got });
        }
        let least = |name, value: usize| {
            let got = value.to_string();
            if value >= 1 {
                Ok(())
            } else {
                Err(LabError::BadValue { name, need: "at least 1", got })
            }
        };
        least("groups", cell.groups)?;
        least("pairs", cell.pairs)?;
        least("rows_per_group", self.rows_per_group)
    }

    /// Exchanges the outputs of a share of the pairs in a circle.
    fn exchange(&self, pairs: &mut [(u32, u32)], rng: &mut Rng) {
        let wrong = (self.wrong_pairs * pairs.len() as f64).round() as usize;
        if wrong < 2 {
            return;
        }
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.shuffle(rng);
        let first = pairs[order[0]].1;
        for at in 1..wrong {
            pairs[order[at - 1]].1 = pairs[order[at]].1;
        }
        pairs[order[wrong - 1]].1 = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Groups of 40 rows; every entity has two of them, and x is the row's number.
    fn data() -> Dataset {
        let rows = 240;
        Dataset {
            name: "numbers".into(),
            x: Matrix::from_fn(rows, 1, |i, _| i as f32),
            y: Matrix::from_fn(rows, 2, |i, j| (1000 * (j + 1) + i) as f32),
            groups: (0..rows as u32).map(|i| i / 40).collect(),
            group_names: (0..6).map(|g| format!("group {g}")).collect(),
            entities: Some((0..rows as u32).map(|i| i / 2).collect()),
            texts: None,
        }
    }

    const ALL: [u32; 6] = [0, 1, 2, 3, 4, 5];

    fn cell(groups: usize, pairs: usize, setting: Setting) -> StudyCell {
        StudyCell { groups, pairs, setting, ..StudyCell::default() }
    }

    #[test]
    fn parts_have_the_sizes_of_the_protocol_and_share_nothing() {
        let (data, protocol) = (data(), Protocol::default());
        let protocol = Protocol { split_by: SplitBy::Row, ..protocol };
        for setting in [Setting::Transductive, Setting::Inductive] {
            let draw = protocol.draw(&data, &ALL, cell(3, 2, setting), Seed(1)).unwrap();
            // 25 rows per group: 2 pairs, 5 output only, 18 others of which 4 are unseen.
            let unseen = if setting == Setting::Inductive { 4 } else { 0 };
            assert_eq!(draw.pairs.len(), 6);
            assert_eq!(draw.y.rows(), 3 * (2 + 5));
            assert_eq!(draw.x.rows(), 3 * (2 + 18 - unseen));
            assert_eq!(draw.truth.rows(), 3 * if unseen > 0 { 4 } else { 18 });
            let in_both: HashSet<_> =
                draw.x_rows.iter().filter(|r| draw.y_rows.contains(r)).collect();
            assert_eq!(in_both.len(), 6, "only the pairs are in both pools");
            for &(a, b) in &draw.pairs {
                assert_eq!(draw.x_rows[a as usize], draw.y_rows[b as usize]);
            }
            let seen = |row| draw.x_rows.contains(row);
            match setting {
                Setting::Inductive => assert!(!draw.test_rows.iter().any(seen)),
                Setting::Transductive => assert!(draw.test_rows.iter().all(seen)),
            }
            // Nobody sees the output of a row that is tested.
            assert!(!draw.test_rows.iter().any(|row| draw.y_rows.contains(row)));
        }
    }

    #[test]
    fn what_is_tested_is_what_is_true() {
        let data = data();
        for direction in [Direction::Forward, Direction::Reverse] {
            for setting in [Setting::Transductive, Setting::Inductive] {
                let cell = StudyCell { direction, ..cell(2, 1, setting) };
                let draw = Protocol::default().draw(&data, &ALL, cell, Seed(2)).unwrap();
                let (from, to) = data.sides(direction);
                for (i, &row) in draw.test_rows.iter().enumerate() {
                    assert_eq!(draw.truth.row(i), to.row(row));
                    let input = match &draw.test {
                        TestRows::Unseen(m) => m.row(i),
                        TestRows::Pool(at) => draw.x.row(at[i] as usize),
                    };
                    assert_eq!(input, from.row(row));
                }
            }
        }
    }

    #[test]
    fn rows_of_one_entity_never_straddle_a_split() {
        let data = data();
        let entities = data.entities.clone().unwrap();
        for seed in 0..20 {
            let draw = Protocol::default();
            let draw = draw.draw(&data, &ALL, cell(4, 2, Setting::Inductive), Seed(seed)).unwrap();
            let pairs: HashSet<usize> =
                draw.pairs.iter().map(|&(a, _)| draw.x_rows[a as usize]).collect();
            let only = |rows: &[usize]| -> HashSet<u32> {
                rows.iter().filter(|r| !pairs.contains(r)).map(|&r| entities[r]).collect()
            };
            let parts = [
                only(&draw.x_rows),
                only(&draw.y_rows),
                only(&draw.test_rows),
                pairs.iter().map(|&r| entities[r]).collect(),
            ];
            for (i, a) in parts.iter().enumerate() {
                for b in &parts[..i] {
                    assert!(a.is_disjoint(b), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn pairs_are_spread_evenly_or_by_chance() {
        let data = data();
        let groups_of = |draw: &Draw| -> Vec<usize> {
            let mut counts = vec![0; 6];
            for &(a, _) in &draw.pairs {
                counts[data.groups[draw.x_rows[a as usize]] as usize] += 1;
            }
            counts.sort_unstable();
            counts
        };
        let cell = cell(6, 2, Setting::Transductive);
        let draw = Protocol::default().draw(&data, &ALL, cell, Seed(3)).unwrap();
        assert_eq!(groups_of(&draw), [2; 6]);
        let iid = Protocol { pairing: Pairing::Iid, ..Protocol::default() };
        let uneven = (0..10).filter(|&seed| {
            let counts = groups_of(&iid.draw(&data, &ALL, cell, Seed(seed)).unwrap());
            assert_eq!(counts.iter().sum::<usize>(), 12);
            counts[0] != 2
        });
        assert!(uneven.count() >= 8);
    }

    #[test]
    fn wrong_pairs_are_as_many_as_asked_for() {
        let data = data();
        let protocol = Protocol { wrong_pairs: 0.25, ..Protocol::default() };
        let draw = protocol.draw(&data, &ALL, cell(4, 3, Setting::Inductive), Seed(4)).unwrap();
        let wrong =
            draw.pairs.iter().filter(|p| draw.x_rows[p.0 as usize] != draw.y_rows[p.1 as usize]);
        assert_eq!(wrong.count(), 3);
    }

    #[test]
    fn zipf_groups_shrink_and_small_ones_keep_a_test_row() {
        let protocol = Protocol { sizes: Sizes::Zipf, ..Protocol::default() };
        let draw = protocol.draw(&data(), &ALL, cell(6, 1, Setting::Inductive), Seed(5)).unwrap();
        let mut counts = vec![0; 6];
        draw.x_rows.iter().for_each(|&row| counts[row / 40] += 1);
        counts.sort_unstable();
        assert!(counts[0] >= 2 && counts[5] > 4 * counts[0], "{counts:?}");
    }

    #[test]
    fn a_group_too_small_to_be_the_first_may_be_a_later_one() {
        let mut data = data();
        data.groups[60..80].fill(5); // leaves 20 rows of group 1
        let (sizes, split_by) = (Sizes::Zipf, SplitBy::Row);
        let protocol = Protocol { sizes, split_by, rows_per_group: 40, ..Protocol::default() };
        for seed in 0..10 {
            let cell = cell(2, 1, Setting::Transductive);
            let draw = protocol.draw(&data, &[0, 1], cell, Seed(seed)).unwrap();
            assert_eq!(draw.x_rows.iter().filter(|&&row| row < 40).count(), 32);
            assert_eq!(draw.x_rows.len(), 32 + 16);
        }
    }

    #[test]
    fn a_group_of_large_entities_is_too_small_before_its_rows_run_out() {
        // Four entities of ten rows: one for the pair, and then no three parts of eleven rows.
        let data = Dataset { entities: Some((0..240).map(|i| i / 10).collect()), ..data() };
        let cell = cell(1, 1, Setting::Inductive);
        let draw = |rows_per_group| {
            Protocol { rows_per_group, ..Protocol::default() }.draw(&data, &[0], cell, Seed(0))
        };
        assert_eq!(draw(12).unwrap().x.rows(), 1 + 7);
        let text = draw(39).unwrap_err().to_string();
        assert!(text.contains("group 0 has 40 of 4 entities, which are not divided, needs 39"));
    }

    #[test]
    fn groups_that_are_too_small_are_named() {
        let protocol = Protocol { rows_per_group: 60, ..Protocol::default() };
        let error =
            protocol.draw(&data(), &[0, 3], cell(2, 1, Setting::Inductive), Seed(0)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("numbers has 0 groups with enough rows"), "{text}");
        assert!(text.contains("group 3 has 40 of 20 entities"), "{text}");
    }

    #[test]
    fn equal_seeds_draw_equal_data_and_others_draw_other() {
        let draw = |seed| {
            let cell = cell(3, 1, Setting::Inductive);
            Protocol::default().draw(&data(), &ALL, cell, Seed(seed)).unwrap()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).x_rows, draw(2).x_rows);
    }
}
