//! Where the centres of k-means were in earlier iterations: what turns a bound that was measured
//! then into one that holds now. O(k d) per remembered iteration and pass.

use bridged_math::Matrix;
use bridged_math::distance::{least, squared_distance};
use bridged_math::simd::subtract_from_rows;
use rayon::prelude::*;

/// The fewest and the most sets of centres that are remembered; the most is what a `u8` can number.
const REMEMBERED: (usize, usize) = (8, 256);

/// The centres of earlier iterations and how far they are from those of now.
pub(super) struct History {
    centres: Vec<Matrix>,  // one (k, d) per iteration
    moved: Vec<Vec<f32>>,  // (k) for each: ‖c_j(now) − c_j(then)‖, rounded up
    group_moved: Vec<f32>, // (iterations, t): the largest of each group
    all_moved: Vec<f32>,   // the largest of all
    groups: usize,         // t
    most: usize,           // sets of centres
}

impl History {
    /// For this many rows and centres: what is remembered takes at most a quarter of the rows.
    pub fn new(rows: usize, k: usize, groups: usize) -> Self {
        let most = (rows / (4 * k)).clamp(REMEMBERED.0, REMEMBERED.1);
        let (centres, moved, group_moved, all_moved) = (vec![], vec![], vec![], vec![]);
        Self { centres, moved, group_moved, all_moved, groups, most }
    }

    pub fn is_empty(&self) -> bool {
        self.centres.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.centres.len() == self.most
    }

    /// The entry of the latest centres.
    pub fn now(&self) -> u8 {
        (self.centres.len() - 1) as u8
    }

    pub fn latest(&self) -> &Matrix {
        self.centres.last().expect("a pass has centres")
    }

    pub fn keep_latest(&mut self) {
        let before = self.centres.len() - 1;
        self.centres.drain(..before);
        self.moved.drain(..before);
        self.group_moved.drain(..before * self.groups);
        self.all_moved.drain(..before);
    }

    pub fn push(&mut self, centres: Matrix) {
        self.centres.push(centres);
        let now = self.latest();
        self.moved = self
            .centres
            .par_iter()
            .map(|then| {
                let distances = then.view().iter_rows().zip(now.view().iter_rows());
                distances.map(|(a, b)| squared_distance(a, b).sqrt() as f32 * 1.000_001).collect()
            })
            .collect();
        let largest = |of: &Vec<f32>| of.iter().copied().fold(0.0, f32::max);
        self.all_moved = self.moved.iter().map(largest).collect();
        self.group_moved.clear();
        for moved in &self.moved {
            let at = self.group_moved.len();
            self.group_moved.resize(at + self.groups, 0.0);
            for slice in moved.chunks(self.groups) {
                let furthest = self.group_moved[at..].iter_mut().zip(slice);
                furthest.for_each(|(f, &m)| *f = f.max(m));
            }
        }
    }

    /// How far a centre has moved since an entry.
    pub fn moved(&self, since: u8, position: u32) -> f32 {
        self.moved[usize::from(since)][position as usize]
    }

    /// How far the centre of a group that went furthest has moved since an entry.
    pub fn group_moved(&self, since: u8, group: usize) -> f32 {
        self.group_moved[usize::from(since) * self.groups + group]
    }

    /// How far the centre that went furthest has moved since an entry.
    pub fn all_moved(&self, since: u8) -> f32 {
        self.all_moved[usize::from(since)]
    }

    /// Brings the bounds of a row up to now, into `low`, and returns the least.
    ///
    /// # Panics
    /// If there is not one bound per group, or an entry of `since` is none of the history.
    pub fn bring_up(&self, lower: &[f32], since: &[u8], low: &mut [f32]) -> f32 {
        assert_eq!(lower.len(), self.groups, "one bound per group");
        subtract_from_rows(lower, &self.group_moved, since, low);
        least(low)
    }
}
