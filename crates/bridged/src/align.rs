//! Which rows of two tables belong together, for scores.

use std::collections::HashMap;

/// Rows of x and rows of y that belong together: `x[i]` to `y[i]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Rows of x.
    pub x: Vec<usize>,
    /// Rows of y.
    pub y: Vec<usize>,
    /// Rows of x without a partner.
    pub x_alone: usize,
    /// Rows of y without a partner.
    pub y_alone: usize,
}

impl Alignment {
    /// Rows with the same id, in the order of x. The ids of each side differ from each other.
    ///
    /// ```
    /// use bridged::align::Alignment;
    ///
    /// let aligned = Alignment::by_id(&["a", "b", "c"], &["c", "a"]);
    /// assert_eq!((aligned.x, aligned.y), (vec![0, 2], vec![1, 0]));
    /// assert_eq!((aligned.x_alone, aligned.y_alone), (1, 0));
    /// ```
    pub fn by_id<S: AsRef<str>>(x: &[S], y: &[S]) -> Self {
        let row_of: HashMap<&str, usize> =
            y.iter().enumerate().map(|(row, id)| (id.as_ref(), row)).collect();
        let found = x.iter().enumerate();
        let found = found.filter_map(|(row, id)| Some((row, *row_of.get(id.as_ref())?)));
        Self::new(found.unzip(), x.len(), y.len())
    }

    /// The rows of pairs, in their order; a row may be in several.
    pub fn by_pairs(pairs: &[(u32, u32)], x_rows: usize, y_rows: usize) -> Self {
        let pairs = pairs.iter().map(|&(x, y)| (x as usize, y as usize));
        Self::new(pairs.unzip(), x_rows, y_rows)
    }

    fn new((x, y): (Vec<usize>, Vec<usize>), x_rows: usize, y_rows: usize) -> Self {
        let alone = |rows: &[usize], all: usize| {
            let mut known = vec![false; all];
            rows.iter().for_each(|&row| known[row] = true);
            known.iter().filter(|known| !**known).count()
        };
        let (x_alone, y_alone) = (alone(&x, x_rows), alone(&y, y_rows));
        Self { x, y, x_alone, y_alone }
    }

    /// Whether no row has a partner.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_partner_are_counted_once() {
        let aligned = Alignment::by_pairs(&[(0, 2), (0, 1), (3, 1)], 5, 3);
        assert_eq!((aligned.x, aligned.y), (vec![0, 0, 3], vec![2, 1, 1]));
        assert_eq!((aligned.x_alone, aligned.y_alone), (3, 1));
        assert!(Alignment::by_id(&["a"], &["b"]).is_empty());
    }
}
