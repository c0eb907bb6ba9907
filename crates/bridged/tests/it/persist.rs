//! The model file: what is saved is loaded, and nothing that is loaded makes trouble.

use crate::support::*;
use bridged::bridge::BridgeSpec;
use bridged::math::{Matrix, Seed, Silent};
use bridged::refine::{Alpha, Refine, RefineKind};
use bridged::scale::Scale;
use bridged::synth::{Mixture, Pairs};
use bridged::{
    BridgedClustering, BridgedModel, Direction, Error, KeepRows, MODEL_VERSION, Problem, TextColumn,
};
use rand::RngExt;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn sample() -> bridged::synth::Sample {
    let mixture =
        Mixture { classes: 3, dim_x: 4, dim_y: 3, separation: 12.0, ..Mixture::default() };
    mixture.draw(sizes(66, 51, 20, Pairs::Stratified(3)), Seed(1))
}

/// A model with everything a file can hold: maps, rows, ids, texts.
fn rich_model(cluster: &str, scale: Scale) -> BridgedModel {
    let mut method = both(spec(cluster, 3));
    if finds_k(cluster) {
        // Scaled rows have no unit that a radius could be given in.
        (method.x.cluster, method.y.cluster) = (
            bridged::cluster::ClusterSpec::named(cluster).unwrap(),
            bridged::cluster::ClusterSpec::named(cluster).unwrap(),
        );
    }
    (method.x.scale, method.y.scale) = (scale, scale);
    method.refine =
        Refine { kind: RefineKind::SupervisedCentroid, alpha: Alpha::Fixed(0.3), ridge: 1.0 };
    let mut model = fit_sample(&method, &sample());
    model.x.names.ids = (0..66).map(|i| format!("row-{i}·é")).collect();
    model.x.names.texts = vec![TextColumn {
        name: "caption".into(),
        values: (0..66).map(|i| "x".repeat(i % 4)).collect(),
    }];
    model.y.names.vector = vec!["a".into(), "b".into(), "c".into()];
    model
}

fn saved(model: &BridgedModel) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.bridged");
    model.save(&path).unwrap();
    fs::read(&path).unwrap()
}

fn load(bytes: &[u8]) -> Result<BridgedModel, Error> {
    BridgedModel::from_bytes(bytes, Path::new("m.bridged"))
}

const SCALES: [Scale; 4] =
    [Scale::None, Scale::Standardize, Scale::L2, Scale::Pca { components: 2 }];

#[test]
fn every_clustering_and_scale_survives_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.bridged");
    let s = sample();
    for cluster in names() {
        for scale in SCALES {
            let model = rich_model(cluster, scale);
            model.save(&path).unwrap();
            let back = BridgedModel::load(&path).unwrap();
            assert!(back == model, "{cluster} {scale:?}");
            assert!(saved(&back) == fs::read(&path).unwrap(), "{cluster} {scale:?}: bytes");
            for (direction, rows) in
                [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)]
            {
                let (a, b) =
                    (model.predict(direction, rows.view()), back.predict(direction, rows.view()));
                assert!(a.unwrap() == b.unwrap(), "{cluster} {scale:?}");
            }
        }
    }
}

#[test]
fn every_bridge_and_seed_survives_the_file() {
    // Many seeds: a header whose numbers are only almost those that were written would be caught.
    for entry in BridgeSpec::ALL {
        for seed in 0..8 {
            let mixture = Mixture { classes: 4, separation: 2.0, ..Mixture::default() };
            let s = mixture.draw(sizes(80, 70, 0, Pairs::Iid(11)), Seed(seed));
            let mut method = BridgedClustering::with_k(4);
            method.bridge = BridgeSpec::named(entry.name).unwrap();
            method.keep_rows = KeepRows::No;
            let model = fit_sample(&method, &s);
            assert!(load(&saved(&model)).unwrap() == model, "{} {seed}", entry.name);
        }
    }
}

#[test]
fn saving_replaces_a_model_and_leaves_no_other_file_behind() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.bridged");
    fs::write(&path, "an older file").unwrap();
    let model = rich_model("kmeans", Scale::None);
    model.save(&path).unwrap();
    assert!(BridgedModel::load(&path).unwrap() == model);
    let files: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["m.bridged"]);
}

#[cfg(unix)]
#[test]
fn a_saved_model_can_be_read_by_whoever_may_read_a_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let (model, plain) = (folder.path().join("m.bridged"), folder.path().join("plain"));
    rich_model("kmeans", Scale::None).save(&model).unwrap();
    fs::write(&plain, "x").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&model), mode(&plain));
}

#[test]
fn a_missing_folder_or_a_directory_is_said_and_nothing_is_left_behind() {
    let folder = TempDir::new().unwrap();
    let model = rich_model("kmeans", Scale::None);
    let missing = folder.path().join("nowhere").join("m.bridged");
    let error = model.save(&missing).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");

    let directory = folder.path().join("d");
    fs::create_dir(&directory).unwrap();
    let error = model.save(&directory).unwrap_err().to_string();
    assert!(error.contains("is a directory"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the directory itself");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    assert!(matches!(BridgedModel::load(&directory), Err(Error::Io { .. })));
    assert!(matches!(BridgedModel::load(&missing), Err(Error::Io { .. })));
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_an_error() {
    let bytes = saved(&rich_model("kmeans", Scale::Standardize));
    let lengths = (0..64).chain((64..bytes.len()).step_by(97)).chain([bytes.len() - 1]);
    for length in lengths {
        let error = load(&bytes[..length]).expect_err(&format!("cut to {length} bytes"));
        assert!(matches!(error, Error::BadModel { .. }), "{length}: {error}");
        assert!(error.to_string().starts_with("m.bridged is not a usable bridged model"));
    }
    let mut longer = bytes.clone();
    longer.extend([0; 8]);
    assert!(load(&longer).is_err(), "bytes after the end");
}

/// Uses everything of a model that a damaged file could have damaged.
fn use_it(model: &BridgedModel, what: &str) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (from, to) = (model.from(direction), model.to(direction));
        let rows = noise(12, from.cols(), 3);
        let prediction = model.predict(direction, rows.view()).unwrap();
        assert_eq!((prediction.values.rows(), prediction.values.cols()), (12, to.cols()));
        for i in 0..12 {
            let finite = prediction.values.row(i).iter().all(|v| v.is_finite());
            assert_eq!(finite, prediction.answered(i), "{what}: {:?}", prediction.values.row(i));
        }
        for neighbors in model.nearest(direction, prediction.values.view(), 3).into_iter().flatten()
        {
            assert!(neighbors.iter().all(|n| (n.row as usize) < to.clustering.labels.len()));
        }
        let _ = model
            .predict_pool(direction)
            .map(|p| assert_eq!(p.len(), from.clustering.labels.len()));
    }
    model.warnings();
}

#[test]
fn a_flipped_bit_is_an_error_or_a_model_that_still_predicts() {
    for (cluster, scale) in [
        ("kmeans", Scale::None),
        ("gmm", Scale::Standardize),
        ("dbscan", Scale::Pca { components: 2 }),
    ] {
        let bytes = saved(&rich_model(cluster, scale));
        let mut rng = rng(5);
        let (mut refused, mut used) = (0, 0);
        for flip in 0..2000 {
            let at = match flip {
                0..16 => flip, // the length of the header
                _ => rng.random_range(0..bytes.len()),
            };
            let bit = rng.random_range(0..8u32);
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match load(&damaged) {
                Err(Error::BadModel { .. } | Error::NewerModel { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
                Ok(model) => {
                    use_it(&model, &format!("{cluster}, byte {at}, bit {bit}"));
                    used += 1;
                }
            }
        }
        assert!(refused > 50, "{refused} refused, {used} used");
    }
}

#[test]
fn a_number_in_the_header_that_is_something_else_is_an_error_or_harmless() {
    let bytes = saved(&rich_model("kmeans", Scale::None));
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    // Every digit of the header, replaced by a 9 or a minus: lengths stay, meanings do not.
    for (at, digit) in header.bytes().enumerate().filter(|(_, b)| b.is_ascii_digit()) {
        for other in [b'9', b'-'] {
            if other == digit {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[8 + at] = other;
            if let Ok(model) = load(&damaged) {
                use_it(&model, &format!("byte {at} of the header"));
            }
        }
    }
}

/// A file that release 0.1 wrote before the posterior bridge, and what it predicted with it.
#[test]
fn a_model_of_version_1_predicts_as_it_did() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/model_version_1.bridged");
    let model = BridgedModel::load(Path::new(golden)).unwrap();
    let rows = Matrix::from_rows(&[[0.644, 0.725], [8.101, -0.072], [0.482, 7.796]]);
    let found = model.predict(Direction::Forward, rows.view()).unwrap();
    let expected = [
        [19.432547, 4.9798827, -0.18181576],
        [1.1037875, 4.849922, 8.83692],
        [4.7162194, 30.083334, 2.0611737],
    ];
    for (i, expected) in expected.iter().enumerate() {
        let off =
            found.values.row(i).iter().zip(expected).map(|(a, b): (&f32, &f32)| (a - b).abs());
        assert!(off.fold(0.0, f32::max) < 1e-5, "{:?}", found.values.row(i));
    }
    assert!(model.route(Direction::Forward).bridge.reliability.is_none());
    assert_eq!(load(&saved(&model)).unwrap(), model, "written again as version {MODEL_VERSION}");
}

#[test]
fn a_model_of_a_newer_version_says_so() {
    let bytes = saved(&rich_model("kmeans", Scale::None));
    let mark = format!(r#"\"version\":{MODEL_VERSION}"#);
    let at = bytes.windows(mark.len()).position(|w| w == mark.as_bytes()).unwrap();
    let mut newer = bytes.clone();
    newer[at + mark.len() - 1] = b'9';
    let error = load(&newer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.bridged was written by a newer release (model format 9, this release reads up to 2); \
         update bridged"
    );
    assert!(matches!(error, Error::NewerModel { found: 9, known: MODEL_VERSION, .. }));
}

#[test]
fn what_never_was_a_model_is_an_error() {
    assert!(matches!(load(&[]), Err(Error::BadModel { .. })));
    let mut rng = rng(6);
    for length in (1..200).chain([1000, 10_000]) {
        let bytes: Vec<u8> = (0..length).map(|_| rng.random()).collect();
        assert!(matches!(load(&bytes), Err(Error::BadModel { .. })));
    }
    for text in ["", "x,y\n1,2\n", "PAR1", "{}", "{\"__metadata__\":{}}"] {
        assert!(matches!(load(text.as_bytes()), Err(Error::BadModel { .. })));
    }
}

#[test]
fn a_safetensors_file_of_something_else_is_said_to_be_one() {
    use safetensors::{Dtype, serialize, tensor::TensorView};
    let data = [0u8; 16];
    let view = TensorView::new(Dtype::F32, vec![2, 2], &data).unwrap();
    let plain = serialize([("weight", &view)], None).unwrap();
    let error = load(&plain).unwrap_err().to_string();
    assert!(error.contains("a safetensors file, but one without a bridged header"), "{error}");
    for header in ["", "{}", "[]", r#"{"version":1}"#, r#"{"version":"1"}"#] {
        let metadata = HashMap::from([("bridged".to_string(), header.to_string())]);
        let bytes = serialize([("weight", &view)], Some(metadata)).unwrap();
        assert!(matches!(load(&bytes), Err(Error::BadModel { .. })), "{header}");
    }
}

#[test]
fn a_tensor_that_is_missing_or_misshapen_is_named() {
    use safetensors::{SafeTensors, serialize, tensor::TensorView};
    let model = rich_model("kmeans", Scale::Standardize);
    let bytes = saved(&model);
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = metadata.metadata().clone();
    for name in tensors.names() {
        let rest = tensors.iter().filter(|(other, _)| *other != name);
        let without = serialize(rest, metadata.clone()).unwrap();
        let error = load(&without).unwrap_err().to_string();
        assert!(error.contains(name), "without {name}: {error}");

        let view = tensors.tensor(name).unwrap();
        let mut shape = view.shape().to_vec();
        shape.push(1);
        let odd = TensorView::new(view.dtype(), shape, view.data()).unwrap();
        let others: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|(n, view)| (n, if n == name { odd.clone() } else { view }))
            .collect();
        let error = load(&serialize(others, metadata.clone()).unwrap()).unwrap_err().to_string();
        assert!(error.contains(name), "{name} of another shape: {error}");
    }
}

#[test]
fn a_model_without_its_rows_predicts_but_has_none_to_show() {
    let s = sample();
    let method = BridgedClustering { keep_rows: KeepRows::No, ..BridgedClustering::with_k(3) };
    let model = fit_sample(&method, &s);
    let with_rows = fit_sample(&BridgedClustering::with_k(3), &s);
    assert!(saved(&model).len() < saved(&with_rows).len());
    let predict = |m: &BridgedModel| m.predict(Direction::Forward, s.test_x.view()).unwrap();
    assert_eq!(predict(&model), predict(&with_rows));
    let values = predict(&model).values;
    assert!(matches!(model.nearest(Direction::Forward, values.view(), 1), Err(Error::NoRowsKept)));
    assert!(matches!(model.predict_pool(Direction::Forward), Err(Error::NoRowsKept)));
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let mixture = Mixture { classes: 5, separation: 3.0, ..Mixture::default() };
    let s = mixture.draw(sizes(1400, 1100, 0, Pairs::Iid(40)), Seed(2));
    for cluster in names() {
        let mut method = both(spec(cluster, 5));
        method.refine = Refine { kind: RefineKind::Supervised, ..Refine::default() };
        let on = |threads: usize| on_threads(threads, || saved(&fit_sample(&method, &s)));
        assert!(on(1) == on(2), "{cluster}");
    }
}

#[test]
fn noise_and_abstention_survive_the_file() {
    let x = Matrix::from_fn(21, 1, |i, _| {
        if i == 20 { 1e4 } else { (i % 2) as f32 * 90.0 + (i / 2) as f32 * 0.1 }
    });
    let mut method = both(spec("dbscan", 2));
    method.uncovered = bridged::Uncovered::Abstain;
    let pairs = [(0, 1), (1, 0), (20, 20)];
    let model = method.fit(Problem::new(x.view(), x.view(), &pairs), Seed(0), &Silent).unwrap();
    assert!(model.x.clustering.labels.contains(&bridged::cluster::NOISE));
    assert!(load(&saved(&model)).unwrap() == model);
}

#[test]
fn the_bytes_in_memory_are_those_of_the_file() {
    let model = rich_model("kmeans", Scale::None);
    assert_eq!(model.to_bytes().unwrap(), saved(&model));
}
