//! One draw of a study in two dimensions: both pools on their first two principal components, with
//! the pairs that link them.

use crate::{Dataset, Draw, StudyCell};
use bridged::Error;
use bridged::scale::Scale;
use bridged::{Matrix, MatrixRef};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Rows of a side that are drawn at most, beside those of the pairs.
const MOST_POINTS: usize = 400;

/// A draw in two dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spaces {
    /// The cell that it is of.
    pub cell: StudyCell,
    /// The names of the groups that its points refer to.
    pub groups: Vec<String>,
    /// The input pool.
    pub x: Vec<Point>,
    /// The output pool.
    pub y: Vec<Point>,
    /// Places of points in `x` and in `y` that are a pair.
    pub links: Vec<(usize, usize)>,
}

/// A row in two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its place on the first principal component.
    pub a: f32,
    /// And on the second.
    pub b: f32,
    /// Its group, a number into the names.
    pub group: usize,
}

impl Spaces {
    /// Projects the pools of a draw; every k-th row is kept where they are large.
    pub fn of(data: &Dataset, cell: StudyCell, draw: &Draw) -> Result<Self, Error> {
        // A group may be in one pool only.
        let rows = draw.x_rows.iter().chain(&draw.y_rows);
        let mut groups: Vec<u32> = rows.map(|&row| data.groups[row]).collect();
        groups.sort_unstable();
        groups.dedup();
        let in_pairs: (HashSet<u32>, HashSet<u32>) = draw.pairs.iter().copied().unzip();
        let side = |pool: &Matrix, rows: &[usize], paired: &HashSet<u32>, name| {
            let flat = flat(pool.view(), name)?;
            let every = rows.len().div_ceil(MOST_POINTS);
            let kept =
                (0..rows.len()).filter(|at| at % every == 0 || paired.contains(&(*at as u32)));
            let points = kept.map(|at| {
                let group = groups.binary_search(&data.groups[rows[at]]);
                let group = group.expect("the groups of both pools are listed");
                (at as u32, Point { a: flat.row(at)[0], b: flat.row(at)[1], group })
            });
            Ok::<Vec<(u32, Point)>, Error>(points.collect())
        };
        let x = side(&draw.x, &draw.x_rows, &in_pairs.0, "x")?;
        let y = side(&draw.y, &draw.y_rows, &in_pairs.1, "y")?;
        let place = |points: &[(u32, Point)], row: u32| {
            points.binary_search_by_key(&row, |p| p.0).expect("rows of pairs are kept")
        };
        let links = draw.pairs.iter().map(|&(i, j)| (place(&x, i), place(&y, j))).collect();
        let names = groups.iter().map(|&g| data.group_names[g as usize].clone()).collect();
        let points = |side: Vec<(u32, Point)>| side.into_iter().map(|(_, p)| p).collect();
        Ok(Self { cell, groups: names, x: points(x), y: points(y), links })
    }
}

/// The first two principal components; the second is 0 where there is one column.
fn flat(pool: MatrixRef<'_>, side: &'static str) -> Result<Matrix, Error> {
    let components = pool.cols().min(2);
    let scaled = Scale::Pca { components }.fit(pool, side)?.apply(pool).into_matrix();
    let rounded = |value: f32| (value * 1e4).round() / 1e4;
    Ok(Matrix::from_fn(pool.rows(), 2, |i, j| scaled.row(i).get(j).map_or(0.0, |&v| rounded(v))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Pairing;
    use crate::{Protocol, Setting, Sizes};
    use bridged::Direction;
    use bridged::Seed;

    fn three_groups() -> Dataset {
        let rows = 3 * 700;
        let group = |i: usize| i / 700;
        Dataset {
            name: "t".into(),
            x: Matrix::from_fn(rows, 3, |i, j| (group(i) * 10 * (j + 1)) as f32 + (i % 7) as f32),
            y: Matrix::from_fn(rows, 1, |i, _| group(i) as f32),
            groups: (0..rows).map(|i| group(i) as u32).collect(),
            group_names: ["a", "b", "c"].map(String::from).to_vec(),
            entities: None,
            texts: None,
        }
    }

    #[test]
    fn a_group_may_be_in_one_pool_only() {
        let data = three_groups();
        let cell = StudyCell { groups: 3, pairs: 5, ..StudyCell::default() };
        let natural = Protocol {
            sizes: Sizes::Natural,
            pairing: Pairing::Iid,
            output_share: 0.5,
            missing: 0.3,
            ..Protocol::default()
        };
        for seed in 0..8 {
            let draw = natural.draw(&data, &[0, 1, 2], cell, Seed(seed)).unwrap();
            let spaces = Spaces::of(&data, cell, &draw).unwrap();
            assert_eq!((spaces.groups.len(), spaces.links.len()), (3, 5));
        }
    }

    #[test]
    fn every_pair_is_a_link_between_points_of_its_group() {
        let data = three_groups();
        let cell = StudyCell {
            groups: 2,
            pairs: 3,
            setting: Setting::Inductive,
            direction: Direction::Forward,
            ..StudyCell::default()
        };
        let protocol = Protocol { rows_per_group: 600, ..Protocol::default() };
        let draw = protocol.draw(&data, &[0, 1, 2], cell, Seed(3)).unwrap();
        let spaces = Spaces::of(&data, cell, &draw).unwrap();
        assert_eq!((spaces.groups.len(), spaces.links.len()), (2, 6));
        assert!(spaces.x.len() <= MOST_POINTS + 6 && spaces.x.len() < draw.x.rows());
        for (i, j) in spaces.links {
            assert_eq!(spaces.x[i].group, spaces.y[j].group);
        }
    }
}
