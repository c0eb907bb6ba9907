//! Words of people: settings, sizes, texts.

use crate::{Target, seeds};
use bridged::settings::Keys;
use bridged::{BridgedClustering, Preset};
use bridged_encode::Encoder;
use bridged_encode::tfidf::Tfidf;
use bridged_math::memory;

pub const SETTINGS: Target = Target {
    name: "settings",
    run: settings,
    seeds: seeds::settings,
    words: &[
        "clusters",
        "x.",
        "y.",
        "cluster",
        "cluster.method",
        "kmeans",
        "gmm",
        "scale",
        "pca:2",
        "standardize",
        "bridge",
        "bridge.prior",
        "refine",
        "refine.alpha",
        "auto",
        "uncovered",
        "pair_rows",
        "keep_rows",
        "=",
        "{",
        "}",
        "[x]",
        "null",
    ],
    rounds: 3000,
};

pub const MEMORY_SIZE: Target = Target {
    name: "memory_size",
    run: |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let Ok(size) = memory::parse(text) else { return false };
        assert!(size > 0);
        assert!(memory::parse(&size.to_string()).is_ok());
        assert!(!memory::shown(size).is_empty());
        true
    },
    seeds: || {
        ["4GB", "512 MiB", "1.5g", "1000", "17999999TB"].map(|s| s.as_bytes().to_vec()).into()
    },
    words: &["GB", "MiB", "TiB", "k", ".", "e", "18446744073709551615"],
    rounds: 3000,
};

pub const BLEU: Target = Target {
    name: "bleu",
    run: |bytes| {
        // Pairs of lines: a text and what it is held against.
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().take(64).collect();
        let (pairs, _) = lines.as_chunks::<2>();
        let candidates: Vec<&str> = pairs.iter().map(|p| p[0]).collect();
        let references: Vec<Vec<&str>> = pairs.iter().map(|p| p[1].split('\t').collect()).collect();
        let Ok(score) = bridged::metrics::bleu(&candidates, &references) else { return false };
        assert!((0.0..=100.000_001).contains(&score), "{score}");
        true
    },
    seeds: seeds::texts,
    words: &["\n", "\t", ".", ",", "1,000.5", "&quot;", "&amp;", "<skipped>", "-"],
    rounds: 2000,
};

pub const TFIDF: Target = Target {
    name: "tfidf",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().take(64).collect();
        let vocabulary = Tfidf { max_features: Some(200), ..Tfidf::default() }.fit(&lines);
        assert!(vocabulary.terms.is_sorted());
        for row in vocabulary.encode(&lines).into_iter().flatten() {
            let norm: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
            assert!((norm - 1.0).abs() < 1e-4, "{norm}");
        }
        !vocabulary.terms.is_empty()
    },
    seeds: seeds::texts,
    words: &["\n", "the", "_", "İ", "ß", "\u{301}"],
    rounds: 2000,
};

/// As `--set` gives them, a line each, and as a table of TOML.
fn settings(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut keys = Keys::default();
    for line in text.lines().take(64) {
        let _ = keys.parse(line);
    }
    let mut all = vec![keys];
    if let Ok(table) = toml::from_str::<toml::Table>(&text)
        && let Ok(serde_json::Value::Object(map)) = serde_json::to_value(table)
    {
        all.push(Keys::from_tables(&map));
    }
    let mut read = false;
    for keys in all {
        for preset in [Preset::Paper, Preset::Voting] {
            let Ok(set) = preset.with_k(3).overlay(&keys) else { continue };
            let written = serde_json::to_string(&set).expect("parameters are plain data");
            let again: Result<BridgedClustering, _> = serde_json::from_str(&written);
            assert!(again.is_ok(), "what was set cannot be read back: {written}");
            read = true;
        }
    }
    read
}
