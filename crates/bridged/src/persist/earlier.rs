//! Files of versions 1 and 2: their headers, brought to the form of today.
//!
//! They kept the links, the answers that follow from them, and the scores of every pair in the
//! header. A header of today takes links and scores from there where it has them.

use serde_json::{Value, json};

/// The header of an earlier version as one of today.
pub(super) fn bring_up(header: &str) -> Result<String, String> {
    let damaged = |e: serde_json::Error| format!("its header cannot be read ({e})");
    let mut header: Value = serde_json::from_str(header).map_err(damaged)?;
    for direction in ["forward", "reverse"] {
        let Some(regressor) = header.get_mut(direction).and_then(Value::as_object_mut) else {
            continue; // whatever is missing is said by whoever reads it
        };
        regressor.remove("answers");
        if let Some(Value::Object(mut bridge)) = regressor.remove("bridge") {
            regressor.insert("links".into(), bridge.remove("links").unwrap_or(Value::Null));
            let reliability = bridge.remove("reliability").unwrap_or(Value::Null);
            regressor.insert("reliability".into(), reliability);
        }
        if let Some(Value::Object(check)) = regressor.get_mut("check") {
            for list in ["scores", "agreement"] {
                check.entry(list).or_insert(json!([]));
            }
        }
    }
    Ok(header.to_string())
}
