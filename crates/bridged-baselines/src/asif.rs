//! ASIF: a row is described by how alike it is to the known pairs, and so is a row of the other side.
//!
//! ```text
//! u = (x − x̄)/|x − x̄|      rows around the mean of their pool, of unit length
//! a_s = ⟨u, u_s⟩₊ᵖ          for the k pairs that are most alike, else 0; p = 8
//! s_j(x) = ⟨a, b_j⟩ / (|a| |b_j|)   with b_j the same of y_j on the other side of the pairs
//! ```
//!
//! Nothing is trained. **Choose it** with hundreds of pairs or more: with few, most rows are alike to
//! none. Cost: O((n + m) d pairs) and O(m pairs) a row.
//!
//! Norelli et al. (2023), *ASIF: coupled data turns unimodal models to multimodal without training*.
//! There the rows come from encoders trained on cosines, so the mean is not taken off; here it is,
//! since pools may lie anywhere. Negative similarities, which its million anchors never show among
//! the nearest, count as none.

use crate::limits::{COUNT, POSITIVE};
use crate::prepare::Unit;
use crate::retrieval::{Folds, Retrieval, Scores};
use bridged::{MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::linalg::{Accum, View, par_product};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "asif";

/// Rows described by their likeness to the pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asif {
    /// How many of the most similar pairs describe a row; all where there are fewer.
    pub k: usize,
    /// p: large powers let the most similar pairs decide alone.
    pub power: f64,
}

impl Default for Asif {
    fn default() -> Self {
        Self { k: 800, power: 8.0 }
    }
}

bridged::limits!(Asif { k: COUNT, power: POSITIVE });

impl Asif {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }

    /// The k largest entries of a row of similarities to the p-th power, at unit length.
    fn describe(&self, row: &mut [f64]) {
        let k = self.k.min(row.len());
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_unstable_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
        order[k..].iter().for_each(|&at| row[at] = 0.0);
        row.iter_mut().for_each(|v| *v = v.max(0.0).powf(self.power));
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|v| *v /= length);
        }
    }

    /// Rows of one side, (n, pairs).
    fn relative(&self, rows: &[f64], anchors: &[f64], pairs: usize) -> Vec<f64> {
        let d = anchors.len() / pairs;
        let n = rows.len() / d;
        let mut out = vec![0.0; n * pairs];
        let anchors = View::new(anchors, pairs, d);
        par_product(View::new(rows, n, d), anchors.t(), Accum::Replace, &mut out);
        out.chunks_exact_mut(pairs).for_each(|row| self.describe(row));
        out
    }
}

struct Fitted {
    spec: Asif,
    unit: Unit,
    /// The inputs of the pairs, (pairs, d).
    anchors: Vec<f64>,
    /// The y pool as the pairs describe it, (m, pairs).
    candidates: Vec<f64>,
    pairs: usize,
}

impl Method for Asif {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let pairs = size.pairs as f64;
        let sides = (size.x.1 + size.y.1) as f64;
        let (m, e) = (size.y.0 as f64, size.y.1 as f64);
        (Retrieval::memory(size) + 8.0 * (m * e + 3.0 * pairs * (m + sides))) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        let (x, y) = (Unit::fit(problem.x), Unit::fit(problem.y));
        let outputs = y.apply(problem.y);
        let learn = |problem: Problem<'_>, _: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
            let pairs = problem.pairs.len();
            let inputs = problem.x.select(problem.pairs.iter().map(|p| p.0));
            let paired = problem.y.select(problem.pairs.iter().map(|p| p.1));
            let candidates = self.relative(&outputs, &y.apply(paired.view()), pairs);
            let (spec, unit) = (self.clone(), x.clone());
            let anchors = unit.apply(inputs.view());
            Ok(Box::new(Fitted { spec, unit, anchors, candidates, pairs }))
        };
        Retrieval::fit(NAME, problem, 1, Folds::Each, (seed, watch), &learn)
    }
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let described = self.spec.relative(&self.unit.apply(rows), &self.anchors, self.pairs);
        let (n, m) = (rows.rows(), self.candidates.len() / self.pairs);
        let mut out = vec![0.0; n * m];
        let candidates = View::new(&self.candidates, m, self.pairs);
        let described = View::new(&described, n, self.pairs);
        par_product(described, candidates.t(), Accum::Replace, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_described_by_its_most_similar_pairs() {
        let spec = Asif { k: 2, power: 2.0 };
        let mut row = [0.5, -0.9, 0.5, 1.0];
        spec.describe(&mut row);
        let length = (0.25f64 * 0.25 + 1.0).sqrt();
        assert_eq!(row, [0.25 / length, 0.0, 0.0, 1.0 / length]);
        let mut none = [-1.0, 0.0];
        spec.describe(&mut none);
        assert_eq!(none, [0.0, 0.0]);
    }
}
