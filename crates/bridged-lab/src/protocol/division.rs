//! Which groups a run has, and which of their rows go where.
//!
//! Groups come in random order; each place of the plan takes the first that is large enough. Rows of
//! one entity fall into one part. O(groups · rows of the data set).

use super::{Pairing, Protocol, Setting, Sizes, SplitBy, StudyCell};
use crate::{Dataset, LabError};
use bridged::Rng;
use bridged::Seed;
use rand::RngExt;
use rand::seq::SliceRandom;
use std::collections::{HashMap, HashSet};

/// Which rows of a group go where.
pub(crate) struct Division {
    pub(super) pairs: Vec<usize>,
    pub(super) output: Vec<usize>,
    pub(super) test: Vec<usize>,
    pub(super) input: Vec<usize>,
}

/// A group that may be drawn.
struct Candidate {
    group: u32,
    /// The rows that it could not give, and a sentence that says so.
    refused: Option<(usize, String)>,
}

/// How many rows of a group go where.
struct Parts {
    pairs: usize,
    output: usize,
    test: usize,
    input: usize,
}

impl Protocol {
    /// The rows of one run, group by group; an error names what is too small.
    pub(crate) fn divide(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
    ) -> Result<Vec<Division>, LabError> {
        self.check(cell)?;
        if self.sizes == Sizes::Natural {
            return Ok(vec![self.divide_naturally(data, allowed, cell, seed)?]);
        }
        let sizes: Vec<usize> = (1..=cell.groups).map(|t| self.size(t)).collect();
        let paired = self.pairs_a_group(&sizes, cell.pairs, &mut seed.child("pairs").rng());
        let plan: Vec<Parts> =
            sizes.iter().zip(&paired).map(|(&n, &pairs)| self.parts(n, pairs, cell)).collect();
        self.choose(data, allowed, &plan, seed)
    }

    /// The rows of the t-th group, counted from 1.
    fn size(&self, t: usize) -> usize {
        match self.sizes {
            Sizes::Equal => self.rows_per_group,
            Sizes::Natural => unreachable!("natural sizes are divided as a whole"),
            Sizes::Zipf => (self.rows_per_group as f64 / t as f64).round().max(1.0) as usize,
        }
    }

    fn pairs_a_group(&self, sizes: &[usize], each: usize, rng: &mut Rng) -> Vec<usize> {
        if self.pairing == Pairing::Stratified {
            return vec![each; sizes.len()];
        }
        let mut counts = vec![0; sizes.len()];
        let total: usize = sizes.iter().sum();
        for _ in 0..each * sizes.len() {
            let mut at = rng.random_range(0..total);
            let group = sizes.iter().position(|&n| {
                let inside = at < n;
                at = at.saturating_sub(n);
                inside
            });
            counts[group.expect("at < the sum of the sizes")] += 1;
        }
        counts
    }

    fn parts(&self, rows: usize, pairs: usize, cell: StudyCell) -> Parts {
        let output = (self.output_share * rows as f64).round() as usize;
        // At least one row that is input only, and in the inductive setting one that is unseen.
        let rest = rows.saturating_sub(pairs + output).max(1);
        let test = match cell.setting {
            Setting::Transductive => 0,
            Setting::Inductive => ((self.test_share * rest as f64).round() as usize).max(1),
        };
        Parts { pairs, output, test, input: rest.saturating_sub(test).max(1) }
    }

    /// Draws the groups of a run and divides the rows of each: the first group in random order that
    /// is large enough. One that is not may still do for a smaller part of the plan.
    fn choose(
        &self,
        data: &Dataset,
        allowed: &[u32],
        plan: &[Parts],
        seed: Seed,
    ) -> Result<Vec<Division>, LabError> {
        let mut waiting: Vec<Candidate> =
            allowed.iter().map(|&group| Candidate { group, refused: None }).collect();
        waiting.shuffle(&mut seed.child("groups").rng());
        let rng = &mut seed.child("rows").rng();
        let mut taken = HashSet::new();
        let mut chosen = Vec::new();
        for parts in plan {
            let division = waiting.iter_mut().enumerate().find_map(|(at, candidate)| {
                if candidate.refused.as_ref().is_some_and(|(need, _)| parts.rows() >= *need) {
                    return None;
                }
                let units = self.units(data, candidate.group, &taken, rng);
                let rows: Vec<usize> = units.iter().flatten().copied().collect();
                let entities = units.len();
                let division = parts.divide(units);
                match &division {
                    Some(_) => {
                        taken.extend(rows.iter().filter_map(|&row| self.entity(data, row)));
                    }
                    None => {
                        let name = &data.group_names[candidate.group as usize];
                        let of = match entities < rows.len() {
                            true => format!(" of {entities} entities, which are not divided"),
                            false => String::new(),
                        };
                        let (has, need) = (rows.len(), parts.rows());
                        let why = format!("{name} has {has}{of}, needs {need}");
                        candidate.refused = Some((need, why));
                    }
                }
                division.map(|division| (at, division))
            });
            let Some((at, division)) = division else {
                let too_small: Vec<String> =
                    waiting.into_iter().filter_map(|c| c.refused).map(|(_, why)| why).collect();
                let detail = match too_small.is_empty() {
                    true => format!("{} in all", allowed.len()),
                    false => too_small.join(", "),
                };
                let dataset = data.name.clone();
                let (got, need) = (chosen.len(), plan.len());
                return Err(LabError::TooFewGroups { dataset, got, need, detail });
            };
            waiting.remove(at);
            chosen.push(division);
        }
        Ok(chosen)
    }

    pub(super) fn entity(&self, data: &Dataset, row: usize) -> Option<u32> {
        let entities = data.entities.as_ref().filter(|_| self.split_by == SplitBy::Entity);
        entities.map(|e| e[row])
    }

    /// The rows of a group by entity, in random order, without entities that are `taken`.
    fn units(
        &self,
        data: &Dataset,
        group: u32,
        taken: &HashSet<u32>,
        rng: &mut Rng,
    ) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut known = HashMap::new();
        let rows = (0..data.rows()).filter(|&row| data.groups[row] == group);
        for row in rows {
            match self.entity(data, row) {
                Some(entity) if taken.contains(&entity) => {}
                Some(entity) => {
                    let at = *known.entry(entity).or_insert(units.len());
                    if at == units.len() {
                        units.push(Vec::new());
                    }
                    units[at].push(row);
                }
                None => units.push(vec![row]),
            }
        }
        units.iter_mut().for_each(|unit| unit.shuffle(rng));
        units.shuffle(rng);
        units
    }
}

impl Parts {
    fn rows(&self) -> usize {
        self.pairs + self.output + self.test + self.input
    }

    /// Divides the entities of a group, each going to one part; none if they do not suffice.
    ///
    /// A pair takes one row of an entity: the others would give its partner away. What is left of
    /// an entity after a part is full is not used either.
    fn divide(&self, mut units: Vec<Vec<usize>>) -> Option<Division> {
        let mut take = |count: usize| {
            let mut rows = Vec::with_capacity(count);
            while rows.len() < count {
                rows.extend(units.pop()?);
            }
            rows.truncate(count);
            Some(rows)
        };
        let (output, test, input) = (take(self.output)?, take(self.test)?, take(self.input)?);
        let pairs =
            (0..self.pairs).map(|_| units.pop().map(|unit| unit[0])).collect::<Option<_>>()?;
        Some(Division { pairs, output, test, input })
    }
}
