//! How two models differ: clusters, links and predictions.
//!
//! Clusters have no names of their own, so they are matched first (`clusters.rs`): each cluster of one model with the one of the
//! other that shares most rows with it, no two with the same. Everything else is said of matched clusters: whether they are
//! linked alike (`links.rs`), and whether rows are answered alike (`predictions.rs`).

mod clusters;
mod links;
mod predictions;
#[cfg(test)]
mod tests;

pub use clusters::{ClusterMatch, MatchedBy, SideDiff};
pub use links::{LinkDiff, LinkEnd};
pub use predictions::PredictionDiff;

use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::MatrixRef;
use bridged_math::words::{count, plural};
use serde::Serialize;

/// Rows that both models are shown, in the units of the first: what was taken off its columns is taken off these.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffRows<'a> {
    /// Rows of x.
    pub x: Option<MatrixRef<'a>>,
    /// Rows of y.
    pub y: Option<MatrixRef<'a>>,
}

/// How a model differs from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelDiff {
    /// Whether the models are the same in everything: parameters, rows, clusters, links, checks.
    pub identical: bool,
    /// Why they cannot be compared, or what to know about the comparison, each in a sentence.
    pub notes: Vec<String>,
    /// Parameters that differ, by their names.
    pub parameters: Vec<ParameterDiff>,
    /// Both sides; none of models that are identical or cannot be compared.
    pub sides: Vec<SideDiff>,
    /// The links of x clusters, then those of y clusters.
    pub links: Vec<LinkDiff>,
    /// What rows are answered in each direction that there are rows for.
    pub predictions: Vec<PredictionDiff>,
}

/// A parameter that two models were fitted with differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterDiff {
    /// Its name, as in `x.cluster.k`.
    pub name: String,
    /// Of this model; null where it has none of that name.
    pub this: serde_json::Value,
    /// Of the other.
    pub other: serde_json::Value,
}

impl BridgedModel {
    /// How `other` differs from this model; on these rows, or where there are none on those that this model keeps.
    pub fn diff(&self, other: &Self, rows: DiffRows<'_>) -> Result<ModelDiff, Error> {
        let mut diff = ModelDiff {
            identical: self.is_same_as(other),
            notes: Vec::new(),
            parameters: Vec::new(),
            sides: Vec::new(),
            links: Vec::new(),
            predictions: Vec::new(),
        };
        if diff.identical {
            return Ok(diff);
        }
        diff.parameters = parameters(self, other);
        for direction in Direction::BOTH {
            let (name, a, b) = (direction.input(), self.from(direction), other.from(direction));
            if a.cols() != b.cols() {
                let (first, second) = (plural(a.cols(), "column"), count(b.cols()));
                diff.notes.push(format!(
                    "the models cannot be compared: {name} has {first} in the first and {second} in the second"
                ));
            } else if a.names().vector != b.names().vector
                && let Some(note) = other_names(name, &a.names().vector, &b.names().vector)
            {
                diff.notes.push(note);
            }
        }
        if (self.x.cols(), self.y.cols()) != (other.x.cols(), other.y.cols()) {
            return Ok(diff);
        }
        for (direction, given) in [(Direction::Forward, rows.x), (Direction::Reverse, rows.y)] {
            let (side, note) = clusters::diff(self, other, direction, given)?;
            diff.notes.extend(note);
            diff.sides.push(side);
        }
        if let [x, y] = &diff.sides[..] {
            diff.links = links::diff(self, other, (x, y));
            for (direction, given) in [(Direction::Forward, rows.x), (Direction::Reverse, rows.y)] {
                let sides = if direction == Direction::Forward { (x, y) } else { (y, x) };
                diff.predictions.extend(predictions::diff(self, other, direction, given, sides)?);
            }
        }
        Ok(diff)
    }
}

/// What to know of columns that have other names.
fn other_names(side: &str, a: &[String], b: &[String]) -> Option<String> {
    let (first, second) = (a.iter().find(|n| !b.contains(n))?, b.iter().find(|n| !a.contains(n))?);
    Some(format!(
        "the columns of {side} have other names: `{first}` is only in the first and `{second}` only in the second; they \
         are compared by their places"
    ))
}

/// The parameters that differ.
fn parameters(a: &BridgedModel, b: &BridgedModel) -> Vec<ParameterDiff> {
    let of = |model: &BridgedModel| {
        let mut found = std::collections::BTreeMap::new();
        let settings = serde_json::to_value(&model.settings).unwrap_or_default();
        flatten("", settings, &mut found);
        found.insert("seed".to_string(), serde_json::json!(model.seed));
        found
    };
    let (a, b) = (of(a), of(b));
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let value = |of: &std::collections::BTreeMap<String, serde_json::Value>, name: &str| {
        of.get(name).cloned().unwrap_or_default()
    };
    let diff = |name: &String| ParameterDiff {
        name: name.clone(),
        this: value(&a, name),
        other: value(&b, name),
    };
    differ.map(diff).collect()
}

/// Every value that is no object, by the path to it.
fn flatten(
    path: &str,
    value: serde_json::Value,
    found: &mut std::collections::BTreeMap<String, serde_json::Value>,
) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                flatten(&path, value, found);
            }
        }
        value => {
            found.insert(path.to_string(), value);
        }
    }
}
