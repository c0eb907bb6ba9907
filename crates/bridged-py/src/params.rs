//! Parameters from JSON: the core's own structs, with the name of the one that is wrong.

use bridged::bridge::BridgeSpec;
use bridged::cluster::{ClusterSpec, Clusterer};
use bridged::settings::{Keys, Preset, SettingsError, overlay};
use bridged::{BridgedClustering, memory};
use bridged_baselines::BaselineSpec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Mutex;

/// Reads one of the core's structs.
pub fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Writes what the core says.
pub fn write<T: Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Keys and their values, a JSON object.
fn keys(text: &str) -> PyResult<Keys> {
    let settings: Map<String, Value> = read(text)?;
    let mut keys = Keys::default();
    for (key, value) in settings {
        keys.set(key, value);
    }
    Ok(keys)
}

fn wrong(error: SettingsError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> PyErr {
    let known = known.collect::<Vec<_>>().join(", ");
    PyValueError::new_err(format!("there is no {what} `{name}`; there are {known}"))
}

/// The clustering of that name with these settings.
pub fn clustering(name: &str, settings: &str) -> PyResult<ClusterSpec> {
    let spec = ClusterSpec::named(name)
        .ok_or_else(|| unknown("clustering", name, ClusterSpec::ALL.iter().map(|e| e.name)))?;
    overlay(spec, &keys(settings)?).map_err(wrong)
}

/// The baseline of that name with these settings.
pub fn baseline(name: &str, settings: &str) -> PyResult<BaselineSpec> {
    let spec = BaselineSpec::named(name)
        .ok_or_else(|| unknown("baseline", name, BaselineSpec::ALL.iter().map(|e| e.name)))?;
    overlay(spec, &keys(settings)?).map_err(wrong)
}

/// Whether a clustering depends on where zero is, so that rows must not be moved.
#[pyfunction]
pub fn uses_origin(method: (String, String)) -> PyResult<bool> {
    Ok(clustering(&method.0, &method.1)?.uses_origin())
}

/// The same for both sides of the method.
#[pyfunction]
pub fn sides_use_origin(spec: &str) -> PyResult<(bool, bool)> {
    let spec: BridgedClustering = read(spec)?;
    Ok((spec.x.uses_origin(), spec.y.uses_origin()))
}

/// The limits on memory: what was set for good, and those of calls that are under way.
struct Limits {
    lasting: Option<u64>,
    calls: Vec<u64>,
}

static LIMITS: Mutex<Limits> = Mutex::new(Limits { lasting: None, calls: Vec::new() });

/// Changes the limits; the smallest of them holds.
fn change_limits(change: impl FnOnce(&mut Limits)) {
    let mut limits = LIMITS.lock().expect("nothing panics while it holds the lock");
    change(&mut limits);
    match limits.calls.iter().copied().min().or(limits.lasting) {
        Some(bytes) => memory::set_limit(bytes),
        None => memory::clear_limit(),
    }
}

fn size(size: &str) -> PyResult<u64> {
    memory::name_option("`memory=` of the call, or bridged.set_memory_limit(size),");
    memory::parse(size).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// How much memory may be used in all, as in `4GB`.
#[pyfunction]
pub fn set_memory_limit(size: &str) -> PyResult<()> {
    let bytes = self::size(size)?;
    change_limits(|limits| limits.lasting = Some(bytes));
    Ok(())
}

/// The same until [`leave_memory_limit`] is called with what this gives.
#[pyfunction]
pub fn enter_memory_limit(size: &str) -> PyResult<u64> {
    let bytes = self::size(size)?;
    change_limits(|limits| limits.calls.push(bytes));
    Ok(bytes)
}

/// Takes back what [`enter_memory_limit`] set.
#[pyfunction]
pub fn leave_memory_limit(bytes: u64) {
    change_limits(|limits| {
        if let Some(at) = limits.calls.iter().position(|&held| held == bytes) {
            limits.calls.swap_remove(at);
        }
    });
}

/// All parameters of the method, as JSON: a preset, changed by keys.
#[pyfunction]
pub fn settings(preset: &str, changes: &str) -> PyResult<String> {
    let preset = Preset::named(preset)
        .ok_or_else(|| unknown("preset", preset, Preset::ALL.iter().map(|e| e.name)))?;
    write(&preset.settings().overlay(&keys(changes)?).map_err(wrong)?)
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
        "presets": Preset::ALL.iter().map(|e| entry(e.name, e.about, json!({}))).collect::<Vec<_>>(),
        "defaults": bridged::BridgedClustering::default(),
    }))
}
