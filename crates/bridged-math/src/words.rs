//! Numbers in sentences, in one way everywhere.

/// A whole number with commas: 1,234,567.
///
/// ```
/// assert_eq!(bridged_math::words::count(1_234_567), "1,234,567");
/// ```
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 pair", "7 pairs".
///
/// ```
/// assert_eq!(bridged_math::words::plural(1, "pair"), "1 pair");
/// assert_eq!(bridged_math::words::plural(7000, "pair"), "7,000 pairs");
/// ```
pub fn plural(n: usize, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}
