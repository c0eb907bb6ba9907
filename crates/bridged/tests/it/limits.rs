//! Every numeric parameter below, at and above its limits: clusterings, bridges, the refinement.

use crate::limit_cases::*;
use crate::support::*;
use bridged::bridge::BridgeSpec;
use bridged::cluster::{ClusterSpec, Clusterer};
use bridged::settings::{BadParameter, Check, Keys, Limits, Named, SettingsError};
use bridged::{BridgedClustering, Preset, Problem, Refine};
use bridged::{Seed, Silent};
use serde::{Deserialize, Serialize};

fn clusterings() -> impl Iterator<Item = ClusterSpec> {
    names().map(|name| ClusterSpec::named(name).expect("listed by this name"))
}

fn bridges() -> impl Iterator<Item = BridgeSpec> {
    BridgeSpec::ALL.iter().map(|e| BridgeSpec::named(e.name).expect("listed by this name"))
}

/// The refinement as a list of its own.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Refinement(Refine);

impl Check for Refinement {
    fn limits(&self) -> &'static [(&'static str, Limits)] {
        self.0.limits()
    }

    fn check(&self) -> Result<(), BadParameter> {
        self.0.check()
    }
}

impl Named for Refinement {
    fn method_name(&self) -> &'static str {
        "refine"
    }
}

#[test]
fn every_number_has_its_limits() {
    clusterings().for_each(|spec| every_number_has_limits(&spec));
    bridges().for_each(|spec| every_number_has_limits(&spec));
    every_number_has_limits(&Refinement(Refine::default()));
}

#[test]
fn every_number_is_refused_beyond_its_limits_and_taken_at_them() {
    let clusterings: usize =
        clusterings().map(|spec| numbers_are_refused_beyond_their_limits(&spec)).sum();
    let bridges: usize = bridges().map(|spec| numbers_are_refused_beyond_their_limits(&spec)).sum();
    let refine = numbers_are_refused_beyond_their_limits(&Refinement(Refine::default()));
    assert!(clusterings >= 25 && bridges >= 3, "{clusterings} {bridges}");
    assert_eq!(refine, 2);
}

/// What settings say to one key, with what must be named first.
fn said(first: &[(&str, &str)], key: &str, number: f64) -> Result<(), SettingsError> {
    let mut keys = Keys::default();
    for (key, word) in first {
        keys.set(*key, *word);
    }
    keys.set(key, written(number));
    Preset::Default.with_k(4).overlay(&keys).map(drop)
}

#[test]
fn a_whole_set_of_settings_names_a_number_by_its_whole_key() {
    let check = |first: &[(&str, &str)], key: String, limits: Limits| {
        for number in at_the_ends(limits) {
            said(first, &key, number).unwrap_or_else(|e| panic!("{key}={number}: {e}"));
        }
        for number in just_beyond(limits) {
            let error = said(first, &key, number).expect_err(&key).to_string();
            assert!(error.starts_with(&format!("`{key}` must be ")), "{key}={number}: {error}");
        }
    };
    for spec in clusterings() {
        for side in ["", "x.", "y."] {
            let cluster = format!("{side}cluster");
            for &(field, limits) in spec.limits() {
                let first = [(cluster.as_str(), spec.name())];
                check(&first, format!("{cluster}.{field}"), limits);
            }
        }
    }
    for spec in bridges() {
        for &(field, limits) in spec.limits() {
            check(&[("bridge", spec.name())], format!("bridge.{field}"), limits);
        }
    }
    for &(field, limits) in Refine::default().limits() {
        check(&[("refine", "supervised")], format!("refine.{field}"), limits);
    }
}

#[test]
fn a_fit_refuses_what_an_overlay_would_have_refused() {
    let (x, _) = blobs(2, 40, 9.0, 1);
    let pairs = [(0, 0), (1, 1)];
    let fitted = |method: &BridgedClustering| {
        let problem = Problem::new(x.view(), x.view(), &pairs);
        method.fit(problem, Seed(0), &Silent).map(drop).map_err(|e| e.to_string())
    };
    for spec in clusterings() {
        for &(field, limits) in spec.limits() {
            for number in just_beyond(limits) {
                let Some(bad) = with_fields(&spec, &[(field, written(number))]) else { continue };
                let alone = bad.fit(x.view(), Seed(0), &Silent).map(drop).unwrap_err().to_string();
                let named = format!("`{field}` must be ");
                assert!(alone.starts_with(&named), "{} {number}: {alone}", spec.name());
                let mut method = Preset::Voting.with_k(2);
                method.y.cluster = bad;
                let error = fitted(&method).unwrap_err();
                let named = format!("`y.cluster.{field}` must be {limits}");
                assert!(error.starts_with(&named), "{} {number}: {error}", spec.name());
            }
        }
    }
}
