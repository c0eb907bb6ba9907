//! eˣ in double precision, for loops that the compiler vectorises.

/// eˣ to about one unit in the last place, without a branch or a table: x = k ln 2 + r, a polynomial
/// in r, and k written into the exponent. Below −700 it is 0, above 700 it is e⁷⁰⁰.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    /// Adding it leaves the nearest integer in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts, the first with zeros at its end so that k times it is exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    /// 1/n! for n = 12 … 0.
    const TAYLOR: [f64; 13] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let inside = if x > 700.0 { 700.0 } else { x };
    let rounded = inside * std::f64::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (inside - k * LN_2[0]) - k * LN_2[1];
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let value = TAYLOR.iter().fold(0.0, |sum, c| sum * r + c) * power;
    if x > -700.0 { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_two_units_in_the_last_place() {
        for i in -139_999..=139_999 {
            let x = f64::from(i) * 0.005_000_1;
            let (found, exact) = (exp(x), x.exp());
            if x.abs() < 700.0 {
                assert!(
                    (found - exact).abs() <= 2.0 * f64::EPSILON * exact,
                    "{x}: {found} {exact}"
                );
            }
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!((exp(-701.0), exp(f64::NEG_INFINITY)), (0.0, 0.0));
        assert!((exp(1e9) / 700f64.exp() - 1.0).abs() < 1e-15);
    }
}
