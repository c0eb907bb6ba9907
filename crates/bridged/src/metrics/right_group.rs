//! The share of retrieved rows that are of the right class.

use super::{Better, Score, Scorer};

pub(super) const SCORER: Scorer = Scorer {
    name: "right_group",
    title: "right group",
    about: "the share of retrieved rows that are of the class of the true one",
    better: Better::Higher,
    score: Score::Retrieved(|retrieved| retrieved.right()),
};

/// The classes of rows that were retrieved, beside those of the rows that they stand for.
#[derive(Clone, Copy, Debug)]
pub struct Retrieved<'a> {
    /// The class of the row that was retrieved, one for each question.
    pub found: &'a [u32],
    /// The class of the true row of each.
    pub truth: &'a [u32],
}

impl Retrieved<'_> {
    /// The share of equal classes; `None` without a question.
    pub fn right(&self) -> Option<f64> {
        let right = self.found.iter().zip(self.truth).filter(|(a, b)| a == b).count();
        (!self.truth.is_empty()).then(|| right as f64 / self.truth.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_share_of_equal_classes() {
        let of = |found, truth| Retrieved { found, truth }.right();
        assert_eq!(of(&[1, 2, 2, 0], &[1, 2, 0, 1]), Some(0.5));
        assert_eq!(of(&[], &[]), None);
    }
}
