//! Rows that do not fit into memory: when they are left in their files, and how a model is fitted from there.

use crate::pools::{self, Ids, Pairs, Unknown};
use crate::printer::{count, plural};
use crate::visible::visible;
use anyhow::{Context, Result};
use bridged::cluster::Clusterer;
use bridged::settings::BridgedClustering;
use bridged::{BridgedModel, Keep, Names, PartAt, RowsAt, Side, StoredPool};
use bridged_io::{PairsTable, Source, Stamp, StoredRows};
use bridged_math::rows::RowsError;
use bridged_math::{Rows, Seed, Watch, memory};
use std::collections::HashSet;
use std::path::Path;

/// Files of fewer bytes than this share of the memory are read without a look at what they hold.
const SURELY_SMALL: u64 = 32;

/// How the rows of a verb are read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PassFlags {
    /// Leave the rows in their files and read them in passes, even if they fit into memory
    #[arg(long)]
    in_passes: bool,
}

impl PassFlags {
    /// Whether the rows of these files may not fit into memory, as far as their sizes tell.
    pub fn may_be_large(self, sources: &[&Source]) -> bool {
        let parts = sources.iter().flat_map(|source| source.parts());
        let bytes = parts.fold(0u64, |sum, part| sum.saturating_add(part.stamp().size));
        self.in_passes || bytes.saturating_mul(SURELY_SMALL) > memory::budget()
    }

    /// Whether these pools are too large to be clustered in memory.
    pub fn are_large(self, pools: [&StoredRows; 2], settings: &BridgedClustering) -> bool {
        let rows = pools.iter().fold(0u64, |sum, pool| sum.saturating_add(pool.pool_bytes()));
        let work = |(pool, side): (&&StoredRows, &bridged::SideSpec)| {
            let rows = side.sample.map_or(pool.rows(), |most| pool.rows().min(most));
            side.cluster.memory(rows, pool.cols())
        };
        let work = pools.iter().zip([&settings.x, &settings.y]).map(work).max().unwrap_or(0);
        self.in_passes || rows.saturating_add(work) > memory::budget()
    }

    /// Whether this many bytes of rows are too many to be held at once.
    pub fn is_large(self, rows: &StoredRows) -> bool {
        self.in_passes || rows.pool_bytes().saturating_mul(3) > memory::budget()
    }
}

/// Fits a model to pools that stay in their files.
pub fn fit(
    settings: &BridgedClustering,
    (x, y): (&StoredRows, &StoredRows),
    pairs: &[(u32, u32)],
    seed: Seed,
    watch: &dyn Watch,
) -> Result<BridgedModel> {
    let names_of = |rows: &StoredRows, wanted: &[usize]| -> Result<Names, RowsError> {
        Ok(pools::names(&rows.pool_of(wanted)?))
    };
    let (of_x, of_y) = (|rows: &[usize]| names_of(x, rows), |rows: &[usize]| names_of(y, rows));
    let x = StoredPool {
        rows: x,
        names: Names::default(),
        offset: x.offset().clone(),
        keep: Some(Keep { names_of: &of_x, at: x.rows_at() }),
    };
    let y = StoredPool {
        rows: y,
        names: Names::default(),
        offset: y.offset().clone(),
        keep: Some(Keep { names_of: &of_y, at: y.rows_at() }),
    };
    Ok(settings.fit_stored(x, y, pairs, seed, watch)?)
}

/// The rows of pairs in pools that stay in their files.
pub fn find_pairs(
    path: &Path,
    table: PairsTable,
    (x, y): (&StoredRows, &StoredRows),
    unknown: Unknown,
) -> Result<Pairs> {
    // Both columns are looked for on both sides: they may be swapped, and a first line may be a pair.
    let mut wanted: HashSet<&str> = table.names.iter().map(String::as_str).collect();
    wanted.extend(table.rows.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]));
    let of = |rows: &StoredRows| -> Result<Ids> {
        rows.check_ids()?;
        let found = rows.find_ids(&wanted)?;
        Ok(Ids {
            rows: found.into_iter().map(|(id, row)| (id, row as u32)).collect(),
            dropped: HashSet::new(),
            like: rows.first_ids(3)?,
            count: rows.rows(),
            path: rows.source().name().to_path_buf(),
        })
    };
    let (x, y) = (of(x)?, of(y)?);
    pools::find_rows(table, &x, &y, unknown).with_context(|| format!("`{}`", path.display()))
}

/// Where the rows of a side are that the model does not hold, and whether they have changed since.
pub fn where_rows_are(name: &str, side: &Side, at: &RowsAt) -> String {
    let first = at.parts.first().map_or("", |part| part.name.as_str());
    let files = match at.parts.len() {
        1 => visible(first).into_owned(),
        n => format!("{} files, the first is {}", count(n), visible(first)),
    };
    let changed: Vec<String> = at
        .parts
        .iter()
        .filter_map(|p| Some(format!("{} {}", visible(&p.name), change(p)?)))
        .collect();
    let far = at.parts.iter().filter(|part| bridged_io::is_url(&part.name)).count();
    let state = match &changed[..] {
        [] if far > 0 => format!("{} on servers were not looked at", count(far)),
        [] => "unchanged since the fit".to_string(),
        [one] => one.clone(),
        [one, ..] => format!("{} of them have changed: {one}", count(changed.len())),
    };
    let (total, held) = (plural(side.total(), "row"), count(side.len()));
    format!("{name}: {total} in {files}; the model holds {held} of them; {state}")
}

/// What has become of a file since the fit; nothing if it is what it was, or on a server.
fn change(part: &PartAt) -> Option<&'static str> {
    if bridged_io::is_url(&part.name) {
        return None;
    }
    let Ok(metadata) = std::fs::metadata(&part.name) else { return Some("is gone") };
    let stamp = Stamp::of(&metadata);
    match (stamp.size == part.bytes, stamp.to_string() == part.stamp) {
        (true, true) => None,
        (false, _) => Some("has another size"),
        (true, false) => Some("was written again"),
    }
}
