//! Old and new rows as one sample, in an order that does not tell which is which.

use crate::cluster::{AssignRule, Metric};
use bridged_math::{Matrix, MatrixRef};

/// Old and new rows, sorted by their numbers.
///
/// A clustering starts from rows that it draws by their place. In any order that depends on where a row comes from, it
/// could favour one sample.
pub(super) struct Pooled {
    pub rows: Matrix,
    /// The places of the new rows, ascending.
    pub new: Vec<u32>,
}

impl Pooled {
    pub fn new(old: MatrixRef<'_>, new: MatrixRef<'_>) -> Self {
        let row = |i: usize| if i < old.rows() { old.row(i) } else { new.row(i - old.rows()) };
        let mut order: Vec<usize> = (0..old.rows() + new.rows()).collect();
        order.sort_by(|&a, &b| {
            let numbers = row(a).iter().zip(row(b));
            let mut orders = numbers.map(|(a, b)| (a + 0.0).total_cmp(&(b + 0.0))); // −0 is 0
            orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        let rows = Matrix::from_fn(order.len(), old.cols(), |i, j| row(order[i])[j]);
        let is_new = order.iter().enumerate().filter(|(_, from)| **from >= old.rows());
        Self { rows, new: is_new.map(|(place, _)| place as u32).collect() }
    }

    /// How many old rows there are.
    pub fn old(&self) -> usize {
        self.rows.rows() - self.new.len()
    }

    /// How many new rows there are.
    pub fn new_rows(&self) -> usize {
        self.new.len()
    }

    /// The places of the smaller sample.
    pub fn smaller(&self) -> Vec<u32> {
        if self.new_rows() <= self.old() {
            return self.new.clone();
        }
        let mut is_new = vec![false; self.rows.rows()];
        self.new.iter().for_each(|&i| is_new[i as usize] = true);
        (0u32..).zip(is_new).filter(|(_, new)| !new).map(|(place, _)| place).collect()
    }
}

/// How near is measured by a clustering.
pub(super) fn metric(rule: &AssignRule) -> Metric {
    match rule {
        AssignRule::Nearest { metric, .. } | AssignRule::Neighbors { metric, .. } => *metric,
        AssignRule::Mixture(_) => Metric::Euclidean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_tell_old_from_new() {
        let a = Matrix::from_rows(&[[3.0f32, 1.0], [0.0, 2.0], [3.0, 0.0]]);
        let b = Matrix::from_rows(&[[-0.0f32, 1.0], [9.0, 9.0]]);
        let (one, other) = (Pooled::new(a.view(), b.view()), Pooled::new(b.view(), a.view()));
        assert_eq!(one.rows, other.rows);
        assert_eq!((one.new.as_slice(), one.old(), one.new_rows()), (&[0, 4][..], 3, 2));
        assert_eq!(other.new, [1, 2, 3]);
        assert_eq!(one.smaller(), other.smaller());
    }
}
