//! What was done to a model: fitted from which files, and what was added and taken out since.
//!
//! A fit does not write down the time by itself, so that the same files give the same bytes; whoever wants it there says
//! it ([`Event::when`]). The file's own time tells when the last event was; an update writes it down for the one before.

use crate::model::BridgedModel;
use crate::side::Side;
use serde::{Deserialize, Serialize};
#[cfg(feature = "persist")]
use std::path::Path;
use std::time::{Duration, SystemTime};

/// One thing that was done to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What it was.
    pub action: Action,
    /// The release that did it.
    pub version: String,
    /// When, in seconds since 1970; none if only the file's own time tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<u64>,
    /// The input pool after it.
    pub x: PoolThen,
    /// The output pool after it.
    pub y: PoolThen,
    /// The pairs after it.
    pub pairs: u64,
    /// The files that were read for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRead>,
}

/// What can be done to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It was fitted.
    Fit,
    /// Rows or pairs came in or went out.
    Update,
}

impl Action {
    /// What was done, as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Action::Fit => "fit",
            Action::Update => "update",
        }
    }
}

/// A pool at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolThen {
    /// Its rows.
    pub rows: u64,
    /// Its clusters.
    pub clusters: u64,
    /// Rows that came in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    /// Rows that were taken out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forgotten: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// What it held: `x`, `y` or `pairs`.
    pub role: String,
    /// What it is called, or its address.
    pub name: String,
    /// Its length; none if it could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The [fingerprint](crate::files::fingerprint) of its content; none of what is not a file here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Seconds since 1970 as a date, in UTC; a dash for what no calendar has.
pub fn date(seconds: u64) -> String {
    const YEAR_10_000: u64 = 253_402_300_800;
    match SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)) {
        Some(time) if seconds < YEAR_10_000 => humantime::format_rfc3339_seconds(time).to_string(),
        _ => "–".to_string(),
    }
}

/// The time that `SOURCE_DATE_EPOCH` names, for whoever wants dates in files that can be made again byte by byte.
pub fn source_date() -> Option<u64> {
    std::env::var("SOURCE_DATE_EPOCH").ok()?.parse().ok()
}

impl FileRead {
    /// A file of this machine, read once more for its fingerprint. Of its path only the last part is written down: a
    /// model may go to people whom the folders of its maker do not concern.
    #[cfg(feature = "persist")]
    pub fn of(role: &str, path: &Path) -> std::io::Result<Self> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Self {
            role: role.to_string(),
            name: name.to_string_lossy().into_owned(),
            bytes: Some(std::fs::metadata(path)?.len()),
            fingerprint: Some(crate::files::fingerprint(path)?),
        })
    }
}

impl BridgedModel {
    /// A fit of this model, as its history tells it.
    pub fn fit_event(&self, version: &str, files: Vec<FileRead>) -> Event {
        let pool = |side: &Side| PoolThen {
            rows: side.total() as u64,
            clusters: side.k() as u64,
            added: 0,
            forgotten: 0,
        };
        Event {
            action: Action::Fit,
            version: version.to_string(),
            when: None,
            x: pool(&self.x),
            y: pool(&self.y),
            pairs: self.pairs.len() as u64,
            files,
        }
    }

    /// The same model whose last event is dated, if it is not yet.
    pub fn dated(mut self, when: Option<u64>) -> Self {
        if let Some(last) = self.history.last_mut() {
            last.when = last.when.or(when);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_date() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(1_795_000_000), "2026-11-18T11:06:40Z");
        assert_eq!(date(u64::MAX), "–", "a damaged header is no panic");
    }
}
