//! Classes that overlap, from a data set with texts: its groups divided by words.
//!
//! A row whose text has exactly one of the words, such as "Men" or "Women", belongs to the class
//! "group + word". Kept are the classes that are large enough and whose group has at least two of
//! them, so every class shares a label with another, as in the paper's experiment on
//! multi-labelled COCO. The labels are in the column `labels`.

use super::CurateError;
use bridged_io::{Column, ColumnData, Table};
use std::collections::BTreeMap;

/// The rows of overlapping classes, and the sizes of the classes.
pub fn divide(
    table: &Table,
    words: &[String],
    rows_per_group: usize,
) -> Result<(Table, Vec<(String, usize)>), CurateError> {
    let missing = |column: &'static str| CurateError::NoColumn {
        path: table.source.clone(),
        column,
        known: table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", "),
        remedy: "give a data set with the columns `group` and `text`",
    };
    let cells = |name: &'static str| {
        let column = table.column(name).and_then(Column::to_text);
        column.map(|c| c.values).ok_or_else(|| missing(name))
    };
    let (groups, texts) = (cells("group")?, cells("text")?);
    let mut classes: BTreeMap<(String, &str), Vec<usize>> = BTreeMap::new();
    for (row, (group, text)) in groups.iter().zip(&texts).enumerate() {
        let (Some(group), Some(text)) = (group, text) else { continue };
        let mut found = words.iter().filter(|w| text.split_whitespace().any(|t| t == w.as_str()));
        if let (Some(word), None) = (found.next(), found.next()) {
            classes.entry((group.clone(), word)).or_default().push(row);
        }
    }
    classes.retain(|_, rows| rows.len() >= rows_per_group);
    let mut of_group: BTreeMap<String, usize> = BTreeMap::new();
    classes.keys().for_each(|(group, _)| *of_group.entry(group.clone()).or_default() += 1);
    classes.retain(|(group, _), _| of_group[group] >= 2);
    if classes.is_empty() {
        return Err(CurateError::Nothing {
            path: table.source.clone(),
            reason: format!("has no group with two classes of {rows_per_group} rows"),
            remedy: "choose other --words, or lower --rows-per-group".into(),
        });
    }
    let mut rows: Vec<(usize, String, String)> = Vec::new();
    for ((group, word), of) in &classes {
        let labels = format!("{group};{word}");
        rows.extend(of.iter().map(|&row| (row, format!("{group} + {word}"), labels.clone())));
    }
    rows.sort_unstable();
    let text = |cells: Vec<String>| ColumnData::Text(cells.into_iter().map(Some).collect());
    let places: Vec<usize> = rows.iter().map(|r| r.0).collect();
    let mut columns: Vec<Column> = Vec::new();
    for column in table.columns.iter().filter(|c| c.name != "group" && c.name != "labels") {
        let data = match &column.data {
            ColumnData::Vector(m) => ColumnData::Vector(m.view().select(places.iter().copied())),
            _ => match column.to_text() {
                Some(all) => {
                    ColumnData::Text(places.iter().map(|&p| all.values[p].clone()).collect())
                }
                None => continue,
            },
        };
        columns.push(Column::new(column.name.clone(), data));
    }
    columns.push(Column::new("group", text(rows.iter().map(|r| r.1.clone()).collect())));
    columns.push(Column::new("labels", text(rows.iter().map(|r| r.2.clone()).collect())));
    let sizes = classes.iter().map(|((group, word), of)| (format!("{group} + {word}"), of.len()));
    Ok((Table::new(table.source.clone(), columns)?, sizes.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Matrix;

    #[test]
    fn every_class_shares_its_group_with_another() {
        let texts =
            ["Men Belt", "Women Belt", "Men Hat", "Men Women Belt", "Men Belt", "Women Belt"];
        let groups = ["Belts", "Belts", "Hats", "Belts", "Belts", "Belts"];
        let text =
            |cells: &[&str]| ColumnData::Text(cells.iter().map(|c| Some(c.to_string())).collect());
        let columns = vec![
            Column::new("x", ColumnData::Vector(Matrix::from_fn(6, 1, |i, _| i as f32))),
            Column::new("group", text(&groups)),
            Column::new("text", text(&texts)),
        ];
        let table = Table::new("t", columns).unwrap();
        let words = ["Men".to_string(), "Women".to_string()];
        let (out, sizes) = divide(&table, &words, 2).unwrap();
        assert_eq!(sizes, [("Belts + Men".to_string(), 2), ("Belts + Women".to_string(), 2)]);
        let ColumnData::Vector(x) = &out.column("x").unwrap().data else { panic!("a vector") };
        assert_eq!(x.data(), [0.0, 1.0, 4.0, 5.0], "hats have one class, row 3 has both words");
        let labels = out.column("labels").unwrap().to_text().unwrap();
        assert_eq!(labels.values[1].as_deref(), Some("Belts;Women"));
        let error = divide(&table, &words, 3).unwrap_err().to_string();
        assert!(error.contains("no group with two classes of 3 rows"), "{error}");
    }
}
