//! From files to pools, and from ids to rows.

use anyhow::{Context, Result, bail};
use bridged::Names;
use bridged_io::{PairsTable, Pool, Select};
use std::collections::HashMap;
use std::path::Path;

/// Which columns the user named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    pub id: Option<&'a str>,
    pub vector: Option<&'a str>,
}

/// Reads one side. Among several list columns, the first that has one of the `likely` names is taken.
pub fn read_pool(path: &Path, columns: Columns<'_>, likely: &[String]) -> Result<Pool> {
    let Columns { id, vector } = columns;
    Ok(bridged_io::read(path)?.into_pool(Select { id, vector, likely })?)
}

/// The pool as a model takes it.
pub fn into_pool(pool: Pool) -> bridged::Pool {
    let names = names(&pool);
    bridged::Pool { rows: pool.rows, names }
}

/// What a model keeps of a pool besides its rows.
fn names(pool: &Pool) -> Names {
    let texts = pool.texts().into_iter().map(Into::into).collect();
    let ids = if pool.id_name.is_some() { pool.ids.clone() } else { Vec::new() };
    Names { ids, texts, vector: pool.vector_names.clone() }
}

/// A pool and the file it came from.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub pool: &'a Pool,
    pub path: &'a Path,
}

/// Reads pairs of ids and finds their rows.
pub fn read_pairs(path: &Path, x: Named<'_>, y: Named<'_>) -> Result<Vec<(u32, u32)>> {
    let table = bridged_io::read_pairs(path)?;
    find_rows(table, x, y).with_context(|| format!("`{}`", path.display()))
}

fn find_rows(table: PairsTable, x: Named<'_>, y: Named<'_>) -> Result<Vec<(u32, u32)>> {
    let (x_rows, y_rows) = (index(x.pool), index(y.pool));
    let PairsTable { names: [x_name, y_name], rows } = table;
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
    for (i, (a, b)) in rows.iter().enumerate() {
        let row = |id: &str, rows: &HashMap<&str, u32>, side: &str, named: Named<'_>| {
            rows.get(id).copied().with_context(|| {
                let like: Vec<&str> = named.pool.ids.iter().take(3).map(String::as_str).collect();
                format!(
                    "pair {} names `{id}`, which is not an id of {side}: `{}` has {} rows with ids \
                     like {}",
                    i + 1,
                    named.path.display(),
                    named.pool.ids.len(),
                    like.join(", ")
                )
            })
        };
        let pair = (row(a, &x_rows, "x", x)?, row(b, &y_rows, "y", y)?);
        if let Some(first) = seen.insert(pair, i) {
            bail!("pair {} (`{a}`, `{b}`) is the same as pair {}; name it once", i + 1, first + 1);
        }
        pairs.push(pair);
    }
    if pairs.is_empty() {
        bail!("there are no pairs in it: at least one known pair is needed to link the pools");
    }
    Ok(pairs)
}

fn index(pool: &Pool) -> HashMap<&str, u32> {
    pool.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i as u32)).collect()
}
