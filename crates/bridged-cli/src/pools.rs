//! From files to pools, and from ids to rows.

use crate::printer::{count, plural};
use anyhow::{Context, Result, bail};
use bridged::columns::{Fitted, shown};
use bridged::{BridgedModel, Direction, Names, Side};
use bridged_io::source::{STANDARD_INPUT, is_url};
use bridged_io::{Missing, PairsTable, Pool, ReadOptions, Select, Source};
use bridged_math::MatrixRef;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Which columns the user named, what a model knows of them, and how the file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    pub id: Option<&'a str>,
    pub vector: Option<&'a str>,
    pub columns: &'a [String],
    pub exclude: &'a [String],
    pub fitted: Option<Fitted<'a>>,
    pub missing: Missing,
    pub read: ReadOptions<'a>,
}

impl<'a> Columns<'a> {
    /// What to pick of a table. Among several list columns, the first that has one of the `likely` names is taken.
    pub fn select(self, likely: &'a [String]) -> Select<'a> {
        let Self { id, vector, columns, exclude, fitted, missing, read: _ } = self;
        Select { id, vector, likely, columns, exclude, fitted, missing }
    }
}

/// The files that a flag or an argument names.
pub fn find(names: &[PathBuf]) -> Result<Source> {
    Ok(Source::find(names)?)
}

/// Reads one side into memory.
pub fn read_pool(source: &Source, columns: Columns<'_>, likely: &[String]) -> Result<Pool> {
    Ok(source.read_pool(&columns.read, columns.select(likely))?)
}

/// The files of this machine that names stand for, and other inputs: nothing may be written over them. Nothing is read
/// for it, and what cannot be found is told when it is.
pub fn inputs(rows: &[&[PathBuf]], others: &[&Path]) -> Vec<PathBuf> {
    let is_near = |name: &&PathBuf| {
        let text = name.to_str().unwrap_or_default();
        text != STANDARD_INPUT && !is_url(text)
    };
    let mut files: Vec<PathBuf> = others.iter().map(|path| path.to_path_buf()).collect();
    for name in rows.iter().copied().flatten().filter(is_near) {
        files.push(name.clone());
        if let Ok(source) = Source::find(&[name]) {
            files.extend(source.files().into_iter().map(Path::to_path_buf));
        }
    }
    files
}

/// Why rows seem to belong to the other side than the one that they are read for, if they do.
pub fn wrong_side(model: &BridgedModel, direction: Direction, pool: &Pool) -> Option<String> {
    let (input, output) = (direction.input(), direction.output());
    let (from, to) = (model.from(direction).names(), model.to(direction).names());
    let all_in = |names: &Names| {
        let known: HashSet<&str> = names.ids.iter().map(String::as_str).collect();
        pool.ids.iter().all(|id| known.contains(id.as_str()))
    };
    let none_in = |names: &Names| {
        let given: HashSet<&str> = pool.ids.iter().map(String::as_str).collect();
        !names.ids.iter().any(|id| given.contains(id.as_str()))
    };
    if pool.id_name.is_some() && all_in(to) && none_in(from) {
        return Some(format!("its ids are all ids of {output}, and none is one of {input}"));
    }
    let looks = model.looks_swapped(direction, pool.rows.view());
    looks.then(|| format!("its rows look like those of {output}, not like those of {input}"))
}

/// What to know about a pool whose rows are few or equal.
pub fn few_rows(name: &str, side: &Side, distinct: Option<usize>) -> Option<String> {
    let (rows, distinct) = (side.total(), distinct?);
    let same = format!(
        "every row of {name} gets the same answer, and every prediction of {name} is that row"
    );
    match (rows, distinct) {
        (1, _) => Some(format!("{name} has one row: {same}")),
        (_, 1) => Some(format!("the {} rows of {name} are all equal: {same}", count(rows))),
        _ if distinct <= side.k() => {
            let (distinct, clusters) = (count(distinct), plural(distinct, "cluster"));
            Some(format!("{name} has only {distinct} distinct rows, so it has at most {clusters}"))
        }
        _ => None,
    }
}

/// How many rows of a pool differ from each other; none if they are more than the root of all.
pub fn distinct_rows(rows: MatrixRef<'_>) -> Option<usize> {
    let most = (rows.rows() as f64).sqrt().ceil() as usize;
    let mut seen: HashSet<Vec<u32>> = HashSet::new();
    for row in rows.iter_rows() {
        seen.insert(row.iter().map(|v| (v + 0.0).to_bits()).collect()); // −0 is 0
        if seen.len() > most {
            return None;
        }
    }
    Some(seen.len())
}

/// A pool and the file it came from.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub pool: &'a Pool,
    pub path: &'a Path,
}

/// What to do with a pair that names an id that no row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is an error.
    Refuse,
    /// The pair is left out.
    Skip,
}

/// The rows of pairs, and what to know about how they were read.
pub struct Pairs {
    pub rows: Vec<(u32, u32)>,
    /// Rows that do not belong together, as the answers say.
    pub negatives: Vec<(u32, u32)>,
    pub notes: Vec<String>,
}

impl Pairs {
    /// As a fit takes them.
    pub fn known(&self) -> bridged::Pairs<'_> {
        bridged::Pairs::new(&self.rows).with_negatives(&self.negatives)
    }
}

/// Where the ids of one side are, as far as pairs ask for them.
pub struct Ids {
    /// The row of each id.
    pub rows: HashMap<String, u32>,
    /// The ids of rows that were left out.
    pub dropped: HashSet<String>,
    /// Some ids, to show what they look like.
    pub like: Vec<String>,
    /// How many rows there are.
    pub count: usize,
    /// Where they are.
    pub path: PathBuf,
}

impl Ids {
    fn of(Named { pool, path }: Named<'_>) -> Self {
        let rows = pool.ids.iter().enumerate().map(|(i, id)| (id.clone(), i as u32)).collect();
        let dropped = pool.dropped.iter().cloned().collect();
        let like = pool.ids.iter().take(3).cloned().collect();
        Self { rows, dropped, like, count: pool.ids.len(), path: path.to_path_buf() }
    }
}

/// Reads pairs of ids and finds their rows.
pub fn read_pairs(
    path: &Path,
    read: &ReadOptions<'_>,
    x: Named<'_>,
    y: Named<'_>,
    unknown: Unknown,
) -> Result<Pairs> {
    let table = bridged_io::read_pairs_with(path, read)?;
    let (x, y) = (Ids::of(x), Ids::of(y));
    find_rows(table, &x, &y, unknown).with_context(|| format!("`{}`", path.display()))
}

/// The rows of pairs of ids, of which a fit needs one.
pub fn find_rows(table: PairsTable, x: &Ids, y: &Ids, unknown: Unknown) -> Result<Pairs> {
    let pairs = find_answers(table, x, y, unknown)?;
    match pairs.rows.is_empty() {
        true => {
            bail!("there are no pairs in it: at least one known pair is needed to link the pools")
        }
        false => Ok(pairs),
    }
}

/// The same where answers that rows do not belong together are enough; there may be none of either.
pub fn find_answers(table: PairsTable, x: &Ids, y: &Ids, unknown: Unknown) -> Result<Pairs> {
    let (x_rows, y_rows) = (&x.rows, &y.rows);
    let PairsTable { names: [x_name, y_name], rows, negatives: denied, mut notes } = table;
    let mut pairs = Vec::with_capacity(rows.len() + 1);
    // A file without a header starts with a pair.
    if let (Some(&a), Some(&b)) = (x_rows.get(x_name.as_str()), y_rows.get(y_name.as_str())) {
        pairs.push((a, b));
    }
    let swapped = |a: &str, b: &str| x_rows.contains_key(b) && y_rows.contains_key(a);
    if !rows.is_empty()
        && rows.iter().all(|(a, b)| swapped(a, b) && !x_rows.contains_key(a.as_str()))
    {
        bail!("its first column holds ids of y and its second ids of x; swap the two columns");
    }
    let mut seen: HashSet<(u32, u32)> = pairs.iter().copied().collect();
    let (mut of_dropped, mut of_unknown, mut again) = (0, 0, 0);
    let mut denied_rows: HashSet<(u32, u32)> = HashSet::new();
    let mut negatives = Vec::with_capacity(denied.len());
    let answers = rows.iter().map(|pair| (pair, true)).enumerate();
    let answers = answers.chain(denied.iter().map(|pair| (pair, false)).enumerate());
    for (i, ((a, b), together)) in answers {
        if x.dropped.contains(a.as_str()) || y.dropped.contains(b.as_str()) {
            of_dropped += 1;
            continue;
        }
        let row = |id: &str, side: &str, ids: &Ids| {
            ids.rows.get(id).copied().with_context(|| {
                let like: Vec<_> = ids.like.iter().map(|id| shown(id)).collect();
                let what = if together { "pair" } else { "answer no," };
                format!(
                    "{what} {} names `{}`, which is not an id of {side}: `{}` has {} with ids \
                     like {}; --skip-unknown leaves such pairs out",
                    count(i + 1),
                    shown(id),
                    ids.path.display(),
                    plural(ids.count, "row"),
                    like.join(", ")
                )
            })
        };
        let pair = match (row(a, "x", x), row(b, "y", y)) {
            (Ok(a), Ok(b)) => (a, b),
            _ if unknown == Unknown::Skip => {
                of_unknown += 1;
                continue;
            }
            (a, b) => (a?, b?),
        };
        if !together {
            if seen.contains(&pair) {
                bail!(
                    "it says yes and no to the same two rows: `{}` of x and `{}` of y; take one of the answers out",
                    shown(a),
                    shown(b)
                );
            }
            match denied_rows.insert(pair) {
                true => negatives.push(pair),
                false => again += 1,
            }
            continue;
        }
        match seen.insert(pair) {
            true => pairs.push(pair),
            false => again += 1,
        }
    }
    let all = plural(rows.len() + denied.len(), "pair");
    for (left_out, why) in [
        (of_dropped, "they name rows in which numbers are missing"),
        (of_unknown, "they name ids that no row has"),
        (again, "an earlier pair names the same rows, and counts once"),
    ] {
        if left_out > 0 {
            notes.push(format!("left out {} of {all}: {why}", count(left_out)));
        }
    }
    if pairs.is_empty() && negatives.is_empty() && !rows.is_empty() {
        bail!("none of its {all} names rows of x and y that are there");
    }
    Ok(Pairs { rows: pairs, negatives, notes })
}
