//! The model file: what is saved is loaded, and nothing that is loaded makes trouble.

use crate::support::*;
use bridged::bridge::BridgeSpec;
use bridged::files::FileError;
use bridged::scale::Scale;
use bridged::synth::{Mixture, Pairs};
use bridged::{
    Alpha, Ask, BridgedClustering, BridgedModel, Direction, Error, KeepRows, MODEL_VERSION, Names,
    Pool, Preset, Problem, Refine, RefineKind, TextColumn,
};
use bridged::{Matrix, Seed, Silent};
use rand::RngExt;
use rayon::prelude::*;
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
    let s = sample();
    let x = Names {
        ids: (0..66).map(|i| format!("row-{i}·é")).collect(),
        texts: vec![TextColumn {
            name: "caption".into(),
            values: (0..66).map(|i| "x".repeat(i % 4)).collect(),
        }],
        ..Names::default()
    };
    let y = Names { vector: vec!["a".into(), "b".into(), "c".into()], ..Names::default() };
    let (x, y) = (
        Pool { rows: s.x, names: x, ..Pool::default() },
        Pool { rows: s.y, names: y, ..Pool::default() },
    );
    method.fit_pools(x, y, &s.pairs, Seed(7), &Silent).unwrap()
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

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden")).join(name)
}

/// How many bytes come before the arrays.
fn header_length(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

/// Where the bytes of an array are.
fn place_of(bytes: &[u8], array: &str) -> std::ops::Range<usize> {
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let (start, end) = metadata.info(array).unwrap().data_offsets;
    header_length(bytes) + start..header_length(bytes) + end
}

/// The same file with a header that matches its checksum again: damage that a writer has done.
/// `None` if the damage is to where the checksum stands.
fn sealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let header = header_length(&bytes);
    let mark = br#"\"crc32\":\""#;
    let at = bytes[..header].windows(mark.len()).position(|w| w == mark)? + mark.len();
    bytes[at..at + 8].copy_from_slice(b"00000000");
    let sum = format!("{:08x}", crc32fast::hash(&bytes[..header]));
    bytes[at..at + 8].copy_from_slice(sum.as_bytes());
    Some(bytes)
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
    let (older, model) = (rich_model("gmm", Scale::None), rich_model("kmeans", Scale::None));
    older.save(&path).unwrap();
    model.save(&path).unwrap();
    assert!(BridgedModel::load(&path).unwrap() == model);
    let files: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["m.bridged"]);
}

#[test]
fn a_file_that_is_no_model_is_only_saved_over_when_asked() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("thesis.bridged");
    let model = rich_model("kmeans", Scale::None);
    fs::write(&path, "a file of the user").unwrap();
    let error = model.save(&path).unwrap_err();
    assert!(matches!(error, Error::File(FileError::OtherKind { .. })), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file of the user");
    model.save_over(&path).unwrap();
    assert!(BridgedModel::load(&path).unwrap() == model);
}

#[cfg(unix)]
#[test]
fn a_model_follows_a_link_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let (real, link) = (folder.path().join("real.bridged"), folder.path().join("m.bridged"));
    let model = rich_model("kmeans", Scale::None);
    rich_model("gmm", Scale::None).save(&real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    model.save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(BridgedModel::load(&real).unwrap() == model);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_can_be_written_to_a_device_which_stays_one() {
    use std::os::unix::fs::FileTypeExt;
    let model = rich_model("kmeans", Scale::None);
    model.save(Path::new("/dev/null")).unwrap();
    let error = model.save(Path::new("/dev/full")).unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
    for device in ["/dev/null", "/dev/full"] {
        assert!(fs::metadata(device).unwrap().file_type().is_char_device());
    }
}

#[test]
fn a_model_of_a_thousand_clusters_has_a_small_header() {
    let rows = |n: usize| Matrix::from_fn(n, 2, |i, j| (i * 7 + j * (i % 13)) as f32);
    let (x, y) = (rows(1100), rows(1200));
    let pairs: Vec<(u32, u32)> = (0..12).map(|i| (90 * i, 80 * i)).collect();
    let mut method = both(spec("kmeans", 1000));
    let once = [("restarts", serde_json::json!(1)), ("max_iter", serde_json::json!(2))];
    for side in [&mut method.x, &mut method.y] {
        side.cluster = with_fields(&side.cluster, &once).unwrap();
    }
    method.bridge = BridgeSpec::named("posterior").unwrap();
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let model = method.fit(problem, Seed(0), &Silent).unwrap();
    let bytes = saved(&model);
    let targets: usize =
        model.regressor(Direction::Forward).bridge().links.iter().map(|l| l.targets.len()).sum();
    assert!(targets > 100_000, "{targets} links are there, to be kept");
    assert!(header_length(&bytes) < 20_000, "{}", header_length(&bytes));
    assert!(load(&bytes).unwrap() == model);
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
    assert!(matches!(error, Error::File(FileError::NoParent { .. })), "{error}");
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
            assert!(neighbors.iter().all(|n| (n.row as usize) < to.labels().len()));
        }
        let _ = model.predict_pool(direction).map(|p| assert_eq!(p.len(), from.labels().len()));
    }
    model.warnings();
}

/// A copy with one bit turned over.
fn flipped(bytes: &[u8], at: usize, bit: u32) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= 1 << bit;
    damaged
}

#[test]
fn every_flipped_bit_is_an_error() {
    let mut method = BridgedClustering::with_k(2);
    method.refine = Refine { kind: RefineKind::Supervised, ..Refine::default() };
    let mixture = Mixture { classes: 2, dim_x: 2, dim_y: 2, ..Mixture::default() };
    let small = fit_sample(&method, &mixture.draw(sizes(12, 10, 0, Pairs::Stratified(2)), Seed(3)));
    let bytes = saved(&small);
    assert!(load(&bytes).unwrap() == small);
    let all: Vec<(usize, u32)> =
        (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))).collect();
    let taken: Vec<String> =
        all.into_par_iter().filter_map(|(at, bit)| not_refused(&bytes, at, bit)).collect();
    assert_eq!(taken, [""; 0]);
}

/// What is wrong with the answer to a file with one bit turned over; `None` if it is refused.
fn not_refused(bytes: &[u8], at: usize, bit: u32) -> Option<String> {
    let wrong = match load(&flipped(bytes, at, bit)) {
        Err(Error::BadModel { .. } | Error::NewerModel { .. }) => return None,
        Err(other) => other.to_string(),
        Ok(_) => "it was taken for a model".to_string(),
    };
    let near = &bytes[at.saturating_sub(12)..(at + 4).min(bytes.len())];
    Some(format!("byte {at}, bit {bit}, in {:?}: {wrong}", String::from_utf8_lossy(near)))
}

#[test]
fn a_flipped_bit_of_any_kind_of_model_is_an_error() {
    for (cluster, scale) in [
        ("kmeans", Scale::None),
        ("gmm", Scale::Standardize),
        ("dbscan", Scale::Pca { components: 2 }),
    ] {
        let bytes = saved(&rich_model(cluster, scale));
        let mut rng = rng(5);
        for flip in 0..2000 {
            let at = match flip {
                0..16 => flip, // the length of the header
                _ => rng.random_range(0..bytes.len()),
            };
            assert_eq!(not_refused(&bytes, at, rng.random_range(0..8u32)), None, "{cluster}");
        }
    }
}

#[test]
fn without_checksums_a_flipped_bit_is_an_error_or_a_model_that_still_predicts() {
    for name in ["model_version_1.bridged", "model_version_2.bridged"] {
        let bytes = fs::read(golden(name)).unwrap();
        let mut rng = rng(5);
        let (mut refused, mut used) = (0, 0);
        for flip in 0..2000 {
            let at = match flip {
                0..16 => flip, // the length of the header
                _ => rng.random_range(0..bytes.len()),
            };
            let bit = rng.random_range(0..8u32);
            match load(&flipped(&bytes, at, bit)) {
                Err(Error::BadModel { .. } | Error::NewerModel { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
                Ok(model) => {
                    use_it(&model, &format!("{name}, byte {at}, bit {bit}"));
                    used += 1;
                }
            }
        }
        assert!(refused > 50, "{refused} refused, {used} used");
    }
}

#[test]
fn a_number_in_the_header_that_is_something_else_is_an_error_even_where_the_checksum_agrees() {
    let bytes = saved(&rich_model("kmeans", Scale::None));
    // Every digit of the header, replaced by a 9 or a minus: lengths stay, meanings do not.
    let digits = (8..header_length(&bytes)).filter(|&at| bytes[at].is_ascii_digit());
    for at in digits.collect::<Vec<_>>() {
        for other in [b'9', b'-'] {
            if other == bytes[at] {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[at] = other;
            let error = load(&damaged).map(drop).expect_err(&format!("byte {at} of the header"));
            assert!(matches!(error, Error::BadModel { .. } | Error::NewerModel { .. }), "{error}");
            // What a wrong writer has sealed is an error or harmless.
            if let Some(Ok(model)) = sealed(damaged).map(|file| load(&file)) {
                use_it(&model, &format!("byte {at} of the header"));
            }
        }
    }
}

/// A file that release 0.1 wrote before the posterior bridge, and what it predicted with it.
#[test]
fn a_model_of_version_1_predicts_as_it_did() {
    let model = BridgedModel::load(&golden("model_version_1.bridged")).unwrap();
    let rows = Matrix::from_rows(&[[0.644, 0.725], [8.101, -0.072], [0.482, 7.796]]);
    let found = model.predict(Direction::Forward, rows.view()).unwrap();
    let expected = [
        [19.432547, 4.9798827, -0.18181576],
        [1.1037875, 4.849922, 8.83692],
        [4.7162194, 30.083334, 2.0611737],
    ];
    assert_rows(&found.values, &expected);
    assert!(model.regressor(Direction::Forward).bridge().reliability.is_none());
    assert_eq!(load(&saved(&model)).unwrap(), model, "written again as version {MODEL_VERSION}");
}

/// Rows that are equal to 1e-5.
#[track_caller]
fn assert_rows<const N: usize>(found: &Matrix, expected: &[[f32; N]]) {
    assert_eq!((found.rows(), found.cols()), (expected.len(), N));
    for (i, expected) in expected.iter().enumerate() {
        let off = found.row(i).iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f32::max) < 1e-5, "row {i}: {:?}", found.row(i));
    }
}

/// The rows that release 0.1 was asked for with the models of version 2 below. These were made of 36
/// rows of x, 30 rows of y and 9 pairs, one of them wrong, with `bridged fit -k 3` and whatever else
/// the test names.
fn rows_for_version_2() -> (Matrix, Matrix) {
    let x = Matrix::from_rows(&[[0.4, -0.3], [5.7, 0.6], [0.2, 5.1], [2.9, 2.7]]);
    let y = Matrix::from_rows(&[[9.1, 0.4, 1.2], [0.3, 19.2, -0.5], [1.4, 0.2, 28.5]]);
    (x, y)
}

/// Everything that a front end shows of a model of version 2 is the same after it was written again.
#[track_caller]
fn assert_survives_version_3(model: &BridgedModel) {
    let bytes = saved(model);
    let version = format!(r#"\"version\":{MODEL_VERSION},"#);
    assert!(bytes.windows(version.len()).any(|w| w == version.as_bytes()));
    let again = load(&bytes).unwrap();
    assert!(again == *model, "written again as version {MODEL_VERSION}");
    let (x, y) = rows_for_version_2();
    for (direction, rows) in [(Direction::Forward, &x), (Direction::Reverse, &y)] {
        let ask = Ask { level: Some(0.8), ..Ask::default() };
        let of = |m: &BridgedModel| m.predict_asked(direction, rows.view(), ask).unwrap();
        assert_eq!(of(&again), of(model));
        assert_eq!(again.verdict(direction), model.verdict(direction));
    }
    assert_eq!(saved(&again), bytes);
}

#[test]
fn a_model_of_version_6_with_three_regressions_predicts_as_it_did() {
    let model = BridgedModel::load(&golden("model_version_6.bridged")).unwrap();
    let rows = Matrix::from_rows(&[[0.1, 0.2, 0.02], [3.1, 0.9, 2.8], [-2.8, 2.1, -5.9]]);
    let predicted = model.predict(Direction::Forward, rows.view()).unwrap();
    let expected = [[0.10433859, 0.17490289], [0.10269373, 3.3842478], [-0.14607209, -1.7890208]];
    assert_rows(&predicted.values, &expected);
    let regressions = |member: &str| member.starts_with("regression");
    let members = model.members(Direction::Forward);
    assert_eq!(members.iter().filter(|m| regressions(&m.member)).count(), 3);
    let found =
        model.retrieve(Direction::Forward, rows.view(), predicted.values.view(), 2).unwrap();
    assert!(found.iter().all(|rows| rows.len() == 2));
}

#[test]
fn a_model_of_version_2_predicts_as_it_did() {
    let model = BridgedModel::load(&golden("model_version_2.bridged")).unwrap();
    let (x, y) = rows_for_version_2();
    let ask = Ask { level: Some(0.8), ..Ask::default() };
    let forward = model.predict_asked(Direction::Forward, x.view(), ask).unwrap();
    let expected = [
        [1.442913, 1.9517137, 28.17223],
        [9.622837, 0.18376878, 2.053009],
        [0.33976626, 18.12948, 1.6833897],
        [3.786542, 4.777877, 14.41387],
    ];
    assert_rows(&forward.values, &expected);
    let whys = [
        (2, 1, 0.9309337547736024, 110.12836412207672, 6.039940283969527),
        (0, 0, 0.9306174878735854, 81.72723030920189, 5.203151139742583),
        (1, 2, 0.9121125256704018, 125.22403373656135, 6.440608418870739),
        (2, 1, 0.46743867051662225, 430.12304217893876, 11.936566040666111),
    ];
    for (why, (cluster, linked, probability, error, radius)) in forward.explanations().zip(whys) {
        assert_eq!((why.cluster, why.linked), (Some(cluster), Some(linked)));
        assert_close(why.probability.unwrap(), probability, 1e-9, "probability");
        // It was found with differences of means that were rounded to 32 bits.
        assert_close(why.expected_error, error, 1e-7, "expected error");
        assert_close(why.radius.unwrap(), radius, 1e-7, "radius");
    }
    let reverse = model.predict(Direction::Reverse, y.view()).unwrap();
    let expected = [[5.5995746, 0.54972345], [0.40061894, 5.400591], [0.51182115, 0.7506149]];
    assert_rows(&reverse.values, &expected);
    let nearest = model.nearest(Direction::Forward, forward.values.view(), 1).unwrap();
    let ids = nearest.iter().map(|n| model.y().names().id(n[0].row as usize));
    assert_eq!(ids.collect::<Vec<_>>(), ["y25", "y27", "y23", "y24"]);
    // It was written before novelty was measured: nothing is known, and nothing is claimed.
    let far = Matrix::from_rows(&[[1e6f32, -1e6]]);
    let far = model.predict(Direction::Forward, far.view()).unwrap();
    assert_eq!(far.explain(0).novelty, None);
    assert!(matches!(far.explain(0).status, bridged::Status::Link(_)));
    assert_survives_version_3(&model);
}

/// `--bridge majority --refine supervised --alpha 0.6`
#[test]
fn a_model_of_version_2_with_maps_predicts_as_it_did() {
    let model = BridgedModel::load(&golden("model_version_2_majority.bridged")).unwrap();
    let (x, y) = rows_for_version_2();
    let ask = Ask { level: Some(0.8), ..Ask::default() };
    let forward = model.predict_asked(Direction::Forward, x.view(), ask).unwrap();
    let expected = [
        [0.90679115, 1.2567209, 30.375786],
        [10.5556135, -0.5689758, 0.8535116],
        [0.14770624, 20.118982, -1.3343958],
        [0.13614655, 1.5842645, 29.722101],
    ];
    assert_rows(&forward.values, &expected);
    for (why, support) in forward.explanations().zip([3, 3, 2, 3]) {
        assert_eq!((why.probability, why.support), (None, support));
        assert_close(why.expected_error, 75.39926912860851, 1e-9, "expected error");
        assert_close(why.radius.unwrap(), 36.57713380690794, 1e-9, "radius");
    }
    let reverse = model.predict(Direction::Reverse, y.view()).unwrap();
    let expected = [[6.0970564, 0.52222216], [0.029944614, 5.7808843], [0.21009138, 0.5818114]];
    assert_rows(&reverse.values, &expected);
    assert_survives_version_3(&model);
}

#[test]
fn rows_stay_in_the_file_until_they_are_asked_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.bridged");
    let model = rich_model("kmeans", Scale::Standardize);
    model.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    // One flipped bit in the rows of x: nobody sees it who does not read them.
    let at = place_of(&bytes, "x.rows").start + 5;
    fs::write(&path, flipped(&bytes, at, 3)).unwrap();
    let damaged = BridgedModel::load(&path).unwrap();
    let s = sample();
    let predicted = |m: &BridgedModel| m.predict(Direction::Forward, s.test_x.view()).unwrap();
    assert_eq!(predicted(&damaged), predicted(&model));
    assert!(damaged.x().keeps_rows());
    assert_eq!(damaged.y().rows().unwrap(), &s.y, "those of y are whole");
    let nearest =
        |m: &BridgedModel| m.nearest(Direction::Forward, predicted(m).values.view(), 2).unwrap();
    assert_eq!(nearest(&damaged), nearest(&model));
    for error in [
        damaged.x().rows().map(drop).unwrap_err(),
        damaged.x().members(0, 3).map(drop).unwrap_err(),
        damaged.predict_pool(Direction::Forward).map(drop).unwrap_err(),
        damaged.nearest(Direction::Reverse, s.x.view(), 1).map(drop).unwrap_err(),
        damaged.save(&folder.path().join("copy.bridged")).unwrap_err(),
    ] {
        assert!(matches!(error, Error::BadModel { .. }), "{error}");
        assert!(error.to_string().contains("`x.rows` does not match its checksum"), "{error}");
    }
    // From memory everything is read at once.
    assert!(matches!(load(&flipped(&bytes, at, 3)), Err(Error::BadModel { .. })));
}

#[cfg(unix)]
#[test]
fn a_model_that_is_replaced_or_cut_off_on_the_disk_is_still_the_one_that_was_opened() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.bridged");
    let model = rich_model("kmeans", Scale::None);
    model.save(&path).unwrap();
    let opened = BridgedModel::load(&path).unwrap();
    fit_sample(&Preset::Voting.with_k(2), &sample()).save(&path).unwrap();
    assert_eq!(opened.x().rows().unwrap(), model.x().rows().unwrap());
    assert!(opened == model);
    // Cut off in place, what was not read yet is an error, and the rest still predicts.
    let opened = BridgedModel::load(&path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(header_length(&fs::read(&path).unwrap()) as u64).unwrap();
    assert!(matches!(opened.x().rows(), Err(Error::Io { .. })));
    assert!(opened.predict(Direction::Forward, sample().test_x.view()).is_ok());
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
        "m.bridged was written by a newer release (model format 9, this release reads up to 6); \
         update bridged"
    );
    assert!(matches!(
        error,
        Error::NewerModel { found: 9, known: bridged::NEWEST_MODEL_VERSION, .. }
    ));
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
    let bytes = saved(&rich_model("kmeans", Scale::Standardize));
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = metadata.metadata().clone();
    // As it is, the header does not match its checksum; a writer that seals it is told what is wrong.
    let refused = |name: &str, file: Vec<u8>| {
        let error = load(&file).unwrap_err().to_string();
        assert!(error.contains("its header does not match its checksum"), "{name}: {error}");
        let error = load(&sealed(file).unwrap()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
    };
    for name in tensors.names() {
        let rest = tensors.iter().filter(|(other, _)| *other != name);
        refused(name, serialize(rest, metadata.clone()).unwrap());

        let view = tensors.tensor(name).unwrap();
        let mut shape = view.shape().to_vec();
        shape.push(1);
        let odd = TensorView::new(view.dtype(), shape, view.data()).unwrap();
        let others: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|(n, view)| (n, if n == name { odd.clone() } else { view }))
            .collect();
        refused(name, serialize(others, metadata.clone()).unwrap());
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
    assert!(model.x().labels().contains(&bridged::cluster::NOISE));
    assert!(load(&saved(&model)).unwrap() == model);
}

#[test]
fn the_bytes_in_memory_are_those_of_the_file() {
    let model = rich_model("kmeans", Scale::None);
    assert_eq!(model.to_bytes().unwrap(), saved(&model));
}
