//! Parameters by flags, by TOML and by the core: the same model from each, and a sentence for what
//! cannot be.

use crate::support::Folder;
use bridged::settings::Preset;
use bridged::{BridgedClustering, BridgedModel, Pool};
use bridged_io::Select;
use bridged_lab::{Contender, Experiment};
use bridged_math::{Seed, Silent};

const FIT: &str = "fit --x pictures.parquet --y names.parquet --pairs pairs.csv -o again.bridged";

/// The pools and pairs of the demo, as the command reads them.
fn problem(folder: &Folder) -> (Pool, Pool, Vec<(u32, u32)>) {
    let made = BridgedModel::load(&folder.path("m.bridged")).expect("a model");
    let pool = |file: &str, names: &bridged::Names| {
        let pool = bridged_io::read(&folder.path(file)).expect("a table");
        let rows = pool.into_pool(Select::default()).expect("a pool").rows;
        Pool { rows, names: names.clone(), ..Pool::default() }
    };
    let x = pool("pictures.parquet", made.x().names());
    let y = pool("names.parquet", made.y().names());
    (x, y, made.pairs().to_vec())
}

fn fitted(folder: &Folder, settings: &BridgedClustering) -> Vec<u8> {
    let (x, y, pairs) = problem(folder);
    let model = settings.fit_pools(x, y, &pairs, Seed(0), &Silent).expect("plain data");
    model.to_bytes().expect("a model")
}

#[test]
fn every_preset_gives_the_same_bytes_by_flags_by_toml_and_by_the_core() {
    let folder = Folder::with_demo();
    // What a study calls the presets.
    let names =
        [("default", "bridged-default"), ("paper", "bridged"), ("voting", "bridged-kmeans")];
    assert_eq!(names.map(|(preset, _)| preset), Preset::ALL.map(|e| e.name));
    for (preset, method) in names {
        folder.ok(&format!("{FIT} -k 7 --preset {preset} --no-history"));
        let by_flags = folder.read("again.bridged");
        let study = format!(
            "data = \"d.parquet\"\nmethods = [\"{method}\"]\n[parameters.{method}]\nkeep_rows = \"yes\""
        );
        folder.write("study.toml", study);
        let study = Experiment::parse_file(&folder.path("study.toml")).expect("a study");
        let Contender::Bridged(by_toml) = study.contender(method).expect("listed").with_k(7) else {
            panic!("{method} is a variant of Bridged Clustering");
        };
        let by_core = Preset::named(preset).expect("listed").with_k(7);
        assert!(fitted(&folder, &by_toml) == by_flags, "{preset}: TOML");
        assert!(fitted(&folder, &by_core) == by_flags, "{preset}: core");
    }
}

#[test]
fn the_papers_preset_shows_lloyds_iteration_on_both_sides() {
    let folder = Folder::with_demo();
    let report = folder.ok(&format!("{FIT} -k 7 --preset paper --json"));
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    for side in ["x", "y"] {
        let cluster = &report["parameters"][side]["cluster"];
        assert_eq!(cluster["descent"], "lloyd");
        assert_eq!((&cluster["method"], &cluster["restarts"]), (&"balanced".into(), &10.into()));
    }
    assert_eq!(report["parameters"]["bridge"]["rule"], "majority");
    assert_eq!(report["parameters"]["refine"]["kind"], "none");
}

#[test]
fn a_parameter_out_of_its_limits_is_a_sentence_and_no_file() {
    let folder = Folder::with_demo();
    let before = folder.files();
    for setting in [
        "bridge.prior=1e308",
        "bridge.prior=-5",
        "bridge.prior=NaN",
        "bridge.temperature=-1",
        "bridge.reliability=2",
        "x.cluster.tol=-1",
        "x.cluster.restarts=0",
        "cluster.restarts=4000000000",
        "y.cluster.max_iter=0",
        "refine.ridge=0",
        "x.cluster.k=0",
    ] {
        let outcome = folder.run(&format!("{FIT} -k 7 --set {setting}"));
        let key = setting.split('=').next().expect("NAME=VALUE");
        assert_eq!(outcome.code, 2, "{setting}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with("error: --set: "), "{setting}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(&format!("`{key}` must be ")), "{}", outcome.stderr);
        assert_eq!(folder.files(), before, "{setting}");
    }
    for flag in ["--restarts 0", "--max-iter 0", "-k 0", "--alpha 2", "--scale pca:0"] {
        let outcome =
            folder.run(&format!("{FIT} --clusters 7 {flag}").replace("--clusters 7 -k", "-k"));
        assert_eq!(outcome.code, 2, "{flag}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("must be"), "{flag}: {}", outcome.stderr);
        assert_eq!(folder.files(), before, "{flag}");
    }
}

#[test]
fn a_prior_that_weighs_many_pairs_still_gives_numbers() {
    let folder = Folder::with_demo();
    folder.ok(&format!("{FIT} -k 7 --set bridge.prior=1e4"));
    folder.ok("predict again.bridged unseen-pictures.parquet -o out.csv");
    let table = folder.text("out.csv");
    assert!(!table.contains("NaN") && !table.contains("nan"), "{table}");
    assert!(table.lines().skip(1).all(|line| line.contains(",linked,") || line.contains(",tied,")));
}
