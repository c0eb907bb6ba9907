//! Intervals of shares that hold all together.

/// Wilson's interval (1927) of a share of which `count` of `n` were seen, z standard deviations wide.
pub(super) fn wilson(count: u64, n: u64, z: f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (n as f64, count as f64 / n as f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// How many standard deviations keep k intervals right together with probability 0.95 (Bonferroni).
pub(super) fn simultaneous(k: usize) -> f64 {
    upper_quantile(0.025 / k.max(1) as f64)
}

/// z with P(Z > z) = p of a standard normal Z, for p up to a half: Acklam's rational approximation, right to 10⁻⁹.
fn upper_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let along = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        -along(&C, q) / (along(&D, q) * q + 1.0)
    } else {
        let (q, r) = (0.5 - p, (0.5 - p).powi(2));
        along(&A, r) * q / (along(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_intervals_are_those_of_the_tables() {
        for (p, z) in
            [(0.5, 0.0), (0.1, 1.281_551_566), (0.025, 1.959_963_985), (1e-4, 3.719_016_485)]
        {
            assert!((upper_quantile(p) - z).abs() < 1e-8, "{p}: {}", upper_quantile(p));
        }
        // Newcombe (1998), table I: 81 of 263, and 0 of 20.
        let (low, high) = wilson(81, 263, simultaneous(1));
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5, "{low} {high}");
        let (low, high) = wilson(0, 20, simultaneous(1));
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5, "{low} {high}");
        assert!(simultaneous(10) > simultaneous(1));
    }
}
