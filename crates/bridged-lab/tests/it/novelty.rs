//! Novelty on real data: rows that were not in the fit are called unfamiliar as often as the level says.

use bridged::{Ask, Direction, Preset, Problem, Seed, Silent, Status};
use bridged_lab::Dataset;
use bridged_math::Matrix;
use rand::seq::SliceRandom;
use std::path::{Path, PathBuf};

/// Data sets with the rows that are taken of them: enough, and soon done.
const SETS: [&str; 7] =
    ["fashion", "flickr8k", "butterflies", "wikipedia", "digits", "emoji", "segments"];
/// At this level …
const LEVEL: f64 = 0.01;
/// … the share of false alarms may be off by this, in each of the fourteen cases …
const TOLERANCE: f64 = 0.015;
/// … and by this in the mean of them.
const MEAN_TOLERANCE: f64 = 0.005;

fn folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = root.ancestors().skip(1).map(|a| a.join("shared/data")).find(|d| d.is_dir());
    let found = std::env::var_os("BRIDGED_DATA").map(PathBuf::from).or(beside);
    if found.is_none() {
        eprintln!("skipped: no ../shared/data and no $BRIDGED_DATA");
    }
    found
}

/// A model of four fifths of the rows, at most 1,600, and the rows that were held out.
fn held_out(data: &Dataset, seed: u64) -> (bridged::BridgedModel, [Matrix; 2]) {
    let mut rows: Vec<usize> = (0..data.x.rows()).collect();
    rows.shuffle(&mut Seed(seed).child("held out").rng());
    let (new, pool) = rows.split_at(rows.len() / 5);
    let pool = &pool[..pool.len().min(1600)];
    let pick = |m: &Matrix, rows: &[usize]| m.view().select(rows.iter().copied());
    let (x, y) = (pick(&data.x, pool), pick(&data.y, pool));
    let pairs: Vec<(u32, u32)> = (0..40).map(|i| (i, i)).collect();
    let method = Preset::Default.with_k(data.group_names.len());
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let model = method.fit(problem, Seed(seed), &Silent).unwrap();
    (model, [pick(&data.x, new), pick(&data.y, new)])
}

fn unfamiliar(model: &bridged::BridgedModel, direction: Direction, rows: &Matrix, at: f64) -> f64 {
    let ask = Ask { unfamiliar: at, ..Ask::default() };
    let found = model.predict_asked(direction, rows.view(), ask).unwrap();
    let called = found.explanations().filter(|why| why.status == Status::Unfamiliar).count();
    called as f64 / rows.rows() as f64
}

#[test]
fn rows_of_the_same_kind_are_called_unfamiliar_as_often_as_the_level_says() {
    let Some(folder) = folder() else { return };
    let mut shares = Vec::new();
    eprintln!(
        "{:12} {:>4} {:>5} {:>7} {:>7} {:>7} {:>7}",
        "", "", "new", "0.1", "0.01", "0.001", "far"
    );
    for name in SETS {
        let data = Dataset::read(&folder.join(format!("{name}.parquet"))).unwrap();
        let (model, new) = held_out(&data, 1);
        for (direction, rows) in Direction::BOTH.into_iter().zip(&new) {
            let [tenth, share, default] =
                [0.1, LEVEL, 0.001].map(|at| unfamiliar(&model, direction, rows, at));
            let far =
                Matrix::from_fn(rows.rows(), rows.cols(), |i, c| -50.0 * rows.row(i)[c] + 1000.0);
            let far = unfamiliar(&model, direction, &far, 0.001);
            let side = direction.input();
            let n = rows.rows();
            eprintln!("{name:12} {side:>4} {n:>5} {tenth:7.3} {share:7.4} {default:7.4} {far:7.3}");
            assert!((share - LEVEL).abs() <= TOLERANCE, "{name} {side}: {share}");
            assert_eq!(far, 1.0, "{name} {side}: rows far from everything");
            shares.push(share);
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    eprintln!("{:12} {:>4} {:>5} {:>7} {mean:7.4}", "mean", "", "", "");
    assert!((mean - LEVEL).abs() <= MEAN_TOLERANCE, "{mean}");
}

#[test]
fn fourier_coefficients_with_shuffled_columns_are_unfamiliar() {
    let Some(folder) = folder() else { return };
    let data = Dataset::read(&folder.join("digits.parquet")).unwrap();
    let (model, new) = held_out(&data, 2);
    for (direction, rows) in Direction::BOTH.into_iter().zip(&new) {
        let mut order: Vec<usize> = (0..rows.cols()).collect();
        order.shuffle(&mut Seed(3).rng());
        let shuffled = Matrix::from_fn(rows.rows(), rows.cols(), |i, c| rows.row(i)[order[c]]);
        let zeros = Matrix::zeros(1, rows.cols());
        let of = |rows: &Matrix| unfamiliar(&model, direction, rows, 0.001);
        let (ours, shuffled, zeros) = (of(rows), of(&shuffled), of(&zeros));
        eprintln!("{direction:?}: as they are {ours:.3}, shuffled {shuffled:.3}, zeros {zeros:.0}");
        assert!(ours < 0.01, "{direction:?}: {ours}");
        // Karhunen–Loève coefficients (y) are centred, and spread within clusters nearly as much as
        // over all: shuffled, they lie as far from a centroid as before, and distance cannot tell.
        assert!(direction == Direction::Reverse || shuffled > 0.9, "{direction:?}: {shuffled}");
    }
}
