//! Predictions as columns, for whoever writes them as a table: the command, a server.
//!
//! Rows are many and the answers of clusters few: what is written of an answer in words is made once.

use crate::table::{Column, ColumnData};
use crate::vectors::DoubleRows;
use bridged::offset::Offset;
use bridged::{Explanation, Names, Neighbor, Prediction};
use bridged_math::Matrix;
use std::collections::HashMap;
use std::hash::Hash;

/// Shares that are smaller are not written.
pub const SHARE: f64 = 0.001;

/// Why each row is answered as it is, one column after the other; the radius if a level was asked for.
pub fn explained(prediction: &Prediction, with_radius: bool) -> Vec<Column> {
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

/// The predicted vectors in the units of the data: in 64 bits where 32 would not tell them apart.
pub fn values(offset: &Offset, values: Matrix, valid: Vec<bool>) -> ColumnData {
    if offset.is_none() {
        return ColumnData::OptionalVector { values, valid };
    }
    let raised = offset.raise_rows(values.view());
    let values = DoubleRows::new(values.rows(), values.cols(), raised);
    ColumnData::DoubleVector { values: values.expect("one number per entry"), valid }
}

/// For each of the n best rows: its id, its distance, and what it carries along.
pub fn nearest(
    names: &Names,
    carried: &[(&str, Carried<'_>)],
    found: &[Vec<Neighbor>],
    n: usize,
) -> Vec<Column> {
    let mut columns = Vec::new();
    for rank in 0..n {
        let ranked = || found.iter().map(move |row| row.get(rank));
        let name = |what: &str| format!("nearest_{}_{what}", rank + 1);
        let ids = ranked().map(|f| f.map(|f| names.id(f.row as usize))).collect();
        columns.push(Column::new(name("id"), ColumnData::Text(ids)));
        let distances = ranked().map(|f| f.map_or(f64::NAN, |f| f.distance)).collect();
        columns.push(Column::new(name("distance"), ColumnData::Number(distances)));
        for (column, carried) in carried {
            let values = carried.of(ranked().map(|f| f.map(|f| f.row as usize)));
            columns.push(Column::new(name(column), values));
        }
    }
    columns
}

/// The columns of the input before our own, and what was renamed: a column of the input that has the name of one of ours.
pub fn beside(input: Vec<Column>, ours: Vec<Column>) -> (Vec<Column>, Vec<Renamed>) {
    let mut taken: Vec<String> = ours.iter().map(|column| column.name.clone()).collect();
    let vectors: Vec<String> =
        ours.iter().filter(|c| is_vector(c)).map(|c| c.name.clone()).collect();
    // `value_3` is one of ours where vectors are a column per entry.
    let is_entry = |name: &str| vectors.iter().any(|v| entry_of(name, v));
    let (mut columns, mut renamed) = (Vec::with_capacity(input.len() + ours.len()), Vec::new());
    for column in input {
        let mut name = column.name.clone();
        while taken.contains(&name) || is_entry(&name) {
            name.push_str("_input");
        }
        if name != column.name {
            renamed.push(Renamed { from: column.name.clone(), to: name.clone() });
        }
        taken.push(name.clone());
        columns.push(column.renamed(name));
    }
    columns.extend(ours);
    (columns, renamed)
}

/// A column that has another name in the output than in the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Renamed {
    /// In the input.
    pub from: String,
    /// In the output.
    pub to: String,
}

fn is_vector(column: &Column) -> bool {
    column.data.kind().is_list()
}

fn entry_of(name: &str, vector: &str) -> bool {
    let digits = name.strip_prefix(vector).and_then(|rest| rest.strip_prefix('_'));
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

/// What a model carries along as texts, with the type that all of them spell: whole numbers, numbers, truth values or
/// texts. Empty is missing.
pub struct Carried<'a> {
    texts: &'a [String],
    spelled: Spelled,
}

/// The type of cells that are kept as texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spelled {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// `true` and `false`.
    Bool,
    /// Anything.
    Text,
}

impl Spelled {
    /// What all of these texts spell.
    pub fn of(texts: &[String]) -> Self {
        let all = |fits: fn(&str) -> bool| {
            let mut cells = texts.iter().filter(|t| !t.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|t| fits(t))
        };
        if all(|t| t.parse::<i64>().is_ok_and(|v| v.to_string() == t)) {
            Self::Integer
        } else if all(is_number) {
            Self::Number
        } else if all(|t| t == "true" || t == "false") {
            Self::Bool
        } else {
            Self::Text
        }
    }
}

impl<'a> Carried<'a> {
    /// Looks at all of them once.
    pub fn new(texts: &'a [String]) -> Self {
        Self { texts, spelled: Spelled::of(texts) }
    }

    /// Texts whose type is known.
    pub fn typed(texts: &'a [String], spelled: Spelled) -> Self {
        Self { texts, spelled }
    }

    /// Those of some rows, as a column.
    pub fn of(&self, rows: impl Iterator<Item = Option<usize>>) -> ColumnData {
        let cells = rows.map(|row| Some(self.texts[row?].as_str()).filter(|t| !t.is_empty()));
        match self.spelled {
            Spelled::Integer => ColumnData::Integer(cells.map(|t| t?.parse().ok()).collect()),
            Spelled::Bool => ColumnData::Bool(cells.map(|t| t?.parse().ok()).collect()),
            Spelled::Text => ColumnData::Text(cells.map(|t| t.map(str::to_string)).collect()),
            Spelled::Number => {
                let number = |t: Option<&str>| t.and_then(|t| t.parse().ok()).unwrap_or(f64::NAN);
                ColumnData::Number(cells.map(number).collect())
            }
        }
    }
}

/// A number as tables are read: with a point or an exponent where it is not whole, and no more zeros than needed.
fn is_number(text: &str) -> bool {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let spelled = plain == "0" || !plain.starts_with('0') || plain.starts_with("0.");
    spelled && plain.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_carries_has_the_type_that_all_of_it_spells() {
        let spelled = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|c| c.to_string()).collect();
            Carried::new(&cells).spelled
        };
        assert_eq!(spelled(&["1", "", "-20"]), Spelled::Integer);
        assert_eq!(spelled(&["007", "12"]), Spelled::Text);
        assert_eq!(spelled(&["1.5", "2", "1e-7", ""]), Spelled::Number);
        assert_eq!(spelled(&["1.5", "inf"]), Spelled::Text);
        assert_eq!(spelled(&["true", "", "false"]), Spelled::Bool);
        assert_eq!(spelled(&["", ""]), Spelled::Text);
    }

    #[test]
    fn a_column_of_the_input_never_hides_one_of_ours() {
        let text = |name: &str| Column::new(name, ColumnData::Text(vec![None]));
        let value = ColumnData::Vector(Matrix::zeros(1, 3));
        let input = ["status", "status_input", "name", "value_7", "value_x"].map(text).to_vec();
        let ours = vec![text("status"), Column::new("value", value)];
        let (columns, renamed) = beside(input, ours);
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let expected = ["status_input", "status_input_input", "name", "value_7_input", "value_x"];
        assert_eq!(names[..5], expected);
        assert_eq!(names[5..], ["status", "value"]);
        assert_eq!(renamed.len(), 3);
    }
}
