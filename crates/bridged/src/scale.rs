//! Scaling of one side before it is clustered, fitted on its pool.
//!
//! A scaler only ever looks: rows are scaled for distances, while centroids, predictions and
//! everything that leaves the model stay in the units of the data. Nothing has to be undone, and
//! nothing is lost where scaling cannot be undone (`l2`, `pca`).

use crate::Error;
use crate::cluster::unit_rows;
use crate::settings::{BadParameter, Limits, within};
use bridged_math::linalg::{pca, pca_memory};
use bridged_math::rows::{BlockSums, mean_row};
use bridged_math::simd::{Panels, Tail};
use bridged_math::{Matrix, MatrixRef, Rows, chunks, memory};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is done to the rows of a side before distances are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Nothing, as in the paper.
    #[default]
    None,
    /// Every column to mean 0 and variance 1; a constant column to 0.
    Standardize,
    /// Every row to length 1, so that Euclidean distance measures the angle.
    L2,
    /// The first principal components.
    Pca {
        /// How many, at most the number of columns.
        components: usize,
    },
}

/// A fitted [`Scale`].
#[derive(Clone, Debug, PartialEq)]
pub enum Scaler {
    /// Rows as they are.
    None,
    /// (row − shift) · factor, column by column.
    Affine {
        /// The mean of each column.
        shift: Vec<f32>,
        /// One over its standard deviation; 0 for a constant column.
        factor: Vec<f32>,
    },
    /// row / ‖row‖.
    L2,
    /// (row − mean) · componentsᵀ.
    Project {
        /// The mean of each column.
        mean: Vec<f32>,
        /// (components, d), of unit length.
        components: Matrix,
    },
}

impl Scale {
    /// What a scaling can be called.
    pub(crate) const NAMES: &str = "none, standardize, l2, or pca:N with a number N of at least 1";

    /// The scaling of that name: `none`, `standardize`, `l2` or `pca:N`.
    pub fn parse(name: &str) -> Result<Self, BadParameter> {
        let components = name.strip_prefix("pca:").and_then(|n| n.parse().ok());
        match (name, components) {
            ("none", _) => Ok(Scale::None),
            ("standardize" | "standardise", _) => Ok(Scale::Standardize),
            ("l2", _) => Ok(Scale::L2),
            (_, Some(components)) if components > 0 => Ok(Scale::Pca { components }),
            _ => Err(BadParameter::new("scale", Self::NAMES, name)),
        }
    }

    /// Whether its parameter is within its limits.
    pub fn check(self) -> Result<(), BadParameter> {
        match self {
            Scale::Pca { components } => within("components", &components, Limits::at_least(1)),
            Scale::None | Scale::Standardize | Scale::L2 => Ok(()),
        }
    }

    /// Fits it on a pool; `side` names the pool in errors.
    pub fn fit(self, x: MatrixRef<'_>, side: &'static str) -> Result<Scaler, Error> {
        self.fit_rows(&x, side)
    }

    /// The same on a pool that need not be in memory, with the same bytes.
    pub(crate) fn fit_rows(self, x: &dyn Rows, side: &'static str) -> Result<Scaler, Error> {
        match self {
            Scale::None => Ok(Scaler::None),
            Scale::L2 => Ok(Scaler::L2),
            Scale::Standardize => standardize(x),
            Scale::Pca { components } => {
                let most = x.cols().min(x.rows());
                if components == 0 || components > most {
                    let (rows, cols) = (x.rows(), x.cols());
                    let need =
                        format!("between 1 and {most} for {side} ({rows} rows, {cols} columns)");
                    return Err(BadParameter::new("pca", need, components).into());
                }
                let what = format!(
                    "principal components of {side} ({} rows, {} columns)",
                    x.rows(),
                    x.cols()
                );
                let (n, many) = (x.rows(), x.rows().min(PCA_ROWS));
                memory::require(what, pca_memory(many, x.cols()) as u64)?;
                let fitted = match x.in_memory().filter(|_| many == n) {
                    Some(x) => pca(x, components),
                    None => {
                        let sample: Vec<usize> = (0..many).map(|s| s * n / many).collect();
                        pca(x.select(&sample)?.view(), components)
                    }
                };
                let mean = fitted.mean.iter().map(|&v| v as f32).collect();
                Ok(Scaler::Project { mean, components: fitted.components })
            }
        }
    }
}

/// Principal components are those of at most this many rows, evenly spaced.
const PCA_ROWS: usize = 100_000;

fn standardize(x: &dyn Rows) -> Result<Scaler, Error> {
    let mean = mean_row(x)?;
    let add = |rows: MatrixRef<'_>, range: std::ops::Range<usize>, squares: &mut [f64]| {
        for i in range {
            for ((s, &v), m) in squares.iter_mut().zip(rows.row(i)).zip(&mean) {
                *s += (f64::from(v) - m).powi(2);
            }
        }
    };
    let n = x.rows() as f64;
    let variance = match x.in_memory() {
        Some(x) => {
            let partials = chunks::map_blocks(x.rows(), |range| {
                let mut squares = vec![0.0f64; x.cols()];
                add(x, range, &mut squares);
                squares
            });
            let mut variance = vec![0.0f64; x.cols()];
            for partial in partials {
                variance.iter_mut().zip(partial).for_each(|(v, p)| *v += p / n);
            }
            variance
        }
        None => {
            let mut sums = BlockSums::divided(x.rows(), x.cols(), n);
            x.scan(&mut |first, part| {
                sums.add(first, part.rows(), |range, sums| add(part, range, sums));
                Ok(())
            })?;
            sums.total()
        }
    };
    // A column whose spread is rounding noise of its mean, or too small to divide by, is constant.
    let factor = variance.iter().zip(&mean).map(|(v, m)| {
        let deviation = v.sqrt();
        if deviation <= 1e-6 * m.abs() || deviation < 1e-30 {
            0.0
        } else {
            (1.0 / deviation) as f32
        }
    });
    let factor = factor.collect();
    Ok(Scaler::Affine { factor, shift: mean.iter().map(|&v| v as f32).collect() })
}

impl Scaler {
    /// How many columns scaled rows have, of rows with `cols`.
    pub(crate) fn cols(&self, cols: usize) -> usize {
        match self {
            Scaler::Project { components, .. } => components.rows(),
            Scaler::None | Scaler::Affine { .. } | Scaler::L2 => cols,
        }
    }

    /// The scaled rows; without a copy where nothing is done.
    pub fn apply<'a>(&self, x: MatrixRef<'a>) -> Scaled<'a> {
        let (rows, cols) = (x.rows(), x.cols());
        match self {
            Scaler::None => Scaled { rows, cols, data: Cow::Borrowed(x.data()) },
            Scaler::Affine { shift, factor } => {
                let mut data = x.data().to_vec();
                chunks::map_blocks_mut(&mut data, cols, |_, part| {
                    for row in part.chunks_exact_mut(cols) {
                        for ((v, s), f) in row.iter_mut().zip(shift).zip(factor) {
                            *v = (*v - s) * f;
                        }
                    }
                });
                Scaled { rows, cols, data: Cow::Owned(data) }
            }
            Scaler::L2 => Scaled { rows, cols, data: Cow::Owned(unit_rows(x).into_data()) },
            Scaler::Project { mean, components } => {
                let width = components.rows();
                let mut data = vec![0.0f32; rows * width];
                // Not the product of gemm, which sums in another order on another processor.
                let (panels, zeros) =
                    (Panels::of_rows(components.view(), Tail::InOrder), vec![0.0; width]);
                chunks::map_blocks_mut(&mut data, width, |range, out| {
                    let part = x.slice(range);
                    let centred =
                        Matrix::from_fn(part.rows(), cols, |i, j| part.row(i)[j] - mean[j]);
                    panels.product(centred.view(), &zeros, out);
                });
                Scaled { rows, cols: width, data: Cow::Owned(data) }
            }
        }
    }
}

/// Scaled rows, owned only where they differ from the data.
#[derive(Clone, Debug)]
pub struct Scaled<'a> {
    rows: usize,
    cols: usize,
    data: Cow<'a, [f32]>,
}

impl Scaled<'_> {
    /// The rows where they differ from the data; `None` where they were only borrowed.
    pub(crate) fn into_owned(self) -> Option<Matrix> {
        match self.data {
            Cow::Borrowed(_) => None,
            Cow::Owned(data) => Matrix::new(self.rows, self.cols, data).ok(),
        }
    }

    /// The rows.
    pub fn view(&self) -> MatrixRef<'_> {
        MatrixRef::new(self.rows, self.cols, &self.data).expect("built with this shape")
    }

    /// The rows as a matrix of their own.
    pub fn into_matrix(self) -> Matrix {
        Matrix::new(self.rows, self.cols, self.data.into_owned()).expect("built with this shape")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Matrix {
        Matrix::from_fn(50, 4, |i, j| match j {
            3 => 7.0,
            _ => ((i * (j + 2)) % 11) as f32 * (j + 1) as f32 + 100.0,
        })
    }

    #[test]
    fn standardised_columns_have_mean_zero_and_variance_one() {
        let x = data();
        let scaler = Scale::Standardize.fit(x.view(), "x").unwrap();
        let z = scaler.apply(x.view());
        for j in 0..3 {
            let column: Vec<f64> = z.view().iter_rows().map(|r| f64::from(r[j])).collect();
            let mean = column.iter().sum::<f64>() / 50.0;
            let variance = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 50.0;
            assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
        }
        assert!(z.view().iter_rows().all(|r| r[3] == 0.0), "a constant column says nothing");
    }

    #[test]
    fn all_principal_components_keep_every_distance() {
        let x = data();
        let z = Scale::Pca { components: 4 }
            .fit(x.view(), "x")
            .unwrap()
            .apply(x.view())
            .view()
            .to_matrix();
        for (a, b) in [(0, 1), (3, 40), (20, 21)] {
            let before = bridged_math::distance::squared_distance(x.row(a), x.row(b));
            let after = bridged_math::distance::squared_distance(z.row(a), z.row(b));
            assert!((before - after).abs() < 1e-3 * before.max(1.0));
        }
    }

    #[test]
    fn too_many_components_are_refused_with_the_range() {
        let error = Scale::Pca { components: 5 }.fit(data().view(), "y").unwrap_err().to_string();
        assert_eq!(error, "`pca` must be between 1 and 4 for y (50 rows, 4 columns), got 5");
    }

    #[test]
    fn unscaled_rows_are_not_copied() {
        let x = data();
        let z = Scaler::None.apply(x.view());
        assert_eq!(z.view().data().as_ptr(), x.data().as_ptr());
    }
}
