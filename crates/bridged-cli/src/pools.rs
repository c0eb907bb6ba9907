//! From files to pools, and from ids to rows.

use anyhow::{Context, Result, bail};
use bridged::Names;
use bridged::columns::{Fitted, shown};
use bridged_io::{Missing, PairsTable, Pool, ReadOptions, Select};
use std::collections::{HashMap, HashSet};
use std::path::Path;

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

/// Reads one side. Among several list columns, the first that has one of the `likely` names is taken.
pub fn read_pool(path: &Path, columns: Columns<'_>, likely: &[String]) -> Result<Pool> {
    let Columns { id, vector, columns, exclude, fitted, missing, read } = columns;
    let select = Select { id, vector, likely, columns, exclude, fitted, missing };
    Ok(bridged_io::read_with(path, &read)?.into_pool(select)?)
}

/// The pool as a model takes it.
pub fn into_pool(pool: Pool) -> bridged::Pool {
    let names = names(&pool);
    bridged::Pool { rows: pool.rows, names, offset: pool.offset }
}

/// What a model keeps of a pool besides its rows.
fn names(pool: &Pool) -> Names {
    let texts = pool.texts().into_iter().map(Into::into).collect();
    let ids = if pool.id_name.is_some() { pool.ids.clone() } else { Vec::new() };
    Names { ids, texts, vector: pool.vector_names.clone(), id: pool.id_name.clone() }
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
    pub notes: Vec<String>,
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
    find_rows(table, x, y, unknown).with_context(|| format!("`{}`", path.display()))
}

fn find_rows(table: PairsTable, x: Named<'_>, y: Named<'_>, unknown: Unknown) -> Result<Pairs> {
    let (x_rows, y_rows) = (index(x.pool), index(y.pool));
    let (x_dropped, y_dropped) = (dropped(x.pool), dropped(y.pool));
    let PairsTable { names: [x_name, y_name], rows, mut notes } = table;
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
    let mut seen = HashMap::with_capacity(rows.len());
    let (mut of_dropped, mut of_unknown) = (0, 0);
    for (i, (a, b)) in rows.iter().enumerate() {
        if x_dropped.contains(a.as_str()) || y_dropped.contains(b.as_str()) {
            of_dropped += 1;
            continue;
        }
        let row = |id: &str, rows: &HashMap<&str, u32>, side: &str, named: Named<'_>| {
            rows.get(id).copied().with_context(|| {
                let like: Vec<_> = named.pool.ids.iter().take(3).map(|id| shown(id)).collect();
                format!(
                    "pair {} names `{}`, which is not an id of {side}: `{}` has {} rows with ids \
                     like {}; --skip-unknown leaves such pairs out",
                    i + 1,
                    shown(id),
                    named.path.display(),
                    named.pool.ids.len(),
                    like.join(", ")
                )
            })
        };
        let pair = match (row(a, &x_rows, "x", x), row(b, &y_rows, "y", y)) {
            (Ok(a), Ok(b)) => (a, b),
            _ if unknown == Unknown::Skip => {
                of_unknown += 1;
                continue;
            }
            (a, b) => (a?, b?),
        };
        if let Some(first) = seen.insert(pair, i) {
            let (a, b) = (shown(a), shown(b));
            bail!("pair {} (`{a}`, `{b}`) is the same as pair {}; name it once", i + 1, first + 1);
        }
        pairs.push(pair);
    }
    let all = rows.len();
    if of_dropped > 0 {
        notes.push(format!(
            "left out {of_dropped} of {all} pairs: they name rows in which numbers are missing"
        ));
    }
    if of_unknown > 0 {
        notes.push(format!("left out {of_unknown} of {all} pairs: they name ids that no row has"));
    }
    if pairs.is_empty() && !rows.is_empty() {
        bail!("none of its {all} pairs names rows of x and y that are there");
    }
    if pairs.is_empty() {
        bail!("there are no pairs in it: at least one known pair is needed to link the pools");
    }
    Ok(Pairs { rows: pairs, notes })
}

fn dropped(pool: &Pool) -> HashSet<&str> {
    pool.dropped.iter().map(String::as_str).collect()
}

fn index(pool: &Pool) -> HashMap<&str, u32> {
    pool.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i as u32)).collect()
}
