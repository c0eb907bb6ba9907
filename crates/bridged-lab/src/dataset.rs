//! A data set: one table of paired rows, with the group that each belongs to.
//!
//! | column | what it holds |
//! |---|---|
//! | `x`, `y` | the two sides as vectors; row i of one belongs to row i of the other |
//! | `group` | the latent class, hidden from every method |
//! | `entity` (optional) | what several rows may be of, such as the photograph of five captions |
//! | `text` (optional) | the output in words |
//!
//! Other columns, such as `sequence` or the `labels` of a row with several, are carried in the file
//! and not read.

use crate::LabError;
use bridged::Direction;
use bridged::{Matrix, MatrixRef};
use bridged_io::ColumnData;
use std::collections::HashMap;
use std::path::Path;

/// Paired rows and their groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// What messages and reports call it.
    pub name: String,
    /// The inputs.
    pub x: Matrix,
    /// The outputs.
    pub y: Matrix,
    /// The group of each row, a number into `group_names`.
    pub groups: Vec<u32>,
    /// The groups, by first appearance.
    pub group_names: Vec<String>,
    /// What each row is of; rows of one entity never straddle a split.
    pub entities: Option<Vec<u32>>,
    /// The outputs in words.
    pub texts: Option<Vec<String>>,
}

const REMEDY: &str = "a data set has the columns `x` and `y` (vectors) and `group`, and may have \
                      `entity` and `text`";

impl Dataset {
    /// Reads a paired table in any format of `bridged-io`; its name is that of the file.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        Self::read_columns(path, "x", "y")
    }

    /// Reads it with the sides in the columns of these names.
    pub fn read_columns(path: &Path, x: &str, y: &str) -> Result<Self, LabError> {
        let mut table = bridged_io::read(path)?.in_singles();
        let bad = |reason: String| LabError::NotADataset {
            path: path.to_path_buf(),
            reason,
            remedy: REMEDY,
        };
        let mut side = |name: &str| match table.columns.iter_mut().find(|c| c.name == name) {
            None => Err(bad(format!("has no column `{name}`"))),
            Some(column) => match std::mem::replace(&mut column.data, ColumnData::Text(Vec::new()))
            {
                ColumnData::Vector(m) => match m.view().first_non_finite() {
                    None => Ok(m),
                    Some((row, at)) => Err(bad(format!(
                        "holds NaN or infinity in column `{name}`, row {row}, entry {at}"
                    ))),
                },
                other => Err(bad(format!("has {} in column `{name}`", other.kind()))),
            },
        };
        let (x, y) = (side(x)?, side(y)?);
        let texts = |name: &str| -> Result<Option<Vec<String>>, LabError> {
            let Some(column) = table.column(name) else { return Ok(None) };
            let column = column
                .to_text()
                .ok_or_else(|| bad(format!("has {} in column `{name}`", column.data.kind())))?;
            let cells = column.values.into_iter().enumerate().map(|(row, cell)| {
                cell.ok_or_else(|| bad(format!("has an empty cell in column `{name}`, row {row}")))
            });
            cells.collect::<Result<Vec<_>, _>>().map(Some)
        };
        let group = texts("group")?.ok_or_else(|| bad("has no column `group`".to_string()))?;
        let (groups, group_names) = numbered(&group);
        let entities = texts("entity")?.map(|e| numbered(&e).0);
        let texts = texts("text")?;
        let name = path.file_stem().map_or("data".into(), |s| s.to_string_lossy().into_owned());
        Ok(Self { name, x, y, groups, group_names, entities, texts })
    }

    /// The inputs and the outputs of a direction.
    pub fn sides(&self, direction: Direction) -> (MatrixRef<'_>, MatrixRef<'_>) {
        match direction {
            Direction::Forward => (self.x.view(), self.y.view()),
            Direction::Reverse => (self.y.view(), self.x.view()),
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.groups.len()
    }

    /// Divides the groups into those that a search may see and those that scores are taken on.
    ///
    /// Seven groups are left for the scores where there are enough, and never fewer than half of
    /// them; a search has at least two.
    pub fn split_groups(&self, seed: bridged::Seed) -> GroupSplit {
        use rand::seq::SliceRandom;
        let all = self.group_names.len();
        let tuning = all.saturating_sub(7).max(2).min(all / 2);
        let mut groups: Vec<u32> = (0..all as u32).collect();
        groups.shuffle(&mut seed.child("tuning groups").rng());
        let mut scoring = groups.split_off(tuning);
        groups.sort_unstable();
        scoring.sort_unstable();
        GroupSplit { tuning: groups, scoring }
    }
}

/// Groups to search on, and others to score on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSplit {
    /// Those that a search may see.
    pub tuning: Vec<u32>,
    /// Those that it never sees.
    pub scoring: Vec<u32>,
}

/// Numbers by first appearance, and what they stand for.
fn numbered(cells: &[String]) -> (Vec<u32>, Vec<String>) {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut names = Vec::new();
    let numbers = cells.iter().map(|cell| {
        *known.entry(cell).or_insert_with(|| {
            names.push(cell.clone());
            names.len() as u32 - 1
        })
    });
    (numbers.collect(), names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;

    fn csv(text: &str) -> Result<Dataset, LabError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("birds.csv");
        std::fs::write(&path, text).unwrap();
        Dataset::read(&path)
    }

    #[test]
    fn a_paired_table_becomes_a_data_set() {
        let data =
            csv("x,y,group,entity\n\"[1,2]\",\"[5]\",owl,a\n\"[3,4]\",\"[6]\",tit,a\n").unwrap();
        assert_eq!(data.name, "birds");
        assert_eq!((data.x.row(1), data.y.row(1)), ([3.0, 4.0].as_slice(), [6.0].as_slice()));
        assert_eq!((data.groups, data.group_names), (vec![0, 1], vec!["owl".into(), "tit".into()]));
        assert_eq!((data.entities, data.texts), (Some(vec![0, 0]), None));
    }

    #[test]
    fn a_missing_or_odd_column_is_named() {
        let error = |text| csv(text).unwrap_err().to_string();
        assert!(error("x,group\n\"[1]\",a\n").contains("has no column `y`; a data set has"));
        assert!(error("x,y\n\"[1]\",\"[1]\"\n").contains("has no column `group`"));
        assert!(error("x,y,group\nred,\"[1]\",a\n").contains("has texts in column `x`"));
    }

    #[test]
    fn the_groups_of_a_search_and_of_the_scores_have_nothing_in_common() {
        for (all, tuning) in [(26, 13), (19, 9), (10, 3), (9, 2), (4, 2), (2, 1)] {
            let data = Dataset {
                name: "t".into(),
                x: Matrix::zeros(0, 1),
                y: Matrix::zeros(0, 1),
                groups: Vec::new(),
                group_names: (0..all).map(|g| g.to_string()).collect(),
                entities: None,
                texts: None,
            };
            let split = data.split_groups(Seed(1));
            assert_eq!(split.tuning.len(), tuning, "{all}");
            let mut together = [split.tuning, split.scoring].concat();
            together.sort_unstable();
            assert_eq!(together, (0..all).collect::<Vec<u32>>());
        }
    }
}
