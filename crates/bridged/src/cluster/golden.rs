//! What scikit-learn gives for the same rows and starts; see `tests/golden/clusterings.py`.

use super::clustering::relabel_by_first_appearance;
use super::testing::same_partition;
use super::*;
use bridged_math::{Matrix, Silent};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../tests/golden/clusterings.json")).unwrap()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f32>> = serde_json::from_value(value.clone()).unwrap();
    Matrix::from_rows(&rows)
}

/// Labels as scikit-learn wrote them; −1 is noise.
fn labels(value: &Value) -> Vec<u32> {
    let labels: Vec<i64> = serde_json::from_value(value.clone()).unwrap();
    labels.into_iter().map(|l| u32::try_from(l).unwrap_or(NOISE)).collect()
}

fn fit(clusterer: &dyn Clusterer, x: &Matrix) -> Clustering {
    clusterer.fit(x.view(), Seed(0), &Silent).unwrap()
}

#[test]
fn gaussian_mixtures_agree_from_the_same_start() {
    let golden = golden();
    let (x, start) = (matrix(&golden["blobs"]), matrix(&golden["start"]));
    let shapes = [
        ("spherical", Covariance::Spherical),
        ("diag", Covariance::Diagonal),
        ("full", Covariance::Full),
    ];
    for (name, covariance) in shapes {
        let expected = &golden["gmm"][name];
        let init = Init::Given(start.clone());
        let c = fit(&GaussianMixture { k: 4, covariance, init, ..Default::default() }, &x);
        let mut expected_labels = labels(&expected["labels"]);
        let order = relabel_by_first_appearance(&mut expected_labels, 4);
        assert_eq!(c.labels, expected_labels, "{name}");
        assert_eq!(expected["iterations"], c.iterations, "{name}");
        assert_eq!(expected["converged"], c.converged);
        let AssignRule::Mixture(mixture) = &c.rule else { panic!("a mixture") };
        let means = matrix(&expected["means"]);
        for (j, &old) in order.iter().enumerate() {
            for (a, b) in mixture.means.row(j).iter().zip(means.row(old)) {
                assert!((a - b).abs() < 1e-4, "{name}: {a} {b}");
            }
            let weight = expected["weights"][old].as_f64().unwrap();
            assert!((mixture.log_weights[j].exp() - weight).abs() < 1e-6, "{name}");
        }
        let log_likelihood = expected["log_likelihood"].as_f64().unwrap();
        assert!((mixture.log_likelihood(x.view()) - log_likelihood).abs() < 1e-5, "{name}");
    }
}

#[test]
fn spectral_partitions_agree() {
    let golden = golden();
    for (name, k) in [("moons", 2), ("blobs", 4)] {
        let c = fit(&Spectral { k, ..Default::default() }, &matrix(&golden[name]));
        assert!(same_partition(&c.labels, &labels(&golden["spectral"][name])), "{name}");
    }
}

#[test]
fn agglomerative_cuts_agree_for_every_linkage() {
    let golden = golden();
    let cuts = golden["agglomerative"].as_object().unwrap();
    assert_eq!(cuts.len(), 27);
    for (name, expected) in cuts {
        let parts: Vec<&str> = name.split('/').collect();
        let (metric, data) = match parts[1] {
            "cosine" => (Metric::Cosine, "blobs"),
            data => (Metric::Euclidean, data),
        };
        let linkage = serde_json::from_value(Value::from(parts[0])).unwrap();
        let k = parts[2].parse().unwrap();
        let c = fit(&Agglomerative { k, linkage, metric }, &matrix(&golden[data]));
        assert!(same_partition(&c.labels, &labels(expected)), "{name}");
    }
}

#[test]
fn dbscan_labels_agree_row_by_row() {
    let golden = golden();
    let x = matrix(&golden["noisy"]);
    for (name, expected) in golden["dbscan"].as_object().unwrap() {
        let (eps, min_samples) = name.split_once('/').unwrap();
        let eps = Eps::Distance(eps.parse().unwrap());
        let min_samples = min_samples.parse().unwrap();
        let c = fit(&Dbscan { eps, min_samples, ..Default::default() }, &x);
        let mut expected = labels(expected);
        // scikit-learn counts clusters by their first core row, we by their first row.
        relabel_by_first_appearance(&mut expected, c.k());
        assert_eq!(c.labels, expected, "{name}");
    }
}
