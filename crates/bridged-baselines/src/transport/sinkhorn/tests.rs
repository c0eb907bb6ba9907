//! Facts about entropic plans.

use super::golden::{agree, golden, numbers};
use super::*;
use bridged::Seed;
use bridged_math::assignment::{Goal, assign};
use proptest::prelude::*;
use rand::RngExt;

fn random(len: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed(seed).rng();
    (0..len).map(|_| rng.random()).collect()
}

fn histogram(len: usize, seed: u64) -> Vec<f64> {
    let weights: Vec<f64> = random(len, seed).iter().map(|w| w + 0.2).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

fn marginals(plan: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = plan.chunks(m).map(|row| row.iter().sum()).collect();
    let columns = (0..m).map(|j| plan.iter().skip(j).step_by(m).sum()).collect();
    (rows, columns)
}

#[test]
fn plans_agree_with_pot_for_any_eps() {
    let golden = &golden()["transport"];
    let [cost, a, b] = ["cost", "a", "b"].map(|name| numbers(&golden[name]));
    for case in golden["cases"].as_array().unwrap() {
        let eps = case["eps"].as_f64().unwrap();
        let found = Sinkhorn { eps, tol: 1e-13, max_iter: 400_000 }.solve(&cost, &a, &b).unwrap();
        assert!(found.converged, "{eps}: {}", found.marginal_error);
        agree(&found.plan(), &numbers(&case["plan"]), 1e-9);
    }
    let five = Sinkhorn { eps: 0.2, tol: 0.0, max_iter: 5 }.solve(&cost, &a, &b).unwrap();
    agree(&five.plan(), &numbers(&golden["five_iterations"]), 1e-12);
    assert!(!five.converged && five.iterations == 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn marginals_hold_and_no_entry_is_negative(
        n in 1usize..40, m in 1usize..40, power in -9i32..3, shift in -1e2f64..1e2, seed in 0u64..99
    ) {
        let cost: Vec<f64> = random(n * m, seed).iter().map(|c| c + shift).collect();
        let (a, b) = (histogram(n, seed + 1), histogram(m, seed + 2));
        let eps = 10f64.powi(power);
        let found = Sinkhorn { eps, tol: 1e-8, max_iter: 300 }.solve(&cost, &a, &b).unwrap();
        let plan = found.plan();
        let (rows, columns) = marginals(&plan, m);
        prop_assert!(plan.iter().all(|p| *p >= 0.0 && p.is_finite()));
        prop_assert!(found.f.iter().chain(&found.g).all(|v| v.is_finite()));
        prop_assert!(rows.iter().zip(&a).all(|(r, a)| (r - a).abs() < 1e-12));
        let error = columns.iter().zip(&b).map(|(c, b)| (c - b).powi(2)).sum::<f64>().sqrt();
        prop_assert!((error - found.marginal_error).abs() < 1e-10);
        prop_assert_eq!(found.converged, found.marginal_error < 1e-8);
        for i in 0..n {
            for j in 0..m {
                let exponent = (found.f[i] + found.g[j] - cost[i * m + j]) / eps;
                let slack = 1e-12 + 1e-15 * 1e4 / eps;
                prop_assert!((plan[i * m + j] - exponent.exp()).abs() <= slack);
            }
        }
    }
}

#[test]
fn a_large_eps_gives_the_product_of_the_weights() {
    let (a, b) = (histogram(30, 1), histogram(20, 2));
    let found = Sinkhorn { eps: 1e9, ..Default::default() }.solve(&random(600, 3), &a, &b).unwrap();
    let product: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| a * b)).collect();
    agree(&found.plan(), &product, 1e-11);
}

#[test]
fn a_small_eps_costs_what_the_exact_assignment_costs() {
    let n = 30;
    let (cost, weights) = (random(n * n, 4), vec![1.0 / n as f64; n]);
    let exact = assign(&cost, n, n, Goal::Minimise).total / n as f64;
    let sinkhorn = Sinkhorn { eps: 2e-4, tol: 1e-9, max_iter: 100_000 };
    let plan = sinkhorn.solve(&cost, &weights, &weights).unwrap().plan();
    let total: f64 = plan.iter().zip(&cost).map(|(p, c)| p * c).sum();
    assert!((total - exact).abs() < 1e-3 * exact, "{total} {exact}");
}

#[test]
fn from_the_potentials_of_a_solution_one_iteration_is_enough() {
    let (cost, a, b) = (random(700, 5), histogram(35, 6), histogram(20, 7));
    let sinkhorn = Sinkhorn { eps: 0.01, tol: 1e-10, max_iter: 100_000 };
    let cold = sinkhorn.solve(&cost, &a, &b).unwrap();
    let start = Some((&cold.f[..], &cold.g[..]));
    let task = Task { cost: &cost, a: &a, b: &b, start, buffer: vec![f64::NAN; 3] };
    let warm = sinkhorn.run(task, &mut |_| Ok(())).unwrap();
    assert!(
        cold.iterations > 20 && warm.iterations <= 2,
        "{} {}",
        cold.iterations,
        warm.iterations
    );
    agree(&warm.plan(), &cold.plan(), 1e-9);
}

#[test]
fn a_small_eps_is_reached_sooner_from_larger_ones() {
    // Two clouds on a line, one shifted: potentials have far to go.
    let (n, m) = (60, 40);
    let (x, y) = (random(n, 11), random(m, 12));
    let cost: Vec<f64> =
        x.iter().flat_map(|x| y.iter().map(move |y| (x - y + 1.0).powi(2))).collect();
    let (a, b) = (vec![1.0 / n as f64; n], vec![1.0 / m as f64; m]);
    let sinkhorn = Sinkhorn { eps: 3e-3, tol: 1e-7, max_iter: 100_000 };
    let cold = sinkhorn.solve(&cost, &a, &b).unwrap();
    let mut steps = 0;
    let task = Task { cost: &cost, a: &a, b: &b, start: None, buffer: Vec::new() };
    let warm = sinkhorn.anneal(1.0, task, &mut |_| {
        steps += 1;
        Ok(())
    });
    let warm = warm.unwrap();
    assert!(cold.converged && warm.converged);
    assert!(5 * steps < 4 * cold.iterations, "{steps} {}", cold.iterations);
    agree(&warm.plan(), &cold.plan(), 1e-5);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let (n, m) = (300, 170);
    let (cost, a, b) = (random(n * m, 8), histogram(n, 9), histogram(m, 10));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sinkhorn = Sinkhorn { eps: 1e-3, tol: 0.0, max_iter: 40 };
        pool.install(|| sinkhorn.solve(&cost, &a, &b).unwrap())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let half = [0.5, 0.5];
    let error = |eps: f64, cost: &[f64], a: &[f64]| {
        let sinkhorn = Sinkhorn { eps, ..Default::default() };
        sinkhorn.solve(cost, a, &half).unwrap_err().to_string()
    };
    let cost = [0.0, 1.0, 1.0, 0.0];
    for eps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(error(eps, &cost, &half).starts_with("sinkhorn: `eps` must be above 0"));
    }
    assert!(error(1e-13, &cost, &half).starts_with("sinkhorn: `eps` must be at least 1.0e-12"));
    assert!(error(1.0, &[0.0, f64::NAN, 1.0, 0.0], &half).contains("a cost is NaN or infinite"));
    assert!(error(1.0, &cost, &[0.0, 1.0]).contains("a weight is not positive"));
    assert!(error(1.0, &cost, &[1.0, 1.0]).contains("the weights differ in sum"));
    let stopped = Sinkhorn::default().run(
        Task { cost: &cost, a: &half, b: &half, start: None, buffer: Vec::new() },
        &mut |_| Err(Cancelled),
    );
    assert!(matches!(stopped, Err(MethodError::Cancelled(_))));
}

#[test]
fn eps_is_written_as_a_word_or_a_number() {
    let json = |eps: Eps| serde_json::to_string(&eps).unwrap();
    assert_eq!((json(Eps::Auto), json(Eps::Value(0.5))), ("\"auto\"".into(), "0.5".into()));
    let read = |text: &str| serde_json::from_str::<Eps>(text);
    assert_eq!(read("\"auto\"").unwrap(), Eps::Auto);
    assert_eq!(read("10").unwrap(), Eps::Value(10.0));
    assert!(read("\"tiny\"").is_err());
    assert_eq!((Eps::Auto.or_auto(1.0), Eps::Value(0.5).or_auto(1.0)), (1.0, 0.5));
}
