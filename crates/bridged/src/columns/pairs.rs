//! Which columns of a table of pairs are those of x and of y.

/// The columns of a table of pairs, that of x first: `x_id` and `y_id`, or `x` and `y`, in any order and among any
/// others; else the only two there are. None if that cannot be told.
pub fn pair_columns(names: &[&str]) -> Option<[usize; 2]> {
    for wanted in [["x_id", "y_id"], ["x", "y"]] {
        let found = wanted.map(|w| {
            let mut fits = (0..names.len()).filter(|&at| names[at].eq_ignore_ascii_case(w));
            // Two columns of the name say nothing.
            fits.next().filter(|_| fits.next().is_none())
        });
        if let [Some(x), Some(y)] = found {
            return Some([x, y]);
        }
    }
    (names.len() == 2).then_some([0, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_column_is_x_before_the_order_does() {
        assert_eq!(pair_columns(&["a", "b"]), Some([0, 1]));
        assert_eq!(pair_columns(&["y_id", "x_id"]), Some([1, 0]));
        assert_eq!(pair_columns(&["note", "Y", "X"]), Some([2, 1]));
        assert_eq!(pair_columns(&["a", "b", "c"]), None);
        assert_eq!(pair_columns(&["a"]), None);
    }
}
