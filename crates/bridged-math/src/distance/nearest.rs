//! The nearest of some centres. Most centres of a row are ruled out by a rough look, by products of
//! small whole numbers ([`Coarse`]) where there are many centres and by scores elsewhere; those
//! that rounding leaves in doubt are measured in double precision. So a label depends on its row and
//! the centres alone: not on the way, on the other rows, or on the machine.

use super::{Centres, least_and_close, squared_distance, squared_norm};
use crate::chunks::map_blocks_mut;
use crate::matrix::MatrixRef;
#[cfg(target_arch = "x86_64")]
use crate::simd::coarse::{self, Coarse};

/// The position of the nearest centre of every row, in parallel; of equally near ones the first.
pub fn nearest(x: MatrixRef<'_>, centres: MatrixRef<'_>) -> Vec<u32> {
    let plain = Plain::new(centres);
    let mut labels = vec![0u32; x.rows()];
    #[cfg(target_arch = "x86_64")]
    if let Some(coarse) = Coarse::new(centres, x.rows()) {
        map_blocks_mut(&mut labels, 1, |range, out| {
            let x = x.slice(range);
            let done = label_coarsely(&coarse, x, centres, out);
            plain.label(x.slice(done..x.rows()), &mut out[done..]);
        });
        return labels;
    }
    map_blocks_mut(&mut labels, 1, |range, out| plain.label(x.slice(range), out));
    labels
}

/// The nearest by distances in double precision among the centres at `positions`; of equals the
/// first.
///
/// # Panics
/// If there are no positions.
pub fn nearest_exactly(
    x: &[f32],
    centres: MatrixRef<'_>,
    positions: impl Iterator<Item = u32>,
) -> u32 {
    let measured = positions.map(|p| (squared_distance(x, centres.row(p as usize)), p));
    let nearest = measured.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    nearest.expect("there is a position").1
}

/// Looks at the scores of all centres.
struct Plain<'a> {
    centres: MatrixRef<'a>,
    scored: Centres,
    /// How much of a score may be rounding, for a row of length one and for one of length zero.
    doubt: [f32; 2],
}

impl<'a> Plain<'a> {
    fn new(centres: MatrixRef<'a>) -> Self {
        let scored = Centres::new(centres);
        let (radius, origin) = (scored.radius(), squared_norm(scored.shift()).sqrt() as f32);
        // A sum of d products has at most d roundings, and two scores are compared.
        let rounding = (centres.cols() + 8) as f32 * f32::powi(2.0, -23);
        Self { centres, doubt: [rounding * radius, rounding * radius * (radius + origin)], scored }
    }

    /// Labels rows on the calling thread.
    fn label(&self, x: MatrixRef<'_>, labels: &mut [u32]) {
        self.scored.for_each_scores(x, |i, scores| {
            let length = squared_norm(x.row(i)).sqrt() as f32;
            let doubt = self.doubt[0] * length + self.doubt[1];
            let (best, close) = least_and_close(scores, doubt);
            labels[i] = best as u32;
            if close != 1 {
                // Scores that are no numbers are not known to be larger.
                let is_larger = |score: f32| score > scores[best] + doubt;
                let close = (0u32..).zip(scores).filter(|s| !is_larger(*s.1)).map(|s| s.0);
                labels[i] = nearest_exactly(x.row(i), self.centres, close);
            }
        });
    }
}

/// Looks at the centres that whole numbers cannot rule out, until these turn out to be too many;
/// returns how many rows have their label.
#[cfg(target_arch = "x86_64")]
fn label_coarsely(
    coarse: &Coarse,
    x: MatrixRef<'_>,
    centres: MatrixRef<'_>,
    labels: &mut [u32],
) -> usize {
    let (n, k) = (x.rows(), centres.rows());
    let tile_from = |start: usize| x.slice(start.min(n)..(start + coarse::ROWS).min(n));
    let mut scratch = coarse.scratch();
    let mut left = 0;
    for start in (0..n).step_by(coarse::ROWS) {
        let (tile, next) = (tile_from(start), tile_from(start + coarse::ROWS));
        left += coarse.search(tile, next, &mut scratch, |i, candidates| {
            labels[start + i] = match candidates {
                [] => nearest_exactly(tile.row(i), centres, 0..k as u32),
                [one] => *one,
                some => nearest_exactly(tile.row(i), centres, some.iter().copied()),
            };
        });
        let done = start + tile.rows();
        if left > done * k / 4 {
            return done;
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    fn brute_force(x: &Matrix, centres: &Matrix) -> Vec<u32> {
        let of = |row: &[f32]| nearest_exactly(row, centres.view(), 0..centres.rows() as u32);
        x.view().iter_rows().map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn labels_are_those_of_distances_in_double_precision(
            n in 1usize..2600, k in 1usize..80, d in 1usize..140, offset in -1000.0f32..1000.0,
            distinct in 1usize..80, whole: bool, seed in 0u64..1000,
        ) {
            // Few distinct centres and whole numbers make many exact ties.
            let mut rng = Seed(seed).rng();
            let mut number = || {
                let v = rng.random::<f32>() * 4.0;
                offset + if whole { v.round() } else { v }
            };
            let few = Matrix::from_fn(distinct, d, |_, _| number());
            let centres = Matrix::from_fn(k, d, |j, p| few.row(j * 7 % distinct)[p]);
            let x = Matrix::from_fn(n, d, |_, _| number());
            prop_assert_eq!(nearest(x.view(), centres.view()), brute_force(&x, &centres));
        }
    }

    #[test]
    fn a_label_does_not_depend_on_the_other_rows() {
        let mut rng = Seed(5).rng();
        let centres = Matrix::from_fn(60, 80, |_, _| rng.random::<f32>());
        let x = Matrix::from_fn(2_000, 80, |_, _| rng.random::<f32>());
        let all = nearest(x.view(), centres.view());
        for (from, to) in [(0, 1), (3, 50), (100, 1_000)] {
            assert_eq!(nearest(x.view().slice(from..to), centres.view()), all[from..to]);
        }
    }

    #[test]
    fn centres_that_whole_numbers_cannot_tell_apart_are_measured() {
        // All centres in one small heap far from the rows.
        let mut rng = Seed(6).rng();
        let centres = Matrix::from_fn(50, 64, |_, _| 1e-4 * rng.random::<f32>());
        let x = Matrix::from_fn(2_000, 64, |_, _| 1e3 * (rng.random::<f32>() - 0.5));
        assert_eq!(nearest(x.view(), centres.view()), brute_force(&x, &centres));
    }

    #[test]
    fn rows_that_are_no_numbers_get_a_label() {
        let centres = Matrix::from_fn(40, 64, |j, p| (j * p) as f32);
        let x = Matrix::from_fn(1_500, 64, |i, p| if i == p { f32::NAN } else { p as f32 });
        assert_eq!(nearest(x.view(), centres.view()), brute_force(&x, &centres));
    }

    #[test]
    fn of_equal_centres_the_first_is_taken() {
        let c = Matrix::from_rows(&[[9.0, 9.0], [1.0, 2.0], [1.0, 2.0]]);
        let x = Matrix::from_rows(&[[1.0, 2.1]]);
        assert_eq!(nearest(x.view(), c.view()), [1]);
    }
}
