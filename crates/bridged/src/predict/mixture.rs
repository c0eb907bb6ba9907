//! Rows that belong to several clusters, answered many at a time.
//!
//! ```text
//! w_j = Σ_i p(i|x) P(j|i)                    the weight of output cluster j
//! y   = Σ_i p(i|x) Y_i,   Y_i = Σ_j P(j|i) kept_j (μ_j − m)
//! u   = Σ_i p(i|x) U_i,   U_i = Σ_j P(j|i) (μ_j − m)
//! s   = Σ_j w_j ‖μ_j − m‖²
//! ŷ   = m + y,   Σ_j w_j ‖μ_j − ŷ‖² = s − 2 u·y + ‖y‖²
//! ```
//!
//! Everything that is known of an input cluster lies in one row of a table, and what is said of x is Σ_i p_i · row i.
//! A row belongs to few clusters noticeably: those with p below 10⁻¹⁵ are left out, which is what rounding costs.
//! O(b (ky + 2d')) a row that belongs to b clusters, after O(k d) for its memberships.

use super::expected_error::{ExpectedErrors, Likeliest};
use super::regressor::Regressor;
use crate::bridge::{Means, Reading};
use crate::cluster::soft::{Scratch, SoftAssign};
use crate::fit::residual_map::to_f32;
use crate::side::Side;
use bridged_math::MatrixRef;
use bridged_math::simd::vectorize_wide;
use std::sync::Arc;

/// Clusters to which a row belongs less than this are left out.
const LEAST: f64 = 1e-15;

/// Columns that are summed at once, in registers.
const WIDTH: usize = 32;

/// A direction whose rows are answered by the links of all clusters that they belong to.
pub(super) struct Mixture<'a> {
    soft: SoftAssign<'a>,
    expected: Arc<ExpectedErrors>,
    mean: &'a [f32],
    /// (kx, stride): P(·|i), Y_i, s_i, and U_i unless it is Y_i.
    table: Vec<f64>,
    stride: usize,
    ky: usize,
    /// Whether means are drawn towards that of the pool, so that u is not y.
    shrunk: bool,
    /// Clusters that are taken to have no partner, and the probability of it.
    alone: Vec<(usize, f64)>,
}

/// What a thread works in.
pub(super) struct Bench {
    scratch: Scratch,
    picked: Vec<(u32, f64)>,
    sums: Vec<f64>,
}

impl<'a> Mixture<'a> {
    /// None if rows are answered by one cluster each.
    pub fn new(
        regressor: &Regressor,
        from: &'a Side,
        to: &'a Side,
        expected: &Arc<ExpectedErrors>,
    ) -> Option<Self> {
        let Reading::Mixture { temperature, means } = regressor.reading else { return None };
        let (ky, cols) = (to.k(), to.cols());
        let kept = means.kept(&to.spread);
        let shrunk = means != Means::Plain;
        let width = ky + cols + 1 + if shrunk { cols } else { 0 };
        let stride = width.next_multiple_of(WIDTH);
        let links = &regressor.bridge.links;
        let mut table = vec![0.0; links.len() * stride];
        for (link, row) in links.iter().zip(table.chunks_exact_mut(stride)) {
            for target in &link.targets {
                let (j, weight) = (target.cluster as usize, target.weight);
                row[j] += weight;
                row[ky + cols] += weight * expected.squared(j);
                let away = to.values.row(j).iter().zip(&to.mean);
                for (c, (&v, &m)) in away.enumerate() {
                    let away = f64::from(v) - f64::from(m);
                    row[ky + c] += weight * kept[j] * away;
                    if shrunk {
                        row[ky + cols + 1 + c] += weight * away;
                    }
                }
            }
        }
        Some(Self {
            soft: SoftAssign::new(&from.spread, &from.clustering, temperature),
            expected: Arc::clone(expected),
            mean: &to.mean,
            table,
            stride,
            ky,
            shrunk,
            alone: regressor.taken_alone().collect(),
        })
    }

    pub fn bench(&self) -> Bench {
        Bench { scratch: Scratch::default(), picked: Vec::new(), sums: vec![0.0; self.stride] }
    }

    /// Answers at most [`BAND`](crate::cluster::soft::BAND) scaled rows with these labels: their values, and how sure each is.
    pub fn answer(
        &self,
        rows: MatrixRef<'_>,
        labels: &[u32],
        bench: &mut Bench,
        values: &mut [f32],
    ) -> Vec<Likeliest> {
        self.soft.band(rows, labels, &mut bench.scratch);
        let (k, cols) = (self.table.len() / self.stride, self.mean.len());
        let members = bench.scratch.members.chunks_exact(k);
        let answers = members.zip(values.chunks_exact_mut(cols)).map(|(members, value)| {
            bench.picked.clear();
            let picked = members.iter().enumerate().filter(|(_, p)| **p > LEAST);
            bench.picked.extend(picked.map(|(i, &p)| (i as u32, p)));
            self.sum(&bench.picked, &mut bench.sums);
            let (weights, rest) = bench.sums.split_at(self.ky);
            let (moved, rest) = rest.split_at(cols);
            let along = if self.shrunk { &rest[1..1 + cols] } else { moved };
            let spread = rest[0] - 2.0 * dot(along, moved) + dot(moved, moved);
            for ((v, &m), y) in value.iter_mut().zip(self.mean).zip(moved) {
                *v = to_f32(f64::from(m) + y);
            }
            let mut likeliest = self.expected.of_sums(weights, spread);
            let alone: f64 = self.alone.iter().map(|&(i, q)| members[i] * q).sum();
            likeliest.probability *= 1.0 - alone;
            likeliest
        });
        answers.collect()
    }

    /// Σ_i p_i · row i of the table, in the order of i.
    fn sum(&self, picked: &[(u32, f64)], sums: &mut [f64]) {
        let stride = self.stride;
        vectorize_wide(
            #[inline(always)]
            || {
                for (at, sums) in sums.chunks_exact_mut(WIDTH).enumerate() {
                    let mut some = [0.0f64; WIDTH];
                    for &(i, p) in picked {
                        let from = i as usize * stride + at * WIDTH;
                        let row: &[f64; WIDTH] =
                            self.table[from..from + WIDTH].try_into().expect("a whole block");
                        (0..WIDTH).for_each(|c| some[c] += p * row[c]);
                    }
                    sums.copy_from_slice(&some);
                }
            },
        );
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
