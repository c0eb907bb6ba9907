//! Folders that name a value of all rows in them: `date=2026-01-01/part-0.parquet`.

use super::error::SourceError;
use crate::error::list;
use crate::table::{Column, ColumnData};
use std::path::{Component, Path};

/// What Spark and Hive call the folder of rows without a value.
const NONE: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column that the names of folders give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub name: String,
    /// Whether all values are whole numbers.
    whole: bool,
}

/// The values of a part, one per partition.
pub(crate) type Values = Vec<Option<String>>;

/// The names and values in the folders of a path, outermost first.
fn of_path(path: &Path) -> Vec<(String, Option<String>)> {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let pair = |folder: Component<'_>| {
        let Component::Normal(folder) = folder else { return None };
        let (name, value) = folder.to_str()?.split_once('=')?;
        let value = (value != NONE).then(|| decoded(value));
        (!name.is_empty()).then(|| (decoded(name), value))
    };
    folders.filter_map(pair).collect()
}

/// `%3A` is `:`, as Hive writes what a file system does not like.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The partitions of files, and the values of each file; all must have the same names.
pub(crate) fn of_files<'a>(
    files: impl Iterator<Item = &'a Path>,
) -> Result<(Vec<Partition>, Vec<Values>), SourceError> {
    let mut first: Option<(&Path, Vec<String>)> = None;
    let mut values: Vec<Values> = Vec::new();
    for file in files {
        let (names, row): (Vec<String>, Values) = of_path(file).into_iter().unzip();
        let (first_file, expected) = first.get_or_insert_with(|| (file, names.clone()));
        if names != *expected {
            let shown = |names: &[String]| list(names.iter().map(String::as_str));
            return Err(SourceError::OtherPartition {
                first: first_file.to_path_buf(),
                first_keys: shown(expected),
                other: file.to_path_buf(),
                other_keys: shown(&names),
            });
        }
        values.push(row);
    }
    let names = first.map(|(_, names)| names).unwrap_or_default();
    let is_whole = |text: &str| text.parse::<i64>().is_ok_and(|v| v.to_string() == text);
    let partition = |(at, name): (usize, String)| {
        let mut cells = values.iter().filter_map(|row| row[at].as_deref()).peekable();
        let whole = cells.peek().is_some() && cells.all(is_whole);
        Partition { name, whole }
    };
    let partitions = names.into_iter().enumerate().map(partition).collect();
    Ok((partitions, values))
}

impl Partition {
    /// The column of this many rows, as texts: so it is no measurement, whatever it spells.
    pub fn column(&self, value: &Option<String>, rows: usize) -> Column {
        let cells = ColumnData::Text(vec![value.clone(); rows]);
        Column { of_folder: true, ..Column::new(self.name.as_str(), cells) }
    }

    /// The same column as it leaves: whole numbers if all values are.
    pub fn finish(&self, column: &mut Column) {
        if let (true, ColumnData::Text(cells)) = (self.whole, &column.data) {
            let cells = cells.iter().map(|cell| cell.as_ref()?.parse().ok()).collect();
            column.data = ColumnData::Integer(cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_columns_and_their_values() {
        let files = [
            "t/year=2026/city=S%C3%A3o%20Paulo/a.parquet",
            "t/year=2025/city=__HIVE_DEFAULT_PARTITION__/b=c.parquet",
        ];
        let (partitions, values) = of_files(files.iter().map(Path::new)).unwrap();
        let names: Vec<&str> = partitions.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["year", "city"]);
        assert_eq!(values[0], [Some("2026".to_owned()), Some("São Paulo".to_owned())]);
        assert_eq!(values[1], [Some("2025".to_owned()), None]);
        assert!(partitions[0].whole && !partitions[1].whole);
        let mut column = partitions[0].column(&values[0][0], 2);
        assert!(matches!(&column.data, ColumnData::Text(_)));
        partitions[0].finish(&mut column);
        assert!(matches!(&column.data, ColumnData::Integer(v) if *v == [Some(2026), Some(2026)]));
    }

    #[test]
    fn values_that_are_not_all_whole_numbers_stay_texts() {
        for files in [["d=1/a.csv", "d=x/a.csv"], ["d=01/a.csv", "d=2/a.csv"]] {
            let (partitions, _) = of_files(files.iter().map(Path::new)).unwrap();
            assert!(!partitions[0].whole);
        }
        let error = of_files(["t/d=1/a.csv", "t/b.csv"].iter().map(Path::new)).unwrap_err();
        let expected = "`t/d=1/a.csv` lies in folders that name `d`, `t/b.csv` in folders that name none: all parts \
                        need the same";
        assert_eq!(error.to_string(), expected);
        assert!(of_files(["a.csv"].iter().map(Path::new)).unwrap().0.is_empty());
    }
}
