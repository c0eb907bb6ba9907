//! Parameters from JSON: the core's own structs, with the name of the one that is wrong.

use bridged::bridge::BridgeSpec;
use bridged::cluster::ClusterSpec;
use bridged::refine::{Refine, RefineKind};
use bridged_baselines::BaselineSpec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Reads one of the core's structs.
pub fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Writes what the core says.
pub fn write<T: Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The parameters of `spec`, of which those in `settings`, a JSON object, are replaced one by one:
/// so a bad value is known by its name.
pub fn set<T: Serialize + DeserializeOwned>(name: &str, spec: T, settings: &str) -> PyResult<T> {
    let settings: Map<String, Value> = read(settings)?;
    let mut tree = serde_json::to_value(&spec).expect("parameters are plain data");
    let mut spec = spec;
    for (key, value) in settings {
        let known = tree.as_object_mut().expect("parameters have names");
        let Some(slot) = known.get_mut(&key) else {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let names = names.join(", ");
            return Err(PyValueError::new_err(format!("`{name}` has no `{key}`; it has {names}")));
        };
        *slot = value;
        spec = serde_json::from_value(tree.clone())
            .map_err(|e| PyValueError::new_err(format!("`{key}` of `{name}`: {e}")))?;
    }
    Ok(spec)
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> PyErr {
    let known = known.collect::<Vec<_>>().join(", ");
    PyValueError::new_err(format!("there is no {what} `{name}`; there are {known}"))
}

/// The clustering of that name with these settings.
pub fn clustering(name: &str, settings: &str) -> PyResult<ClusterSpec> {
    let spec = ClusterSpec::named(name)
        .ok_or_else(|| unknown("clustering", name, ClusterSpec::ALL.iter().map(|e| e.name)))?;
    set(name, spec, settings)
}

/// The baseline of that name with these settings.
pub fn baseline(name: &str, settings: &str) -> PyResult<BaselineSpec> {
    let spec = BaselineSpec::named(name)
        .ok_or_else(|| unknown("baseline", name, BaselineSpec::ALL.iter().map(|e| e.name)))?;
    set(name, spec, settings)
}

/// All parameters of a clustering with these settings, as JSON. `k`, if given, is set only where
/// the number of clusters is a parameter.
#[pyfunction]
pub fn cluster_spec(name: &str, settings: &str, k: Option<usize>) -> PyResult<String> {
    let spec = clustering(name, settings)?;
    write(&match k {
        Some(k) => spec.with_k(k),
        None => spec,
    })
}

/// All parameters of a bridge rule with these settings, as JSON.
#[pyfunction]
pub fn bridge_spec(name: &str, settings: &str) -> PyResult<String> {
    let spec = BridgeSpec::named(name)
        .ok_or_else(|| unknown("bridge", name, BridgeSpec::ALL.iter().map(|e| e.name)))?;
    write(&set(name, spec, settings)?)
}

/// The parameters of a refinement of that kind, or of the one that suits the rule `bridge`, as JSON.
#[pyfunction]
pub fn refine_spec(kind: Option<&str>, bridge: &str) -> PyResult<String> {
    let bridge: BridgeSpec = read(bridge)?;
    let kind = kind.map(|name| serde_json::from_value::<RefineKind>(json!(name))).transpose();
    let kind = kind.map_err(|e| PyValueError::new_err(format!("`refine`: {e}")))?;
    write(&Refine::suited(kind, &bridge))
}

/// Everything there is by name: what it is, and its parameters with their defaults.
#[pyfunction]
pub fn catalogue() -> PyResult<String> {
    let entry = |name: &str, about: &str, spec: Value| {
        let mut parameters = spec;
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.remove("method");
            parameters.remove("rule");
        }
        json!({"name": name, "about": about, "parameters": parameters})
    };
    let clusterings: Vec<Value> = (ClusterSpec::ALL.iter())
        .map(|e| entry(e.name, e.about, json!(ClusterSpec::named(e.name))))
        .collect();
    let bridges: Vec<Value> = (BridgeSpec::ALL.iter())
        .map(|e| entry(e.name, e.about, json!(BridgeSpec::named(e.name))))
        .collect();
    let baselines: Vec<Value> = (BaselineSpec::ALL.iter())
        .map(|e| entry(e.name, e.about, json!(BaselineSpec::named(e.name))))
        .collect();
    let metrics: Vec<Value> =
        bridged::metrics::ALL.iter().map(|e| entry(e.name, e.about, json!({}))).collect();
    write(&json!({
        "clusterings": clusterings,
        "bridges": bridges,
        "baselines": baselines,
        "metrics": metrics,
        "defaults": bridged::BridgedClustering::default(),
    }))
}
