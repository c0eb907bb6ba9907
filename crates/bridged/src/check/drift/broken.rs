//! When predictions must not be trusted: effects so large that neither chance nor an ordinary shift brings them about.
//!
//! | reason | rule |
//! |---|---|
//! | other columns | the rows have another width than those of the fit |
//! | out of range | numbers between which distances do not fit 32-bit floats |
//! | a column in another unit | at least half of its values other than 0, which is 0 in any unit, are more than 10 standard deviations of the fit from the fit's mean, and twice as far as any that the fit saw |
//! | rows in another unit | the median and the upper quartile of the rows' size are both at least ten times, or at most a tenth of, those of the fit |
//! | rows like none of the fit | at least half of the rows: no more than 0.1 % of the fit's rows are as far from their clusters |
//! | pairs | at least half contradict the links, and chance alone would not bring that about with a probability of 0.001 (`pairs.rs`) |
//!
//! The size of a row is the root mean square of v / r, r being the root mean square of the column in the fit: a unit
//! multiplies it, whatever the rows are about.
//!
//! That c of m new values are beyond all n of the fit has at most the probability C(m, c) / C(m + n, c) if they come alike; over
//! all columns together it must be at most 0.001, so that one odd value of a single row breaks nothing.

use super::columns::Columns;
use super::look::{Look, column_name};
use super::{FEW, Findings};
use crate::side::Side;
use bridged_math::Matrix;
use bridged_math::words::{count, plural};

/// Standard deviations from the mean that nothing of the fit's kind has in half of its values.
const DEVIATIONS: f64 = 10.0;
/// How much farther than the farthest value of the fit.
const FARTHER: f64 = 2.0;
/// By how much a unit is another.
const UNIT: f64 = 10.0;
/// The most that chance may have to do with it.
const CHANCE: f64 = 0.001;

/// Why rows of so many columns are none of this side.
pub(super) fn width(side: &Side, name: &str, cols: usize) -> Option<String> {
    let need = side.cols();
    (cols != need).then(|| {
        let names = match &side.names().vector[..] {
            [] => String::new(),
            [one] => format!(" (`{one}`)"),
            [first, .., last] => format!(" (`{first}` to `{last}`)"),
        };
        let (cols, need) = (plural(cols, "column"), count(need));
        format!("the new rows of {name} have {cols}, but the model was fitted on {need}{names}")
    })
}

/// How far from the mean of a column no value of the fit is by far.
pub(super) fn limits(columns: &Columns) -> Vec<f64> {
    let of = |(deviation, farthest): (&f64, &f64)| match deviation {
        // What never varied tells nothing of its scale.
        0.0 => f64::INFINITY,
        deviation => (DEVIATIONS * deviation).max(FARTHER * farthest),
    };
    columns.deviations.iter().zip(&columns.farthest).map(of).collect()
}

/// The columns on another scale, or counted from elsewhere: whether each is one.
pub(super) fn columns(
    name: &str,
    look: &Look,
    (side, fit): (&Side, &Columns),
    found: &mut Findings,
) -> Vec<bool> {
    let d = fit.means.len();
    if fit.rows < FEW {
        found.not_judged.push(format!(
            "whether single columns of {name} are in another unit: {} to compare with are too few",
            plural(fit.rows, "row")
        ));
        return vec![false; d];
    }
    let is_beyond = |j: usize| {
        let (out, not_zero) = look.out_of_range(j);
        out > 0
            && 2 * out >= not_zero
            && d as f64 * chance(out, look.rows, fit.rows as u64) <= CHANCE
    };
    let is_beyond: Vec<bool> = (0..d).map(is_beyond).collect();
    let mut beyond: Vec<usize> = (0..d).filter(|&j| is_beyond[j]).collect();
    if beyond.is_empty() {
        return is_beyond;
    }
    // Farthest out first.
    let moved = look.columns(side, Some(fit));
    beyond.sort_by(|&a, &b| moved[b].moved().total_cmp(&moved[a].moved()).then(a.cmp(&b)));
    let shown = beyond.iter().take(super::TOP).map(|&j| format!("`{}`", column_name(side, j)));
    let shown: Vec<String> = shown.collect();
    let more = match beyond.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    let (has, their) = if beyond.len() == 1 { ("has", "its") } else { ("have", "their") };
    found.broken.push(format!(
        "{} of {name} {has} at least half of {their} values far beyond all of the fit, as in another unit or counted \
         from elsewhere: {}{more}",
        plural(beyond.len(), "column"),
        shown.join(", "),
    ));
    is_beyond
}

/// At most the probability that `out` of `new` values are beyond all `old` ones: Π (new − i) / (new + old − i).
fn chance(out: u64, new: u64, old: u64) -> f64 {
    (0..out).map(|i| (new - i) as f64 / (new + old - i) as f64).product()
}

/// Rows that are all larger or smaller, as in another unit; a few columns that were named before play no part.
pub(super) fn units(
    name: &str,
    (old, new): (&Matrix, &Matrix),
    beyond: &[bool],
    found: &mut Findings,
) {
    let are_few = 2 * beyond.iter().filter(|beyond| **beyond).count() < beyond.len();
    if old.rows() < FEW || new.rows() < FEW {
        return;
    }
    let n = old.rows() as f64;
    let mut squares = vec![0.0f64; old.cols()];
    for row in old.view().iter_rows() {
        squares.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v).powi(2) / n);
    }
    if are_few {
        squares.iter_mut().zip(beyond).filter(|(_, beyond)| **beyond).for_each(|(s, _)| *s = 0.0);
    }
    let size = |row: &[f32]| {
        let numbers = row.iter().zip(&squares).filter(|(_, square)| **square > 0.0);
        (numbers.map(|(&v, square)| f64::from(v).powi(2) / square).sum::<f64>()).sqrt()
    };
    let quartiles = |rows: &Matrix| {
        let mut sizes: Vec<f64> = rows.view().iter_rows().map(size).collect();
        sizes.sort_by(f64::total_cmp);
        [sizes[sizes.len() / 2], sizes[sizes.len() * 3 / 4]]
    };
    let (of_old, of_new) = (quartiles(old), quartiles(new));
    let all = |is: fn(f64, f64) -> bool| of_old.iter().zip(of_new).all(|(&old, new)| is(old, new));
    let times = of_new[0] / of_old[0];
    if all(|old, new| old > 0.0 && new >= UNIT * old) {
        found.broken.push(format!("the numbers of {name} are about {times:.0} times as large as in the fit, as in another unit"));
    } else if all(|old, new| old > 0.0 && UNIT * new <= old) {
        let times =
            if times > 0.0 { format!("about {:.0} times", 1.0 / times) } else { "far".to_string() };
        found.broken.push(format!(
            "the numbers of {name} are {times} smaller than in the fit, as in another unit"
        ));
    }
}

/// Rows that are like none of the fit.
pub(super) fn nowhere(name: &str, look: &Look, found: &mut Findings) {
    match look.nowhere() {
        Some(nowhere) if 2 * nowhere.rows >= look.rows => found.broken.push(format!(
            "{} of {} of {name} {} like none of the fit: no more than {} % of its rows are as far from their clusters",
            count(nowhere.rows as usize),
            plural(look.rows as usize, "new row"),
            if nowhere.rows == 1 { "is" } else { "are" },
            100.0 * nowhere.unfamiliar,
        )),
        Some(_) => {}
        None => found.not_judged.push(format!(
            "how many rows of {name} are like none of the fit: the model was written by a release that did not measure it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_that_all_new_values_are_beyond_all_old_ones_is_that_of_the_ranks() {
        assert!((chance(1, 1, 999) - 0.001).abs() < 1e-15);
        assert!((chance(2, 3, 7) - 3.0 / 45.0).abs() < 1e-15, "C(3, 2) / C(10, 2)");
        assert_eq!(chance(0, 5, 7), 1.0);
    }
}
