//! Rows that do not fit into memory: when they are left in their files, and how a model is fitted from there.

use crate::pools::{self, Ids, Pairs, Unknown};
use crate::printer::{count, plural};
use crate::progress::Kept;
use crate::visible::visible;
use anyhow::{Context, Result, anyhow};
use bridged::cluster::Clusterer;
use bridged::files::fingerprint;
use bridged::settings::BridgedClustering;
use bridged::{BridgedModel, Keep, Names, PartAt, RowsAt, Side, SideSpec, StoredPool};
use bridged_io::{Column, PairsTable, Source, Stamp, StoredRows, check_scratch};
use bridged_math::cancel;
use bridged_math::rows::RowsError;
use bridged_math::{Rows, Seed, Watch, memory};
use std::collections::HashSet;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// Files of fewer bytes than this share of the memory are read without a look at what they hold.
const SURELY_SMALL: u64 = 32;

/// How the rows of a verb are read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PassFlags {
    /// Leave the rows in their files and read them in passes, even if they fit into memory
    #[arg(long)]
    in_passes: bool,
}

/// Where rows are kept between passes.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ScratchFlags {
    /// Keep rows that are read in passes in this folder while the command runs, as 32-bit floats: later passes
    /// decode nothing
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

impl ScratchFlags {
    /// Has these rows kept from their first pass on; refused where there is no room for all of them.
    pub fn apply(&self, pools: &mut [&mut StoredRows]) -> Result<()> {
        let Some(folder) = &self.scratch else { return Ok(()) };
        let needs = pools.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.scratch_bytes()));
        check_scratch(folder, needs)?;
        Ok(pools.iter_mut().try_for_each(|rows| rows.keep_in(folder))?)
    }
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
        let work = |(pool, side): (&&StoredRows, &SideSpec)| {
            let rows = side.sample.map_or(pool.rows(), |most| pool.rows().min(most));
            side.cluster.memory(rows, pool.cols())
        };
        let work = pools.iter().zip([&settings.x, &settings.y]).map(work).max().unwrap_or(0);
        self.in_passes || rows.saturating_add(work) > memory::budget()
    }

    /// Whether these rows are too many to be clustered in memory.
    pub fn is_large_to_cluster(self, rows: &StoredRows, side: &SideSpec) -> bool {
        let most = side.sample.map_or(rows.rows(), |most| rows.rows().min(most));
        let work = side.cluster.memory(most, rows.cols());
        self.in_passes || rows.pool_bytes().saturating_add(work) > memory::budget()
    }

    /// Whether this many bytes of rows are too many to be held at once.
    pub fn is_large(self, rows: &StoredRows) -> bool {
        self.in_passes || rows.pool_bytes().saturating_mul(3) > memory::budget()
    }
}

/// What to know about rows that are not read into memory.
pub fn stay(name: &str, rows: &StoredRows) -> String {
    let size = memory::shown(4 * (rows.rows() * rows.cols()) as u64);
    format!("{name}, {size}, stay in their files and are read in passes")
}

/// Fits a model to pools that stay in their files.
pub fn fit(
    settings: &BridgedClustering,
    (x, y): (&StoredRows, &StoredRows),
    pairs: bridged::Pairs<'_>,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<BridgedModel> {
    let names_of = |rows: &StoredRows, wanted: &[usize]| -> Result<Names, RowsError> {
        Ok(rows.pool_of(wanted)?.names())
    };
    let at = |rows: &StoredRows| {
        let at = rows.rows_at().with_fingerprints();
        at.with_context(|| format!("`{}`", rows.source().name().display()))
    };
    let (of_x, of_y) = (|rows: &[usize]| names_of(x, rows), |rows: &[usize]| names_of(y, rows));
    let x = StoredPool {
        rows: x,
        names: Names::default(),
        offset: x.offset().clone(),
        keep: Some(Keep { names_of: &of_x, at: at(x)? }),
    };
    let y = StoredPool {
        rows: y,
        names: Names::default(),
        offset: y.offset().clone(),
        keep: Some(Keep { names_of: &of_y, at: at(y)? }),
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
    let named = table.rows.iter().chain(&table.negatives);
    wanted.extend(named.flat_map(|(a, b)| [a.as_str(), b.as_str()]));
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
pub fn where_rows_are(name: &str, side: &Side, at: &RowsAt, verify: bool) -> Result<String> {
    let (total, held) = (plural(side.total(), "row"), count(side.len()));
    if at.parts.is_empty() {
        let from = at.names.first().map_or("elsewhere", String::as_str);
        let from = visible(from);
        return Ok(format!(
            "{name}: {total} from {from}, which is no file; the model holds {held} of them"
        ));
    }
    let first = at.parts.first().map_or("", |part| part.name.as_str());
    let files = match at.parts.len() {
        1 => visible(first).into_owned(),
        n => format!("{} files, the first is {}", count(n), visible(first)),
    };
    let changed = match verify {
        true => changed_contents(at)?,
        false => changes(at),
    };
    let far = at.parts.iter().filter(|part| bridged_io::is_url(&part.name)).count();
    let state = match &changed[..] {
        [] if far > 0 => format!("{} on servers were not looked at", count(far)),
        [] if verify => "their contents are those of the fit".to_string(),
        [] => "unchanged since the fit".to_string(),
        [one] => one.clone(),
        [one, ..] => format!("{} of them have changed: {one}", count(changed.len())),
    };
    Ok(format!("{name}: {total} in {files}; the model holds {held} of them; {state}"))
}

/// What has become of files since the fit, by their sizes and times.
pub fn changes(at: &RowsAt) -> Vec<String> {
    let of = |part: &PartAt| Some(format!("{} {}", visible(&part.name), change(part)?));
    at.parts.iter().filter_map(of).collect()
}

/// The same by their contents, all of which are read: a file that was only written again has not changed.
fn changed_contents(at: &RowsAt) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for part in at.parts.iter().filter(|part| !bridged_io::is_url(&part.name)) {
        let what = match (change(part), &part.fingerprint) {
            (Some(what @ ("is gone" | "has another size")), _) => what,
            (_, None) => "has no fingerprint in this model, which an earlier release has written",
            (_, Some(expected)) => {
                let found = fingerprint(Path::new(&part.name));
                match found.with_context(|| format!("`{}`", part.name))? == *expected {
                    true => continue,
                    false => "has another content",
                }
            }
        };
        changed.push(format!("{} {what}", visible(&part.name)));
    }
    Ok(changed)
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

/// The rows that are answered at a time.
pub const BATCH: usize = 1 << 15;

/// What makes columns, and hands them to whoever writes them.
type Write<'a> = dyn FnMut(Vec<Column>) -> Result<()> + 'a;

/// Gives `write` what `produce` makes, piece by piece and in order, while it makes the next. Where the rows break off the
/// last piece is an error, so that `write` leaves no half of a file.
pub fn stream(
    write: impl FnOnce(Pieces) -> Result<()>,
    produce: impl FnOnce(&mut Write<'_>) -> Result<()> + Send,
) -> Result<()> {
    let (context, writes) = (cancel::Context::current(), AtomicBool::new(true));
    let (send, pieces) = mpsc::sync_channel(1);
    let writes = &writes;
    let (produced, written) = thread::scope(|scope| {
        // `send` goes with the thread: once it ends, however that is, nobody waits for another piece.
        let make = move || {
            produce(&mut |columns| {
                send.send(Piece::Columns(columns)).map_err(|_| {
                    writes.store(false, Ordering::Relaxed);
                    anyhow!("the output could not be written")
                })
            })?;
            // Without this the rows have ended too early, and nothing is written.
            _ = send.send(Piece::End);
            Ok(())
        };
        let worker = scope.spawn(move || context.enter(make));
        let written = write(Pieces(Some(pieces)));
        (worker.join().unwrap_or_else(|panic| resume_unwind(panic)), written)
    });
    let keeps = written.as_ref().is_err_and(|error| error.is::<Kept>());
    match produced {
        Err(error) if writes.load(Ordering::Relaxed) && !keeps => Err(error),
        _ => written,
    }
}

/// What comes from whoever makes columns to whoever writes them.
enum Piece {
    Columns(Vec<Column>),
    End,
}

/// The columns piece by piece; an error where they break off.
pub struct Pieces(Option<mpsc::Receiver<Piece>>);

impl Iterator for Pieces {
    type Item = io::Result<Vec<Column>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.as_ref()?.recv() {
            Ok(Piece::Columns(columns)) => Some(Ok(columns)),
            // Nothing comes after the end, for which nobody must wait.
            Ok(Piece::End) => {
                self.0 = None;
                None
            }
            Err(_) => {
                self.0 = None;
                Some(Err(io::Error::other("the rows break off")))
            }
        }
    }
}
