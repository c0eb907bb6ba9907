//! A collection as it comes: every group in its own size, few pairs wherever chance puts them.
//!
//! ```text
//! every entity ─┬─ test_share      unseen, tested; none when transductive
//!               ├─ P entities      one row of each is a pair
//!               └─ the rest ─┬─ output_share    in the y pool only
//!                            └─ what is left    in the x pool only
//! ```
//!
//! Some groups may lack a side (`missing`): they give no pairs, and their rows on that side are in no
//! pool. Rows of groups that x lacks are not asked for either; those that y lacks are, since nobody
//! knows beforehand.

use super::division::Division;
use super::{Pairing, Protocol, Setting, StudyCell};
use crate::{Dataset, LabError};
use bridged::Seed;
use rand::seq::SliceRandom;
use std::collections::{HashMap, HashSet};

/// Which side a group lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lacks {
    Output,
    Input,
}

impl Protocol {
    /// The rows of one run.
    pub(super) fn divide_naturally(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
    ) -> Result<Division, LabError> {
        self.check_natural(data, allowed)?;
        let missing = self.missing_groups(allowed, seed);
        let mut units = self.entities(data, allowed);
        let rng = &mut seed.child("rows").rng();
        units.iter_mut().for_each(|unit| unit.shuffle(rng));
        units.shuffle(rng);
        let entities = units.len();
        let lacks = |unit: &[usize]| missing.get(&data.groups[unit[0]]).copied();

        let tested = match cell.setting {
            Setting::Transductive => 0,
            Setting::Inductive => ((self.test_share * entities as f64).round() as usize).max(1),
        };
        let test = units.split_off(entities.saturating_sub(tested));
        let (mut pairs, mut rest) = (Vec::new(), Vec::new());
        for unit in units {
            match lacks(&unit) {
                None if pairs.len() < cell.pairs => pairs.push(unit[0]),
                _ => rest.push(unit),
            }
        }
        let outputs = (self.output_share * rest.len() as f64).round() as usize;
        let rows = |units: &[Vec<usize>], without: Lacks| -> Vec<usize> {
            let kept = units.iter().filter(|unit| lacks(unit) != Some(without));
            kept.flatten().copied().collect()
        };
        let division = Division {
            output: rows(&rest[..outputs], Lacks::Output),
            input: rows(&rest[outputs..], Lacks::Input),
            test: rows(&test, Lacks::Input),
            pairs,
        };
        let tested = match cell.setting {
            Setting::Transductive => &division.input,
            Setting::Inductive => &division.test,
        };
        let enough = division.pairs.len() == cell.pairs
            && ![&division.output, &division.input, tested].iter().any(|part| part.is_empty());
        if !enough {
            let most = match cell.setting {
                Setting::Transductive => entities,
                Setting::Inductive => (entities as f64 * (1.0 - self.test_share)) as usize,
            };
            return Err(LabError::TooManyPairs {
                dataset: data.name.clone(),
                pairs: cell.pairs,
                entities,
                most: most.saturating_sub(2),
            });
        }
        Ok(division)
    }

    fn check_natural(&self, data: &Dataset, allowed: &[u32]) -> Result<(), LabError> {
        if self.pairing == Pairing::Stratified {
            let got = "\"stratified\"".to_string();
            let need = "\"iid\" where sizes are \"natural\"";
            return Err(LabError::BadValue { name: "pairing", need, got });
        }
        if allowed.len() < 2 {
            let (dataset, got, need) = (data.name.clone(), allowed.len(), 2);
            let detail = "there is nothing to tell apart in one group".to_string();
            return Err(LabError::TooFewGroups { dataset, got, need, detail });
        }
        Ok(())
    }

    /// The groups that lack a side: every other one lacks its outputs, the first among them.
    fn missing_groups(&self, allowed: &[u32], seed: Seed) -> HashMap<u32, Lacks> {
        let mut groups = allowed.to_vec();
        groups.shuffle(&mut seed.child("missing groups").rng());
        let count = (self.missing * allowed.len() as f64).round() as usize;
        let sides = [Lacks::Output, Lacks::Input].into_iter().cycle();
        groups.into_iter().take(count).zip(sides).collect()
    }

    /// The rows of these groups by entity, in the order of the data set. An entity belongs to the
    /// group of its first row; its rows in other groups are left out.
    fn entities(&self, data: &Dataset, allowed: &[u32]) -> Vec<Vec<usize>> {
        let allowed: HashSet<u32> = allowed.iter().copied().collect();
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<u32, usize> = HashMap::new();
        for row in (0..data.rows()).filter(|&row| allowed.contains(&data.groups[row])) {
            let at = match self.entity(data, row) {
                Some(entity) => *known.entry(entity).or_insert(units.len()),
                None => units.len(),
            };
            match units.get_mut(at) {
                None => units.push(vec![row]),
                Some(unit) if data.groups[unit[0]] == data.groups[row] => unit.push(row),
                Some(_) => {}
            }
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Sizes, TestRows};
    use bridged::{Direction, Matrix};

    /// Groups of 10, 20, … 60 rows; every entity has two of them, and x is the row's number.
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
            entities: Some((0..rows as u32).map(|i| i / 2).collect()),
            texts: None,
        }
    }

    const ALL: [u32; 6] = [0, 1, 2, 3, 4, 5];

    fn natural() -> Protocol {
        Protocol {
            sizes: Sizes::Natural,
            pairing: Pairing::Iid,
            output_share: 0.5,
            ..Protocol::default()
        }
    }

    fn cell(pairs: usize, setting: Setting) -> StudyCell {
        let direction = Direction::Forward;
        StudyCell { groups: 6, pairs, setting, direction, ..StudyCell::default() }
    }

    #[test]
    fn every_row_is_used_and_the_pools_share_the_pairs_alone() {
        let data = data();
        for (setting, unseen) in [(Setting::Inductive, 21), (Setting::Transductive, 0)] {
            let draw = natural().draw(&data, &ALL, cell(5, setting), Seed(1)).unwrap();
            assert_eq!(draw.pairs.len(), 5);
            let entities = 105 - unseen - 5;
            assert_eq!(draw.y.rows(), 5 + 2 * (entities as f64 / 2.0).round() as usize);
            assert_eq!(draw.x.rows() + draw.y.rows(), 2 * 5 + 2 * entities);
            let both = draw.x_rows.iter().filter(|row| draw.y_rows.contains(row)).count();
            assert_eq!(both, 5);
            let entity =
                |rows: &[usize]| -> HashSet<usize> { rows.iter().map(|r| r / 2).collect() };
            if setting == Setting::Inductive {
                assert!(matches!(&draw.test, TestRows::Unseen(rows) if rows.rows() == 42));
                assert!(entity(&draw.test_rows).is_disjoint(&entity(&draw.x_rows)));
            }
            assert!(entity(&draw.test_rows).is_disjoint(&entity(&draw.y_rows)));
        }
    }

    #[test]
    fn pairs_fall_on_groups_by_their_size() {
        let data = data();
        let mut counts = [0usize; 6];
        for seed in 0..200 {
            let draw =
                natural().draw(&data, &ALL, cell(3, Setting::Inductive), Seed(seed)).unwrap();
            for &(x, y) in &draw.pairs {
                assert_eq!(draw.x_rows[x as usize], draw.y_rows[y as usize]);
                counts[data.groups[draw.x_rows[x as usize]] as usize] += 1;
            }
        }
        assert_eq!(counts.iter().sum::<usize>(), 600);
        assert!((10..50).contains(&counts[0]) && (130..215).contains(&counts[5]), "{counts:?}");
    }

    #[test]
    fn a_third_of_the_groups_lacks_one_side() {
        let data = data();
        let protocol = Protocol { missing: 1.0 / 3.0, ..natural() };
        let draw = protocol.draw(&data, &ALL, cell(9, Setting::Inductive), Seed(3)).unwrap();
        let groups =
            |rows: &[usize]| -> HashSet<u32> { rows.iter().map(|&row| data.groups[row]).collect() };
        let (x, y) = (groups(&draw.x_rows), groups(&draw.y_rows));
        assert_eq!((x.len(), y.len(), x.intersection(&y).count()), (5, 5, 4));
        assert_eq!(groups(&draw.test_rows), x, "only groups that x has are asked for");
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let data = data();
        let error = |protocol: Protocol, pairs, allowed: &[u32]| {
            let cell = cell(pairs, Setting::Inductive);
            protocol.draw(&data, allowed, cell, Seed(1)).unwrap_err().to_string()
        };
        let many = error(natural(), 100, &ALL);
        assert_eq!(
            many,
            "numbers does not allow 100 pairs: of its 105 entities some are unseen and both pools \
             need rows of their own; ask for at most 82 pairs"
        );
        assert!(natural().draw(&data, &ALL, cell(82, Setting::Inductive), Seed(1)).is_ok());
        let one = error(natural(), 3, &[2]);
        assert!(
            one.contains("2 are needed (there is nothing to tell apart in one group)"),
            "{one}"
        );
        let stratified = error(Protocol { pairing: Pairing::Stratified, ..natural() }, 3, &ALL);
        assert_eq!(
            stratified,
            "`pairing` must be \"iid\" where sizes are \"natural\", got \"stratified\""
        );
    }
}
