use super::read::costs_of;
use super::*;
use crate::rows::InParts;
use crate::seed::Seed;
use crate::transport::{Transport, duality_gap};
use crate::{Matrix, MatrixRef};
use rand::RngExt;

/// Rows in clouds of very different sizes, and centres drawn among them.
fn data(n: usize, d: usize, k: usize, seed: u64) -> (Matrix, Matrix) {
    let mut rng = Seed(seed).rng();
    let means = Matrix::from_fn(k, d, |_, _| 4.0 * rng.random::<f32>());
    let x = Matrix::from_fn(n, d, |i, c| {
        let own = ((i as f64 / n as f64).powi(3) * k as f64) as usize;
        means.row(own)[c] + 4.0 * (rng.random::<f32>() - 0.5)
    });
    let centres = x.view().select((0..k).map(|j| j * n / k));
    (x, centres)
}

fn costs(x: MatrixRef<'_>, centres: &Centres) -> Vec<f32> {
    costs_of(x, centres)
}

/// Assigns exactly, as balanced k-means does: prices of a sample, passes, the exact end.
fn assign(rows: &dyn Rows, centres: &Centres, capacity: &Capacity, room: usize) -> (Large, Finish) {
    let n = rows.rows();
    let mut large = Large::new(n, capacity.clone()).unwrap();
    let some: Vec<usize> = (0..n).step_by(n.div_ceil(2000)).collect();
    large.estimate(&costs(rows.select(&some).unwrap().view(), centres), Sample::Roughly).unwrap();
    let some = rows.select(&some).unwrap();
    large.balance(rows, some.view(), centres, (room / centres.len() / 8).max(4)).unwrap();
    let finish = large.finish(rows, centres, room, 0.0).unwrap();
    (large, finish)
}

fn certify(x: MatrixRef<'_>, centres: &Centres, capacity: &Capacity, large: &Large, gap: f64) {
    let (k, costs) = (capacity.columns(), costs(x, centres));
    let labels: Vec<u32> = large.choices().iter().map(|c| c.label).collect();
    let mut sizes = vec![0u32; k];
    labels.iter().for_each(|&l| sizes[l as usize] += 1);
    assert_eq!(sizes, large.sizes());
    for j in 0..k {
        let bounds = capacity.lower[j]..=capacity.upper[j];
        assert!(bounds.contains(&sizes[j]), "{sizes:?} {capacity:?}");
    }
    let of = |labels: &[u32]| -> f64 {
        labels.iter().zip(costs.chunks_exact(k)).map(|(&l, c)| f64::from(c[l as usize])).sum()
    };
    let mut transport = Transport::new(capacity.clone());
    transport.solve(&costs).unwrap();
    let best: Vec<u32> = transport.labels().collect();
    let scale: f64 = costs.chunks_exact(k).map(|c| f64::from(c[0]).abs()).sum();
    let proven = duality_gap(&costs, capacity, &labels, large.prices());
    assert!((of(&labels) - of(&best)).abs() <= 1e-9 * scale, "{} {}", of(&labels), of(&best));
    assert!(proven <= gap + 1e-9 * scale, "{proven} {gap} {scale}");
    assert!(gap <= 1e-9 * scale, "{gap} {scale}");
}

#[test]
fn labels_are_those_of_the_optimum_in_memory() {
    for (n, d, k, seed) in [(5_000, 8, 20, 1), (20_000, 3, 7, 2), (12_000, 16, 60, 3)] {
        let (x, c) = data(n, d, k, seed);
        let centres = Centres::new(c.view());
        for capacity in [
            Capacity::even(n, k),
            Capacity::even(n + 3, k),
            Capacity::uniform(k, 0, (n / k + n / (2 * k)) as u32),
            Capacity::uniform(k, (n / k / 2) as u32, n as u32),
            Capacity::uniform(k, (n / k - 9) as u32, (n / k + 30) as u32),
        ] {
            if capacity.check(n).is_err() {
                continue;
            }
            let (large, finish) = assign(&x.view(), &centres, &capacity, 1500 * k);
            certify(x.view(), &centres, &capacity, &large, finish.gap);
        }
    }
}

#[test]
fn small_problems_are_solved_as_by_brute_force() {
    for seed in 0..300 {
        let mut rng = Seed(seed).rng();
        let (n, k) = (rng.random_range(2..8usize), rng.random_range(1..4usize));
        let k = k.min(n);
        let x = Matrix::from_fn(n, 2, |_, _| rng.random_range(0..5) as f32);
        let c = Matrix::from_fn(k, 2, |_, _| rng.random_range(0..5) as f32);
        let centres = Centres::new(c.view());
        let capacity = Capacity::even(n, k);
        let (large, _) = assign(&x.view(), &centres, &capacity, 100);
        let costs = costs(x.view(), &centres);
        let cost = |label: &dyn Fn(usize) -> usize| -> f64 {
            (0..n).map(|i| f64::from(costs[i * k + label(i)])).sum()
        };
        let best = (0..k.pow(n as u32))
            .filter(|&code| {
                let mut sizes = vec![0u32; k];
                (0..n).for_each(|i| sizes[code / k.pow(i as u32) % k] += 1);
                sizes.iter().all(|s| (n / k..=n.div_ceil(k)).contains(&(*s as usize)))
            })
            .map(|code| cost(&|i| code / k.pow(i as u32) % k))
            .fold(f64::INFINITY, f64::min);
        let ours = cost(&|i| large.choices()[i].label as usize);
        assert!((ours - best).abs() < 1e-4, "seed {seed}: {ours} {best}");
    }
}

#[test]
fn equal_rows_are_dealt_out_in_little_room() {
    // All rows are equal, or most: no price can part them, and few of them are in memory at once.
    for distinct in [0, 900] {
        let mut rng = Seed(4).rng();
        let x = Matrix::from_fn(9_000, 2, |i, _| if i < distinct { rng.random() } else { 0.5f32 });
        let c = Matrix::from_rows(&[[0.1f32, 0.2], [0.5, 0.5], [0.9, 0.7], [0.5, 0.5]]);
        let centres = Centres::new(c.view());
        let capacity = Capacity::even(9_000, 4);
        let (large, finish) = assign(&x.view(), &centres, &capacity, 4 * 1100);
        certify(x.view(), &centres, &capacity, &large, finish.gap);
    }
}

#[test]
fn parts_and_threads_change_no_bit() {
    let (x, c) = data(9_000, 5, 12, 6);
    let centres = Centres::new(c.view());
    let capacity = Capacity::even(9_000, 12);
    let run = |rows: &dyn Rows, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (large, finish) = pool.install(|| assign(rows, &centres, &capacity, 20_000));
        let margins: Vec<u32> = large.choices().iter().map(|c| c.margin.to_bits()).collect();
        let labels: Vec<u32> = large.choices().iter().map(|c| c.label).collect();
        (labels, margins, large.state().clone(), finish)
    };
    let whole = run(&x.view(), 1);
    assert_eq!(run(&x.view(), 3), whole);
    for len in [1, 77, 4_000] {
        assert_eq!(run(&InParts::new(x.view(), len), 2), whole, "parts of {len}");
    }
}

#[test]
fn prices_of_before_make_few_rows_doubtful() {
    let (x, c) = data(20_000, 6, 15, 7);
    let capacity = Capacity::even(20_000, 15);
    let (mut large, _) = assign(&x.view(), &Centres::new(c.view()), &capacity, 100_000);
    // The centres move a little; the prices stay.
    let moved = Matrix::from_fn(15, 6, |j, t| c.row(j)[t] + 0.002 * (j % 3) as f32);
    let centres = Centres::new(moved.view());
    large.pass(&x.view(), &centres, None, &mut |_, _, _| ()).unwrap();
    let finish = large.finish(&x.view(), &centres, 20_000 * 15, 0.0).unwrap();
    certify(x.view(), &centres, &capacity, &large, finish.gap);
    assert!(finish.doubt < 8_000, "{}", finish.doubt);
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(
        Large::new(5, Capacity::uniform(2, 0, 2)),
        Err(TransportError::Infeasible { rows: 5, .. })
    ));
    let x = Matrix::from_rows(&[[1.0f32], [f32::NAN]]);
    let centres = Centres::new(Matrix::from_rows(&[[0.0f32], [1.0]]).view());
    let mut large = Large::new(2, Capacity::even(2, 2)).unwrap();
    let error = large.pass(&x.view(), &centres, None, &mut |_, _, _| ()).unwrap_err();
    assert_eq!(error, LargeError::Transport(TransportError::NotFinite));
}
