//! Groups of rows: by name, by dense regions of texts, and which of them are kept.

use super::alike::Alike;
use super::{CurateError, Selection};
use bridged::Watch;
use bridged::cluster::{ClusterError, NOISE, dense_regions};
use bridged_encode::sparse::Sparse;
use bridged_encode::tfidf::Vocabulary;
use rand::seq::SliceRandom;
use std::collections::{BTreeMap, HashMap};

/// A group and the rows of the draft that it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub name: String,
    /// Groups of different kinds are preferred, such as species of different families.
    pub kind: String,
    pub rows: Vec<usize>,
}

/// Rows by the name of their group, groups by first appearance.
pub(super) fn by_name<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Group> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (row, name) in names.into_iter().enumerate() {
        let at = *known.entry(name).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Group { name: name.to_string(), ..Group::default() });
        }
        groups[at].rows.push(row);
    }
    groups
}

/// Rows by label; noise is in no group.
pub(super) fn by_label(labels: &[u32]) -> Vec<Group> {
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for (row, &label) in labels.iter().enumerate().filter(|(_, label)| **label != NOISE) {
        groups.entry(label).or_default().rows.push(row);
    }
    groups.into_values().collect()
}

/// How near texts must be to each other to be in one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// The largest cosine distance of neighbours; where none is given, the one of a few that gives
    /// the most groups.
    pub eps: Option<f64>,
    /// How many neighbours a text in the middle of a group has, itself included.
    pub min_points: usize,
}

/// The distances that are tried where none is given.
const DISTANCES: [f64; 11] = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8];

/// What was found at a distance.
#[derive(Debug)]
pub(super) struct Regions {
    pub eps: f64,
    /// The regions that may be groups.
    pub groups: Vec<Group>,
    /// All of them.
    pub all: usize,
    /// The rows in any of them.
    pub dense: usize,
    /// The rows of the largest.
    pub largest: usize,
}

impl Density {
    /// Finds the dense regions, of which `eligible` makes groups.
    ///
    /// Without a distance, growing ones are tried: regions grow, then grow together. The one with
    /// the most groups of enough rows is taken, the smaller of two that are equal; the search ends
    /// where one region holds half of all rows.
    pub(super) fn search(
        &self,
        rows: usize,
        rows_per_group: usize,
        regions: impl Fn(f64) -> Result<Vec<Group>, CurateError>,
        eligible: impl Fn(Vec<Group>) -> Vec<Group>,
    ) -> Result<Regions, CurateError> {
        let look = |eps: f64, found: Vec<Group>| {
            let sizes = || found.iter().map(|g| g.rows.len());
            let (all, dense, largest) = (found.len(), sizes().sum(), sizes().max().unwrap_or(0));
            Regions { eps, all, dense, largest, groups: eligible(found) }
        };
        let bad = |name, need: &str, got: String| {
            Err(CurateError::BadOption { name, need: need.to_string(), got })
        };
        if self.min_points == 0 {
            return bad("--min-points", "at least 1", "0".to_string());
        }
        if let Some(eps) = self.eps {
            return match eps > 0.0 && eps < 1.0 {
                true => Ok(look(eps, regions(eps)?)),
                false => bad("--eps", "between 0 and 1, a cosine distance", eps.to_string()),
            };
        }
        let large =
            |r: &Regions| r.groups.iter().filter(|g| g.rows.len() >= rows_per_group).count();
        let mut best: Option<Regions> = None;
        for eps in DISTANCES {
            let found = match regions(eps) {
                Err(CurateError::Cluster(ClusterError::Unfit(_))) => Vec::new(), // all is noise
                found => found?,
            };
            let found = look(eps, found);
            let grown_together = 2 * found.largest > rows;
            if best.as_ref().is_none_or(|best| large(&found) > large(best)) {
                best = Some(found);
            }
            if grown_together {
                break;
            }
        }
        Ok(best.expect("at least one distance was tried"))
    }

    /// The dense regions of texts as groups.
    pub(super) fn of_texts(
        &self,
        near: &Alike<'_>,
        rows: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Group>, CurateError> {
        Ok(by_label(&dense_regions(near, rows, self.min_points, watch)?.labels))
    }
}

/// The three words that weigh most in the rows of a group.
pub(super) fn top_words(rows: &[usize], texts: &Sparse, vocabulary: &Vocabulary) -> String {
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for &row in rows {
        texts.row(row).for_each(|(t, v)| *weights.entry(t).or_default() += f64::from(v));
    }
    let mut order: Vec<(usize, f64)> = weights.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words: Vec<&str> =
        order.iter().take(3).map(|(t, _)| vocabulary.terms[*t].as_str()).collect();
    words.join(" ")
}

/// Tells groups of one name apart by a number.
pub(super) fn number_names(groups: &mut [Group]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for group in groups {
        let times = seen.entry(group.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            group.name = format!("{} ({times})", group.name);
        }
    }
}

impl Selection {
    /// The groups that are large enough, of different kinds first, in the order given.
    ///
    /// `entity` tells what rows stay together where a group is cut to `max_rows`.
    pub(super) fn choose(
        &self,
        groups: Vec<Group>,
        default: impl FnOnce(&[Group]) -> usize,
        entity: impl Fn(usize) -> String,
        remedy: &'static str,
    ) -> Result<Vec<Group>, CurateError> {
        let least = |name, value: usize, need: usize| match value < need {
            true => {
                let need = format!("at least {need}");
                Err(CurateError::BadOption { name, need, got: value.to_string() })
            }
            false => Ok(()),
        };
        least("--rows-per-group", self.rows_per_group, 1)?;
        least("--groups", self.groups.unwrap_or(1), 1)?;
        least("--max-rows", self.max_rows.unwrap_or(self.rows_per_group), self.rows_per_group)?;
        let all = groups.len();
        let largest = groups.iter().max_by_key(|g| g.rows.len()).map_or_else(
            || "none".to_string(),
            |g| format!("`{}` with {} rows", g.name, g.rows.len()),
        );
        let large: Vec<Group> =
            groups.into_iter().filter(|g| g.rows.len() >= self.rows_per_group).collect();
        let wanted = self.groups.unwrap_or_else(|| default(&large).min(large.len())).max(1);
        if large.len() < wanted {
            let asked = match self.groups {
                Some(n) => format!("{n} were asked for"),
                None => "one is needed".to_string(),
            };
            let (got, need) = (large.len(), self.rows_per_group);
            return Err(CurateError::TooSmall { got, all, need, asked, largest, remedy });
        }
        let mut order: Vec<usize> = (0..large.len()).collect();
        order.shuffle(&mut self.seed.child("groups").rng());
        let mut of_kind: HashMap<&str, usize> = HashMap::new();
        let mut rounds: Vec<(usize, usize)> = order
            .into_iter()
            .map(|g| {
                let round = of_kind.entry(&large[g].kind).or_default();
                *round += 1;
                (*round, g)
            })
            .collect();
        rounds.sort_by_key(|(round, _)| *round);
        let mut kept: Vec<usize> = rounds.into_iter().take(wanted).map(|(_, g)| g).collect();
        kept.sort_unstable();
        Ok(kept.into_iter().map(|g| self.cut(&large[g], g, &entity)).collect())
    }

    /// At most `max_rows` rows of a group, whole entities as far as that goes.
    fn cut(&self, group: &Group, nth: usize, entity: &impl Fn(usize) -> String) -> Group {
        let Some(most) = self.max_rows.filter(|&most| most < group.rows.len()) else {
            return group.clone();
        };
        let names: Vec<String> = group.rows.iter().map(|&row| entity(row)).collect();
        let mut units = by_name(names.iter().map(String::as_str));
        units.shuffle(&mut self.seed.child("rows").nth(nth).rng());
        let drawn = units.into_iter().flat_map(|unit| unit.rows).take(most);
        let mut rows: Vec<usize> = drawn.map(|at| group.rows[at]).collect();
        rows.sort_unstable();
        Group { rows, ..group.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;

    fn selection() -> Selection {
        Selection {
            rows_per_group: 4,
            groups: None,
            max_rows: None,
            skip_missing: false,
            seed: Seed(3),
        }
    }

    /// Groups of 3, 4, 5, … rows, each two of one kind.
    fn groups(n: usize) -> Vec<Group> {
        let mut next = 0;
        let mut group = |g: usize| {
            let rows = (next..next + 3 + g).collect();
            next += 3 + g;
            Group { name: format!("g{g}"), kind: format!("k{}", g / 2), rows }
        };
        (0..n).map(&mut group).collect()
    }

    fn choose(selection: &Selection, n: usize) -> Result<Vec<Group>, String> {
        let entity = |row: usize| (row / 2).to_string();
        selection
            .choose(groups(n), <[Group]>::len, entity, "ask for less")
            .map_err(|e| e.to_string())
    }

    #[test]
    fn groups_of_other_kinds_come_first() {
        for seed in 0..20 {
            // Nine groups are large enough, of five kinds.
            let pick = |n| Selection { groups: Some(n), seed: Seed(seed), ..selection() };
            let kinds = |n| -> Vec<String> {
                choose(&pick(n), 10).unwrap().into_iter().map(|g| g.kind).collect()
            };
            assert_eq!(kinds(5), ["k0", "k1", "k2", "k3", "k4"]);
            let mut seven = kinds(7);
            seven.dedup();
            assert_eq!(seven.len(), 5);
        }
    }

    #[test]
    fn small_groups_are_left_out_and_the_largest_is_named() {
        let names: Vec<String> =
            choose(&selection(), 3).unwrap().into_iter().map(|g| g.name).collect();
        assert_eq!(names, ["g1", "g2"]);
        let error = choose(&Selection { rows_per_group: 9, ..selection() }, 3).unwrap_err();
        assert_eq!(
            error,
            "0 of 3 groups have at least 9 rows, one is needed; the largest is `g2` with 5 rows; \
             ask for less"
        );
        let error = choose(&Selection { groups: Some(3), ..selection() }, 3).unwrap_err();
        assert!(
            error.starts_with("2 of 3 groups have at least 4 rows, 3 were asked for"),
            "{error}"
        );
    }

    #[test]
    fn a_group_is_cut_by_whole_entities() {
        let cut = Selection { max_rows: Some(4), ..selection() };
        let group = choose(&cut, 10).unwrap().pop().unwrap();
        assert_eq!(group.rows.len(), 4);
        let mut entities: Vec<usize> = group.rows.iter().map(|row| row / 2).collect();
        entities.dedup();
        assert!(entities.len() <= 3, "{:?}", group.rows);
        assert_eq!(choose(&cut, 10), choose(&cut, 10));
        let other = Selection { seed: Seed(4), ..cut.clone() };
        assert_ne!(choose(&cut, 10), choose(&other, 10));
        let error = choose(&Selection { max_rows: Some(3), ..selection() }, 3).unwrap_err();
        assert_eq!(error, "--max-rows must be at least 4, got 3");
    }

    #[test]
    fn the_distance_with_the_most_groups_is_found_before_they_grow_together() {
        // Four rows at 0.15, three groups of four from 0.2, one of all from 0.3.
        let regions = |eps: f64| -> Result<Vec<Group>, CurateError> {
            assert!(eps < 0.31, "the search ends where one region holds half of the rows");
            let groups = match eps {
                e if e < 0.12 => {
                    return Err(CurateError::Cluster(ClusterError::Unfit("no".into())));
                }
                e if e < 0.18 => vec![0, 0, 0, 0],
                e if e < 0.28 => vec![0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
                _ => vec![0; 12],
            };
            Ok(by_label(&groups))
        };
        let density = Density { eps: None, min_points: 2 };
        let found = density.search(12, 4, regions, |all| all).unwrap();
        assert_eq!((found.eps, found.all, found.dense, found.largest), (0.2, 3, 12, 4));
        let only = |all: Vec<Group>| all.into_iter().take(1).collect();
        assert_eq!(
            density.search(12, 4, regions, only).unwrap().eps,
            0.15,
            "the smaller of equals"
        );
        let given = Density { eps: Some(0.3), ..density };
        assert_eq!(given.search(12, 4, regions, |all| all).unwrap().groups.len(), 1);
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut groups = by_name(["a", "b", "a"]);
        groups.push(Group { name: "a".into(), ..Group::default() });
        number_names(&mut groups);
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a (2)"]);
    }
}
