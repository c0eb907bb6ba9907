//! Model files, as they are and with checksums made right again.

use crate::{Target, seeds};
use bridged::{BridgedModel, Direction, Matrix};
use std::path::Path;

const WORDS: &[&str] = &[
    "\\\"version\\\":",
    "data_offsets",
    "shape",
    "dtype",
    "\"F32\"",
    "\"F64\"",
    "\"U32\"",
    "\"U64\"",
    "\"U8\"",
    "null",
    "[]",
    "1e999",
    "-1",
    "posterior",
    "majority",
    "hungarian",
    "kmeans",
    "agglomerative",
    "gmm",
    "spectral",
    "dbscan",
    "balanced",
    "standardize",
    "l2",
    "pca",
];

pub const MODEL: Target =
    Target { name: "model", run: read, seeds: seeds::models, words: WORDS, rounds: 1000 };

pub const MODEL_RESEALED: Target = Target {
    name: "model_resealed",
    run: |bytes| bridged::fuzzing::reseal(bytes).is_some_and(|sealed| read(&sealed)),
    seeds: seeds::models,
    words: WORDS,
    rounds: 1500,
};

/// Reads a model and uses it.
fn read(bytes: &[u8]) -> bool {
    let Ok(model) = BridgedModel::from_bytes(bytes, Path::new("m.bridged")) else { return false };
    let _ = model.describe();
    for direction in [Direction::Forward, Direction::Reverse] {
        let table = model.link_table(direction);
        assert_eq!(table.rows().count(), model.from(direction).k());
        // A header may claim any width; a row of it is not made.
        let cols = model.from(direction).cols();
        if cols > 4096 {
            continue;
        }
        let rows = Matrix::from_fn(2, cols, |i, j| i as f32 * 3.0 - (j % 7) as f32);
        if let Ok(prediction) = model.predict(direction, rows.view()) {
            assert_eq!(prediction.len(), 2);
            prediction.explanations().for_each(|explanation| {
                assert!(!explanation.vote_share.is_nan());
            });
            let _ = model.nearest(direction, prediction.values.view(), 2);
        }
        let _ = model.ball(direction, 0.9);
    }
    let written = model.to_bytes().expect("what was read can be written");
    let again = BridgedModel::from_bytes(&written, Path::new("again.bridged"));
    assert!(again.is_ok_and(|again| again == model), "what was written is not what was read");
    true
}
