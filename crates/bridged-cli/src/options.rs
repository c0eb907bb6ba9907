//! Options that several verbs share, and how they become parameters.

use anyhow::{Context, Result, anyhow};
use bridged::bridge::BridgeSpec;
use bridged::cluster::{ClusterSpec, Entry};
use bridged::refine::{Alpha, RefineKind};
use bridged::scale::Scale;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use std::fmt;

/// A mistake on the command line that clap cannot see: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error for a mistake on the command line.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    anyhow!(Usage(message.into()))
}

fn names(entries: &'static [Entry]) -> PossibleValuesParser {
    PossibleValuesParser::new(
        entries.iter().map(|e| clap::builder::PossibleValue::new(e.name).help(e.about)),
    )
}

/// The names of the clusterings.
pub fn clusterings() -> PossibleValuesParser {
    names(ClusterSpec::ALL)
}

/// The names of the bridges.
pub fn bridges() -> PossibleValuesParser {
    names(BridgeSpec::ALL)
}

/// `none`, `standardize`, `l2` or `pca:N`.
pub fn scale(text: &str) -> Result<Scale, String> {
    match text {
        "none" => Ok(Scale::None),
        "standardize" | "standardise" => Ok(Scale::Standardize),
        "l2" => Ok(Scale::L2),
        _ => text
            .strip_prefix("pca:")
            .and_then(|n| n.parse().ok())
            .map(|components| Scale::Pca { components })
            .ok_or_else(|| "give none, standardize, l2, or pca:N with a number N".to_string()),
    }
}

/// `auto` or a number.
pub fn alpha(text: &str) -> Result<Alpha, String> {
    if text == "auto" {
        return Ok(Alpha::Auto);
    }
    let number = text.parse().ok().filter(|a| (0.0..=1.0).contains(a));
    number.map(Alpha::Fixed).ok_or_else(|| "give auto, or a number from 0 to 1".to_string())
}

/// A probability.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    number.ok_or_else(|| "give a number from 0 to 1".to_string())
}

/// `none`, `supervised`, `supervised-centroid` or `residual`.
pub fn refine(text: &str) -> Result<RefineKind, String> {
    serde_json::from_value(Value::from(text))
        .map_err(|_| "give none, supervised, supervised-centroid or residual".to_string())
}

/// Sets parameters by name: `restarts=3`, `x.cluster.linkage=average`.
pub fn set<T>(spec: T, settings: &[String]) -> Result<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    if settings.is_empty() {
        return Ok(spec);
    }
    let mut tree = serde_json::to_value(spec).context("parameters are plain data")?;
    for setting in settings {
        let (path, text) = setting
            .split_once('=')
            .ok_or_else(|| usage(format!("--set {setting}: write it as NAME=VALUE")))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        *find(&mut tree, path)? = value;
    }
    serde_json::from_value(tree).map_err(|e| usage(format!("--set {}: {e}", settings.join(" "))))
}

fn find<'v>(tree: &'v mut Value, path: &str) -> Result<&'v mut Value> {
    let mut at = tree;
    for name in path.split('.') {
        let known: Vec<String> =
            at.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        at = at.get_mut(name).ok_or_else(|| {
            usage(format!("--set {path}: there is no `{name}`; there are {}", known.join(", ")))
        })?;
    }
    Ok(at)
}

/// Gives a clustering the options that most of them have; one that lacks an option says so.
pub fn tune(spec: ClusterSpec, options: &[(&str, Option<Value>)]) -> Result<ClusterSpec> {
    let name = spec.name();
    let mut tree = serde_json::to_value(spec).context("parameters are plain data")?;
    for (option, value) in options {
        let Some(value) = value else { continue };
        match tree.get_mut(option.replace('-', "_")) {
            Some(slot) => *slot = value.clone(),
            None => return Err(usage(format!("--{option} does not apply to `{name}`"))),
        }
    }
    serde_json::from_value(tree).map_err(|e| usage(format!("`{name}`: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::BridgedClustering;

    #[test]
    fn any_parameter_can_be_set_by_name() {
        let settings = ["x.cluster.restarts=3".to_string(), "uncovered=nearest".to_string()];
        let spec = set(BridgedClustering::with_k(4), &settings).unwrap();
        assert_eq!(spec.uncovered, bridged::Uncovered::Nearest);
        let ClusterSpec::BalancedKMeans(balanced) = spec.x.cluster else { panic!("the default") };
        assert_eq!((balanced.restarts, balanced.k), (3, 4));
    }

    #[test]
    fn an_unknown_parameter_is_answered_with_the_known_ones() {
        let error = set(BridgedClustering::default(), &["x.speed=3".to_string()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--set x.speed: there is no `speed`; there are cluster, scale"
        );
    }
}
