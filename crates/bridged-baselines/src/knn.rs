//! KNN: a row takes the outputs of the pairs whose inputs are nearest to it.
//!
//! ```text
//! ŷ(x) = Σ_{i ∈ N_k(x)} w_i y_i / Σ w_i,    w_i = 1  or  1/‖x − x_i‖
//! ```
//!
//! It sees the pairs alone. As scikit-learn's `KNeighborsRegressor`: where some neighbour is at
//! distance 0 and weights are by distance, only such neighbours count.

use crate::limits::{COUNT, check};
use crate::prepare::Paired;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::neighbors::Neighbors;
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "knn";

/// The mean of the nearest pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Knn {
    /// How many neighbours are averaged; all pairs where there are fewer.
    pub k: usize,
    /// How much each counts.
    pub weights: Weights,
}

/// How much a neighbour counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// All the same.
    #[default]
    Uniform,
    /// By the inverse of its distance.
    Distance,
}

impl Default for Knn {
    fn default() -> Self {
        Self { k: 1, weights: Weights::Uniform }
    }
}

bridged::limits!(Knn { k: COUNT });

impl Knn {
    /// The paper does not tune it.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

struct Fitted {
    pairs: Paired,
    spec: Knn,
}

impl Method for Knn {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (d, e) = (size.x.1 as f64, size.y.1 as f64);
        (8.0 * size.pairs as f64 * (d + e)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        _: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        Ok(Box::new(Fitted { pairs: Paired::of(problem), spec: self.clone() }))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        let Paired { x, y } = &self.pairs;
        MethodError::check_rows(NAME, rows, x.cols())?;
        let nearest = Neighbors::new(x.view()).nearest(rows, self.spec.k.min(x.rows()));
        let mut out = Matrix::zeros(rows.rows(), y.cols());
        let mut sum = vec![0.0f64; y.cols()];
        for i in 0..rows.rows() {
            let weights = self.spec.weights.of(nearest.squared_of(i));
            let total: f64 = weights.iter().sum();
            sum.fill(0.0);
            for (&pair, weight) in nearest.rows_of(i).iter().zip(weights) {
                for (s, &v) in sum.iter_mut().zip(y.row(pair as usize)) {
                    *s += weight * f64::from(v);
                }
            }
            out.row_mut(i).iter_mut().zip(&sum).for_each(|(o, s)| *o = (s / total) as f32);
        }
        Ok(out)
    }
}

impl Weights {
    fn of(self, squared: &[f64]) -> Vec<f64> {
        let touching = squared.contains(&0.0);
        let weight = |&s: &f64| match self {
            Weights::Uniform => 1.0,
            Weights::Distance if touching => f64::from(s == 0.0),
            Weights::Distance => 1.0 / s.sqrt(),
        };
        squared.iter().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Silent;

    fn predict(spec: Knn, at: f32) -> f32 {
        let x = Matrix::from_rows(&[[0.0], [1.0], [4.0]]);
        let y = Matrix::from_rows(&[[10.0], [20.0], [60.0]]);
        let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1), (2, 2)]);
        let fitted = spec.fit(problem, Seed(0), &Silent).unwrap();
        fitted.predict(Matrix::from_rows(&[[at]]).view()).unwrap().data()[0]
    }

    #[test]
    fn it_predicts_what_scikit_learn_predicts() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/golden/baselines_knn.json")).unwrap();
        let matrix = |value: &serde_json::Value| {
            let rows: Vec<Vec<f32>> = serde_json::from_value(value.clone()).unwrap();
            Matrix::from_rows(&rows)
        };
        let (x, y, rows) = (matrix(&golden["x"]), matrix(&golden["y"]), matrix(&golden["rows"]));
        let pairs: Vec<(u32, u32)> = (0..12).map(|i| (i, i)).collect();
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let cases = golden["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 6);
        for case in cases {
            let spec: Knn = serde_json::from_value(serde_json::json!({
                "k": case["k"], "weights": case["weights"],
            }))
            .unwrap();
            let predicted = spec.fit(problem, Seed(0), &Silent).unwrap();
            let predicted = predicted.predict(rows.view()).unwrap();
            let expected = matrix(&case["predicted"]);
            for (a, b) in predicted.data().iter().zip(expected.data()) {
                assert!((a - b).abs() < 1e-5, "{spec:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn neighbours_are_averaged_with_their_weights() {
        let knn = |k, weights| Knn { k, weights };
        assert_eq!(predict(knn(1, Weights::Uniform), 0.9), 20.0);
        assert_eq!(predict(knn(2, Weights::Uniform), 0.9), 15.0);
        assert_eq!(predict(knn(9, Weights::Uniform), 0.9), 30.0);
        let close = predict(knn(2, Weights::Distance), 0.75);
        assert!((close - (10.0 / 3.0 + 20.0) / (1.0 / 3.0 + 1.0)).abs() < 1e-5, "{close}");
        assert_eq!(predict(knn(3, Weights::Distance), 4.0), 60.0);
    }
}
