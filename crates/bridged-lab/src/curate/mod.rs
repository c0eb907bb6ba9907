//! Data sets from public files: the paper's four, by its rules, with the vectors of any encoder.
//!
//! ```text
//! public file ─► candidates ─► groups ─► those that are large enough ─┐
//! vectors of an encoder, found by id ─────────────────────────────────┴─► one paired table
//! ```
//!
//! | module | data set | a group is |
//! |---|---|---|
//! | [`bioscan`] | BIOSCAN-5M: images and DNA barcodes | a species, of distinct families first |
//! | [`wit`] | WIT: images and captions of Wikipedia | pages with dense titles that share a word |
//! | [`flickr30k`] | Flickr30k: images and captions | captions with the same key words |
//! | [`coco`] | COCO: images and captions | one category, or several that overlap |
//!
//! | [`mod@overlap`] | any data set with texts | a group divided by words: classes that overlap |
//!
//! [`encoders`] adds the vectors of encoders that need no weights to any data set.
//!
//! Every row of a group that is large enough is kept: a run draws as many as it needs, as the
//! paper does. The appendix of the paper on data has the rules.

mod alike;
pub mod bioscan;
pub mod coco;
pub mod encoders;
mod error;
mod files;
pub mod flickr30k;
mod groups;
pub mod overlap;
mod vectors;
pub mod wit;

pub use bioscan::Bioscan;
pub use coco::Coco;
pub use error::{CurateError, NoVectors};
pub use flickr30k::Flickr30k;
pub use groups::Density;
pub use vectors::Vectors;
pub use wit::Wit;

use bridged::{Matrix, Seed, Stage, Watch};
use bridged_encode::lsa;
use bridged_encode::tfidf::{ENGLISH, Tfidf};
use bridged_io::{Column, ColumnData, Table};
use groups::Group;
use vectors::Keys;

/// What to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The fewest rows that a group must have: those that a run draws of it.
    pub rows_per_group: usize,
    /// How many groups to keep [default: as the data set says].
    pub groups: Option<usize>,
    /// The most rows of a group to keep, drawn at random.
    pub max_rows: Option<usize>,
    /// Leave rows without a vector out, instead of refusing them.
    pub skip_missing: bool,
    /// Where random choices come from.
    pub seed: Seed,
}

/// The vectors of both sides.
#[derive(Debug)]
pub struct Sides<'a> {
    /// Those of the images.
    pub x: &'a Vectors,
    /// Those of the other side; TF-IDF of the texts where there are none.
    pub y: Option<&'a Vectors>,
    /// How many numbers TF-IDF is reduced to.
    pub text_dim: usize,
}

/// A data set, and what a person should know of how it came about.
#[derive(Debug)]
pub struct Curated {
    /// The paired table.
    pub table: Table,
    /// The groups and their rows, in the order of the table.
    pub groups: Vec<(String, usize)>,
    /// What was left out and what was put in the place of something else, in sentences.
    pub notes: Vec<String>,
}

/// Words of the vocabulary that TF-IDF vectors are made of.
const VOCABULARY: usize = 1000;

/// Candidates for the table.
struct Draft {
    /// What the columns beside `id`, `group`, `x` and `y` are called.
    carried: &'static [&'static str],
    /// What the keys of a row are, on each side.
    x_keys: &'static [&'static str],
    y_keys: &'static [&'static str],
    records: Vec<Record>,
    notes: Vec<String>,
}

/// One candidate.
struct Record {
    id: String,
    carried: Vec<String>,
    x_keys: Vec<String>,
    y_keys: Vec<String>,
}

impl Draft {
    fn new(
        carried: &'static [&'static str],
        x_keys: &'static [&'static str],
        y_keys: &'static [&'static str],
    ) -> Self {
        Self { carried, x_keys, y_keys, records: Vec::new(), notes: Vec::new() }
    }

    /// Leaves rows without vectors out, if that is what was asked for.
    fn skip_missing(
        &mut self,
        sides: &Sides<'_>,
        selection: &Selection,
    ) -> Result<(), CurateError> {
        if !selection.skip_missing {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.records.len()).collect();
        let mut kept = vec![true; all.len()];
        let mut look = |vectors: &Vectors, keys: Keys<'_>| {
            let (found, _) = vectors.find(keys);
            if found.iter().all(Option::is_none) {
                return Err(vectors.missing(keys, &found));
            }
            kept.iter_mut().zip(found).for_each(|(kept, found)| *kept &= found.is_some());
            Ok(())
        };
        look(sides.x, Keys { names: self.x_keys, rows: &self.keys(&all, |r| &r.x_keys) })?;
        if let Some(y) = sides.y {
            look(y, Keys { names: self.y_keys, rows: &self.keys(&all, |r| &r.y_keys) })?;
        }
        let mut next = kept.iter();
        self.records.retain(|_| *next.next().expect("one for each record"));
        let out = all.len() - self.records.len();
        if out > 0 {
            self.notes
                .push(format!("{out} of {} rows have no vector and were left out", all.len()));
        }
        Ok(())
    }

    fn keys(&self, rows: &[usize], of: impl Fn(&Record) -> &Vec<String>) -> Vec<&[String]> {
        rows.iter().map(|&row| of(&self.records[row]).as_slice()).collect()
    }

    /// A carried column.
    fn column(&self, name: &str) -> Option<usize> {
        self.carried.iter().position(|c| *c == name)
    }

    /// The cells of a carried column.
    fn cells(&self, rows: &[usize], column: usize) -> Vec<&str> {
        rows.iter().map(|&row| self.records[row].carried[column].as_str()).collect()
    }

    /// The table of the groups.
    fn finish(
        mut self,
        groups: Vec<Group>,
        sides: &Sides<'_>,
        watch: &dyn Watch,
    ) -> Result<Curated, CurateError> {
        let rows: Vec<usize> = groups.iter().flat_map(|g| g.rows.iter().copied()).collect();
        let (x, mut how) = {
            let keys = self.keys(&rows, |r| &r.x_keys);
            let (at, how) = sides.x.find_all(Keys { names: self.x_keys, rows: &keys })?;
            (sides.x.rows().select(at), how)
        };
        let y = match sides.y {
            Some(y) => {
                let keys = self.keys(&rows, |r| &r.y_keys);
                let (at, how_y) = y.find_all(Keys { names: self.y_keys, rows: &keys })?;
                how += &format!(", {how_y}");
                y.rows().select(at)
            }
            None => self.text_vectors(&rows, sides.text_dim, watch)?,
        };
        self.notes.push(format!("vectors were found: {how}"));
        let text = |cells: Vec<String>| ColumnData::Text(cells.into_iter().map(Some).collect());
        let ids = rows.iter().map(|&row| self.records[row].id.clone()).collect();
        let names = groups.iter().flat_map(|g| vec![g.name.clone(); g.rows.len()]).collect();
        let mut columns = vec![
            Column::new("id", text(ids)),
            Column::new("group", text(names)),
            Column::new("x", ColumnData::Vector(x)),
            Column::new("y", ColumnData::Vector(y)),
        ];
        for (at, name) in self.carried.iter().enumerate() {
            let cells = self.cells(&rows, at).into_iter().map(str::to_string).collect();
            columns.push(Column::new(*name, text(cells)));
        }
        Ok(Curated {
            table: Table::new("the data set", columns)?,
            groups: groups.into_iter().map(|g| (g.name, g.rows.len())).collect(),
            notes: self.notes,
        })
    }

    /// TF-IDF of the texts in a few numbers.
    fn text_vectors(
        &mut self,
        rows: &[usize],
        dim: usize,
        watch: &dyn Watch,
    ) -> Result<Matrix, CurateError> {
        if dim == 0 {
            let (name, need) = ("--text-dim", "at least 1".to_string());
            return Err(CurateError::BadOption { name, need, got: "0".to_string() });
        }
        let column = self.column("text").expect("sides without y are of data sets with texts");
        let texts = self.cells(rows, column);
        let tfidf =
            Tfidf { stop_words: ENGLISH, max_features: Some(VOCABULARY), ..Tfidf::default() };
        let sparse = tfidf.fit(&texts).rows(&texts);
        if sparse.cols() == 0 {
            let name = "the texts";
            let need = "words, or have vectors (--texts)".to_string();
            return Err(CurateError::BadOption { name, need, got: "none".to_string() });
        }
        let _stage = Stage::begin(watch, "texts", None)?;
        let y = lsa::reduce(&sparse, dim);
        let (words, numbers) = (sparse.cols(), y.cols());
        self.notes.push(format!(
            "no --texts: y is TF-IDF of {words} words of the texts, in {numbers} numbers"
        ));
        Ok(y)
    }
}
