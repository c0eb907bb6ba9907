//! ReLU and inverted dropout with an explicit mask.
//!
//! A mask holds the factors themselves, 0 or 1/(1 − p): a pass that is run again with the same mask
//! gives the same numbers, and a mask that all rows share makes a network of its own out of every
//! draw, whose prediction of a row does not depend on the rows beside it.

use super::Real;
use bridged::Rng;
use rand::RngExt;

/// Whether the rows of a pass drop the same units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every row drops its own: training.
    EachRow,
    /// All rows drop the same: one network drawn at random.
    AllRows,
}

/// The factors of the units after an activation.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mask<T> {
    /// Nothing is dropped.
    #[default]
    Keep,
    /// One factor for each unit, the same in all rows.
    Columns(Vec<T>),
    /// One factor for each unit of each row.
    Entries(Vec<T>),
}

impl<T: Real> Mask<T> {
    /// Draws a mask for (rows, width) that drops each unit with probability `p` < 1, into the memory
    /// of the old one where that fits. Nothing is drawn for p = 0.
    pub fn draw(&mut self, p: f64, sharing: Sharing, (rows, width): (usize, usize), rng: &mut Rng) {
        debug_assert!((0.0..1.0).contains(&p), "a probability below one");
        let mut factors = match std::mem::take(self) {
            Mask::Keep => Vec::new(),
            Mask::Columns(old) | Mask::Entries(old) => old,
        };
        if p == 0.0 {
            return;
        }
        let keep = T::of(1.0 / (1.0 - p));
        let threshold = (p * f64::from(u32::MAX)) as u32;
        let len = if sharing == Sharing::AllRows { width } else { rows * width };
        factors.clear();
        let draws = (0..len).map(|_| rng.random::<u32>());
        factors.extend(draws.map(|u| if u < threshold { T::ZERO } else { keep }));
        *self = match sharing {
            Sharing::AllRows => Mask::Columns(factors),
            Sharing::EachRow => Mask::Entries(factors),
        };
    }

    /// Multiplies (rows, width) by the factors.
    pub fn apply(&self, width: usize, values: &mut [T]) {
        let scale = |row: &mut [T], factors: &[T]| {
            row.iter_mut().zip(factors).for_each(|(v, &f)| *v *= f);
        };
        match self {
            Mask::Keep => (),
            Mask::Columns(f) => values.chunks_exact_mut(width).for_each(|row| scale(row, f)),
            Mask::Entries(f) => {
                assert_eq!(f.len(), values.len(), "the mask was drawn for as many rows");
                scale(values, f);
            }
        }
    }
}

/// max(v, 0), in place.
pub fn relu<T: Real>(values: &mut [T]) {
    values.iter_mut().for_each(|v| *v = if *v > T::ZERO { *v } else { T::ZERO });
}

/// The gradient before a ReLU from the one after it, in place; `after` are its values, dropped or
/// not, and the gradient at 0 is 0.
pub fn relu_backward<T: Real>(after: &[T], d: &mut [T]) {
    d.iter_mut().zip(after).for_each(|(d, &a)| *d = if a > T::ZERO { *d } else { T::ZERO });
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;

    #[test]
    fn a_mask_keeps_the_mean_and_drops_the_given_share() {
        let mut mask = Mask::<f32>::default();
        mask.draw(0.3, Sharing::EachRow, (200, 100), &mut Seed(1).rng());
        let mut ones = vec![1.0; 20_000];
        mask.apply(100, &mut ones);
        let dropped = ones.iter().filter(|&&v| v == 0.0).count();
        assert!((dropped as f64 / 20_000.0 - 0.3).abs() < 0.01, "{dropped}");
        assert!((ones.iter().sum::<f32>() / 20_000.0 - 1.0).abs() < 0.02);
        mask.draw(0.0, Sharing::EachRow, (200, 100), &mut Seed(1).rng());
        assert_eq!(mask, Mask::Keep);
    }

    #[test]
    fn a_shared_mask_drops_the_same_units_in_all_rows() {
        let mut mask = Mask::<f64>::default();
        mask.draw(0.5, Sharing::AllRows, (3, 40), &mut Seed(2).rng());
        let mut ones = vec![1.0; 120];
        mask.apply(40, &mut ones);
        assert!(ones.chunks(40).all(|row| row == &ones[..40]));
        assert!(ones.contains(&0.0) && ones.contains(&2.0));
    }
}
