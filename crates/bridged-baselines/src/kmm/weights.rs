//! The quadratic program of kernel mean matching, solved exactly.
//!
//! Weights β on m sample rows bring their mean in feature space to that of n pool rows:
//!
//! ```text
//! min ‖ (1/m) Σ_i β_i φ(x_i) − (1/n) Σ_j φ(z_j) ‖²   over   0 ≤ β_i ≤ B,  |Σ β_i − m| ≤ m ε
//!   = min  ½ βᵀKβ − κᵀβ,     K_il = k(x_i, x_l),     κ_i = (m/n) Σ_j k(x_i, z_j)
//! ```
//!
//! By the interior-point solver Clarabel: O(m³) an iteration, some ten to twenty iterations. K may be
//! singular (duplicate rows, wide kernels): 1e-8 on its diagonal, less than any tolerance here, picks
//! the most even of equally good weights, so that equal rows weigh the same.
//!
//! Huang, Smola, Gretton, Borgwardt & Schölkopf, "Correcting sample selection bias by unlabeled
//! data", NIPS 2006, equations (5) and (6).

use bridged::Cancelled;
use bridged::MethodError;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

/// What the weights may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// B, the largest weight.
    pub bound: f64,
    /// ε, how far the mean weight may be from 1.
    pub eps: f64,
}

/// What the diagonal of K gains, so that one solution is best.
const EVEN: f64 = 1e-8;

/// The best weights for K (m, m), row-major, and κ (m).
///
/// `tick` is called in every iteration and may stop it; `method` is named in errors.
pub(crate) fn match_means(
    method: &'static str,
    kernel: &[f64],
    kappa: &[f64],
    limits: Limits,
    tick: impl FnMut() -> Result<(), Cancelled>,
) -> Result<Vec<f64>, MethodError> {
    let m = kappa.len();
    let least = 1.0 - limits.eps;
    if limits.bound < least {
        let reason = format!(
            "weights of at most `bound` = {} cannot have a mean of 1 − `eps` = {least}",
            limits.bound
        );
        let remedy = "raise `bound` to 1 or more".to_string();
        return Err(MethodError::NoSolution { method, reason, remedy });
    }
    if limits.bound <= least * (1.0 + 1e-9) {
        return Ok(vec![limits.bound; m]); // no room left, and none inside for an interior point
    }
    let unsolved = |what: String| MethodError::NoSolution {
        method,
        reason: format!("the quadratic program of the weights was not solved ({what})"),
        remedy: "widen `eps`, or choose another `width` of the kernel".to_string(),
    };
    let (status, beta) = solve(kernel, kappa, limits, tick)?.map_err(unsolved)?;
    let solved = matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    if !solved || beta.iter().any(|b| !b.is_finite()) {
        return Err(unsolved(format!("{status:?}")));
    }
    Ok(beta.iter().map(|b| b.clamp(0.0, limits.bound)).collect())
}

/// How the solver ended and where, or why it would not start.
type Ending = Result<(SolverStatus, Vec<f64>), String>;

/// Solves on a thread of its own: the solver's callback may borrow nothing, so it asks this thread,
/// where `tick` is, whether to go on.
fn solve(
    kernel: &[f64],
    kappa: &[f64],
    limits: Limits,
    mut tick: impl FnMut() -> Result<(), Cancelled>,
) -> Result<Ending, Cancelled> {
    let (ask, asked) = channel::<()>();
    let (answer, answers) = channel::<bool>();
    let mut answers = Mutex::new(answers);
    let mut going = Ok(());
    let ending = thread::scope(|scope| {
        let worker = scope.spawn(move || -> Ending {
            let objective = upper_triangle(kernel, kappa.len());
            let linear: Vec<f64> = kappa.iter().map(|k| -k).collect();
            let (a, b, cones) = constraints(kappa.len(), limits);
            let mut solver = DefaultSolver::new(&objective, &linear, &a, &b, &cones, settings())
                .map_err(|e| e.to_string())?;
            solver.set_termination_callback(move |_| {
                ask.send(()).is_err() || answers.get_mut().is_ok_and(|a| a.recv() != Ok(false))
            });
            solver.solve();
            Ok((solver.solution.status, solver.solution.x))
        });
        for () in asked {
            going = tick();
            // The solver waits for the answer; should it be gone, so is the question.
            let _ = answer.send(going.is_err());
        }
        worker.join().expect("the solver returns its failures")
    });
    going.map(|()| ending)
}

/// To nine digits where the problem allows it, to seven where K is singular.
fn settings() -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-10,
        reduced_tol_gap_abs: 1e-7,
        reduced_tol_gap_rel: 1e-7,
        reduced_tol_feas: 1e-7,
        ..DefaultSettings::default()
    }
}

/// The upper triangle of K, with the gain on its diagonal, by columns, as the solver takes it.
fn upper_triangle(a: &[f64], m: usize) -> CscMatrix<f64> {
    let starts = (0..=m).map(|j| j * (j + 1) / 2).collect();
    let rows = (0..m).flat_map(|j| 0..=j).collect();
    let value = |i: usize, j: usize| a[i * m + j] + if i == j { EVEN } else { 0.0 };
    let values = (0..m).flat_map(|j| (0..=j).map(move |i| value(i, j))).collect();
    CscMatrix::new(m, m, starts, rows, values)
}

/// A, b and cones of b − Aβ ∈ cones: m − mε ≤ Σβ ≤ m + mε, then β ≤ B, then β ≥ 0.
///
/// Without slack the sum is one equation: two inequalities that meet would leave no interior.
fn constraints(m: usize, limits: Limits) -> (CscMatrix<f64>, Vec<f64>, Vec<SupportedConeT<f64>>) {
    let (sums, cones) = if limits.eps == 0.0 {
        (vec![(1.0, m as f64)], vec![ZeroConeT(1), NonnegativeConeT(2 * m)])
    } else {
        let (total, slack) = (m as f64, m as f64 * limits.eps);
        (vec![(1.0, total + slack), (-1.0, slack - total)], vec![NonnegativeConeT(2 * m + 2)])
    };
    let each = sums.len() + 2;
    let starts = (0..=m).map(|j| j * each).collect();
    let rows = (0..m).flat_map(|j| (0..sums.len()).chain([sums.len() + j, sums.len() + m + j]));
    let rows = rows.collect();
    let column: Vec<f64> = sums.iter().map(|s| s.0).chain([1.0, -1.0]).collect();
    let matrix = CscMatrix::new(sums.len() + 2 * m, m, starts, rows, column.repeat(m));
    let offsets = sums.iter().map(|s| s.1);
    let offsets = offsets.chain(vec![limits.bound; m]).chain(vec![0.0; m]).collect();
    (matrix, offsets, cones)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::rbf;
    use bridged::{Matrix, Seed};
    use proptest::prelude::*;
    use rand::RngExt;
    use serde_json::Value;

    fn weights(kernel: &[f64], kappa: &[f64], limits: Limits) -> Result<Vec<f64>, MethodError> {
        match_means("kmm", kernel, kappa, limits, || Ok(()))
    }

    fn objective(kernel: &[f64], kappa: &[f64], beta: &[f64]) -> f64 {
        let rows = kernel.chunks_exact(kappa.len()).zip(kappa).zip(beta);
        rows.map(|((row, k), b)| {
            b * (0.5 * row.iter().zip(beta).map(|(a, c)| a * c).sum::<f64>() - k)
        })
        .sum()
    }

    /// K of some rows and κ of a pool around them.
    fn problem(m: usize, cols: usize, gamma: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let rows = Matrix::from_fn(m, cols, |_, _| rng.random::<f32>());
        let pool = Matrix::from_fn(40, cols, |_, _| 0.3 + rng.random::<f32>());
        let across = rbf(rows.view(), pool.view(), gamma);
        let kappa = across.chunks_exact(40).map(|r| r.iter().sum::<f64>() * m as f64 / 40.0);
        (rbf(rows.view(), rows.view(), gamma), kappa.collect())
    }

    fn floats(value: &Value) -> Vec<f64> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn weights_agree_with_cvxopt() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../tests/golden/baselines_kmm.json"))
                .unwrap();
        for case in golden["cases"].as_array().unwrap() {
            let (kernel, kappa) = (floats(&case["kernel"]), floats(&case["kappa"]));
            let expected = floats(&case["beta"]);
            let number = |name: &str| case[name].as_f64().unwrap();
            let limits = Limits { bound: number("bound"), eps: number("eps") };
            let beta = weights(&kernel, &kappa, limits).unwrap();
            let found = objective(&kernel, &kappa, &beta);
            assert!((found - number("objective")).abs() < 1e-6, "{found} {}", case["objective"]);
            for (a, b) in beta.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-4, "{a} {b} with {limits:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn no_point_of_a_fine_grid_is_better(
            seed in 0u64..1000, gamma in 0.1f64..20.0, bound in 1.0f64..4.0, eps in 0.0f64..0.5,
        ) {
            let (kernel, kappa) = problem(3, 2, gamma, seed);
            let limits = Limits { bound, eps };
            let beta = weights(&kernel, &kappa, limits).unwrap();
            let sum: f64 = beta.iter().sum();
            prop_assert!((sum - 3.0).abs() <= 3.0 * eps + 1e-7);
            prop_assert!(beta.iter().all(|b| (0.0..=bound).contains(b)));
            let best = objective(&kernel, &kappa, &beta);
            const STEPS: usize = 40;
            for total in [3.0 * (1.0 - eps), 3.0, 3.0 * (1.0 + eps)] {
                for i in 0..=STEPS {
                    for j in 0..=STEPS {
                        let (a, b) = (bound * i as f64 / 40.0, bound * j as f64 / 40.0);
                        let c = total - a - b;
                        if (0.0..=bound).contains(&c) {
                            prop_assert!(objective(&kernel, &kappa, &[a, b, c]) > best - 1e-7);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn equal_rows_weigh_the_same_and_singular_kernels_are_solved() {
        let limits = Limits { bound: 100.0, eps: 1e-3 };
        for m in [1, 2, 28] {
            let beta = weights(&vec![1.0; m * m], &vec![0.5 * m as f64; m], limits);
            for b in beta.unwrap() {
                assert!((b - 0.999).abs() < 1e-5, "{m} rows: {b}");
            }
        }
        let (kernel, kappa) = problem(6, 2, 4.0, 3);
        let twice = [0, 1, 2, 3, 4, 5, 3, 0, 3];
        let repeated: Vec<f64> =
            twice.iter().flat_map(|&i| twice.map(|j| kernel[i * 6 + j])).collect();
        let beta = weights(&repeated, &twice.map(|i| 1.5 * kappa[i]), limits).unwrap();
        for (i, j) in [(0, 7), (3, 6), (3, 8)] {
            assert!((beta[i] - beta[j]).abs() < 1e-4, "{beta:?}");
        }
        // Wide kernels are singular up to rounding, at any size.
        for m in [5, 28, 60] {
            for gamma in [1e-9, 1e-3, 0.1, 1e3] {
                let (kernel, kappa) = problem(m, 3, gamma, 9);
                let beta = weights(&kernel, &kappa, limits).unwrap();
                let mean = beta.iter().sum::<f64>() / m as f64;
                assert!((mean - 1.0).abs() < 1e-3 + 1e-6, "{m} {gamma}: {mean}");
            }
        }
    }

    #[test]
    fn limits_that_nothing_satisfies_are_refused_with_the_remedy() {
        let (kernel, kappa) = problem(4, 2, 1.0, 1);
        let solve = |bound, eps| weights(&kernel, &kappa, Limits { bound, eps });
        assert_eq!(
            solve(0.5, 0.25).unwrap_err().to_string(),
            "kmm: weights of at most `bound` = 0.5 cannot have a mean of 1 − `eps` = 0.75; \
             raise `bound` to 1 or more"
        );
        assert_eq!(solve(0.75, 0.25).unwrap(), [0.75; 4]);
        assert_eq!(solve(1.0, 0.0).unwrap(), [1.0; 4]);
        let sum: f64 = solve(3.0, 0.0).unwrap().iter().sum();
        assert!((sum - 4.0).abs() < 1e-7);
    }

    #[test]
    fn the_solver_asks_in_every_iteration_whether_to_go_on() {
        let (kernel, kappa) = problem(9, 2, 1.0, 1);
        let limits = Limits { bound: 5.0, eps: 0.1 };
        let mut asked = 0;
        let tick = || {
            asked += 1;
            if asked == 3 { Err(Cancelled) } else { Ok(()) }
        };
        let stopped = match_means("kmm", &kernel, &kappa, limits, tick);
        assert!(matches!(stopped, Err(MethodError::Cancelled(_))));
        assert_eq!(asked, 3);
    }
}
