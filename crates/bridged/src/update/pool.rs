//! A pool after rows came and went: what they are called, and which row has which number.

use super::files::{self, InFiles};
use crate::Error;
use crate::kept::KeptRows;
use crate::problem::Pool;
use crate::rows_at::{Kept, RowsAt};
use crate::side::{Names, Side, TextColumn};
use bridged_math::{Matrix, MatrixRef};
use std::borrow::Cow;
use std::collections::HashSet;

/// The rows of a side as they are after an update: those that stay, in their order, then the new ones.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPool {
    /// None if nothing came and nothing went.
    changed: Option<Changed>,
    names: Names,
}

#[derive(Clone, Debug, PartialEq)]
struct Changed {
    /// The old numbers of the rows that stay, ascending.
    stay: Vec<usize>,
    added: Matrix,
    forgotten: usize,
    in_files: Option<InFiles>,
}

impl NewPool {
    /// The rows of a side as they are.
    pub(super) fn unchanged(side: &Side) -> Self {
        Self { changed: None, names: side.names.clone() }
    }

    /// What the rows are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How many rows came in.
    pub fn added(&self) -> usize {
        let rows = |changed: &Changed| match &changed.in_files {
            Some(InFiles { new: Some(new), .. }) => new.rows(),
            _ => changed.added.rows(),
        };
        self.changed.as_ref().map_or(0, rows)
    }

    /// How many rows went out.
    pub fn forgotten(&self) -> usize {
        self.changed.as_ref().map_or(0, |changed| changed.forgotten)
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.changed.is_none()
    }

    /// The number that an old row has now; none if it went.
    pub(super) fn number_of(&self, old: usize) -> Option<usize> {
        match &self.changed {
            Some(changed) => changed.stay.binary_search(&old).ok(),
            None => Some(old),
        }
    }

    /// The old numbers of the rows that stay.
    pub(super) fn stay(&self) -> &[usize] {
        self.changed.as_ref().map_or(&[], |changed| &changed.stay)
    }

    /// The ids of new rows, by their places among them.
    pub(super) fn new_id(&self, row: usize) -> String {
        match self.in_files() {
            Some(InFiles { ids, .. }) => ids[row].clone(),
            None => self.names.id(self.stay().len() + row),
        }
    }

    /// What is known of a pool whose rows stay in their files.
    pub(super) fn in_files(&self) -> Option<&InFiles> {
        self.changed.as_ref().and_then(|changed| changed.in_files.as_ref())
    }

    /// The new rows, all of them; `rows` are those that the model will hold.
    pub(super) fn new_rows(&self, rows: MatrixRef<'_>) -> Matrix {
        match self.in_files().and_then(|files| files.new.as_ref()) {
            Some(new) => new.clone(),
            None => rows.select(self.stay().len()..rows.rows()),
        }
    }

    /// Of a pool whose rows stay in their files, only the rows that a model holds: old and new in proportion, and those of
    /// pairs. Also gives which rows these are, unless they are all.
    pub(super) fn thinned(
        mut self,
        side: &Side,
        paired: impl Iterator<Item = usize>,
    ) -> (Self, Option<Vec<usize>>) {
        let Some(Changed { stay, added, in_files: Some(files), .. }) = &mut self.changed else {
            return (self, None);
        };
        let Some(kept) = &side.kept else { return (self, None) };
        let (old, new) = (stay.len(), added.rows());
        let chosen = files::chosen((old, kept.total as usize), new, paired);
        let from = chosen.partition_point(|&row| row < old);
        let number = |&row: &usize| match row < old {
            true => kept.rows[stay[row]],
            false => kept.total + (row - old) as u64,
        };
        files.numbers = chosen.iter().map(number).collect();
        let few = added.view().select(chosen[from..].iter().map(|row| row - old));
        files.new = Some(std::mem::replace(added, few));
        *stay = chosen[..from].iter().map(|&row| stay[row]).collect();
        self.names = of_rows(&self.names, &chosen);
        (self, Some(chosen))
    }

    /// All rows.
    pub(super) fn rows<'a>(&self, side: &'a Side) -> Result<Cow<'a, Matrix>, Error> {
        let rows = side.rows()?;
        let Some(Changed { stay, added, .. }) = &self.changed else {
            return Ok(Cow::Borrowed(rows));
        };
        let mut data = rows.view().select(stay.iter().copied()).into_data();
        data.extend_from_slice(added.data());
        let n = stay.len() + added.rows();
        Ok(Cow::Owned(Matrix::new(n, rows.cols(), data).expect("whole rows of one width")))
    }

    /// What the rows are called, and which rows of a pool in files they are.
    pub(super) fn into_names(self, before: &Side) -> (Names, Option<Kept>) {
        let files = self.changed.and_then(|changed| changed.in_files);
        let kept = match files {
            Some(files) => before.kept.as_ref().map(|kept| files.kept(kept)),
            None => before.kept.clone(),
        };
        (self.names, kept)
    }

    /// Those rows as a model keeps them.
    pub(super) fn keep(&self, side: &Side, rows: Cow<'_, Matrix>) -> Option<KeptRows> {
        match rows {
            Cow::Owned(rows) => Some(KeptRows::new(rows)),
            Cow::Borrowed(_) => side.rows.clone(),
        }
    }
}

impl Side {
    /// This pool, which is called `name` in errors, without some of its rows and with new ones.
    pub fn changed(
        &self,
        name: &'static str,
        added: Option<Pool>,
        forget: &[usize],
    ) -> Result<NewPool, Error> {
        let added = added.filter(|pool| pool.rows.rows() > 0);
        if added.is_none() && forget.is_empty() {
            return Ok(NewPool::unchanged(self));
        }
        if self.kept.is_some() {
            let (held, total) = (self.len(), self.total());
            return Err(Error::RowsStayInFiles { side: name, held, total });
        }
        self.change(name, added, forget, None)
    }

    /// The same for a pool whose rows stay in their files, of which a model holds some: with new rows, which are there.
    pub fn changed_in_files(
        &self,
        name: &'static str,
        added: Pool,
        at: RowsAt,
    ) -> Result<NewPool, Error> {
        if self.kept.is_none() || added.rows.rows() == 0 {
            return self.changed(name, Some(added), &[]);
        }
        self.change(name, Some(added), &[], Some(at))
    }

    fn change(
        &self,
        name: &'static str,
        added: Option<Pool>,
        forget: &[usize],
        at: Option<RowsAt>,
    ) -> Result<NewPool, Error> {
        let gone: HashSet<usize> = forget.iter().copied().collect();
        let stay: Vec<usize> = (0..self.len()).filter(|row| !gone.contains(row)).collect();
        let (names, added) = match added {
            Some(pool) => self.with_added(name, pool, &stay, !gone.is_empty())?,
            None => (of_rows(&self.names, &stay), Matrix::zeros(0, self.cols())),
        };
        names.check(name, stay.len() + added.rows())?;
        let in_files = at.map(|at| InFiles::new(at, &names, stay.len()));
        let changed = Changed { stay, added, forgotten: gone.len(), in_files };
        Ok(NewPool { changed: Some(changed), names })
    }

    fn with_added(
        &self,
        name: &'static str,
        pool: Pool,
        stay: &[usize],
        some_go: bool,
    ) -> Result<(Names, Matrix), Error> {
        let Pool { rows, names: new, offset } = pool;
        if rows.cols() != self.cols() {
            return Err(Error::Dimension { side: name, got: rows.cols(), need: self.cols() });
        }
        if offset != self.offset {
            return Err(Error::OtherOffset { side: name });
        }
        new.check(name, rows.rows())?;
        let mut names = of_rows(&self.names, stay);
        let numbered = self.names.ids.is_empty() && new.ids.is_empty() && new.id.is_none();
        // Of rows in files, only some numbers are known.
        let next = self.kept.as_ref().map(|kept| kept.total);
        if numbered && self.names.id.is_none() && !some_go {
            names.ids = Vec::new();
        } else {
            names.ids.extend(new_ids((&names, next), &new, rows.rows(), name)?);
            let mut seen = HashSet::with_capacity(names.ids.len());
            if let Some(id) = names.ids.iter().find(|id| !seen.insert(id.as_str())) {
                return Err(Error::IdAgain { side: name, id: id.clone() });
            }
        }
        for column in &mut names.texts {
            let found = new.texts.iter().find(|text| text.name == column.name);
            column.values.extend(values_of(found, rows.rows()));
        }
        for text in &new.texts {
            if !names.texts.iter().any(|column| column.name == text.name) {
                let values = values_of(None, stay.len()).chain(text.values.iter().cloned());
                let (name, values) = (text.name.clone(), values.collect());
                names.texts.push(TextColumn { name, values });
            }
        }
        Ok((names, rows))
    }
}

/// What rows are called, which are no longer called by their places.
fn of_rows(names: &Names, rows: &[usize]) -> Names {
    let of = |column: &TextColumn| TextColumn {
        name: column.name.clone(),
        values: rows.iter().map(|&row| column.values[row].clone()).collect(),
    };
    Names {
        ids: rows.iter().map(|&row| names.id(row)).collect(),
        texts: names.texts.iter().map(of).collect(),
        vector: names.vector.clone(),
        id: names.id.clone(),
    }
}

/// What a column says of rows: nothing where it is not there.
fn values_of(column: Option<&TextColumn>, rows: usize) -> impl Iterator<Item = String> {
    let values = column.map(|column| column.values.clone()).unwrap_or_default();
    values.into_iter().chain(std::iter::repeat(String::new())).take(rows)
}

/// The ids of new rows: their own, or the next numbers where the rows before are called by numbers.
fn new_ids(
    (old, next): (&Names, Option<u64>),
    new: &Names,
    rows: usize,
    side: &'static str,
) -> Result<Vec<String>, Error> {
    // Without a column of ids, a reader that left rows out calls the others by their numbers in that file.
    if new.id.is_some() || (old.id.is_some() && !new.ids.is_empty()) {
        return Ok((0..rows).map(|row| new.id(row)).collect());
    }
    let numbers: Option<Vec<u64>> = old.ids.iter().map(|id| id.parse().ok()).collect();
    match numbers {
        Some(numbers) if old.id.is_none() => {
            let after = numbers.iter().max().map_or(0, |last| last + 1);
            let next = next.unwrap_or(after);
            Ok((next..).take(rows).map(|number| number.to_string()).collect())
        }
        _ if !new.ids.is_empty() => Ok(new.ids.clone()),
        _ => Err(Error::NewRowsWithoutIds { side }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BridgedClustering, Problem};
    use bridged_math::{Seed, Silent};

    fn side(names: Names) -> Side {
        let x = Matrix::from_fn(8, 1, |i, _| (i % 2 * 5) as f32 + i as f32 * 0.1);
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (1, 1)]);
        let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap();
        model.with_names(names, Names::default()).unwrap().x
    }

    fn ids(names: &[&str]) -> Vec<String> {
        names.iter().map(|id| id.to_string()).collect()
    }

    fn pool(rows: usize, names: Names) -> Pool {
        Pool { rows: Matrix::from_fn(rows, 1, |i, _| i as f32), names, ..Pool::default() }
    }

    fn named(list: &[&str]) -> Names {
        Names { ids: ids(list), id: Some("id".into()), ..Names::default() }
    }

    #[test]
    fn rows_that_are_called_by_their_numbers_are_numbered_on() {
        let side = side(Names::default());
        let more = side.changed("x", Some(pool(2, Names::default())), &[]).unwrap();
        assert!(more.names().ids.is_empty(), "places are numbers still");
        assert_eq!((more.added(), more.forgotten()), (2, 0));
        // A row that went leaves a gap, which no other row fills.
        let fewer = side.changed("x", Some(pool(2, Names::default())), &[3, 7]).unwrap();
        assert_eq!(fewer.names().ids, ids(&["0", "1", "2", "4", "5", "6", "7", "8"]));
        assert_eq!((fewer.added(), fewer.forgotten()), (2, 2));
        assert_eq!((fewer.number_of(3), fewer.number_of(4)), (None, Some(3)));
        let gone = side.changed("x", None, &[7]).unwrap();
        assert_eq!(gone.names().ids, ids(&["0", "1", "2", "3", "4", "5", "6"]));
    }

    #[test]
    fn no_id_is_there_twice_but_a_row_may_take_the_place_of_one_that_goes() {
        let old = named(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let side = side(old.clone());
        let error = side.changed("x", Some(pool(1, named(&["c"]))), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x has a row `c` already; give new rows ids of their own, or forget that row to replace it"
        );
        let replaced = side.changed("x", Some(pool(1, named(&["c"]))), &[2]).unwrap();
        assert_eq!(replaced.names().ids, ids(&["a", "b", "d", "e", "f", "g", "h", "c"]));
        let error = side.changed("x", Some(pool(1, Names::default())), &[]).unwrap_err();
        assert!(error.to_string().contains("have ids, but the new ones have none"), "{error}");
        let wide = Pool { rows: Matrix::zeros(1, 3), ..Pool::default() };
        assert!(side.changed("x", Some(wide), &[]).unwrap_err().to_string().contains("3 columns"));
    }

    #[test]
    fn columns_that_only_some_rows_have_are_empty_for_the_others() {
        let text =
            |name: &str, values: &[&str]| TextColumn { name: name.into(), values: ids(values) };
        let old = Names { texts: vec![text("kind", &["m"; 8])], ..Names::default() };
        let new = Names { texts: vec![text("note", &["n"])], ..Names::default() };
        let both = side(old).changed("x", Some(pool(1, new)), &[0]).unwrap();
        let texts = &both.names().texts;
        assert_eq!(texts[0].values, ids(&["m", "m", "m", "m", "m", "m", "m", ""]));
        assert_eq!(texts[1].values, ids(&["", "", "", "", "", "", "", "n"]));
    }
}
