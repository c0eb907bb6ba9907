//! Which carried column tells a person what the clusters of a side are.
//!
//! 1. Of the columns whose values repeat (a species, a city), the one with the highest adjusted mutual
//!    information with the clusters, if that is clear: it says what the clusters have in common.
//! 2. Else the first column of readable texts that tell rows apart: a title, a caption, a glyph.
//! 3. Else the best of the columns whose values repeat, else none: rows are called by their ids.
//!
//! A text without spaces that is longer than forty letters (DNA, a hash, an address) is not readable,
//! and a number is not a title. At most 4,096 rows are looked at, evenly spaced.

use crate::cluster::NOISE;
use crate::metrics::ami;
use crate::side::TextColumn;
use std::collections::BTreeMap;

/// Rows that are looked at, at most.
const MOST: usize = 4096;
/// The longest word of ASCII letters that a person reads.
const LONGEST_WORD: usize = 40;
/// Adjusted mutual information from which on a column tells clusters apart better than titles do.
const CLEAR: f64 = 0.2;

/// What a column is good for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    /// Its values repeat: its adjusted mutual information with the clusters.
    Groups(f64),
    /// Its values tell rows apart.
    Titles,
}

/// The position of the column that stands for the rows of a clustering with these labels.
pub(crate) fn label_column(texts: &[TextColumn], labels: &[u32]) -> Option<usize> {
    if texts.is_empty() {
        return None;
    }
    let many = labels.len().min(MOST);
    let rows = (0..many).map(|s| s * labels.len() / many);
    let rows: Vec<usize> = rows.filter(|&i| labels[i] != NOISE).collect();
    let uses: Vec<(usize, Use)> = texts
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((at, use_of(column, labels, &rows)?)))
        .collect();
    let best = uses
        .iter()
        .filter_map(|&(at, of)| match of {
            Use::Groups(score) => Some((at, score)),
            Use::Titles => None,
        })
        .reduce(|a, b| if b.1 > a.1 { b } else { a }); // of equals the first
    let title = uses.iter().find(|(_, of)| *of == Use::Titles).map(|(at, _)| *at);
    match (best, title) {
        (Some((at, score)), _) if score >= CLEAR => Some(at),
        (_, Some(title)) => Some(title),
        (best, None) => best.map(|(at, _)| at),
    }
}

/// What a column is good for, from some rows; `None` for nothing.
fn use_of(column: &TextColumn, labels: &[u32], rows: &[usize]) -> Option<Use> {
    let known: Vec<(u32, &str)> = rows
        .iter()
        .filter_map(|&i| Some((labels[i], column.values.get(i)?.trim())))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let half = |count: usize| 2 * count >= known.len();
    let readable = known.iter().filter(|(_, text)| is_readable(text)).count();
    if known.is_empty() || 2 * known.len() < rows.len() || !half(readable) {
        return None;
    }
    let mut codes = BTreeMap::new();
    let classes: Vec<u32> = known
        .iter()
        .map(|(_, text)| {
            let next = codes.len() as u32;
            *codes.entry(*text).or_insert(next)
        })
        .collect();
    match codes.len() {
        1 if known.len() > 1 => None, // it says the same of every row
        distinct if 2 * distinct <= known.len() => {
            let clusters: Vec<u32> = known.iter().map(|(label, _)| *label).collect();
            ami(&clusters, &classes).ok().map(Use::Groups)
        }
        _ => {
            let numbers = known.iter().filter(|(_, text)| text.parse::<f64>().is_ok()).count();
            (!half(numbers)).then_some(Use::Titles)
        }
    }
}

fn is_readable(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || !c.is_ascii()).all(|word| word.len() <= LONGEST_WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, value: impl Fn(usize) -> String) -> TextColumn {
        TextColumn { name: name.to_string(), values: (0..60).map(value).collect() }
    }

    fn chosen(texts: &[TextColumn]) -> Option<&str> {
        let labels: Vec<u32> = (0..60).map(|i| i % 3).collect();
        label_column(texts, &labels).map(|at| texts[at].name.as_str())
    }

    #[test]
    fn the_column_that_tells_clusters_apart_best_is_chosen() {
        let city = column("city", |i| ["Rome", "Oslo"][i / 30].into());
        let species = column("species", |i| ["lynx", "otter", "heron"][i % 3].into());
        let genus = column("genus", |i| ["a", "b", "b"][i % 3].into());
        let title = column("title", |i| format!("a photograph, number {i}"));
        let dna = column("dna", |i| format!("{}{i}", "ACGT".repeat(150)));
        let year = column("year", |i| format!("{}", 1900 + i));
        let empty = column("empty", |i| if i < 50 { String::new() } else { format!("word {i}") });
        let same = column("source", |_| "GBIF".into());
        let texts = [&city, &dna, &genus, &species, &title].map(Clone::clone);
        assert_eq!(chosen(&texts), Some("species"));
        assert_eq!(chosen(&[city.clone(), dna.clone(), title.clone()]), Some("title"));
        assert_eq!(chosen(&[dna.clone(), year.clone(), city.clone()]), Some("city"));
        assert_eq!(chosen(&[dna, year, empty, same]), None, "ids are better");
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn glyphs_and_names_that_are_unique_are_titles_and_the_first_is_taken() {
        let glyph = column("glyph", |i| char::from_u32(0x1F400 + i as u32).unwrap().to_string());
        let name = column("name", |i| format!("animal {i}"));
        assert_eq!(chosen(&[glyph.clone(), name.clone()]), Some("glyph"));
        assert_eq!(chosen(&[name, glyph]), Some("name"));
        let long = column("title", |i| format!("{}{i}", "写真".repeat(40)));
        assert_eq!(chosen(&[long]), Some("title"), "a language without spaces");
    }
}
