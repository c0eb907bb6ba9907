//! From words to parameters: named keys laid over a preset.
//!
//! Every front end only collects keys: the command from its flags, a study from TOML, Python from its
//! arguments. This is the one place that knows what they mean.
//!
//! | key | value |
//! |---|---|
//! | `clusters`, `x.clusters`, `y.clusters` | the number of clusters, on both sides or on one |
//! | `cluster`, `x.cluster`, `y.cluster` | the name of a clustering, or a table with its `method` |
//! | `cluster.NAME`, `x.cluster.NAME` | one of its parameters, as in `x.cluster.tol` |
//! | `scale`, `x.scale`, `y.scale` | `none`, `standardize`, `l2`, `pca:N` |
//! | `sample`, `x.sample`, `y.sample` | cluster so many rows and assign the others |
//! | `bridge`, `bridge.NAME` | the name of a rule, or a table with its `rule`; one of its parameters |
//! | `refine`, `refine.NAME` | the kind of a refinement, or a table; one of its parameters |
//! | `members` | `one`, or `ladder` for clusterings at several levels of detail |
//! | `uncovered`, `pair_rows`, `keep_rows` | a word, or yes and no |
//!
//! What is more specific wins, whatever the order: a method is chosen before its parameters are set,
//! and a key for both sides gives way to one for a single side. Another clustering keeps the number
//! of clusters; another bridge brings the refinement that suits it, unless one is named.

use super::{
    Alpha, BadParameter, BridgedClustering, Check, Count, Limits, Members, Refine, RefineKind,
    SideSpec,
};
use crate::bridge::{BridgeRule, BridgeSpec};
use crate::cluster::{ClusterSpec, Entry};
use crate::scale::Scale;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// Why keys are not parameters, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A key that nothing answers to.
    #[error("there is no `{key}`; there are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// What could stand in its place.
        known: String,
    },
    /// A parameter that the chosen method does not have.
    #[error("`{key}` does not apply: `{method}` has {known}")]
    NotAParameter {
        /// The key.
        key: String,
        /// The method.
        method: String,
        /// The parameters that it has.
        known: String,
    },
    /// A value that the parameter cannot have.
    #[error(transparent)]
    BadValue(#[from] BadParameter),
    /// A setting that is not of the form `NAME=VALUE`.
    #[error("`{0}`: write it as NAME=VALUE")]
    NotASetting(String),
}

impl SettingsError {
    /// The key that is wrong, if it is one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. } | Self::NotAParameter { key, .. } => Some(key),
            Self::BadValue(bad) => Some(&bad.name),
            Self::NotASetting(_) => None,
        }
    }
}

/// Named values on their way to parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys(Vec<(String, Value)>);

/// Keys whose value may be a table of further keys.
const TABLES: [&str; 7] = ["x", "y", "cluster", "x.cluster", "y.cluster", "bridge", "refine"];

impl Keys {
    /// Adds a key; the last one of a name counts.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        self.0.push((key.into(), value.into()));
        self
    }

    /// Adds a key if it has a value.
    pub fn set_some(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Adds `NAME=VALUE`; a value that is not JSON is a word.
    pub fn parse(&mut self, setting: &str) -> Result<&mut Self, SettingsError> {
        let (key, text) = setting
            .split_once('=')
            .ok_or_else(|| SettingsError::NotASetting(setting.to_string()))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        Ok(self.set(key.trim(), value))
    }

    /// The keys of nested tables, as in TOML. A table that names a method or a rule stays whole.
    pub fn from_tables(tables: &Map<String, Value>) -> Self {
        let mut keys = Self::default();
        keys.flatten("", tables);
        keys
    }

    fn flatten(&mut self, outer: &str, table: &Map<String, Value>) {
        for (name, value) in table {
            let key = if outer.is_empty() { name.clone() } else { format!("{outer}.{name}") };
            match value {
                Value::Object(inner)
                    if TABLES.contains(&key.as_str())
                        && !["method", "rule"].iter().any(|tag| inner.contains_key(*tag)) =>
                {
                    self.flatten(&key, inner);
                }
                value => {
                    self.set(key, value.clone());
                }
            }
        }
    }

    /// Whether the number of clusters of a side (`x` or `y`) is given.
    pub fn count_clusters(&self, side: &str) -> bool {
        let cluster = [format!("{side}.cluster"), "cluster".to_string()];
        self.0.iter().any(|(key, value)| {
            key == "clusters"
                || key.strip_suffix("clusters") == Some(&format!("{side}."))
                || cluster
                    .iter()
                    .any(|c| *key == format!("{c}.k") || (key == c && value.get("k").is_some()))
        })
    }

    /// The keys that, each by itself, make a model of one clustering of each side where the default has several.
    pub fn that_make_one(&self) -> Vec<&str> {
        let makes_one = |(key, value): &&(String, Value)| {
            let alone = Self(vec![(key.clone(), value.clone())]);
            let settings = BridgedClustering::default().overlay(&alone);
            settings.is_ok_and(|settings| settings.members == Members::One)
        };
        self.0.iter().filter(makes_one).map(|(key, _)| key.as_str()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// Whether a key sets what only one clustering of each side has: a parameter of its bridge or of its map.
fn is_of_one((key, value): &(String, Value)) -> bool {
    let table = |known: &[&str]| {
        value.as_object().is_some_and(|t| t.keys().any(|name| !known.contains(&name.as_str())))
    };
    match key.as_str() {
        "refine.alpha" => value != "auto",
        "refine.ridge" => true,
        "bridge" => table(&["rule"]),
        "refine" => table(&["kind"]),
        key => key.starts_with("bridge."),
    }
}

/// What a key does, in the order in which keys are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    ChooseForBoth,
    ChooseForOne,
    CountForBoth,
    CountForOne,
    SetForBoth,
    SetForOne,
}

impl BridgedClustering {
    /// These parameters, changed by keys; checked.
    pub fn overlay(mut self, keys: &Keys) -> Result<Self, SettingsError> {
        let mut steps: Vec<(Step, &str, &Value)> = Vec::with_capacity(keys.0.len());
        for (key, value) in &keys.0 {
            steps.push((step_of(key)?, key, value));
        }
        steps.sort_by_key(|(step, ..)| *step);
        for (_, key, value) in steps {
            self.apply(key, value, keys)?;
        }
        let asked = |(key, value): &(String, Value)| key == "refine.alpha" && value != "auto";
        if keys.0.iter().any(asked) && self.refine.kind == RefineKind::None {
            let kinds = "used with `refine` supervised, supervised-centroid or residual";
            return Err(BadParameter::new("refine.alpha", kinds, "it with none").into());
        }
        if self.members == Members::Ladder && keys.0.iter().any(is_of_one) {
            if keys.has("members") {
                let need = "one where parameters of the bridge or the refinement are set";
                return Err(BadParameter::new("members", need, "ladder").into());
            }
            self.members = Members::One;
        }
        self.check()?;
        Ok(self)
    }

    fn apply(&mut self, key: &str, value: &Value, keys: &Keys) -> Result<(), SettingsError> {
        let path: Vec<&str> = key.split('.').collect();
        match path[..] {
            ["bridge"] => {
                self.bridge = choose(key, value, &self.bridge, "rule", BRIDGES)?;
                if !keys.has("refine") && !keys.has("refine.kind") {
                    self.refine = Refine::suited(None, &self.bridge);
                }
                if !keys.has("members") && !self.bridge.reading().is_mixture() {
                    self.members = Members::One;
                }
            }
            ["bridge", name] => {
                let (what, limits) = (self.bridge.name(), self.bridge.limits());
                self.bridge = set_field(&self.bridge, Field { key, name, what, limits }, value)?;
            }
            ["refine"] | ["refine", "kind"] => match value {
                Value::Object(_) => self.refine = read(key, value)?,
                kind => {
                    self.refine = Refine::suited(Some(read(key, kind)?), &self.bridge);
                    // Maps inside linked clusters are those of one clustering.
                    let whole =
                        [RefineKind::None, RefineKind::Residual].contains(&self.refine.kind);
                    if !keys.has("members") && !whole {
                        self.members = Members::One;
                    }
                }
            },
            ["refine", "alpha"] => self.refine.alpha = alpha(key, value)?,
            ["refine", name] => {
                let limits = self.refine.limits();
                let field = Field { key, name, what: "refine", limits };
                self.refine = set_field(&self.refine, field, value)?;
            }
            ["members"] => self.members = read(key, value)?,
            ["uncovered"] => self.uncovered = read(key, value)?,
            ["pair_rows"] => self.pair_rows = read(key, value)?,
            ["keep_rows"] => {
                let word = value.as_bool().map(|keep| json!(if keep { "yes" } else { "no" }));
                self.keep_rows = read(key, word.as_ref().unwrap_or(value))?;
            }
            ["x", ref rest @ ..] => self.x.apply(key, rest, value)?,
            ["y", ref rest @ ..] => self.y.apply(key, rest, value)?,
            ref rest => {
                self.x.apply(key, rest, value)?;
                self.y.apply(key, rest, value)?;
            }
        }
        Ok(())
    }

    /// Whether every parameter is within its limits; an error names it by its whole key.
    pub fn check(&self) -> Result<(), BadParameter> {
        for (name, side) in [("x", &self.x), ("y", &self.y)] {
            side.cluster.check().map_err(|e| e.inside("cluster").inside(name))?;
            side.scale.check().map_err(|e| e.inside("scale").inside(name))?;
        }
        self.bridge.check().map_err(|e| e.inside("bridge"))?;
        self.refine.check().map_err(|e| e.inside("refine"))
    }
}

impl SideSpec {
    /// Applies a key of which `path` is what follows the side.
    fn apply(&mut self, key: &str, path: &[&str], value: &Value) -> Result<(), SettingsError> {
        match path {
            ["clusters"] => {
                let limits = Limits::at_least(1);
                let k = value.as_u64().filter(|k| limits.allows(*k as f64));
                let k = k.ok_or_else(|| BadParameter::new(key, limits, text(value)))?;
                self.cluster = self.cluster.clone().with_k(k as usize);
                self.count = Count::Told;
            }
            ["cluster"] => {
                self.cluster = choose(key, value, &self.cluster, "method", CLUSTERINGS)?;
                if value.get("k").is_some() {
                    self.count = Count::Told;
                }
            }
            ["cluster", name] => {
                let (what, limits) = (self.cluster.name(), self.cluster.limits());
                self.cluster = set_field(&self.cluster, Field { key, name, what, limits }, value)?;
                if *name == "k" {
                    self.count = Count::Told;
                }
            }
            ["scale"] => self.scale = scale(key, value)?,
            ["sample"] => {
                let limits = Limits::at_least(1);
                let rows = value.as_u64().filter(|rows| limits.allows(*rows as f64));
                let rows = rows.ok_or_else(|| BadParameter::new(key, limits, text(value)))?;
                self.sample = Some(rows as usize);
            }
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

/// What a key does; an error if there is no such key.
fn step_of(key: &str) -> Result<Step, SettingsError> {
    let path: Vec<&str> = key.split('.').collect();
    let one_side = matches!(path[0], "x" | "y");
    let rest = if one_side { &path[1..] } else { &path[..] };
    Ok(match (rest, one_side) {
        (["clusters"], false) => Step::CountForBoth,
        (["clusters"], true) => Step::CountForOne,
        (["cluster" | "scale" | "sample"], false) => Step::ChooseForBoth,
        (["cluster" | "scale" | "sample"], true) => Step::ChooseForOne,
        (["cluster", _], false) => Step::SetForBoth,
        (["cluster", _], true) => Step::SetForOne,
        (["bridge" | "members" | "uncovered" | "pair_rows" | "keep_rows"], false) => {
            Step::ChooseForBoth
        }
        // After the bridge, which brings a refinement.
        (["refine"] | ["refine", "kind"], false) => Step::ChooseForOne,
        (["bridge" | "refine", _], false) => Step::SetForBoth,
        _ => return Err(unknown(key)),
    })
}

/// There is no such key at the first place where the path leaves what is known.
fn unknown(key: &str) -> SettingsError {
    let side = "cluster, clusters, scale, sample";
    let known = match key.split('.').collect::<Vec<_>>()[..] {
        ["x" | "y", ..] => side.to_string(),
        _ => format!("x, y, {side}, bridge, refine, members, uncovered, pair_rows, keep_rows"),
    };
    SettingsError::UnknownKey { key: key.to_string(), known }
}

/// A list of methods: what they are called, and how one is made.
struct Methods<T> {
    entries: &'static [Entry],
    named: fn(&str) -> Option<T>,
    /// What the new one takes over from the old one.
    keep: fn(&T, T) -> T,
}

const CLUSTERINGS: Methods<ClusterSpec> = Methods {
    entries: ClusterSpec::ALL,
    named: ClusterSpec::named,
    keep: |old, new| match old.k() {
        Some(k) => new.with_k(k),
        None => new,
    },
};

const BRIDGES: Methods<BridgeSpec> =
    Methods { entries: BridgeSpec::ALL, named: BridgeSpec::named, keep: |_, new| new };

/// The method of a name, or of a table that names it under `tag` and sets its parameters.
fn choose<T>(
    key: &str,
    value: &Value,
    old: &T,
    tag: &str,
    methods: Methods<T>,
) -> Result<T, SettingsError>
where
    T: Check + Named + Serialize + DeserializeOwned,
{
    let names = || methods.entries.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
    let bad = |got: &Value| BadParameter::new(key, format!("one of {}", names()), text(got));
    let table = value.as_object();
    let name = table.and_then(|t| t.get(tag)).unwrap_or(value);
    let chosen = name.as_str().and_then(methods.named).ok_or_else(|| bad(name))?;
    let mut chosen = (methods.keep)(old, chosen);
    for (name, value) in table.into_iter().flatten().filter(|(name, _)| *name != tag) {
        let (key, limits) = (format!("{key}.{name}"), chosen.limits());
        let field = Field { key: &key, name, what: chosen.method_name(), limits };
        chosen = set_field(&chosen, field, value)?;
    }
    Ok(chosen)
}

/// Parameters that have a name themselves.
pub trait Named {
    /// The name of the method that they are the parameters of.
    fn method_name(&self) -> &'static str;
}

impl Named for ClusterSpec {
    fn method_name(&self) -> &'static str {
        self.name()
    }
}

impl Named for BridgeSpec {
    fn method_name(&self) -> &'static str {
        self.name()
    }
}

/// Parameters of one method, changed by keys that are their names; checked.
///
/// ```
/// use bridged::cluster::ClusterSpec;
/// use bridged::settings::{Keys, overlay};
///
/// let mut keys = Keys::default();
/// keys.parse("tol=-1")?;
/// let error = overlay(ClusterSpec::named("kmeans").expect("listed"), &keys).unwrap_err();
/// assert_eq!(error.to_string(), "`tol` must be between 0 and 1e6, got -1");
/// # Ok::<(), bridged::settings::SettingsError>(())
/// ```
pub fn overlay<T>(parameters: T, keys: &Keys) -> Result<T, SettingsError>
where
    T: Check + Named + Serialize + DeserializeOwned,
{
    let mut changed = parameters;
    for (name, value) in &keys.0 {
        let (what, limits) = (changed.method_name(), changed.limits());
        changed = set_field(&changed, Field { key: name, name, what, limits }, value)?;
    }
    changed.check()?;
    Ok(changed)
}

/// A parameter by its name: the key that it was named by, what it belongs to, and the limits there.
#[derive(Clone, Copy)]
struct Field<'a> {
    key: &'a str,
    name: &'a str,
    what: &'a str,
    limits: &'static [(&'static str, Limits)],
}

/// The same parameters with one replaced.
fn set_field<T>(parameters: &T, field: Field<'_>, value: &Value) -> Result<T, SettingsError>
where
    T: Serialize + DeserializeOwned,
{
    let Field { key, name, what, limits } = field;
    let mut tree = serde_json::to_value(parameters).expect("parameters are plain data");
    let known = tree.as_object_mut().expect("parameters have names");
    if matches!(name, "method" | "rule") || !known.contains_key(name) {
        let names: Vec<&str> =
            known.keys().map(String::as_str).filter(|n| !matches!(*n, "method" | "rule")).collect();
        let known = if names.is_empty() { "no parameters".to_string() } else { names.join(", ") };
        let (key, method) = (key.to_string(), what.to_string());
        return Err(SettingsError::NotAParameter { key, method, known });
    }
    let limits = limits.iter().find(|(n, _)| *n == name).map(|(_, limits)| *limits);
    if let (Some(limits), Some(number)) = (limits, value.as_f64())
        && !limits.allows(number)
    {
        return Err(BadParameter::new(key, limits, text(value)).into());
    }
    known.insert(name.to_string(), value.clone());
    serde_json::from_value(tree).map_err(|error| {
        let need = match limits {
            // A word that should have been a number, or one of some words.
            Some(limits) if value.is_string() && named_words(&error) => {
                format!("{limits}, or {}", needed(&error))
            }
            // A number that is within the limits, but stands where something else should.
            Some(_) if value.is_number() => needed(&error),
            Some(limits) => limits.to_string(),
            None => needed(&error),
        };
        BadParameter::new(key, need, text(value)).into()
    })
}

/// Reads a value that is no table.
fn read<T: DeserializeOwned>(key: &str, value: &Value) -> Result<T, SettingsError> {
    serde_json::from_value(value.clone())
        .map_err(|error| BadParameter::new(key, needed(&error), text(value)).into())
}

/// What a value should have been, out of what serde says of it.
fn needed(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match said.split_once("expected ") {
        Some((_, expected)) => expected.replace('`', ""),
        None => format!("something else ({said})"),
    }
}

/// Whether serde names the words that could have stood there.
fn named_words(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("unknown variant")
}

/// A value as the user wrote it: words without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A scaling by its name; or the table that a model file has.
fn scale(key: &str, value: &Value) -> Result<Scale, SettingsError> {
    let found = match value {
        Value::String(name) => Scale::parse(name),
        table => serde_json::from_value(table.clone())
            .map_err(|_| BadParameter::new("scale", Scale::NAMES, text(table))),
    };
    found.map_err(|bad| BadParameter { name: key.to_string(), ..bad }.into())
}

/// `auto` or a number; or the table that a model file has.
fn alpha(key: &str, value: &Value) -> Result<Alpha, SettingsError> {
    let number = value.as_f64().or_else(|| value.get("fixed").and_then(Value::as_f64));
    match number {
        Some(alpha) if (0.0..=1.0).contains(&alpha) => Ok(Alpha::Fixed(alpha)),
        None if value == "auto" => Ok(Alpha::Auto),
        _ => Err(BadParameter::new(key, "auto, or between 0 and 1", text(value)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Descent;
    use crate::settings::{KeepRows, Preset, Uncovered};

    fn keys(settings: &[&str]) -> Keys {
        let mut keys = Keys::default();
        for setting in settings {
            keys.parse(setting).expect("NAME=VALUE");
        }
        keys
    }

    fn over(preset: Preset, settings: &[&str]) -> BridgedClustering {
        preset.with_k(4).overlay(&keys(settings)).expect("known keys")
    }

    fn error(settings: &[&str]) -> String {
        Preset::Default.with_k(4).overlay(&keys(settings)).unwrap_err().to_string()
    }

    #[test]
    fn no_key_changes_nothing() {
        for entry in Preset::ALL {
            let preset = Preset::named(entry.name).expect("listed");
            assert_eq!(over(preset, &[]), preset.with_k(4));
        }
    }

    #[test]
    fn any_parameter_can_be_set_by_its_name() {
        let settings = over(
            Preset::Default,
            &["x.cluster.restarts=3", "uncovered=nearest", "keep_rows=false"],
        );
        assert_eq!(settings.uncovered, Uncovered::Nearest);
        assert_eq!(settings.keep_rows, KeepRows::No);
        let ClusterSpec::BalancedKMeans(x) = settings.x.cluster else { panic!("the default") };
        let ClusterSpec::BalancedKMeans(y) = settings.y.cluster else { panic!("the default") };
        assert_eq!((x.restarts, x.k, y.restarts), (3, 4, 10));
    }

    #[test]
    fn what_is_more_specific_wins_whatever_the_order() {
        let one = ["x.clusters=3", "cluster.restarts=2", "clusters=9", "cluster=kmeans"];
        let mut other = one;
        other.reverse();
        let settings = over(Preset::Paper, &one);
        assert_eq!(settings, over(Preset::Paper, &other));
        assert_eq!((settings.x.cluster.k(), settings.y.cluster.k()), (Some(3), Some(9)));
        assert_eq!(settings.x.cluster.name(), "kmeans");
    }

    #[test]
    fn another_clustering_keeps_the_number_of_clusters() {
        let settings = over(Preset::Default, &["y.cluster=gmm"]);
        assert_eq!(settings.y.cluster.k(), Some(4));
        assert_eq!(settings.x.cluster.name(), "balanced");
    }

    #[test]
    fn another_bridge_brings_the_refinement_that_suits_it() {
        let kind = |preset, settings: &[&str]| over(preset, settings).refine.kind;
        assert_eq!(kind(Preset::Default, &["bridge=majority"]), RefineKind::None);
        assert_eq!(kind(Preset::Paper, &["bridge=posterior"]), RefineKind::Residual);
        assert_eq!(
            kind(Preset::Default, &["bridge=soft", "refine=residual"]),
            RefineKind::Residual
        );
        assert_eq!(kind(Preset::Default, &["bridge.prior=2"]), RefineKind::Residual);
    }

    #[test]
    fn the_paper_stays_the_paper_under_keys_that_do_not_choose_another_clustering() {
        let settings = over(Preset::Paper, &["clusters=6", "cluster.restarts=2", "scale=pca:3"]);
        let ClusterSpec::BalancedKMeans(x) = settings.x.cluster else { panic!("the paper's") };
        assert_eq!((x.descent, x.k, x.restarts), (Descent::Lloyd, 6, 2));
        assert_eq!(settings.y.scale, Scale::Pca { components: 3 });
    }

    #[test]
    fn tables_of_a_study_are_the_same_keys() {
        let tables = json!({
            "x": { "cluster": { "method": "gmm", "restarts": 2 }, "scale": "l2" },
            "cluster": { "max_iter": 7 },
            "bridge": { "rule": "posterior", "prior": 2.0 },
            "refine": { "alpha": 0.5 },
        });
        let keys = Keys::from_tables(tables.as_object().expect("a table"));
        let settings = Preset::Default.with_k(4).overlay(&keys).expect("known keys");
        let ClusterSpec::GaussianMixture(x) = settings.x.cluster else { panic!("a mixture") };
        assert_eq!((x.k, x.restarts, x.max_iter), (4, 2, 7));
        assert_eq!(settings.refine.alpha, Alpha::Fixed(0.5));
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        for (settings, answer) in [
            (
                vec!["x.speed=3"],
                "there is no `x.speed`; there are cluster, clusters, scale, sample",
            ),
            (
                vec!["speed=3"],
                "there is no `speed`; there are x, y, cluster, clusters, scale, sample, bridge, refine, members, \
                 uncovered, pair_rows, keep_rows",
            ),
            (
                vec!["cluster=agglomerative", "cluster.restarts=3"],
                "`cluster.restarts` does not apply: `agglomerative` has k, linkage, metric",
            ),
            (
                vec!["cluster=kmeens"],
                "`cluster` must be one of kmeans, balanced, minibatch, gmm, spectral, agglomerative, \
                 dbscan, got kmeens",
            ),
            (
                vec!["uncovered=never"],
                "`uncovered` must be one of mean, nearest, abstain, got never",
            ),
            (vec!["clusters=0"], "`clusters` must be a whole number of at least 1, got 0"),
            (
                vec!["x.scale=pca:0"],
                "`x.scale` must be none, standardize, l2, or pca:N with a number N of at least 1, \
                 got pca:0",
            ),
            (
                vec!["refine=none", "refine.alpha=0.5"],
                "`refine.alpha` must be used with `refine` supervised, supervised-centroid or \
                 residual, got it with none",
            ),
            (vec!["refine.alpha=2"], "`refine.alpha` must be auto, or between 0 and 1, got 2"),
        ] {
            assert_eq!(error(&settings), answer, "{settings:?}");
        }
        assert_eq!(
            Keys::default().parse("restarts").unwrap_err().to_string(),
            "`restarts`: write it as NAME=VALUE"
        );
    }

    #[test]
    fn parameters_of_one_clustering_are_never_ignored() {
        for one in ["bridge.temperature=2", "bridge.prior=9", "refine.alpha=0.5", "refine.ridge=2"]
        {
            assert_eq!(over(Preset::Default, &[one]).members, Members::One, "{one}");
            let both = error(&[one, "members=ladder"]);
            assert!(both.starts_with("`members` must be one where parameters"), "{both}");
        }
        for any in
            ["clusters=9", "scale=l2", "refine=none", "refine.alpha=\"auto\"", "bridge=posterior"]
        {
            assert_eq!(over(Preset::Default, &[any]).members, Members::Ladder, "{any}");
        }
        assert_eq!(over(Preset::Default, &["bridge=majority"]).members, Members::One);
    }

    #[test]
    fn numbers_out_of_their_limits_are_named() {
        for (setting, answer) in [
            ("bridge.prior=1e308", "`bridge.prior` must be between 0 and 1e6, got 1e+308"),
            ("bridge.prior=-5", "`bridge.prior` must be between 0 and 1e6, got -5"),
            ("bridge.prior=NaN", "`bridge.prior` must be between 0 and 1e6, got NaN"),
            ("bridge.temperature=-1", "`bridge.temperature` must be between 0 and 1e6, got -1"),
            ("bridge.reliability=2", "`bridge.reliability` must be between 0 and 1, got 2"),
            ("x.cluster.tol=-1", "`x.cluster.tol` must be between 0 and 1e6, got -1"),
            (
                "cluster.restarts=0",
                "`cluster.restarts` must be a whole number from 1 to 1000000, got 0",
            ),
            (
                "cluster.restarts=4000000000",
                "`cluster.restarts` must be a whole number from 1 to 1000000, got 4000000000",
            ),
            (
                "cluster.max_iter=0",
                "`cluster.max_iter` must be a whole number from 1 to 1000000000, got 0",
            ),
        ] {
            assert_eq!(error(&[setting]), answer);
        }
    }
}
