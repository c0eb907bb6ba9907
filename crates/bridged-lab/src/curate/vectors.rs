//! Vectors that somebody else made, found by id.
//!
//! An encoder may have written the name of a file, its path, the name without the ending or a
//! number. A row offers every name it has (its keys), the table is read as it is, by the last part
//! of a path, and without an ending; the combination that finds most rows is taken for all of them.

use super::error::{CurateError, NoVectors, a_few};
use bridged::MatrixRef;
use bridged_io::Pool;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A table of vectors and the option that named it.
#[derive(Debug)]
pub struct Vectors {
    pool: Pool,
    path: PathBuf,
    option: &'static str,
}

/// What a row may be called; `names` says what each key is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    pub names: &'static [&'static str],
    pub rows: &'a [&'a [String]],
}

impl Vectors {
    /// A pool that was read from `path`, which `option` named.
    pub fn new(pool: Pool, path: &Path, option: &'static str) -> Self {
        Self { pool, path: path.to_path_buf(), option }
    }

    /// The vectors themselves.
    pub fn rows(&self) -> MatrixRef<'_> {
        self.pool.rows.view()
    }

    /// For each row the place of its vector, and by which key they were found.
    pub(super) fn find(&self, keys: Keys<'_>) -> (Vec<Option<usize>>, &'static str) {
        let mut best = (vec![None; keys.rows.len()], keys.names[0]);
        let mut most = 0;
        for form in [|id: &str| id.to_string(), last_part, without_ending] {
            let mut index = HashMap::with_capacity(self.pool.ids.len());
            for (at, id) in self.pool.ids.iter().enumerate() {
                index.insert(form(id), at);
            }
            if index.len() < self.pool.ids.len() {
                continue; // this form mistakes one id for another
            }
            for (key, name) in keys.names.iter().enumerate() {
                let found: Vec<Option<usize>> =
                    keys.rows.iter().map(|row| index.get(&row[key]).copied()).collect();
                let count = found.iter().flatten().count();
                if count > most {
                    (best, most) = ((found, *name), count);
                }
            }
            if most == keys.rows.len() {
                break;
            }
        }
        best
    }

    /// Like [`Vectors::find`], where every row must have one; also says how they were found.
    pub(super) fn find_all(&self, keys: Keys<'_>) -> Result<(Vec<usize>, String), CurateError> {
        let (found, name) = self.find(keys);
        match found.iter().copied().collect::<Option<Vec<usize>>>() {
            Some(all) => Ok((all, format!("{} by {name}", self.option))),
            None => Err(self.missing(keys, &found)),
        }
    }

    /// The error for rows that were not found.
    pub(super) fn missing(&self, keys: Keys<'_>, found: &[Option<usize>]) -> CurateError {
        let missing = || keys.rows.iter().zip(found).filter(|(_, f)| f.is_none());
        CurateError::NoVectors(Box::new(NoVectors {
            option: self.option,
            path: self.path.clone(),
            missing: missing().count(),
            of: found.len(),
            examples: a_few(missing().map(|(row, _)| row[0].as_str()), 10),
            like: a_few(self.pool.ids.iter().map(String::as_str), 3),
            keys: keys.names.join(", "),
        }))
    }
}

/// What follows the last slash.
pub(super) fn last_part(id: &str) -> String {
    id.rsplit(['/', '\\']).next().unwrap_or(id).to_string()
}

fn without_ending(id: &str) -> String {
    stem(&last_part(id))
}

/// A file's name without its ending.
pub(super) fn stem(name: &str) -> String {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Matrix;

    fn find(ids: &[&str], rows: &[[&str; 2]]) -> Result<Vec<usize>, String> {
        let pool = Pool {
            rows: Matrix::zeros(ids.len(), 1),
            ids: ids.iter().map(|id| id.to_string()).collect(),
            carried: Vec::new(),
            id_column: None,
            vector_names: Vec::new(),
            id_name: None,
            offset: Default::default(),
            dropped: Vec::new(),
            notes: Vec::new(),
        };
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|k| k.to_string()).collect()).collect();
        let rows: Vec<&[String]> = rows.iter().map(Vec::as_slice).collect();
        let vectors = Vectors::new(pool, Path::new("v.npy"), "--images");
        let keys = Keys { names: &["file name", "number"], rows: &rows };
        vectors.find_all(keys).map(|(at, _)| at).map_err(|e| e.to_string())
    }

    #[test]
    fn ids_are_names_paths_stems_or_numbers() {
        let rows = [["b.jpg", "0"], ["a.jpg", "2"]];
        assert_eq!(find(&["a.jpg", "b.jpg"], &rows), Ok(vec![1, 0]));
        assert_eq!(find(&["val/a.jpg", "val/b.jpg"], &rows), Ok(vec![1, 0]));
        assert_eq!(find(&["a.png", "b.png"], &[["b", "0"], ["a", "1"]]), Ok(vec![1, 0]));
        assert_eq!(find(&["0", "1", "2"], &rows), Ok(vec![0, 2]));
    }

    #[test]
    fn forms_that_mistake_one_id_for_another_are_not_used() {
        let error = find(&["train/a.jpg", "val/a.jpg"], &[["a.jpg", "9"]]).unwrap_err();
        assert_eq!(
            error,
            "--images `v.npy` has no vector for 1 of 1 rows: `a.jpg`; its ids look like \
             `train/a.jpg`, `val/a.jpg` and are compared with the file name, number of a row; add \
             those vectors, or leave the rows out with --skip-missing"
        );
    }
}
