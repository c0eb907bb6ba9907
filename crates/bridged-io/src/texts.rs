//! Which column holds the texts that are to be encoded.
//!
//! The one that was named; else the only column of texts besides the ids; else, among several, the
//! only one whose name says that it is it.

use crate::error::{TableError, list};
use crate::table::{ColumnData, Table};

/// Names of columns that hold what their rows say.
const TELLING: &[&str] =
    &["text", "caption", "title", "description", "sentence", "sequence", "nucleotides"];

/// Texts with their ids, which are all different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// One id per row.
    pub ids: Vec<String>,
    /// One text per row, none where the cell was empty.
    pub texts: Vec<Option<String>>,
}

impl Table {
    /// Picks texts and ids; `id` may be [`crate::ROW_NUMBER`].
    pub fn into_texts(self, id: Option<&str>, text: Option<&str>) -> Result<Texts, TableError> {
        let (id_at, ids) = self.unique_ids(id)?;
        let at = match text {
            Some(name) => self.position(name)?,
            None => self.likely_texts(id_at)?,
        };
        let column = &self.columns[at];
        let Some(texts) = column.to_text() else {
            let (path, column) = (self.source.clone(), column.name.clone());
            let kind = self.columns[at].data.kind().to_string();
            return Err(TableError::NotTexts { path, column, kind });
        };
        Ok(Texts { ids, texts: texts.values })
    }

    fn likely_texts(&self, id: Option<usize>) -> Result<usize, TableError> {
        let all = || {
            let texts = |&at: &usize| matches!(self.columns[at].data, ColumnData::Text(_));
            (0..self.columns.len()).filter(texts).filter(|&at| Some(at) != id)
        };
        let telling = all().filter(|&at| {
            let name = self.columns[at].name.to_lowercase();
            TELLING.contains(&name.as_str())
        });
        match (all().collect::<Vec<_>>().as_slice(), telling.collect::<Vec<_>>().as_slice()) {
            ([only], _) | (_, [only]) => Ok(*only),
            ([], _) => Err(TableError::NoTexts { path: self.source.clone(), known: self.known() }),
            (several, _) => {
                let names = list(several.iter().map(|&at| self.columns[at].name.as_str()));
                Err(TableError::SeveralTexts { path: self.source.clone(), names })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn table(columns: &[(&str, &[&str])]) -> Table {
        let column = |(name, cells): &(&str, &[&str])| {
            let cells = cells.iter().map(|c| (!c.is_empty()).then(|| c.to_string())).collect();
            Column::new(*name, ColumnData::Text(cells))
        };
        Table::new("t.csv", columns.iter().map(column).collect()).unwrap()
    }

    #[test]
    fn the_only_text_besides_the_ids_is_taken_and_among_several_the_one_with_a_telling_name() {
        let texts = table(&[("id", &["a", "b"]), ("note", &["one", ""])]).into_texts(None, None);
        let texts = texts.unwrap();
        assert_eq!(texts.ids, ["a", "b"]);
        assert_eq!(texts.texts, [Some("one".to_string()), None]);
        let several = table(&[("author", &["me"]), ("Caption", &["a dog"])]);
        assert_eq!(several.clone().into_texts(None, None).unwrap().ids, ["0"]);
        assert_eq!(several.into_texts(None, None).unwrap().texts, [Some("a dog".to_string())]);
    }

    #[test]
    fn what_cannot_be_told_is_asked_for() {
        let say = |t: Table, text| t.into_texts(None, text).unwrap_err().to_string();
        let two = table(&[("a", &["x"]), ("b", &["y"])]);
        assert_eq!(
            say(two.clone(), None),
            "`t.csv` has several columns of texts (`a`, `b`): name one with --column"
        );
        assert_eq!(say(two, Some("c")), "`t.csv` has no column `c`; it has `a`, `b`");
        assert_eq!(
            say(table(&[("id", &["x"])]), None),
            "`t.csv` has no column of texts besides its ids; it has `id`"
        );
    }
}
