//! What one more answer is expected to do to the links of one cut.
//!
//! ```text
//! P_j   = (1 − q) ρ_j + q π_j                          where an output of cluster i lies: π is the posterior of its link
//! β_j   = q t π_j / P_j(t),    P_j(t) = (1 − q t) ρ_j + q t π_j
//! Δ_j   = q β_j (m_j − μ),     μ = Σ_j π_j m_j         how far the answer "in cluster j" moves the prediction
//! R     = σ_i q² Σ_j π_j D_j,  D_j = ‖m_j − μ‖²        the error that certainty about the link would save
//! r(t)  = Σ_j P_j(t) β_j² D_j / Σ_j π_j D_j            the share of it that one partner is expected to save
//! r_j   = P_j β_j² D_j / (1 − P_j) / Σ_j π_j D_j       the share that "does it belong to j?" is expected to save
//! ```
//!
//! A posterior mean moves on average by nothing, so the squared error is expected to fall by exactly the mean of
//! ‖Δ‖². t is how surely the row that is asked speaks for its cluster. A pair is believed with probability q, so no
//! answer saves more than the share r. O(ky) for a row.

use super::Known;

/// The links of one cluster of a cut, as far as questions matter.
pub(super) struct ClusterLinks {
    /// R, as a share of the variance of the outputs.
    pub open: f64,
    reliability: f64,
    /// (ρ_j, π_j, D_j / Σ π D) where π_j is not 0.
    outputs: Vec<(u32, f64, f64, f64)>,
}

impl ClusterLinks {
    /// Of the probabilities `p` of the output clusters with the shares `rho` and the means `known`, for a cluster
    /// with the share `sigma`.
    pub fn new(sigma: f64, p: &[f64], rho: &[f64], reliability: f64, known: &Known) -> Self {
        let q = reliability;
        let of_link =
            |j: usize| if q > 0.0 { ((p[j] - (1.0 - q) * rho[j]) / q).max(0.0) } else { rho[j] };
        let mut pi: Vec<f64> = (0..p.len()).map(of_link).collect();
        let total: f64 = pi.iter().sum();
        if total > 0.0 {
            pi.iter_mut().for_each(|w| *w /= total);
        }
        let away = known.squared_distances(&pi);
        let spread: f64 = pi.iter().zip(&away).map(|(w, d)| w * d).sum();
        let outputs = (0..p.len()).filter(|&j| pi[j] > 0.0 && spread > 0.0);
        Self {
            open: sigma * q * q * spread / known.variance,
            reliability: q,
            outputs: outputs.map(|j| (j as u32, rho[j], pi[j], away[j] / spread)).collect(),
        }
    }

    /// r(t).
    pub fn by_partner(&self, sure: f64) -> f64 {
        let qt = self.reliability * sure;
        let saved = self.outputs.iter().map(|&(_, rho, pi, away)| {
            let followed = qt * pi;
            let p = (1.0 - qt) * rho + followed;
            if p > 0.0 { followed * followed / p * away } else { 0.0 }
        });
        saved.sum::<f64>().min(1.0)
    }

    /// r_j, of an output that lies in cluster j.
    pub fn by_match(&self, sure: f64, output: u32) -> f64 {
        let qt = self.reliability * sure;
        let found = self.outputs.iter().find(|o| o.0 == output);
        let saved = found.map_or(0.0, |&(_, rho, pi, away)| {
            let followed = qt * pi;
            let p = (1.0 - qt) * rho + followed;
            if p > 0.0 && p < 1.0 { followed * followed / (p * (1.0 - p)) * away } else { 0.0 }
        });
        saved.min(1.0)
    }
}

/// How reliable links are, of which no rule said it: P_j ≥ (1 − q) ρ_j, with equality where a link is ruled out.
pub(super) fn reliability(links: &[f64], rho: &[f64]) -> f64 {
    let ratios = links.iter().enumerate().map(|(at, p)| p / rho[at % rho.len()]);
    1.0 - ratios.fold(1.0, f64::min).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        // Three outputs at 0, 3 and 7 on a line.
        let means = [0.0, 3.0, 7.0];
        Known {
            gram: (0..9).map(|at| means[at / 3] * means[at % 3]).collect(),
            k: 3,
            variance: 2.0,
        }
    }

    /// E ‖μ' − μ‖² by Bayes' rule, answer by answer; the answer is the output cluster of the partner, or whether it
    /// is `asked`.
    fn by_hand(q: f64, t: f64, pi: [f64; 3], rho: [f64; 3], asked: Option<usize>) -> f64 {
        let means = [0.0, 3.0, 7.0];
        let likelihood =
            |a: usize, j: usize| (1.0 - q * t) * rho[j] + if a == j { q * t } else { 0.0 };
        let mean = |w: &[f64]| q * w.iter().zip(means).map(|(w, m)| w * m).sum::<f64>();
        let before = mean(&pi);
        let answers: Vec<Vec<f64>> = match asked {
            None => (0..3).map(|j| (0..3).map(|a| likelihood(a, j)).collect()).collect(),
            Some(j) => {
                let yes: Vec<f64> = (0..3).map(|a| likelihood(a, j)).collect();
                let no = yes.iter().map(|l| 1.0 - l).collect();
                vec![yes, no]
            }
        };
        let moved = |said: &Vec<f64>| {
            let joint: Vec<f64> = said.iter().zip(pi).map(|(l, w)| l * w).collect();
            let p: f64 = joint.iter().sum();
            let after: Vec<f64> = joint.iter().map(|w| w / p).collect();
            p * (mean(&after) - before).powi(2)
        };
        answers.iter().map(moved).sum()
    }

    #[test]
    fn what_is_saved_is_what_bayes_rule_says_answer_by_answer() {
        let (rho, pi) = ([0.5, 0.3, 0.2], [0.1, 0.6, 0.3]);
        for (q, t) in [(0.9, 1.0), (0.5, 0.7), (1.0, 1.0)] {
            let p: Vec<f64> = rho.iter().zip(pi).map(|(r, w)| (1.0 - q) * r + q * w).collect();
            let links = ClusterLinks::new(0.25, &p, &rho, q, &known());
            let saved = links.open * links.by_partner(t);
            let exact = 0.25 * by_hand(q, t, pi, rho, None) / 2.0;
            assert!((saved - exact).abs() < 1e-12, "{saved} {exact}");
            for j in 0..3 {
                let saved = links.open * links.by_match(t, j as u32);
                let exact = 0.25 * by_hand(q, t, pi, rho, Some(j)) / 2.0;
                assert!((saved - exact).abs() < 1e-12, "{j}: {saved} {exact}");
            }
        }
    }

    #[test]
    fn a_settled_link_and_one_that_no_pair_can_settle_are_not_worth_a_question() {
        let rho = [0.5, 0.3, 0.2];
        let settled = ClusterLinks::new(0.5, &[0.0, 1.0, 0.0], &rho, 1.0, &known());
        assert_eq!(settled.open, 0.0);
        let hopeless = ClusterLinks::new(0.5, &rho, &rho, 0.0, &known());
        assert_eq!(hopeless.open, 0.0);
        let open = ClusterLinks::new(0.5, &rho, &rho, 1.0, &known());
        assert!(open.open > 0.0 && (open.by_partner(1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn reliability_is_what_is_left_of_the_shares_where_a_link_is_ruled_out() {
        let rho = [0.5, 0.3, 0.2];
        assert!((reliability(&[0.1, 0.06, 0.84], &rho) - 0.8).abs() < 1e-12);
        assert_eq!(reliability(&rho, &rho), 0.0);
    }
}
