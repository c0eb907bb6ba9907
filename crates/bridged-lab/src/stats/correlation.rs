//! Correlations with intervals, and the least-squares line of a scatter.
//!
//! Pearson's interval is Fisher's: atanh(r) ± 1.96/√(n − 3). Spearman is Pearson of the ranks, with
//! the variance of Bonett and Wright (2000), (1 + r²/2)/(n − 3).

use super::Interval;
use super::ranks;

/// A correlation with a 95 % interval, and of how many points it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// The correlation; the interval is −1 to 1 where there are fewer than four points.
    pub r: Interval,
    /// Points.
    pub n: usize,
}

/// A line y = intercept + slope · x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Where it crosses x = 0.
    pub intercept: f64,
    /// Its slope.
    pub slope: f64,
}

/// The least-squares line; none where x does not vary.
pub fn line(x: &[f64], y: &[f64]) -> Option<Line> {
    let (mx, my, sxx, _, sxy) = moments(x, y);
    (sxx > 0.0).then(|| {
        let slope = sxy / sxx;
        Line { slope, intercept: my - slope * mx }
    })
}

/// Pearson's correlation; none where one of the two does not vary.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<Correlation> {
    let r = plain(x, y)?;
    Some(with_interval(r, x.len(), 1.0))
}

/// Spearman's rank correlation; none where one of the two does not vary.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<Correlation> {
    let r = plain(&ranks(x).0, &ranks(y).0)?;
    Some(with_interval(r, x.len(), 1.0 + r * r / 2.0))
}

fn plain(x: &[f64], y: &[f64]) -> Option<f64> {
    let (_, _, sxx, syy, sxy) = moments(x, y);
    (sxx > 0.0 && syy > 0.0).then(|| (sxy / (sxx * syy).sqrt()).clamp(-1.0, 1.0))
}

/// Means, and sums of squares and products around them.
fn moments(x: &[f64], y: &[f64]) -> (f64, f64, f64, f64, f64) {
    debug_assert_eq!(x.len(), y.len());
    let n = x.len().max(1) as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let mut sums = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        sums.0 += (a - mx) * (a - mx);
        sums.1 += (b - my) * (b - my);
        sums.2 += (a - mx) * (b - my);
    }
    (mx, my, sums.0, sums.1, sums.2)
}

fn with_interval(r: f64, n: usize, variance: f64) -> Correlation {
    let (low, high) = if n > 3 {
        let half = 1.959_963_984_540_054 * (variance / (n - 3) as f64).sqrt();
        ((r.atanh() - half).tanh(), (r.atanh() + half).tanh())
    } else {
        (-1.0, 1.0)
    };
    Correlation { r: Interval { value: r, low, high }, n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_scipy() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/stats.json")).unwrap();
        let case = &golden["correlation"];
        let get = |name: &str| -> Vec<f64> { serde_json::from_value(case[name].clone()).unwrap() };
        let (x, y) = (get("x"), get("y"));
        let close = |a: f64, name: &str| {
            let b = case[name].as_f64().unwrap();
            assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
        };
        let p = pearson(&x, &y).unwrap();
        close(p.r.value, "pearson");
        close(p.r.low, "pearson_low");
        close(p.r.high, "pearson_high");
        close(spearman(&x, &y).unwrap().r.value, "spearman");
        let l = line(&x, &y).unwrap();
        close(l.slope, "slope");
        close(l.intercept, "intercept");
    }

    #[test]
    fn what_does_not_vary_has_no_correlation_and_a_perfect_one_is_one() {
        assert_eq!(pearson(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(line(&[], &[]), None);
        let r = spearman(&[1.0, 2.0, 3.0, 4.0, 9.0], &[1.0, 4.0, 9.0, 16.0, 99.0]).unwrap().r;
        assert_eq!((r.value, r.high), (1.0, 1.0));
    }
}
