//! The columns that say why a row is answered as it is.
//!
//! Rows are many and the answers of clusters few: what is written of an answer in words is made once.

use bridged::{Explanation, Prediction};
use bridged_io::{Column, ColumnData};
use std::collections::HashMap;
use std::hash::Hash;

/// Shares that are smaller are not written.
const SHARE: f64 = 0.001;

/// One column after the other; the radius if a level was asked for.
pub fn columns(prediction: &Prediction, with_radius: bool) -> Vec<Column> {
    let why: Vec<Explanation<'_>> = prediction.explanations().collect();
    let integer = |name: &str, f: &dyn Fn(&Explanation<'_>) -> Option<i64>| {
        Column::new(name, ColumnData::Integer(why.iter().map(f).collect()))
    };
    let number = |name: &str, f: &dyn Fn(&Explanation<'_>) -> Option<f64>| {
        let values = why.iter().map(|w| f(w).unwrap_or(f64::NAN));
        Column::new(name, ColumnData::Number(values.collect()))
    };
    let mut columns = vec![integer("cluster", &|w| w.cluster.map(i64::from))];
    columns.push(integer("linked", &|w| w.linked.map(i64::from)));
    if prediction.knows_probabilities() {
        columns.push(number("probability", &|w| w.probability));
    }
    columns.push(number("expected_error", &|w| Some(w.expected_error)));
    if why.iter().any(|w| w.novelty.is_some()) {
        columns.push(number("novelty", &|w| w.novelty));
    }
    columns.push(number("weight", &|w| w.weight()));
    // Rows with the same answer have the same links, at the same place.
    let place = |w: &Explanation<'_>| (w.links.len() > 1).then_some(w.links.as_ptr());
    columns.push(words("links", &why, place, |w| {
        let seen = w.links.iter().filter(|t| t.weight >= SHARE);
        let shares: Vec<String> = seen.map(|t| format!("{}:{:.3}", t.cluster, t.weight)).collect();
        shares.join(" ")
    }));
    columns.push(integer("support", &|w| Some(i64::from(w.support))));
    columns.push(words("status", &why, |w| Some(w.status.name()), |w| w.status.to_string()));
    columns.push(words("answer", &why, |w| Some(w.source), |w| w.source.to_string()));
    if with_radius {
        columns.push(number("radius", &|w| w.radius));
    }
    columns
}

/// A column of texts that are equal where their keys are; no text without a key.
fn words<'a, K: Eq + Hash>(
    name: &str,
    why: &[Explanation<'a>],
    key: impl Fn(&Explanation<'a>) -> Option<K>,
    word: impl Fn(&Explanation<'a>) -> String,
) -> Column {
    let (mut words, mut places) = (Vec::new(), HashMap::new());
    let at = why.iter().map(|why| {
        Some(*places.entry(key(why)?).or_insert_with(|| {
            words.push(word(why));
            words.len() as u32 - 1
        }))
    });
    let at = at.collect();
    Column::new(name, ColumnData::Words { words, at })
}
