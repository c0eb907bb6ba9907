use super::*;
use crate::seed::Seed;
use proptest::prelude::*;
use rand::RngExt;

/// Solves and checks everything that must hold; returns the cost.
fn solve(costs: &[f32], capacity: &Capacity) -> f64 {
    let mut transport = Transport::new(capacity.clone());
    transport.solve(costs).unwrap();
    certify(costs, capacity, &transport)
}

fn certify(costs: &[f32], capacity: &Capacity, transport: &Transport) -> f64 {
    let labels: Vec<u32> = transport.labels().collect();
    let k = capacity.columns();
    let mut sizes = vec![0u32; k];
    labels.iter().for_each(|&a| sizes[a as usize] += 1);
    for j in 0..k {
        assert!(
            (capacity.lower[j]..=capacity.upper[j]).contains(&sizes[j]),
            "{sizes:?} {capacity:?}"
        );
    }
    let scale = costs.iter().fold(0.0f64, |m, &c| m.max(f64::from(c).abs()));
    let gap = duality_gap(costs, capacity, &labels, transport.prices());
    assert!(gap.abs() <= 1e-9 * scale * labels.len() as f64, "gap {gap}");
    labels.iter().zip(costs.chunks_exact(k)).map(|(&a, c)| f64::from(c[a as usize])).sum()
}

/// Minimum cost flow on the whole network of rows, columns and a sink: lower bounds are bought
/// first by a large bonus, then one row after the other takes a Bellman–Ford shortest path.
fn oracle(costs: &[f32], capacity: &Capacity) -> f64 {
    let k = capacity.columns();
    let n = costs.len() / k;
    let (source, sink) = (n + k, n + k + 1);
    let bonus = -1e6f64;
    // (from, to, capacity, cost), each followed by its reverse.
    let mut arcs: Vec<(usize, usize, i64, f64)> = Vec::new();
    let mut add = |u, v, capacity: u32, cost: f64| {
        arcs.push((u, v, i64::from(capacity), cost));
        arcs.push((v, u, 0, -cost));
    };
    for i in 0..n {
        add(source, i, 1, 0.0);
        (0..k).for_each(|j| add(i, n + j, 1, f64::from(costs[i * k + j])));
    }
    for j in 0..k {
        add(n + j, sink, capacity.lower[j], bonus);
        add(n + j, sink, capacity.upper[j] - capacity.lower[j], 0.0);
    }
    for _ in 0..n {
        let mut distance = vec![f64::INFINITY; n + k + 2];
        let mut by = vec![usize::MAX; n + k + 2];
        distance[source] = 0.0;
        loop {
            let mut changed = false;
            for (at, &(u, v, capacity, cost)) in arcs.iter().enumerate() {
                if capacity > 0 && distance[u] + cost < distance[v] - 1e-7 {
                    distance[v] = distance[u] + cost;
                    by[v] = at;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut v = sink;
        while v != source {
            arcs[by[v]].2 -= 1;
            arcs[by[v] ^ 1].2 += 1;
            v = arcs[by[v]].0;
        }
    }
    let used = arcs.iter().step_by(2).zip(arcs.iter().skip(1).step_by(2));
    used.filter(|(a, _)| a.0 < n).map(|(a, back)| a.3 * back.2 as f64).sum()
}

/// Bounds for n rows: even, one-sided, or a size for each column.
fn bounds_for(kind: u8, n: usize, k: usize, seed: u64) -> Capacity {
    let mut rng = Seed(seed).child("bounds").rng();
    let sizes = {
        let mut sizes = vec![0u32; k];
        (0..n).for_each(|_| sizes[rng.random_range(0..k)] += 1);
        sizes
    };
    match kind {
        0 => Capacity::even(n, k),
        1 => Capacity::uniform(k, 0, n.div_ceil(k) as u32),
        2 => Capacity::uniform(k, (n / k) as u32, n as u32),
        3 => Capacity::uniform(k, (n / k / 2) as u32, n.div_ceil(k) as u32 + 1),
        4 => Capacity::new(sizes.clone(), sizes),
        _ => {
            let lower = sizes.iter().map(|&s| rng.random_range(0..=s)).collect();
            let upper = sizes.iter().map(|&s| s + rng.random_range(0..3)).collect();
            Capacity::new(lower, upper)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn the_optimum_is_that_of_a_minimum_cost_flow(
        n in 1usize..=12, k in 1usize..=4, kind in 0u8..6, levels in 1i32..30, copies in 1usize..4, seed in 0u64..1_000_000,
    ) {
        let mut rng = Seed(seed).rng();
        let distinct: Vec<f32> =
            (0..n * k).map(|_| rng.random_range(-levels..=levels) as f32).collect();
        // Rows repeat, and integers tie.
        let costs: Vec<f32> = (0..n).flat_map(|i| distinct[i / copies * k..(i / copies + 1) * k].to_vec()).collect();
        let capacity = bounds_for(kind, n, k, seed);
        prop_assert_eq!(solve(&costs, &capacity), oracle(&costs, &capacity));
    }

    #[test]
    fn prices_from_another_problem_do_not_change_the_optimum(
        n in 2usize..=12, k in 2usize..=4, kind in 0u8..6, seed in 0u64..1_000_000,
    ) {
        let mut rng = Seed(seed).rng();
        let capacity = bounds_for(kind, n, k, seed);
        let mut transport = Transport::new(capacity.clone());
        for _ in 0..4 {
            let costs: Vec<f32> = (0..n * k).map(|_| rng.random_range(-9..9) as f32).collect();
            transport.solve(&costs).unwrap();
            prop_assert_eq!(certify(&costs, &capacity, &transport), oracle(&costs, &capacity));
        }
    }
}

/// Squared distances of clustered points to centres, so that sizes are far from even.
fn distances(n: usize, k: usize, d: usize, seed: u64) -> Vec<f32> {
    let mut rng = Seed(seed).rng();
    let centres: Vec<f32> = (0..k * d).map(|_| 4.0 * rng.random::<f32>()).collect();
    let mut costs = Vec::with_capacity(n * k);
    for _ in 0..n {
        let own = (rng.random::<f64>().powi(3) * k as f64) as usize;
        let x: Vec<f32> =
            (0..d).map(|c| centres[own * d + c] + 6.0 * (rng.random::<f32>() - 0.5)).collect();
        costs.extend(
            centres
                .chunks_exact(d)
                .map(|c| c.iter().zip(&x).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()),
        );
    }
    costs
}

#[test]
fn large_problems_are_certified_for_every_kind_of_bounds() {
    for (n, k) in [(3_000, 7), (50_000, 12), (40_000, 60)] {
        let costs = distances(n, k, 3, n as u64);
        for kind in 0..6 {
            solve(&costs, &bounds_for(kind, n, k, 5));
        }
    }
}

#[test]
fn identical_rows_are_dealt_out() {
    let costs = [1.0f32, 1.0, 1.0, 1.0].repeat(5_000);
    assert_eq!(solve(&costs, &Capacity::even(5_000, 4)), 5_000.0);
    let costs = [0.0f32, 1.0, 2.0].repeat(9_000);
    assert_eq!(solve(&costs, &Capacity::even(9_000, 3)), 9_000.0);
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let costs = distances(60_000, 9, 3, 3);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut transport = Transport::new(Capacity::even(60_000, 9));
            transport.solve(&costs).unwrap();
            (transport.labels().collect::<Vec<_>>(), transport.prices().to_vec())
        })
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn impossible_bounds_and_costs_are_refused() {
    let solve =
        |capacity: Capacity, costs: &[f32]| Transport::new(capacity).solve(costs).unwrap_err();
    assert_eq!(
        solve(Capacity::uniform(2, 0, 1), &[0.0; 6]),
        TransportError::Infeasible { rows: 3, least: 0, most: 2 }
    );
    assert_eq!(
        solve(Capacity::uniform(2, 2, 9), &[0.0; 6]),
        TransportError::Infeasible { rows: 3, least: 4, most: 18 }
    );
    assert!(matches!(
        solve(Capacity::new(vec![2, 0], vec![1, 9]), &[0.0; 6]),
        TransportError::Infeasible { .. }
    ));
    assert_eq!(solve(Capacity::even(2, 2), &[0.0, 1.0, f32::NAN, 0.0]), TransportError::NotFinite);
}

#[test]
fn no_rows_are_assigned_to_columns_that_need_none() {
    assert_eq!(solve(&[], &Capacity::uniform(3, 0, 5)), 0.0);
}

#[test]
fn a_square_problem_is_the_linear_assignment_problem() {
    let costs = [4.0, 1.0, 3.0, 2.0, 0.0, 5.0, 3.0, 2.0, 2.0];
    assert_eq!(solve(&costs, &Capacity::even(3, 3)), 5.0);
}
