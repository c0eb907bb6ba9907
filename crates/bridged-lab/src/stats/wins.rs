//! Wins: who has the smallest error on a draw. Methods that are equally good share the win.

/// Each method's share of the win on one draw, from the errors of all of them. An error that is not
/// a number, or infinite as that of a failed run, never wins; where nobody has one, nobody wins.
pub fn win_shares(errors: &[f64]) -> Vec<f64> {
    let least = errors.iter().copied().filter(|e| e.is_finite()).fold(f64::INFINITY, f64::min);
    let wins = |e: f64| e.is_finite() && e == least;
    let winners = errors.iter().filter(|&&e| wins(e)).count();
    errors.iter().map(|&e| if wins(e) { 1.0 / winners as f64 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_share_a_win_and_what_failed_does_not_take_part() {
        assert_eq!(win_shares(&[2.0, 1.0, 3.0]), [0.0, 1.0, 0.0]);
        assert_eq!(win_shares(&[1.0, 1.0, f64::NAN]), [0.5, 0.5, 0.0]);
        assert_eq!(win_shares(&[f64::NAN, f64::NAN]), [0.0, 0.0]);
        assert_eq!(win_shares(&[f64::INFINITY, f64::INFINITY]), [0.0, 0.0]);
    }
}
