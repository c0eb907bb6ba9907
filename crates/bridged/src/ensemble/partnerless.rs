//! Clusters whose partner is missing: groups that only one of the collections has.
//!
//! ```text
//! odds(i has no partner) = π/(1 − π) · Π_s (1 − p(i|x_s)) / (1 − σ_i),      π = 0.05
//! ```
//!
//! If a cluster with a share σ_i of its pool had a partner, every pair would lie in it with probability σ_i; of
//! clusters without one no pair does. So a large cluster in which none of many pairs lies is likely to have none.
//! This holds for pairs that came by chance. Somebody who never looked for pairs of a kind will be told that it has
//! no partner.

/// π.
const PRIOR: f64 = 0.05;
/// The least that a pair can say against: it may be a wrong one.
const DOUBT: f64 = 0.05;

/// For each cluster the probability that it has no partner, from its share σ and the memberships of the pairs,
/// (pairs, k).
pub(super) fn partnerless(shares: &[f64], members: &[f64]) -> Vec<f64> {
    let k = shares.len();
    let odds = |i: usize| {
        let pairs = members.iter().skip(i).step_by(k);
        let without = (1.0 - shares[i]).max(DOUBT);
        let says = pairs.map(|p| ((1.0 - p).max(DOUBT) / without).ln());
        (PRIOR / (1.0 - PRIOR)).ln() + says.sum::<f64>()
    };
    (0..k).map(|i| 1.0 / (1.0 + (-odds(i)).exp())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memberships of pairs that each lie in one of three clusters.
    fn pairs(of: [usize; 3]) -> Vec<f64> {
        let one = |i: usize| [0, 1, 2].map(|j| f64::from(u8::from(i == j)));
        (0..3).flat_map(|i| std::iter::repeat_n(one(i), of[i]).flatten()).collect()
    }

    #[test]
    fn a_large_cluster_that_many_pairs_miss_has_no_partner() {
        let shares = [0.4, 0.4, 0.2];
        let found = partnerless(&shares, &pairs([15, 15, 0]));
        assert!(found[2] > 0.9 && found[0] < 1e-6 && found[1] < 1e-6, "{found:?}");
        let few = partnerless(&shares, &pairs([2, 1, 0]));
        assert!(few[2] < 0.15, "three pairs say little: {few:?}");
        let none = partnerless(&shares, &[]);
        assert!(none.iter().all(|q| (q - PRIOR).abs() < 1e-12));
    }

    #[test]
    fn it_is_the_posterior_by_hand() {
        let (shares, members) = ([0.3, 0.7], [0.2, 0.8, 0.1, 0.9]);
        let odds = 0.05 / 0.95 * (0.8 / 0.7) * (0.9 / 0.7);
        assert!((partnerless(&shares, &members)[0] - odds / (1.0 + odds)).abs() < 1e-12);
    }
}
